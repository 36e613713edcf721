"""How contexts enter the features of all places of a batch."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import linear

from trdec.model.memory import Memory
from trdec.model.packing import Packing


def context_features(memory: Memory, packing: Packing, attention: tuple[Tensor, ...], *weights: Tensor) -> Tensor:
    """N F: the sum over the attentions of V c = sum over j of a[j] (V h[j]), for a N S and V F C of each.

    A source has fewer places than its derivation has steps, so its states are multiplied, not the contexts.
    """
    states, num_steps = memory.packed_states(), len(packing.counts)  # sum(S) C
    total = None
    for places, weight in zip(attention, weights, strict=True):
        seen = memory.unpack(linear(states, weight))  # B S F
        added = packing.unpack(places, num_steps).bmm(seen)  # B T F
        total = added if total is None else total + added
    assert total is not None
    return packing.pack(total)
