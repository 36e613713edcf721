"""The encoded source as a search uses it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from trdec.model.row_attention import Sight


@dataclass(frozen=True)
class SearchMemory:
    """Where a decoder's RNNs start and what they look at; sentences that leave copy nothing of the others."""

    stepper: Any  # what made this, and takes steps over it
    starts: tuple[Tensor, ...]  # B H each   the hidden states, then the cells
    sights: tuple[Sight, ...]  # one an RNN

    def select(self, sentences: Tensor) -> SearchMemory:
        """These sentences in this order."""
        numbers = sentences.tolist()
        return SearchMemory(
            self.stepper,
            tuple(start[sentences] for start in self.starts),
            tuple(sight.select(numbers) for sight in self.sights),
        )
