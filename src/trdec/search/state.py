"""Many derivations, extended together step by step: what beam search and sampling share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from trdec.data.batch import SourceBatch
from trdec.model.interfaces import Memory, ModelState, SearchModel
from trdec.search.frontiers import PIECES, STEPS, Effects, Frontiers
from trdec.search.limits import Bounds


class Constraint(Protocol):
    """A requirement on derivations beyond being legal."""

    @property
    def least(self) -> Tensor | None:
        """B M: the least that each sentence's derivation must have of each measure; None if there is no minimum."""

    def to(self, device: torch.device) -> Constraint:
        """The same on another device."""

    def forbidden(self, state: SearchState) -> Tensor | None:
        """R A: the actions that may not be taken now, true = forbidden; None if all are allowed."""


@dataclass(frozen=True)
class SearchState:
    """The state of each row: the rows of a sentence are adjacent, and every sentence has equally many."""

    model: SearchModel
    effects: Effects
    constraints: tuple[Constraint, ...]
    memory: Memory
    sentences: Tensor  # B   the numbers of those still in the search
    bounds: Bounds
    state: ModelState
    frontiers: Frontiers
    previous: Tensor  # R   the action just taken
    used: Tensor  # R M   how much of each measure has been written
    cut_short: Tensor  # R bool   whether the length limit ruled out the row's most probable action

    @classmethod
    def start(
        cls,
        model: SearchModel,
        effects: Effects,
        source: SourceBatch,
        bounds: Bounds,
        constraints: Sequence[Constraint] = (),
    ) -> SearchState:
        """The state before the first action, one row per sentence."""
        constraints = tuple(constraint.to(source.device) for constraint in constraints)
        for constraint in constraints:
            if constraint.least is not None:
                bounds = bounds.at_least(constraint.least)
        memory = model.encode(source)
        sentences = torch.arange(len(source), device=source.device)  # B
        return cls(
            model=model,
            effects=effects,
            constraints=constraints,
            memory=memory,
            sentences=sentences,
            bounds=bounds,
            state=model.start(memory),
            frontiers=Frontiers.start(effects, len(source)),
            previous=torch.full_like(sentences, model.num_actions),
            used=sentences.new_zeros(len(source), effects.gains.shape[1]),
            cut_short=torch.zeros_like(sentences, dtype=torch.bool),
        )

    @property
    def width(self) -> int:
        """The number of rows per sentence."""
        return self.previous.shape[0] // self.sentences.shape[0]

    @property
    def pieces_written(self) -> Tensor:
        """R: the number of words written, or of subwords where words are segmented."""
        return self.used[:, PIECES]

    def row_sentences(self) -> Tensor:
        """R: the number of each row's sentence."""
        return self.sentences.repeat_interleave(self.width)

    def step(self) -> tuple[Tensor, SearchState]:
        """The model's log-probabilities R A, -inf for every action that may not follow, and the state at this step."""
        log_probs, state = self.model.step(
            self.state, self.memory, self.previous, self.frontiers.symbols, self.frontiers.parents
        )  # R A
        log_probs.index_fill_(1, self.effects.banned, -torch.inf)
        for constraint in self.constraints:
            log_probs = _without(log_probs, constraint.forbidden(self))
        needs_below = self.frontiers.needs_below  # R M
        log_probs = _without(log_probs, self.bounds.too_short(self.effects, self.used, needs_below))
        too_long = self.bounds.too_long(self.effects, self.used, needs_below)  # R A
        cut_short = self.cut_short
        if too_long is not None:
            wanted = log_probs.argmax(dim=1, keepdim=True)  # R 1
            cut_short = cut_short | too_long.gather(1, wanted).squeeze(1)  # R
            log_probs = _without(log_probs, too_long)
        return log_probs, replace(self, state=state, cut_short=cut_short)

    def take(self, rows: Tensor, actions: Tensor, kept: Tensor | None = None) -> SearchState:
        """These rows, each after its action; `kept` are the places of the sentences that stay, if some leave."""
        chosen = self.select(rows, kept)
        used = chosen.used + self.effects.gains[actions]  # R M
        return replace(chosen, frontiers=chosen.frontiers.advance(actions, used[:, STEPS]), previous=actions, used=used)

    def select(self, rows: Tensor, kept: Tensor | None = None) -> SearchState:
        """These rows in this order; `kept` are the places of the sentences that stay, if some leave."""
        return replace(
            self,
            memory=self.memory if kept is None else self.memory.select(kept),
            sentences=self.sentences if kept is None else self.sentences[kept],
            bounds=self.bounds if kept is None else self.bounds.select(kept),
            state=self.state.select(rows),
            frontiers=self.frontiers.select(rows),
            previous=self.previous[rows],
            used=self.used[rows],
            cut_short=self.cut_short[rows],
        )


def _without(log_probs: Tensor, forbidden: Tensor | None) -> Tensor:
    return log_probs if forbidden is None else log_probs.masked_fill_(forbidden, -torch.inf)
