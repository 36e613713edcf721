"""Several models as one: the mean of their probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from trdec.data.batch import SourceBatch
from trdec.errors import UsageError
from trdec.model.interfaces import Memory, ModelState, SearchModel


@dataclass(frozen=True)
class EnsembleMemory:
    """Each model's memory of the source."""

    members: tuple[Memory, ...]

    def select(self, sentences: Tensor) -> EnsembleMemory:
        """These sentences in this order."""
        return EnsembleMemory(tuple(memory.select(sentences) for memory in self.members))


@dataclass(frozen=True)
class EnsembleState:
    """Each model's state."""

    members: tuple[ModelState, ...]

    def select(self, rows: Tensor) -> EnsembleState:
        """These rows in this order."""
        return EnsembleState(tuple(state.select(rows) for state in self.members))


class Ensemble:
    """p(action) = the mean of the models' p(action); they must have the same actions, in the same order."""

    def __init__(self, models: Sequence[SearchModel]) -> None:
        sizes = {model.num_actions for model in models}
        if len(sizes) != 1:
            raise UsageError(
                "models can be combined only if they have the same target vocabulary and grammar, found "
                f"{len(models)} models with {sorted(sizes)} actions."
            )
        self.num_actions = sizes.pop()
        self.models = tuple(models)

    def encode(self, source: SourceBatch) -> EnsembleMemory:
        """Each model's memory of the sources."""
        return EnsembleMemory(tuple(model.encode(source) for model in self.models))

    def start(self, memory: EnsembleMemory) -> EnsembleState:
        """The states before the first step, one row per sentence."""
        return EnsembleState(tuple(m.start(own) for m, own in zip(self.models, memory.members, strict=True)))

    def step(
        self, state: EnsembleState, memory: EnsembleMemory, previous: Tensor, symbols: Tensor, parents: Tensor
    ) -> tuple[Tensor, EnsembleState]:
        """Log-probabilities R A of the next action, and the states after it."""
        steps = [
            model.step(own_state, own_memory, previous, symbols, parents)
            for model, own_state, own_memory in zip(self.models, state.members, memory.members, strict=True)
        ]
        log_probs = torch.stack([each for each, _ in steps]).logsumexp(dim=0) - math.log(len(steps))  # R A
        return log_probs, EnsembleState(tuple(after for _, after in steps))
