"""The encoded source."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

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
        return self.states.flatten(0, 1).index_select(0, self._places)

    def unpack(self, packed: Tensor) -> Tensor:
        """What was made of the packed states, sum(S) X, where they stand, zero at padding: B S X."""
        flat = packed.new_zeros(self.padding.numel(), packed.shape[1])  # B*S X
        return flat.index_copy(0, self._places, packed).view(*self.padding.shape, -1)

    @cached_property
    def _places(self) -> Tensor:
        return (~self.padding).flatten().nonzero().squeeze(1)  # sum(S)

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
