"""An encoder of your own: the mean of each piece's neighbourhood, for when an LSTM is too slow.

An encoder is a `torch.nn.Module` built from the model's configuration and the number of source pieces. It says the
size of its states and turns a `SourceBatch` into an `Encoding`. Name it in the system:

    system: {trees: [binary-1, binary-2], encoder: "add_an_encoder:Neighbourhood"}

It gives no summary of the source, so decoders start from the mean of its states.
"""

from __future__ import annotations

import torch
from torch import nn

from trdec.configuration.sections import ModelConfiguration
from trdec.data.batch import SourceBatch
from trdec.model.interfaces import Encoding

WIDTH = 5
"""Pieces that a state sees: itself and two on each side."""


class Neighbourhood(nn.Module):
    """h[j] = tanh(W [x[j-2]; ...; x[j+2]] + b)"""

    def __init__(self, configuration: ModelConfiguration, source_size: int) -> None:
        super().__init__()
        self.output_size = 2 * configuration.hidden_size
        self.embedding = nn.Embedding(source_size, configuration.embedding_size)
        self.window = nn.Conv1d(configuration.embedding_size, self.output_size, WIDTH, padding=WIDTH // 2)

    def forward(self, source: SourceBatch) -> Encoding:
        """The states of all places."""
        places = torch.arange(source.pieces.shape[1], device=source.device)
        real = (places < source.lengths.unsqueeze(1)).unsqueeze(2)  # B S 1
        embedded = self.embedding(source.pieces) * real  # B S E   what stands at padding must not be seen
        states = torch.tanh(self.window(embedded.transpose(1, 2)).transpose(1, 2))  # B S C
        return Encoding(states * real, source.lengths)
