"""How the decoder's RNNs start from the encoder's final state."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from trdec.errors import UsageError
from trdec.model.interfaces import Encoding, Summary


class Bridge(nn.Module):
    """c = W z + b,  s = tanh(c), where z is the encoder's final cell, as in the authors' released code."""

    def __init__(self, hidden_size: int, context_size: int) -> None:
        super().__init__()
        self.projection = nn.Linear(context_size, hidden_size)

    def forward(self, encoding: Encoding) -> tuple[Tensor, Tensor]:
        """Hidden state and cell, B H each."""
        cell = self.projection(summary_of(encoding).cell)  # B H
        return torch.tanh(cell), cell


class LastState(nn.Module):
    """The encoder's last hidden state and cell (paper, section 2), averaged over the two directions."""

    def __init__(self, hidden_size: int, context_size: int) -> None:
        super().__init__()
        if context_size % hidden_size:
            raise UsageError(
                f"start: last_state needs encoder states whose size is a multiple of hidden_size, {hidden_size}; "
                f"this encoder's states have size {context_size}. Choose start: bridge."
            )
        self.directions = (-1, context_size // hidden_size, hidden_size)

    def forward(self, encoding: Encoding) -> tuple[Tensor, Tensor]:
        """Hidden state and cell, B H each."""
        summary = summary_of(encoding)
        return summary.hidden.view(self.directions).mean(dim=1), summary.cell.view(self.directions).mean(dim=1)


def summary_of(encoding: Encoding) -> Summary:
    """The encoder's summary of the source; where it gives none, both vectors are the mean of its states."""
    if encoding.summary is not None:
        return encoding.summary
    mean = encoding.states.sum(dim=1) / encoding.lengths.unsqueeze(1)  # B C
    return Summary(mean, mean)


STARTS: dict[str, type[Bridge] | type[LastState]] = {"bridge": Bridge, "last_state": LastState}
