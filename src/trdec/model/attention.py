"""Attention over the encoder's states: which source places a hidden state attends to."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor, nn

from trdec.model.interfaces import DecoderPass, Encoding


class Attention(Protocol):
    """How a hidden state scores the places of the source."""

    def keys(self, states: Tensor) -> Tensor:
        """The keys ... H that hidden states are compared with, given the encoder's states ... C."""

    def score(self, hidden: Tensor, keys: Tensor) -> Tensor:
        """The scores B K S of hidden states B K H for keys B S H."""


class AdditiveAttention(nn.Module):
    """score(s, h) = v tanh(W s + U h) (Bahdanau et al., 2015)."""

    def __init__(self, hidden_size: int, context_size: int) -> None:
        super().__init__()
        self.query_weight = nn.Parameter(torch.empty(hidden_size, hidden_size))  # W
        self.key_weight = nn.Parameter(torch.empty(hidden_size, context_size))  # U
        self.score_weight = nn.Parameter(torch.empty(hidden_size))  # v

    def keys(self, states: Tensor) -> Tensor:
        return nn.functional.linear(states, self.key_weight)  # ... H

    def score(self, hidden: Tensor, keys: Tensor) -> Tensor:
        queries = nn.functional.linear(hidden, self.query_weight)  # B K H
        return torch.tanh(queries.unsqueeze(2) + keys.unsqueeze(1)) @ self.score_weight  # B K S


class DotAttention(nn.Module):
    """score(s, h) = s (U h) (Luong et al., 2015)."""

    def __init__(self, hidden_size: int, context_size: int) -> None:
        super().__init__()
        self.key_weight = nn.Parameter(torch.empty(hidden_size, context_size))  # U

    def keys(self, states: Tensor) -> Tensor:
        return nn.functional.linear(states, self.key_weight)  # ... H

    def score(self, hidden: Tensor, keys: Tensor) -> Tensor:
        return hidden @ keys.transpose(1, 2)  # B K S


ATTENTIONS: dict[str, type[AdditiveAttention] | type[DotAttention]] = {
    "additive": AdditiveAttention,
    "dot": DotAttention,
}


def attend(attention: Attention, hidden: Tensor, keys: Tensor, encoding: Encoding) -> tuple[Tensor, Tensor]:
    """The contexts R C of hidden states R H, and the weights R S that they are formed with.

        a = softmax over j of score(s, h[j]),  c = sum over j of a[j] h[j]

    All rows of a sentence attend to it together.
    """
    grouped = hidden.view(len(keys), -1, hidden.shape[-1])  # B K H
    scores = attention.score(grouped, keys).masked_fill(encoding.padding.unsqueeze(1), -torch.inf)  # B K S
    weights = scores.softmax(dim=-1)  # B K S
    return (weights @ encoding.states).flatten(0, 1), weights.flatten(0, 1)  # R C, R S


SMALLEST_WEIGHT = 1e-6
"""Added to attention weights before their logarithm is taken, which may be zero."""


def guidance_loss(found: DecoderPass, guide: Tensor) -> Tensor:
    """- sum over t and j of g[t, j] log a[t, j] for guides g, B T S, and the attention a of all RNNs.

    Attention learns to look where the guide says (Chen et al., 2016). Where a guide is zero it may look anywhere.
    """
    packed = found.pack(guide)  # N S
    total = packed.new_zeros(())
    for weights in found.attention.values():  # N S
        precise = weights.to(torch.promote_types(weights.dtype, packed.dtype))  # autocast may have rounded them
        total = total - (packed * torch.log(precise + SMALLEST_WEIGHT)).sum()
    return total
