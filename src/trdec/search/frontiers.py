"""The open symbols of many hypotheses at once: the frontier of a derivation as tensors."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from trdec.search.effects import Effects


class Cells:
    """An append-only store of open symbols, each with what is open after it: stacks that share their tails.

    Cell 0 is nothing: the stack of a finished derivation. Nothing is ever moved or changed.
    """

    def __init__(self, num_measures: int, device: torch.device) -> None:
        # symbol, parent address, the cell below, then what the symbol and all below it need of each measure
        self._table = torch.zeros(256, 3 + num_measures, dtype=torch.long, device=device)
        self._size = 1

    def append(self, symbols: Tensor, parents: Tensor, below: Tensor, needs: Tensor) -> Tensor:
        """The numbers n of new cells; `below` may name cells of the same call, from `next_number` on."""
        begin, end = self._size, self._size + len(symbols)
        if end > len(self._table):
            room = self._table.new_zeros(max(end, len(self._table)), self._table.shape[1])
            self._table = torch.cat([self._table, room])
        rows = self._table[begin:end]
        rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3:] = symbols, parents, below, needs
        self._size = end
        return torch.arange(begin, end, device=symbols.device)

    @property
    def next_number(self) -> int:
        """The number of the cell that is appended next."""
        return self._size

    def at(self, cells: Tensor) -> Tensor:
        """n 3+M: the contents of these cells."""
        return self._table[cells]


@dataclass(frozen=True)
class Frontiers:
    """The stack of open symbols of each row, leftmost on top: the twin of a target's state for many rows."""

    effects: Effects
    cells: Cells
    tops: Tensor  # R   cells
    open: Tensor  # R 3+M   their contents

    @classmethod
    def start(cls, effects: Effects, num_rows: int) -> Frontiers:
        """Before the first action."""
        cells = Cells(effects.needs.shape[1], effects.needs.device)
        top = torch.zeros(1, dtype=torch.long, device=effects.needs.device)
        for symbol in reversed(effects.start):
            number = torch.full_like(top, symbol)
            needs = cells.at(top)[:, 3:] + effects.needs[number]
            top = cells.append(number, torch.zeros_like(top), top, needs)
        tops = top.expand(num_rows)
        return cls(effects, cells, tops, cells.at(tops))

    @property
    def symbols(self) -> Tensor:
        """R: what is open."""
        return self.open[:, 0]

    @property
    def parents(self) -> Tensor:
        """R: the address of the step that opened it; 0 if none did."""
        return self.open[:, 1]

    @property
    def finished(self) -> Tensor:
        """R bool: whether nothing is open."""
        return self.tops == 0

    @property
    def needs_below(self) -> Tensor:
        """R M: what completing all but the open symbol adds to each measure at least."""
        return self.open[:, 3:] - self.effects.needs[self.symbols]

    def select(self, rows: Tensor) -> Frontiers:
        """These rows in this order."""
        return Frontiers(self.effects, self.cells, self.tops[rows], self.open[rows])

    def advance(self, actions: Tensor, here: Tensor) -> Frontiers:
        """After an action in each row, taken at steps with these addresses."""
        effects, below = self.effects, self.open[:, 2]
        parents = torch.where(effects.opens[actions], here, self.parents)  # R
        counts = effects.counts[actions]  # R
        ends = counts.cumsum(0)  # R
        rows = torch.repeat_interleave(torch.arange(len(actions), device=actions.device), counts)  # n
        # The cells of a row follow each other, the rightmost symbol, which is expanded last, at the bottom.
        level = torch.arange(len(rows), device=actions.device) - (ends - counts)[rows]  # n
        symbols = effects.symbols[effects.offsets[actions][rows] + level]  # n
        first = self.cells.next_number
        lowest = self.cells.at(below)[:, 3:]  # R M
        needs = _running_sums(effects.needs[symbols], rows, ends - counts) + lowest[rows]  # n M
        numbers = torch.arange(len(rows), device=actions.device) + first
        self.cells.append(symbols, parents[rows], torch.where(level > 0, numbers - 1, below[rows]), needs)
        tops = torch.where(counts > 0, ends - 1 + first, below)  # R
        return Frontiers(effects, self.cells, tops, self.cells.at(tops))


def _running_sums(values: Tensor, rows: Tensor, begins: Tensor) -> Tensor:
    """n M: the sum of a row's values up to and with each place; a row's places begin where `begins` says."""
    total = torch.cat([values.new_zeros(1, values.shape[1]), values.cumsum(0)])  # n+1 M
    return total[1:] - total[begins[rows]]
