"""Sentence pairs as tensors."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """Some sentences with the steps that write them; padded places hold 0.

    Axes: B sentences, S source pieces, T steps.
    """

    source: Tensor  # B S   piece ids
    source_lengths: Tensor  # B
    actions: Tensor  # B T   action ids
    symbols: Tensor  # B T   what is open when the action is chosen: a row of the legal table
    parents: Tensor  # B T   1 + the step whose rule opened the symbol; 0 = none
    padding: Tensor  # B T   true = ignore

    @property
    def num_sentences(self) -> int:
        """B."""
        return self.actions.shape[0]

    @property
    def num_actions(self) -> int:
        """The number of steps that are not padding."""
        return int((~self.padding).sum())

    def to(self, device: torch.device | str) -> Batch:
        """The same batch on another device."""
        return Batch(**{field.name: getattr(self, field.name).to(device) for field in fields(self)})
