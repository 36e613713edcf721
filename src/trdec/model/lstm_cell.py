"""The LSTM cell: its parameters and its definition."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class LSTMCell(nn.Module):
    """One step of an LSTM whose input x is the concatenation of named parts.

        i, f, o = sigmoid(W x + U h + b),  g = tanh(W x + U h + b)
        c' = f c + i g,  h' = o tanh(c')

    Each part has its own matrix, since W [x1; x2] = W1 x1 + W2 x2 and some parts are projected less often than
    the LSTM steps. The rows of the weights hold the gates in the order i, f, o, g, so that one sigmoid covers three
    of them.
    """

    def __init__(self, part_sizes: dict[str, int], hidden_size: int) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.input_weights = nn.ParameterDict(
            {name: nn.Parameter(torch.empty(4 * hidden_size, size)) for name, size in part_sizes.items()}
        )
        self.hidden_weight = nn.Parameter(torch.empty(4 * hidden_size, hidden_size))
        self.bias = nn.Parameter(torch.empty(4 * hidden_size))

    def forward(self, parts: dict[str, Tensor], recurrent: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """The next hidden state and cell, R H each, given input parts R I, a hidden state R H and a cell R H."""
        gates = functional.linear(recurrent, self.hidden_weight, self.bias)  # R 4H
        for name, weight in self.input_weights.items():
            gates = gates + functional.linear(parts[name], weight)  # R 4H
        i, f, o, g = gates.chunk(4, dim=-1)  # R H each
        cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(cell), cell
