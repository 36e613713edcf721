"""What Transformers are made of: rotary positions, attention and the feed-forward part."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

SLOWEST = 10_000.0
"""The slowest pair of a rotated vector turns by 1 / SLOWEST radians per position, the fastest by 1."""


@dataclass(frozen=True)
class Rotation:
    """Turns vectors by their positions, so that the product of two depends on the distance between them."""

    cos: Tensor  # ... N D/2
    sin: Tensor  # ... N D/2

    @classmethod
    def by(cls, positions: Tensor, head_size: int, like: Tensor) -> Rotation:
        """The rotation of vectors of this size at positions ... N."""
        pairs = torch.arange(head_size // 2, device=like.device, dtype=like.dtype)  # D/2
        angles = positions.unsqueeze(-1) * SLOWEST ** (-2 * pairs / head_size)  # ... N D/2
        return cls(angles.cos(), angles.sin())

    def __call__(self, vectors: Tensor) -> Tensor:
        """The vectors R h N D, turned."""
        first, second = vectors.chunk(2, dim=-1)  # R h N D/2
        return torch.cat([first * self.cos - second * self.sin, second * self.cos + first * self.sin], dim=-1)


@dataclass(frozen=True)
class View:
    """What new places see in self-attention, and from how far away."""

    queries: Rotation
    keys: Rotation
    visible: Tensor | None = None  # R h N M, or what broadcasts to it: bool, or numbers to add to the scores; None: all
    causal: bool = False  # place n sees the places up to n


@dataclass(frozen=True)
class Cache:
    """The keys and values of all places so far."""

    keys: Tensor  # R h M D
    values: Tensor  # R h M D

    def select(self, rows: Tensor) -> Cache:
        """These rows in this order."""
        return Cache(self.keys.index_select(0, rows), self.values.index_select(0, rows))

    def append(self, keys: Tensor, values: Tensor) -> Cache:
        """With those of new places, R h N D."""
        return Cache(torch.cat([self.keys, keys], dim=2), torch.cat([self.values, values], dim=2))


class SelfAttention(nn.Module):
    """softmax(Q K / sqrt(D)) V of the normalised states, in several heads."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(size)
        self.inputs = nn.Linear(size, 3 * size, bias=False)
        self.output = nn.Linear(size, size, bias=False)

    def forward(self, states: Tensor, view: View, past: Cache | None = None) -> tuple[Tensor, Cache]:
        """What to add to the states R N E of new places, and the keys and values of all places."""
        queries, keys, values = (split(part, self.heads) for part in self.inputs(self.norm(states)).chunk(3, dim=-1))
        queries, keys = view.queries(queries), view.keys(keys)  # R h N D
        cache = Cache(keys, values) if past is None else past.append(keys, values)  # R h M D
        visible = view.visible
        if visible is not None and visible.dtype != torch.bool:
            visible = visible.to(queries.dtype)
        attended = scaled_dot_product_attention(
            queries, cache.keys, cache.values, attn_mask=visible, is_causal=view.causal
        )  # R h N D
        return self.output(merge(attended)), cache


class SourceAttention(nn.Module):
    """The same from the decoder's states to the encoder's, of size C, which have no positions of their own here."""

    def __init__(self, size: int, heads: int, context_size: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(size)
        self.queries = nn.Linear(size, size, bias=False)
        self.source = nn.Linear(context_size, 2 * size, bias=False)
        self.output = nn.Linear(size, size, bias=False)

    def keys_and_values(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """B h S D each, of the encoder's states B S C."""
        keys, values = self.source(source).chunk(2, dim=-1)  # B S E
        return split(keys, self.heads), split(values, self.heads)

    def forward(self, states: Tensor, keys: Tensor, values: Tensor, padding: Tensor) -> tuple[Tensor, Tensor]:
        """What to add to the states R N E, and the mean of the heads' weights R N S.

        All rows of a sentence attend to it together.
        """
        grouped = self.queries(self.norm(states)).view(len(keys), -1, states.shape[-1])  # B KN E
        scores = split(grouped, self.heads) @ keys.transpose(2, 3) / math.sqrt(keys.shape[-1])  # B h KN S
        weights = scores.masked_fill(padding.unsqueeze(1).unsqueeze(2), -torch.inf).softmax(dim=-1)  # B h KN S
        attended = merge(weights.to(values.dtype) @ values).view(states.shape)  # R N E
        return self.output(attended), weights.mean(dim=1).view(*states.shape[:2], -1)


class FeedForward(nn.Module):
    """W max(0, V x + a) + b of the normalised state x."""

    def __init__(self, size: int, inner_size: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.inner = nn.Linear(size, inner_size)
        self.output = nn.Linear(inner_size, size)

    def forward(self, states: Tensor) -> Tensor:
        """What to add to the states ... E."""
        added: Tensor = self.output(torch.relu(self.inner(self.norm(states))))
        return added


def split(vectors: Tensor, heads: int) -> Tensor:
    """R N E -> R h N D."""
    return vectors.view(*vectors.shape[:2], heads, -1).transpose(1, 2)


def merge(vectors: Tensor) -> Tensor:
    """R h N D -> R N E."""
    return vectors.transpose(1, 2).flatten(2)
