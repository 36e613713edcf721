"""How an RNN of the decoder starts from the encoder's end."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from trdec.model.memory import Memory


class Bridge(nn.Module):
    """c = W [c_forward; c_backward] + b,  s = tanh(c), as the released code of the paper's authors has it."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.projection = nn.Linear(2 * hidden_size, hidden_size)

    def forward(self, memory: Memory) -> tuple[Tensor, Tensor]:
        """Hidden state and cell, B H each."""
        cell = self.projection(memory.final_cells)  # B H
        return torch.tanh(cell), cell


class LastState(nn.Module):
    """The encoder's last hidden state and cell (paper, section 2), of the two directions the mean."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.hidden_size = hidden_size

    def forward(self, memory: Memory) -> tuple[Tensor, Tensor]:
        """Hidden state and cell, B H each."""
        directions = (-1, 2, self.hidden_size)
        return (
            memory.final_hidden.view(directions).mean(dim=1),  # B H
            memory.final_cells.view(directions).mean(dim=1),  # B H
        )


STARTS: dict[str, type[Bridge] | type[LastState]] = {"bridge": Bridge, "last_state": LastState}
