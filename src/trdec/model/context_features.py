"""How contexts enter the features of all places of a batch."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import linear

from trdec.model.memory import Memory
from trdec.model.packing import Packing


def context_features(
    memory: Memory,
    source: Tensor,  # sum(S) C   the memory's packed states
    packing: Packing,
    attention: Sequence[Tensor],  # N S each
    weights: Sequence[Tensor],  # F C each
) -> Tensor:
    """N F: the sum over the attentions of V c = sum over j of a[j] (V h[j]).

    The states are multiplied, not the contexts: they are fewer in a tree, and F is smaller than C.
    """
    seen = torch.cat([memory.unpack(linear(source, weight)) for weight in weights], dim=1)  # B kS F
    looking = packing.unpack(torch.cat(list(attention), dim=1), len(packing.counts))  # B T kS
    return packing.pack(looking.bmm(seen.to(looking.dtype)))
