"""The open symbols of many hypotheses at once, and what each action does to them, as tensors."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trdec.targets.actions import EOS, Action, ApplyRule, EmitWord
from trdec.targets.target import ActionTable, Target
from trdec.tokenisers import SPACES, WORD_START

MEASURES = 4
STEPS, PIECES, WORDS, RULES = range(MEASURES)
"""The measures of a derivation: its number of actions, of pieces (words or subwords), of words and of rules."""

UNREACHABLE = 1e9
"""The need of a symbol that cannot be completed."""


@dataclass(frozen=True)
class Effects:
    """What every action does: it replaces the open symbol by others.

    A derivation is finished when nothing is open, so `<eos>` closes a symbol too: the one below all others.
    """

    start: tuple[int, ...]  # the symbols open before the first action, leftmost first
    symbols: Tensor  # the symbols that actions open, action after action, rightmost first
    counts: Tensor  # A   how many an action opens
    offsets: Tensor  # A   where these begin in `symbols`
    opens: Tensor  # A bool   whether their parent is this step (a rule) or the same as before (a word)
    banned: Tensor  # b   actions that are never chosen
    gains: Tensor  # A M   how much an action adds to each measure
    needs: Tensor  # Y M   how much completing a symbol adds to each at least
    needs_after: Tensor  # A M   how much completing what the action opens adds to each at least
    bare: Tensor  # A+1 bool   the piece that begins a word and holds none of its letters; the last stands for no action
    letters: Tensor  # A bool   pieces that may follow it: no phrase and no word is without letters
    closed: int  # the number of steps left once no word can follow

    @classmethod
    def of(cls, target: Target[Any], table: ActionTable, banned: Collection[int] = ()) -> Effects:
        """The effects of a target's actions; `banned` ones are never chosen."""
        opened = [[table.symbol_number(s) for s in target.replacement(action)] for action in table.actions]
        counts = np.array([len(symbols) for symbols in opened])  # A
        symbols = np.array([number for row in opened for number in reversed(row)], dtype=np.int64)
        owners = np.repeat(np.arange(len(opened)), counts)
        gains = _gains(table.actions)  # A M
        bare = np.array([action == EmitWord(WORD_START) for action in table.actions])  # A
        is_banned = np.isin(np.arange(len(opened)), list(banned))  # A
        letters = _begins_with_letter(table.actions) & (gains[:, WORDS] == 0) & ~is_banned  # A
        is_banned |= bare & ~letters.any()
        legal = table.legal & ~is_banned  # Y A
        needs = _least_needs(legal, owners, symbols, gains)  # Y M
        needs_after = _sums(owners, needs[symbols], len(opened))  # A M
        needs_after[bare, STEPS] += 1  # its word's letters
        return cls(
            start=tuple(table.symbol_number(symbol) for symbol in target.start_symbols),
            symbols=torch.from_numpy(symbols),
            counts=torch.from_numpy(counts),
            offsets=torch.from_numpy(np.cumsum(counts) - counts),
            opens=torch.tensor([target.opens(action) for action in table.actions]),
            banned=torch.from_numpy(is_banned.nonzero()[0]),
            gains=torch.from_numpy(gains.astype(np.int64)),
            needs=torch.from_numpy(needs.astype(np.int64)),
            needs_after=torch.from_numpy(needs_after.astype(np.int64)),
            bare=torch.from_numpy(np.append(bare, False)),
            letters=torch.from_numpy(letters),
            closed=sum(tuple(target.legal(symbol)) == (EOS,) for symbol in target.start_symbols),
        )

    @cached_property
    def takes(self) -> Tensor:
        """A M: how much an action and the completion of what it opens add to each measure at least."""
        return self.gains + self.needs_after

    @cached_property
    def most_taken(self) -> Tensor:
        """M: the greatest of these."""
        return self.takes.amax(dim=0)

    @cached_property
    def has_bare(self) -> bool:
        """Whether any piece holds no letters."""
        return bool(self.bare.any())

    def texts(self) -> frozenset[int]:
        """The actions that write text."""
        return frozenset(self.gains[:, PIECES].nonzero().squeeze(1).tolist())

    def to(self, device: torch.device | str) -> Effects:
        """The same on another device."""
        tensors = {f.name: getattr(self, f.name) for f in fields(self) if isinstance(getattr(self, f.name), Tensor)}
        return replace(self, **{name: tensor.to(device) for name, tensor in tensors.items()})


def _gains(actions: Sequence[Action]) -> NDArray[np.float64]:
    """A M: what each action adds to each measure; where no piece is marked as a word's first, every piece is a word."""
    pieces = np.array([isinstance(action, EmitWord) for action in actions])  # A
    begins = np.array([isinstance(a, EmitWord) and a.word.startswith(WORD_START) for a in actions])  # A
    rules = np.array([isinstance(action, ApplyRule) for action in actions])  # A
    measures = {STEPS: np.ones_like(pieces), PIECES: pieces, WORDS: begins if begins.any() else pieces, RULES: rules}
    return np.stack([measures[measure] for measure in sorted(measures)], axis=1).astype(np.float64)


def _begins_with_letter(actions: Sequence[Action]) -> NDArray[np.bool_]:
    """A: the pieces that begin with neither a space nor the mark of one."""
    return np.array([isinstance(a, EmitWord) and a.word[:1] not in ("", WORD_START, *SPACES) for a in actions])


def _least_needs(
    legal: NDArray[np.bool_], owners: NDArray[np.int64], symbols: NDArray[np.int64], gains: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Y M: the least fixed point of need[y] = min over legal actions of gain + the needs of what they open."""
    needs = np.full((len(legal), gains.shape[1]), UNREACHABLE)  # Y M
    while True:
        after = gains + _sums(owners, needs[symbols], len(gains))  # A M
        least = np.stack(
            [np.where(legal, column, UNREACHABLE).min(axis=1) for column in np.minimum(after, UNREACHABLE).T], axis=1
        )  # Y M
        if (least == needs).all():
            return needs
        needs = least


def _sums(owners: NDArray[np.int64], values: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """size M: the sum of the values that belong to each owner."""
    columns = [np.bincount(owners, weights=column, minlength=size) for column in values.T]
    return np.minimum(np.stack(columns, axis=1), UNREACHABLE)


class Cells:
    """An append-only store of open symbols, each linked to the one below it: stacks that share their tails.

    Cell 0 is the empty stack, that of a finished derivation. Cells never move or change.
    """

    def __init__(self, num_measures: int, device: torch.device) -> None:
        # symbol, parent, the cell below, then how much the symbol and all below it need of each measure
        self._table = torch.zeros(256, 3 + num_measures, dtype=torch.long, device=device)
        self._size = 1

    def append(self, symbols: Tensor, parents: Tensor, below: Tensor, needs: Tensor) -> Tensor:
        """The numbers n of the new cells; `below` may refer to cells of the same call, from `next_number` on."""
        begin, end = self._size, self._size + symbols.shape[0]
        if end > self._table.shape[0]:
            room = self._table.new_zeros(max(end, self._table.shape[0]), self._table.shape[1])
            self._table = torch.cat([self._table, room])
        rows = self._table[begin:end]
        rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3:] = symbols, parents, below, needs
        self._size = end
        return torch.arange(begin, end, device=symbols.device)

    @property
    def next_number(self) -> int:
        """The number that the next cell will have."""
        return self._size

    def at(self, cells: Tensor) -> Tensor:
        """n 3+M: the contents of these cells."""
        return self._table[cells]


@dataclass(frozen=True)
class Frontiers:
    """The stack of open symbols of each row, leftmost on top: a target's state, for many rows at once."""

    effects: Effects
    cells: Cells
    tops: Tensor  # R   cells
    open: Tensor  # R 3+M   their contents

    @classmethod
    def start(cls, effects: Effects, num_rows: int) -> Frontiers:
        """The frontiers before the first action."""
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
        """R: the open symbols."""
        return self.open[:, 0]

    @property
    def parents(self) -> Tensor:
        """R: 1 + the step whose rule opened it; 0 if none did."""
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

    def advance(self, actions: Tensor, steps: Tensor) -> Frontiers:
        """The frontiers after one action in each row; `steps` R counts the actions taken, this one included."""
        effects, below = self.effects, self.open[:, 2]
        parents = torch.where(effects.opens[actions], steps, self.parents)  # R
        counts = effects.counts[actions]  # R
        ends = counts.cumsum(0)  # R
        rows = torch.repeat_interleave(torch.arange(actions.shape[0], device=actions.device), counts)  # n
        # The cells of a row are consecutive; the rightmost symbol, which is expanded last, is at the bottom.
        level = torch.arange(rows.shape[0], device=actions.device) - (ends - counts)[rows]  # n
        symbols = effects.symbols[effects.offsets[actions][rows] + level]  # n
        first = self.cells.next_number
        lowest = self.cells.at(below)[:, 3:]  # R M
        needs = _running_sums(effects.needs[symbols], rows, ends - counts) + lowest[rows]  # n M
        numbers = torch.arange(rows.shape[0], device=actions.device) + first
        self.cells.append(symbols, parents[rows], torch.where(level > 0, numbers - 1, below[rows]), needs)
        tops = torch.where(counts > 0, ends - 1 + first, below)  # R
        return Frontiers(effects, self.cells, tops, self.cells.at(tops))


def _running_sums(values: Tensor, rows: Tensor, begins: Tensor) -> Tensor:
    """n M: the sum of a row's values up to and including each place; a row's places start at its entry of `begins`."""
    total = torch.cat([values.new_zeros(1, values.shape[1]), values.cumsum(0)])  # n+1 M
    return total[1:] - total[begins[rows]]
