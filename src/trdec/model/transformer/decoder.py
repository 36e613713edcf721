"""The Transformer decoder that writes sequences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from trdec.configuration.sections import DropoutConfiguration, ModelConfiguration
from trdec.data.batch import Batch, Inventory
from trdec.model.dropout import NO_DROPOUT, DecoderDropout, drop, sample_embedding_mask, sample_mask
from trdec.model.interfaces import DecoderPass, Encoding, previous_actions
from trdec.model.transformer.layers import Cache, FeedForward, Rotation, SelfAttention, SourceAttention, View


@dataclass(frozen=True)
class TransformerMemory:
    """The keys and values that each layer attends to in the source."""

    source: tuple[Cache, ...]  # B h S D each
    padding: Tensor  # B S

    def select(self, sentences: Tensor) -> TransformerMemory:
        """These sentences in this order."""
        return TransformerMemory(tuple(each.select(sentences) for each in self.source), self.padding[sentences])


@dataclass(frozen=True)
class TransformerState:
    """What all steps so far leave to be attended to."""

    caches: tuple[Cache, ...]  # R h T D each
    weights: Tensor  # R S

    @property
    def attention(self) -> Mapping[str, Tensor]:
        """The attention to the source at the latest step: the mean of the last layer's heads."""
        return {ATTENTION: self.weights}

    @property
    def num_steps(self) -> int:
        """T: how many steps there are so far."""
        return self.caches[0].keys.shape[2]

    def select(self, rows: Tensor) -> TransformerState:
        """These rows in this order."""
        return TransformerState(tuple(cache.select(rows) for cache in self.caches), self.weights[rows])


ATTENTION = "transformer"
"""What a Transformer's attention to the source is called where that of RNNs has their names."""


class DecoderLayers(nn.Module):
    """Layers that see earlier steps and the source, whatever a step is.

    x = x + attention(norm x),  x = x + source_attention(norm x),  x = x + feed_forward(norm x)
    """

    def __init__(self, configuration: ModelConfiguration, context_size: int) -> None:
        super().__init__()
        size, sizes = configuration.embedding_size, configuration.transformer
        self.head_size = sizes.head_size(size)
        layers = range(sizes.layers)
        self.attentions = nn.ModuleList(SelfAttention(size, sizes.heads) for _ in layers)
        self.source_attentions = nn.ModuleList(SourceAttention(size, sizes.heads, context_size) for _ in layers)
        self.feed_forwards = nn.ModuleList(FeedForward(size, sizes.feed_forward) for _ in layers)
        self.norm = nn.LayerNorm(size)

    def prepare(self, encoding: Encoding) -> TransformerMemory:
        """The source's keys and values in each layer."""
        found = [layer.keys_and_values(encoding.states) for layer in self.source_attentions]  # type: ignore[operator]
        return TransformerMemory(tuple(Cache(*each) for each in found), encoding.padding)

    def start(self, memory: TransformerMemory) -> TransformerState:
        """The state before the first step, one row per sentence."""
        nothing = tuple(Cache(each.keys[:, :, :0], each.values[:, :, :0]) for each in memory.source)
        return TransformerState(nothing, torch.zeros_like(memory.padding, dtype=memory.source[0].keys.dtype))

    def forward(
        self,
        inputs: Tensor,  # R N E   of the new steps
        view: View,
        state: TransformerState,
        memory: TransformerMemory,
        dropout: DecoderDropout,  # of N steps
    ) -> tuple[Tensor, Tensor, TransformerState]:
        """Features R N E and attention R N S of the new steps, and the state after them."""
        states, weights, caches = inputs, memory.padding, []
        masks = iter([None] * 3 * len(self.attentions) if dropout.added is None else dropout.added.unbind(2))
        layers = zip(
            self.attentions, self.source_attentions, self.feed_forwards, state.caches, memory.source, strict=True
        )
        for attention, source_attention, feed_forward, past, source in layers:
            added, cache = attention(states, view, past)  # R N E
            states = states + drop(added, next(masks))
            added, weights = source_attention(states, source.keys, source.values, memory.padding)  # R N E, R N S
            states = states + drop(added, next(masks))
            states = states + drop(feed_forward(states), next(masks))
            caches.append(cache)
        features = drop(self.norm(states), dropout.features)  # R N E
        return features, weights, TransformerState(tuple(caches), weights[:, -1])

    def sample_dropout(self, batch: Batch, rates: DropoutConfiguration, like: Tensor) -> DecoderDropout:
        """The masks of a batch: of embeddings, of what the parts of all layers add, and of features; like is A E."""
        shape = (*batch.actions.shape, like.shape[1])
        added = (*batch.actions.shape, 3 * len(self.attentions), like.shape[1])  # B T 3L E
        return DecoderDropout(
            rule_embeddings=sample_embedding_mask(shape, rates, like),
            added=sample_mask(added, rates.states, like),
            features=sample_mask(shape, rates.readout, like),
        )


class TransformerDecoder(nn.Module):
    """A Transformer over the actions so far.

    Steps are the same computation one at a time, with the keys and values of earlier ones kept.
    """

    def __init__(self, configuration: ModelConfiguration, inventory: Inventory, context_size: int) -> None:
        super().__init__()
        self.dropout = configuration.dropout
        self.feature_size = configuration.embedding_size
        self.embedding = nn.Embedding(inventory.num_actions + 1, self.feature_size)
        self.layers = DecoderLayers(configuration, context_size)

    def prepare(self, encoding: Encoding) -> TransformerMemory:
        """The source's keys and values in each layer."""
        return self.layers.prepare(encoding)

    def start(self, memory: TransformerMemory) -> TransformerState:
        """The state before the first step, one row per sentence."""
        return self.layers.start(memory)

    def step(
        self,
        state: TransformerState,
        memory: TransformerMemory,
        previous: Tensor,  # R
        symbols: Tensor,  # noqa: ARG002  R   a sequence has no open symbols
        parents: Tensor,  # noqa: ARG002  R   nor parents
        dropout: DecoderDropout = NO_DROPOUT,
    ) -> tuple[Tensor, TransformerState]:
        """Features R F of the next action, and the state after it."""
        features, _, after = self._advance(state, memory, previous.unsqueeze(1), dropout.of_one_step())
        return features.squeeze(1), after

    def run(self, encoding: Encoding, batch: Batch, dropout: DecoderDropout) -> DecoderPass:
        """All steps of a batch in one pass."""
        memory = self.prepare(encoding)
        previous = previous_actions(batch, self.embedding.num_embeddings - 1)  # B T
        features, weights, _ = self._advance(self.start(memory), memory, previous, dropout)  # B T F, B T S
        return DecoderPass.of(features, {ATTENTION: weights}, batch.padding)

    def _advance(
        self, state: TransformerState, memory: TransformerMemory, previous: Tensor, dropout: DecoderDropout
    ) -> tuple[Tensor, Tensor, TransformerState]:
        """Features R N F, attention R N S and the state after N steps, given the actions R N before each."""
        num_new = previous.shape[1]
        inputs = drop(math.sqrt(self.feature_size) * self.embedding(previous), dropout.rule_embeddings)  # R N E
        places = torch.arange(state.num_steps, state.num_steps + num_new, device=previous.device)  # N
        rotation = Rotation.by(places, self.layers.head_size, inputs)
        view = View(rotation, rotation, causal=num_new > 1)
        features, weights, after = self.layers(inputs, view, state, memory, dropout)
        return features, weights, after

    def sample_dropout(self, batch: Batch) -> DecoderDropout:
        """The dropout masks for training on this batch."""
        return self.layers.sample_dropout(batch, self.dropout, self.embedding.weight)
