"""Attention over the encoder's states: the definition of each kind."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor, nn

from trdec.model.attention_tape import AdditiveTape, AttentionTape, DotTape
from trdec.model.block_attention_tape import AdditiveBlockTape, fits_blocks
from trdec.model.memory import Memory
from trdec.model.row_attention import AdditiveComparison, Comparison, DotComparison


class Attention(Protocol):
    """How a hidden state scores the places of the source."""

    def keys(self, states: Tensor) -> Tensor:
        """The encoder's states ... C as they are compared: ... H."""

    def queries(self, hidden: Tensor) -> Tensor:
        """Hidden states ... H as they are compared: ... H."""

    def compare(self, queries: Tensor, keys: Tensor) -> Tensor:
        """The scores B K S of queries B K H."""

    def parameters_in_loop(self) -> tuple[Tensor, ...]:
        """What the tape needs besides the keys."""

    def tape(self, keys: Tensor, lengths: list[int], places: int, parameters: tuple[Tensor, ...]) -> AttentionTape:
        """The fast form of this attention over keys B S H, for so many places of a recurrence."""

    def comparison(self, keys: Tensor) -> Comparison:
        """The fast form of comparing with these keys N H in a search."""


class AdditiveAttention(nn.Module):
    """score(s, h) = v tanh(W s + U h) (Bahdanau et al., 2015)."""

    def __init__(self, hidden_size: int, context_size: int) -> None:
        super().__init__()
        self.query_weight = nn.Parameter(torch.empty(hidden_size, hidden_size))  # W
        self.key_weight = nn.Parameter(torch.empty(hidden_size, context_size))  # U
        self.score_weight = nn.Parameter(torch.empty(hidden_size))  # v

    def keys(self, states: Tensor) -> Tensor:
        return nn.functional.linear(states, self.key_weight)  # ... H

    def queries(self, hidden: Tensor) -> Tensor:
        return nn.functional.linear(hidden, self.query_weight)  # ... H

    def compare(self, queries: Tensor, keys: Tensor) -> Tensor:
        return (queries.unsqueeze(2) + keys.unsqueeze(1)).tanh_() @ self.score_weight  # B K S

    def parameters_in_loop(self) -> tuple[Tensor, ...]:
        return self.query_weight, self.score_weight

    def tape(self, keys: Tensor, lengths: list[int], places: int, parameters: tuple[Tensor, ...]) -> AttentionTape:
        kind = AdditiveBlockTape if fits_blocks(*keys.shape[1:]) else AdditiveTape
        return kind(keys, lengths, places, parameters)

    def comparison(self, keys: Tensor) -> Comparison:
        return AdditiveComparison(keys, self.query_weight, self.score_weight)


class DotAttention(nn.Module):
    """score(s, h) = s (U h) (Luong et al., 2015)."""

    def __init__(self, hidden_size: int, context_size: int) -> None:
        super().__init__()
        self.key_weight = nn.Parameter(torch.empty(hidden_size, context_size))  # U

    def keys(self, states: Tensor) -> Tensor:
        return nn.functional.linear(states, self.key_weight)  # ... H

    def queries(self, hidden: Tensor) -> Tensor:
        return hidden

    def compare(self, queries: Tensor, keys: Tensor) -> Tensor:
        return queries @ keys.transpose(1, 2)  # B K S

    def parameters_in_loop(self) -> tuple[Tensor, ...]:
        return ()

    def tape(self, keys: Tensor, lengths: list[int], places: int, parameters: tuple[Tensor, ...]) -> AttentionTape:
        return DotTape(keys, lengths, places, parameters)

    def comparison(self, keys: Tensor) -> Comparison:
        return DotComparison(keys)


ATTENTIONS: dict[str, type[AdditiveAttention] | type[DotAttention]] = {
    "additive": AdditiveAttention,
    "dot": DotAttention,
}


def attend(attention: Attention, hidden: Tensor, keys: Tensor, memory: Memory) -> Tensor:
    """The context vectors R C of hidden states R H; all rows of a sentence look at it together.

    c = sum over j of softmax(score(s, h))[j] h[j]
    """
    grouped = hidden.view(len(keys), -1, hidden.shape[-1])  # B K H
    scores = attention.compare(attention.queries(grouped), keys)  # B K S
    scores = scores.masked_fill(memory.padding.unsqueeze(1), -torch.inf)
    return (scores.softmax(dim=-1) @ memory.states).flatten(0, 1)  # R C
