"""The readout: from a decoder's states and contexts to the features that the softmax takes."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn


class PaperReadout(nn.Module):
    """tanh [s_tree; s_word] (paper, section 3)."""

    def __init__(self, embedding_size: int, hidden_size: int, context_size: int) -> None:  # noqa: ARG002
        super().__init__()
        self.feature_size = 2 * hidden_size

    def forward(
        self,
        writing: Tensor,  # noqa: ARG002
        rule: Tensor,
        rule_context: Tensor,  # noqa: ARG002
        word: Tensor,
        word_context: Tensor,  # noqa: ARG002
    ) -> Tensor:
        """Features R F of states R H and contexts R C."""
        return torch.tanh(torch.cat([rule, word], dim=-1))  # R 2H

    def projections(self) -> list[tuple[Tensor, ...]]:
        """None: the states are the features."""
        return []


class ProjectedReadout(nn.Module):
    """tanh(V [s; c]) over the states and contexts of all RNNs; with one RNN, the readout of Luong et al. (2015)."""

    def __init__(self, num_rnns: int, embedding_size: int, hidden_size: int, context_size: int) -> None:
        super().__init__()
        self.feature_size = embedding_size
        self.projection = nn.Linear(num_rnns * (hidden_size + context_size), embedding_size, bias=False)  # V
        self.sizes = [hidden_size, context_size] * num_rnns

    def forward(self, *states: Tensor) -> Tensor:
        """Features R F of each RNN's states R H and contexts R C."""
        return torch.tanh(self.projection(torch.cat(states, dim=-1)))  # R E

    def projections(self) -> list[tuple[Tensor, ...]]:
        """The parts of V: for each RNN, what multiplies its states, F H, and its contexts, F C."""
        return [self.projection.weight.split_with_sizes(self.sizes, dim=1)]


class ReleasedReadout(nn.Module):
    """tanh(V [s_tree; c_tree; s_word; c_word]), with one V where a rule is due and another where a word is.

    This is the readout of the authors' released code. The softmax's W follows either.
    """

    def __init__(self, embedding_size: int, hidden_size: int, context_size: int) -> None:
        super().__init__()
        self.feature_size = embedding_size
        self.rule = ProjectedReadout(2, embedding_size, hidden_size, context_size)
        self.word = ProjectedReadout(2, embedding_size, hidden_size, context_size)

    def forward(self, writing: Tensor, *states: Tensor) -> Tensor:
        """Features R F of both RNNs' states R H and contexts R C; `writing` R says where a word is due."""
        return torch.where(writing.unsqueeze(1), self.word(*states), self.rule(*states))  # R E

    def projections(self) -> list[tuple[Tensor, ...]]:
        """The parts of V where a rule is due, and where a word is."""
        return [*self.rule.projections(), *self.word.projections()]


TreeReadout = PaperReadout | ReleasedReadout
TREE_READOUTS: dict[str, type[TreeReadout]] = {"paper": PaperReadout, "released": ReleasedReadout}


def with_two_projections(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a network whose readout may have one V for rules and words, as trdec 0.1 wrote it, with two.

    Both are that one V: the network computes what it did.
    """
    converted = dict(weights)
    if "decoder.rule_rnn.cell.bias" in weights and "decoder.readout.projection.weight" in weights:
        shared = converted.pop("decoder.readout.projection.weight")
        for kind in ("rule", "word"):
            converted[f"decoder.readout.{kind}.projection.weight"] = shared.clone()
    return converted
