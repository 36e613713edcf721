"""Several models as one: the mean of their probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from trdec.errors import UsageError
from trdec.search.state import SearchModel


@dataclass(frozen=True)
class EnsembleMemory:
    """What each model made of the source."""

    members: tuple[Any, ...]

    def select(self, sentences: Tensor) -> EnsembleMemory:
        """These sentences in this order."""
        return EnsembleMemory(tuple(memory.select(sentences) for memory in self.members))


class _Addresses:
    """An append-only table from an address of the ensemble to the address that each model has for it."""

    def __init__(self, num_members: int, device: torch.device) -> None:
        self._table = torch.zeros(1, num_members, dtype=torch.long, device=device)  # address 0 is none for all

    def append(self, members: Tensor) -> Tensor:
        """The addresses R of rows R n."""
        begin = len(self._table)
        self._table = torch.cat([self._table, members])
        return torch.arange(begin, len(self._table), device=members.device)

    def at(self, addresses: Tensor) -> Tensor:
        """R n: what each model calls these."""
        return self._table[addresses]


@dataclass(frozen=True)
class EnsembleState:
    """Where each model stands."""

    members: tuple[Any, ...]
    here: Tensor  # R
    addresses: _Addresses

    def select(self, rows: Tensor) -> EnsembleState:
        """These rows in this order; addresses keep their meaning."""
        return EnsembleState(tuple(state.select(rows) for state in self.members), self.here[rows], self.addresses)


class Ensemble:
    """p(action) = the mean of the models' p(action); they must have the same actions, in the same order."""

    def __init__(self, models: Sequence[SearchModel]) -> None:
        sizes = {model.num_actions for model in models}
        if len(sizes) != 1:
            raise UsageError(
                "models can be used together only if they have the same target vocabulary and grammar; found "
                f"{len(models)} models with {sorted(sizes)} actions."
            )
        self.num_actions = sizes.pop()
        self.models = tuple(models)

    def encode(self, source: Tensor, source_lengths: Tensor) -> EnsembleMemory:
        """What each model makes of sources B S of these lengths B."""
        return EnsembleMemory(tuple(model.encode(source, source_lengths) for model in self.models))

    def start(self, memory: EnsembleMemory) -> EnsembleState:
        """The states before the first step, one row a sentence."""
        members = tuple(m.start(own) for m, own in zip(self.models, memory.members, strict=True))
        here = torch.zeros_like(members[0].here)
        return EnsembleState(members, here, _Addresses(len(members), here.device))

    def step(
        self, state: EnsembleState, memory: EnsembleMemory, previous: Tensor, symbols: Tensor, parents: Tensor
    ) -> tuple[Tensor, EnsembleState]:
        """Log-probabilities R A of the next action, and the states after it."""
        own_parents = state.addresses.at(parents)  # R n
        steps = [
            model.step(own_state, own_memory, previous, symbols, own_parents[:, number])
            for number, (model, own_state, own_memory) in enumerate(
                zip(self.models, state.members, memory.members, strict=True)
            )
        ]
        log_probs = torch.stack([each for each, _ in steps]).logsumexp(dim=0) - math.log(len(steps))  # R A
        members = tuple(after for _, after in steps)
        here = state.addresses.append(torch.stack([after.here for after in members], dim=1))  # R
        return log_probs, EnsembleState(members, here, state.addresses)
