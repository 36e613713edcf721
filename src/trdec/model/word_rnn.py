"""The word RNN: tracks the words at the leaves of the tree."""

from __future__ import annotations

from torch import Tensor, nn

from trdec.model.attention import ATTENTIONS
from trdec.model.lstm_cell import LSTMCell


class WordRNN(nn.Module):
    """The word RNN (paper, section 3), which advances when it is invoked to write a subword or `<eop>`.

        s_word[t] = LSTM([s_tree[p]; w[t-1]; c[t-1]], s_word[t-1])

    p is the step whose rule opened the phrase being written; t - 1 is the word RNN's own previous step.
    """

    def __init__(self, embedding_size: int, hidden_size: int, context_size: int, attention: str) -> None:
        super().__init__()
        self.cell = LSTMCell({"parent": hidden_size, "action": embedding_size, "context": context_size}, hidden_size)
        self.attention = ATTENTIONS[attention](hidden_size, context_size)

    def forward(
        self,
        parent: Tensor,  # R H
        previous: Tensor,  # R E
        context: Tensor,  # R C
        recurrent: Tensor,  # R H
        cell: Tensor,  # R H
    ) -> tuple[Tensor, Tensor]:
        """The state and the cell after the step, R H each."""
        hidden, cell = self.cell({"parent": parent, "action": previous, "context": context}, recurrent, cell)
        return hidden, cell
