"""What the softmax sees of a decoder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from trdec.model.row_spacing import turned

Contexts = Callable[..., Tensor]
"""What contexts add to the features of all places, N F, given a weight F C for those of each attention.

Made when asked for: not every readout looks at them.
"""


@dataclass(frozen=True)
class SplitReadout:
    """A readout whose contexts are multiplied before they are summed from the encoder's states."""

    states: Tensor | None  # K F   what the states are multiplied with; None if they are features as they are
    contexts: tuple[Tensor, ...]  # F C each   what multiplies each context; no rows if none is looked at

    def features(self, states: Tensor, contexts: Tensor) -> Tensor:
        """Features R F of states R K and the sum of the multiplied contexts R F."""
        return torch.tanh(states if self.states is None else torch.addmm(contexts, states, self.states))


class PaperReadout(nn.Module):
    """tanh [s_tree; s_word] (paper, section 3)."""

    def __init__(self, embedding_size: int, hidden_size: int, context_size: int) -> None:  # noqa: ARG002
        super().__init__()
        self.feature_size = 2 * hidden_size
        self.context_size = context_size

    def forward(self, rule: Tensor, rule_context: Tensor, word: Tensor, word_context: Tensor) -> Tensor:  # noqa: ARG002
        """Features R F of states R H and contexts R C."""
        return torch.tanh(torch.cat([rule, word], dim=-1))  # R 2H

    def sequence(self, rule: Tensor, word: Tensor, latest: Tensor, contexts: Contexts) -> Tensor:  # noqa: ARG002
        """The same for all places of a batch, N F, of rule states N H and the latest of word states M H."""
        return torch.tanh(torch.cat([rule, word.index_select(0, latest)], dim=1))  # N 2H

    def split(self, like: Tensor) -> SplitReadout:
        """The same, of no context."""
        return SplitReadout(None, (like.new_empty(0, self.context_size),) * 2)


class ReleasedReadout(nn.Module):
    """tanh(V [s_tree; c_tree; s_word; c_word]), as the released code of the paper's authors has it."""

    def __init__(self, embedding_size: int, hidden_size: int, context_size: int) -> None:
        super().__init__()
        self.feature_size = embedding_size
        self.projection = nn.Linear(2 * (hidden_size + context_size), embedding_size, bias=False)
        self.sizes = [hidden_size, context_size] * 2

    def forward(self, rule: Tensor, rule_context: Tensor, word: Tensor, word_context: Tensor) -> Tensor:
        """Features R F of states R H and contexts R C."""
        states = torch.cat([rule, rule_context, word, word_context], dim=-1)  # R 2H+2C
        return torch.tanh(self.projection(states))  # R E

    def sequence(self, rule: Tensor, word: Tensor, latest: Tensor, contexts: Contexts) -> Tensor:
        """The same for all places of a batch, N F, of rule states N H and the latest of word states M H.

        A word state is multiplied once for all places that look at it, an encoder state once for all contexts.
        """
        rule_weight, rule_context, word_weight, word_context = self._weights()
        # What is summed, here and in the gradients of shared states, is summed in the states' own precision.
        words = linear(word, word_weight).to(word.dtype).index_select(0, latest)  # N E
        return torch.tanh(words + linear(rule, rule_weight) + contexts(rule_context, word_context))  # N E

    def _weights(self) -> tuple[Tensor, ...]:
        return self.projection.weight.split_with_sizes(self.sizes, dim=1)

    def split(self, like: Tensor) -> SplitReadout:  # noqa: ARG002
        """The same, of states and multiplied contexts."""
        rule, rule_context, word, word_context = self._weights()
        return SplitReadout(turned(torch.cat([rule, word], dim=1)), (rule_context, word_context))


class SequenceReadout(nn.Module):
    """tanh(V [s; c]) (Luong et al., 2015)."""

    def __init__(self, embedding_size: int, hidden_size: int, context_size: int) -> None:
        super().__init__()
        self.feature_size = embedding_size
        self.projection = nn.Linear(hidden_size + context_size, embedding_size, bias=False)
        self.sizes = [hidden_size, context_size]

    def forward(self, hidden: Tensor, context: Tensor) -> Tensor:
        """Features R F of states R H and contexts R C."""
        return torch.tanh(self.projection(torch.cat([hidden, context], dim=-1)))  # R E

    def sequence(self, hidden: Tensor, contexts: Contexts) -> Tensor:
        """The same for all places of a batch, N F, of states N H."""
        state, context = self._weights()
        return torch.tanh(linear(hidden, state).to(hidden.dtype) + contexts(context))  # N E

    def _weights(self) -> tuple[Tensor, ...]:
        return self.projection.weight.split_with_sizes(self.sizes, dim=1)

    def split(self) -> SplitReadout:
        """The same, of states and multiplied contexts."""
        state, context = self._weights()
        return SplitReadout(turned(state), (context,))


TREE_READOUTS: dict[str, type[PaperReadout] | type[ReleasedReadout]] = {
    "paper": PaperReadout,
    "released": ReleasedReadout,
}
