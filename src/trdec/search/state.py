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


@dataclass(frozen=True)
class Due:
    """What is demanded of the completion after each action; each R A, or None for nothing."""

    steps: Tensor | None = None
    """How many steps it takes without further words."""
    pieces: Tensor | None = None
    """How many pieces are among these."""
    words: Tensor | None = None
    """How many pieces must begin words. The phrases of the shortest completion can begin with them."""
    attached: Tensor | None = None
    """How many pieces must come besides that begin no word, but can begin phrases."""
    within: Tensor | None = None
    """How many pieces must come besides that can begin neither."""


class Constraint(Protocol):
    """A requirement on derivations beyond being legal."""

    @property
    def amounts(self) -> Tensor:
        """B M: how much each sentence's derivation must have of each measure."""

    def to(self, device: torch.device) -> Constraint:
        """The same on another device."""

    def forbidden(self, state: SearchState) -> Tensor | None:
        """R A: the actions that may not be taken now, true = forbidden; None if all are allowed."""

    def due(self, state: SearchState) -> Due | None:
        """What is still due after each action; None if nothing is."""


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
    last_piece: Tensor  # R   the action that wrote the last piece; the number of actions where none has been written
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
            bounds = bounds.at_least(constraint.amounts)
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
            last_piece=torch.full_like(sentences, model.num_actions),
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
        if self.effects.has_bare and bool((begun := self.effects.bare[self.previous]).any()):
            log_probs.masked_fill_(begun.unsqueeze(1) & ~self.effects.letters, -torch.inf)
        for constraint in self.constraints:
            log_probs = _without(log_probs, constraint.forbidden(self))
        needs_below = self.frontiers.needs_below  # R M
        log_probs = _without(log_probs, self.bounds.too_short(self.effects, self.used, needs_below))
        too_long = self.bounds.too_long(self.effects, self.used, needs_below, self._lacking())  # R A
        cut_short = self.cut_short
        if too_long is not None:
            wanted = log_probs.argmax(dim=1, keepdim=True)  # R 1
            cut_short = cut_short | too_long.gather(1, wanted).squeeze(1)  # R
            log_probs = _without(log_probs, too_long)
        return log_probs, replace(self, state=state, cut_short=cut_short)

    def _lacking(self) -> Tensor | None:
        """R A: how many steps, beyond the shortest completion after an action, all constraints take; None if none."""
        found = [each for constraint in self.constraints if (each := constraint.due(self)) is not None]
        if not found:
            return None
        needs = self.frontiers.needs_below.unsqueeze(1) + self.effects.needs_after  # R A M
        shortest = steps = needs[..., STEPS]  # R A
        pieces = needs[..., PIECES]  # R A
        words, attached, within = (torch.zeros_like(steps) for _ in range(3))  # R A
        for due in found:
            steps = steps if due.steps is None else torch.maximum(steps, due.steps)
            pieces = pieces if due.pieces is None else torch.maximum(pieces, due.pieces)
            words = words if due.words is None else torch.maximum(words, due.words)
            attached = attached if due.attached is None else attached + due.attached
            within = within if due.within is None else within + due.within
        return steps - shortest + (words + attached - pieces).clamp(min=0) + within

    def take(self, rows: Tensor, actions: Tensor, kept: Tensor | None = None) -> SearchState:
        """These rows, each after its action; `kept` are the places of the sentences that stay, if some leave."""
        chosen = self.select(rows, kept)
        used = chosen.used + self.effects.gains[actions]  # R M
        return replace(
            chosen,
            frontiers=chosen.frontiers.advance(actions, used[:, STEPS]),
            previous=actions,
            last_piece=torch.where(self.effects.gains[actions, PIECES] > 0, actions, chosen.last_piece),
            used=used,
        )

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
            last_piece=self.last_piece[rows],
            used=self.used[rows],
            cut_short=self.cut_short[rows],
        )


def _without(log_probs: Tensor, forbidden: Tensor | None) -> Tensor:
    return log_probs if forbidden is None else log_probs.masked_fill_(forbidden, -torch.inf)
