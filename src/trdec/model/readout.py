"""What the softmax sees of a decoder."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

Context = Callable[[], Tensor]
"""Context vectors R C, made when asked for: not every readout looks at them."""


class PaperReadout(nn.Module):
    """tanh [s_tree; s_word] (paper, section 3)."""

    def __init__(self, embedding_size: int, hidden_size: int, context_size: int) -> None:  # noqa: ARG002
        super().__init__()
        self.feature_size = 2 * hidden_size

    def forward(self, rule: Tensor, rule_context: Context, word: Tensor, word_context: Context) -> Tensor:  # noqa: ARG002
        """Features R F of states R H and contexts R C."""
        return torch.tanh(torch.cat([rule, word], dim=-1))  # R 2H


class ReleasedReadout(nn.Module):
    """tanh(V [s_tree; c_tree; s_word; c_word]), as the released code of the paper's authors has it."""

    def __init__(self, embedding_size: int, hidden_size: int, context_size: int) -> None:
        super().__init__()
        self.feature_size = embedding_size
        self.projection = nn.Linear(2 * (hidden_size + context_size), embedding_size, bias=False)

    def forward(self, rule: Tensor, rule_context: Context, word: Tensor, word_context: Context) -> Tensor:
        """Features R F of states R H and contexts R C."""
        states = torch.cat([rule, rule_context(), word, word_context()], dim=-1)  # R 2H+2C
        return torch.tanh(self.projection(states))  # R E


class SequenceReadout(nn.Module):
    """tanh(V [s; c]) (Luong et al., 2015)."""

    def __init__(self, embedding_size: int, hidden_size: int, context_size: int) -> None:
        super().__init__()
        self.feature_size = embedding_size
        self.projection = nn.Linear(hidden_size + context_size, embedding_size, bias=False)

    def forward(self, hidden: Tensor, context: Tensor) -> Tensor:
        """Features R F of states R H and contexts R C."""
        return torch.tanh(self.projection(torch.cat([hidden, context], dim=-1)))  # R E


TREE_READOUTS: dict[str, type[PaperReadout] | type[ReleasedReadout]] = {
    "paper": PaperReadout,
    "released": ReleasedReadout,
}
