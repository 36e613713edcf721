"""The rule RNN: tracks the topology of the tree."""

from __future__ import annotations

from torch import Tensor, nn

from trdec.model.attention import ATTENTIONS
from trdec.model.lstm_cell import LSTMCell


class RuleRNN(nn.Module):
    """The rule RNN (paper, section 3), which advances at every step.

        s_tree[t] = LSTM([y[t-1]; c[t-1]; s_tree[p]; s_word], s_tree[t-1])

    y[t-1] embeds the previous action, a rule or a subword; p is the step whose rule opened the current node; s_word is
    the word RNN's state at its most recent step before t.
    """

    def __init__(self, embedding_size: int, hidden_size: int, context_size: int, attention: str) -> None:
        super().__init__()
        self.cell = LSTMCell(
            {"action": embedding_size, "context": context_size, "parent": hidden_size, "word": hidden_size},
            hidden_size,
        )
        self.attention = ATTENTIONS[attention](hidden_size, context_size)

    def forward(
        self,
        previous: Tensor,  # R E
        context: Tensor,  # R C
        parent: Tensor,  # R H
        word: Tensor,  # R H
        recurrent: Tensor,  # R H
        cell: Tensor,  # R H
    ) -> tuple[Tensor, Tensor]:
        """The state and the cell after the step, R H each."""
        hidden, cell = self.cell(
            {"action": previous, "context": context, "parent": parent, "word": word}, recurrent, cell
        )
        return hidden, cell
