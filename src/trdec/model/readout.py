"""The readout: from a decoder's states and contexts to the features that the softmax takes."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class PaperReadout(nn.Module):
    """tanh [s_tree; s_word] (paper, section 3)."""

    def __init__(self, embedding_size: int, hidden_size: int, context_size: int) -> None:  # noqa: ARG002
        super().__init__()
        self.feature_size = 2 * hidden_size

    def forward(self, rule: Tensor, rule_context: Tensor, word: Tensor, word_context: Tensor) -> Tensor:  # noqa: ARG002
        """Features R F of states R H and contexts R C."""
        return torch.tanh(torch.cat([rule, word], dim=-1))  # R 2H

    def projections(self) -> None:
        """None: the states are the features, without a projection."""


class ProjectedReadout(nn.Module):
    """tanh(V [s; c]) over the states and contexts of all RNNs.

    With two RNNs this is tanh(V [s_tree; c_tree; s_word; c_word]), as in the authors' released code; with one,
    the readout of Luong et al. (2015).
    """

    def __init__(self, num_rnns: int, embedding_size: int, hidden_size: int, context_size: int) -> None:
        super().__init__()
        self.feature_size = embedding_size
        self.projection = nn.Linear(num_rnns * (hidden_size + context_size), embedding_size, bias=False)  # V
        self.sizes = [hidden_size, context_size] * num_rnns

    def forward(self, *states: Tensor) -> Tensor:
        """Features R F of each RNN's states R H and contexts R C."""
        return torch.tanh(self.projection(torch.cat(states, dim=-1)))  # R E

    def projections(self) -> tuple[Tensor, ...]:
        """The parts of V: for each RNN, what multiplies its states, F H, and its contexts, F C."""
        return self.projection.weight.split_with_sizes(self.sizes, dim=1)


Readout = PaperReadout | ProjectedReadout


def tree_readout(kind: str, embedding_size: int, hidden_size: int, context_size: int) -> Readout:
    """The tree decoder's readout of this name."""
    if kind == "paper":
        return PaperReadout(embedding_size, hidden_size, context_size)
    return ProjectedReadout(2, embedding_size, hidden_size, context_size)
