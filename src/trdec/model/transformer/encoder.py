"""The Transformer encoder."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from trdec.configuration.sections import ModelConfiguration
from trdec.data.batch import SourceBatch
from trdec.model.dropout import drop, sample_embedding_mask, sample_mask
from trdec.model.interfaces import Encoding
from trdec.model.transformer.layers import FeedForward, Rotation, SelfAttention, View


class TransformerEncoder(nn.Module):
    """Layers of self-attention and feed-forward parts over the embedded pieces.

        x = x + attention(norm x),  x = x + feed_forward(norm x)

    It gives no summary of the source, so recurrent decoders start from the mean of its states.
    """

    def __init__(self, configuration: ModelConfiguration, source_size: int) -> None:
        super().__init__()
        size, sizes = configuration.embedding_size, configuration.transformer
        self.output_size = size
        self.head_size = sizes.head_size(size)
        self.dropout = configuration.dropout
        self.embedding = nn.Embedding(source_size, size)
        self.attentions = nn.ModuleList(SelfAttention(size, sizes.heads) for _ in range(sizes.layers))
        self.feed_forwards = nn.ModuleList(FeedForward(size, sizes.feed_forward) for _ in range(sizes.layers))
        self.norm = nn.LayerNorm(size)

    def forward(self, source: SourceBatch) -> Encoding:
        """The states of all places."""
        pieces = self.embedding(source.pieces)  # B S E
        states = math.sqrt(self.output_size) * pieces  # B S E
        if self.training:
            states = drop(states, sample_embedding_mask(tuple(states.shape), self.dropout, states))
        places = torch.arange(states.shape[1], device=states.device)  # S
        rotation = Rotation.by(places, self.head_size, states)
        real = places < source.lengths.unsqueeze(1)  # B S
        view = View(rotation, rotation, visible=real.unsqueeze(1).unsqueeze(2))
        for attention, feed_forward in zip(self.attentions, self.feed_forwards, strict=True):
            added, _ = attention(states, view)  # B S E
            states = states + self._dropped(added)
            states = states + self._dropped(feed_forward(states))
        return Encoding(self.norm(states) * real.unsqueeze(2), source.lengths, pieces=pieces)

    def _dropped(self, added: Tensor) -> Tensor:
        return drop(added, sample_mask(tuple(added.shape), self.dropout.states, added)) if self.training else added
