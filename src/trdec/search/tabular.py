"""A model with random but fixed log-probabilities, so that search can be compared with enumeration."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import Tensor

from trdec.data.batch import SourceBatch
from trdec.targets.target import ActionTable

ActionHistory = tuple[int, ...]


@dataclass(frozen=True)
class TabularMemory:
    """The source sentences themselves."""

    sources: tuple[tuple[int, ...], ...]

    def select(self, sentences: Tensor) -> TabularMemory:
        """These sentences in this order."""
        return TabularMemory(tuple(self.sources[number] for number in sentences.tolist()))


@dataclass(frozen=True)
class TabularState:
    """What each row has written."""

    histories: tuple[ActionHistory, ...]

    def select(self, rows: Tensor) -> TabularState:
        """These rows in this order."""
        return TabularState(tuple(self.histories[row] for row in rows.tolist()))


class TabularModel:
    """log p(action | source, earlier actions, open symbol, step that opened it), drawn at random once for each."""

    def __init__(self, table: ActionTable, seed: int = 0, spread: float = 4.0) -> None:
        self.num_actions = len(table.actions)
        self._legal = torch.from_numpy(table.legal)  # Y A
        self._seed = seed
        self._spread = spread

    def log_probs(self, source: tuple[int, ...], history: ActionHistory, symbol: int, parent: int) -> Tensor:
        """A: the log-probabilities of the next action; the parent is 1 + the step that opened the symbol, or 0."""
        return self._log_softmax([self._logits(source, history, symbol, parent)], torch.tensor([symbol]))[0]

    def _logits(self, source: tuple[int, ...], history: ActionHistory, symbol: int, parent: int) -> list[float]:
        draw = random.Random(hash((self._seed, source, history, symbol, parent))).random
        return [self._spread * (draw() + draw() - 1) for _ in range(self.num_actions)]

    def _log_softmax(self, logits: list[list[float]], symbols: Tensor) -> Tensor:
        """R A: the log-probabilities of the actions that these open symbols R allow."""
        rows = torch.tensor(logits, dtype=torch.float64)  # R A
        return rows.masked_fill(~self._legal[symbols], -torch.inf).log_softmax(dim=1)

    def encode(self, source: SourceBatch) -> TabularMemory:
        """The sources without padding."""
        rows = zip(source.pieces.tolist(), source.lengths.tolist(), strict=True)
        return TabularMemory(tuple(tuple(row[:length]) for row, length in rows))

    def start(self, memory: TabularMemory) -> TabularState:
        """Rows that have written nothing."""
        return TabularState(((),) * len(memory.sources))

    def step(
        self, state: TabularState, memory: TabularMemory, previous: Tensor, symbols: Tensor, parents: Tensor
    ) -> tuple[Tensor, TabularState]:
        """The log-probabilities R A of the next actions, and the state after this step."""
        width = len(previous) // len(memory.sources)
        rows, histories = [], []
        for row, (action, symbol, parent) in enumerate(
            zip(previous.tolist(), symbols.tolist(), parents.tolist(), strict=True)
        ):
            history = state.histories[row] + (() if action == self.num_actions else (action,))
            assert parent <= len(history), "a step that has not been taken yet"
            rows.append(self._logits(memory.sources[row // width], history, symbol, parent))
            histories.append(history)
        return self._log_softmax(rows, symbols), TabularState(tuple(histories))
