"""The encoded source."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor


@dataclass(frozen=True)
class Memory:
    """What a decoder may look at: the encoder's states and what a decoder made of them once for all steps."""

    states: Tensor  # B S C
    padding: Tensor  # B S   true = ignore
    lengths: Tensor  # B
    final_hidden: Tensor  # B C   of the last layer, forward and backward direction
    final_cells: Tensor  # B C
    keys: tuple[Tensor, ...] = ()  # B S H each: the states as the decoder's attentions compare them

    def packed_states(self) -> Tensor:
        """The states without padding, sentence after sentence: sum(S) C."""
        return self.states[~self.padding]

    def select(self, sentences: Tensor) -> Memory:
        """These sentences in this order."""
        return replace(
            self,
            states=self.states[sentences],
            padding=self.padding[sentences],
            lengths=self.lengths[sentences],
            final_hidden=self.final_hidden[sentences],
            final_cells=self.final_cells[sentences],
            keys=tuple(keys[sentences] for keys in self.keys),
        )
