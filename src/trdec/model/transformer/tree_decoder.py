"""The Transformer decoder that writes derivations and knows the tree."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from trdec.configuration.sections import ModelConfiguration
from trdec.data.batch import Batch, Inventory
from trdec.model.dropout import NO_DROPOUT, DecoderDropout, drop
from trdec.model.interfaces import DecoderPass, Encoding, previous_actions
from trdec.model.transformer.decoder import ATTENTION, DecoderLayers, TransformerMemory, TransformerState
from trdec.model.transformer.layers import Rotation, View

PARENT, ANCESTOR, SIBLING, OTHER, FUTURE = range(5)
"""What an action is to the node that is to be expanded: the rule that opened it, a rule further above, an earlier
action of the same parent, any other earlier action, or one that has not been taken."""


@dataclass(frozen=True)
class TreeTransformerState:
    """What all steps so far leave to be attended to, and the tree that they have built."""

    steps: TransformerState
    parents: Tensor  # R T

    @property
    def attention(self) -> Mapping[str, Tensor]:
        """The attention to the source at the latest step."""
        return self.steps.attention

    def select(self, rows: Tensor) -> TreeTransformerState:
        """These rows in this order."""
        return TreeTransformerState(self.steps.select(rows), self.parents[rows])


class TreeTransformerDecoder(nn.Module):
    """A Transformer over the actions so far, told of the tree in three ways.

    The input of a step is the previous action and the symbol that is open. Half of the heads see nothing but the
    rules above the open node, from as far away as they are levels above it: parent feeding. The other heads see all
    earlier actions from as far away as they are steps ago, with a learned preference for each relation in the tree.
    """

    hidden: Tensor  # 4 h bool

    def __init__(self, configuration: ModelConfiguration, inventory: Inventory, context_size: int) -> None:
        super().__init__()
        heads = configuration.transformer.heads
        self.dropout = configuration.dropout
        self.feature_size = configuration.embedding_size
        self.embedding = nn.Embedding(inventory.num_actions + 1, self.feature_size)
        self.symbols = nn.Embedding(inventory.num_symbols, self.feature_size)
        self.layers = DecoderLayers(configuration, context_size)
        self.ancestor_heads = heads // 2
        self.preferences = nn.Parameter(torch.empty(FUTURE, heads))
        hidden = torch.zeros(FUTURE, heads, dtype=torch.bool)
        hidden[SIBLING:, : self.ancestor_heads] = True
        self.register_buffer("hidden", hidden, persistent=False)

    def prepare(self, encoding: Encoding) -> TransformerMemory:
        """The source's keys and values in each layer."""
        return self.layers.prepare(encoding)

    def start(self, memory: TransformerMemory) -> TreeTransformerState:
        """The state before the first step, one row per sentence."""
        nothing = torch.zeros(len(memory.padding), 0, dtype=torch.long, device=memory.padding.device)
        return TreeTransformerState(self.layers.start(memory), nothing)

    def step(
        self,
        state: TreeTransformerState,
        memory: TransformerMemory,
        previous: Tensor,  # R
        symbols: Tensor,  # R
        parents: Tensor,  # R
        dropout: DecoderDropout = NO_DROPOUT,
    ) -> tuple[Tensor, TreeTransformerState]:
        """Features R F of the next action, and the state after it."""
        features, _, after = self._advance(
            state, memory, previous.unsqueeze(1), symbols.unsqueeze(1), parents.unsqueeze(1), dropout.of_one_step()
        )
        return features.squeeze(1), after

    def run(self, encoding: Encoding, batch: Batch, dropout: DecoderDropout) -> DecoderPass:
        """All steps of a batch in one pass."""
        memory = self.prepare(encoding)
        previous = previous_actions(batch, self.embedding.num_embeddings - 1)  # B T
        features, weights, _ = self._advance(
            self.start(memory), memory, previous, batch.symbols, batch.parents, dropout
        )  # B T F, B T S
        return DecoderPass.of(features, {ATTENTION: weights}, batch.padding)

    def _advance(
        self,
        state: TreeTransformerState,
        memory: TransformerMemory,
        previous: Tensor,  # R N
        symbols: Tensor,  # R N
        parents: Tensor,  # R N
        dropout: DecoderDropout,
    ) -> tuple[Tensor, Tensor, TreeTransformerState]:
        """Features R N F, attention R N S and the state after N steps."""
        known = torch.cat([state.parents, parents], dim=1)  # R T+N
        actions = drop(self.embedding(previous), dropout.rule_embeddings)  # R N E
        inputs = math.sqrt(self.feature_size) * (actions + self.symbols(symbols))  # R N E
        view = self._view(known, parents.shape[1], inputs)
        features, weights, steps = self.layers(inputs, view, state.steps, memory, dropout)
        return features, weights, TreeTransformerState(steps, known)

    def _view(self, parents: Tensor, num_new: int, like: Tensor) -> View:
        """What the last N of the steps R M see, given the parents of all."""
        depths, read = depths_of(parents)  # R M
        steps = torch.arange(parents.shape[1], device=parents.device).expand_as(parents)  # R M

        def rotation(levels: Tensor) -> Rotation:
            by_head = [levels.unsqueeze(1)] * self.ancestor_heads
            by_head += [steps.unsqueeze(1)] * (self.preferences.shape[1] - self.ancestor_heads)
            return Rotation.by(torch.cat(by_head, dim=1)[:, :, -num_new:], self.layers.head_size, like)

        preferences = self.preferences.masked_fill(self.hidden, -torch.inf)  # 4 h
        table = torch.cat([preferences, torch.full_like(preferences[:1], -torch.inf)])  # 5 h
        visible = embedding(relations(parents, depths, read, num_new), table).permute(0, 3, 1, 2)  # R h N M
        return View(rotation(depths), rotation(read), visible)

    def sample_dropout(self, batch: Batch) -> DecoderDropout:
        """The dropout masks for training on this batch."""
        return self.layers.sample_dropout(batch, self.dropout, self.embedding.weight)


def depths_of(parents: Tensor) -> tuple[Tensor, Tensor]:
    """R M each: how many levels below the start the node of each step is, and the node of the action that it reads.

    Step t reads the action of step t - 1, so a parent of 1 + p is also the place where that rule is read. Step 0 reads
    nothing: it is the place of the start, at level 0.
    """
    to_parent = torch.cat([torch.zeros_like(parents[:, :1]), parents[:, :-1]], dim=1)  # R M   places
    read = torch.ones_like(parents)  # R M
    read[:, 0] = 0
    for _ in range(parents.shape[1].bit_length()):  # each jump goes twice as far up as the one before
        read, to_parent = read + read.gather(1, to_parent), to_parent.gather(1, to_parent)
    return 1 + read.gather(1, parents), read


def relations(parents: Tensor, depths: Tensor, read: Tensor, num_new: int) -> Tensor:
    """R N M: what the action read at each place is to the node of each of the last N steps, given `depths_of` parents.

    A derivation is written depth first. So an action is above a node if and only if all nodes since are deeper than it.
    """
    places = torch.arange(parents.shape[1], device=parents.device)  # M
    new = places[-num_new:].unsqueeze(1)  # N 1
    own = parents[:, -num_new:].unsqueeze(2)  # R N 1
    of_action = torch.cat([torch.full_like(parents[:, :1], -1), parents[:, :-1]], dim=1).unsqueeze(1)  # R 1 M
    until_now = depths.unsqueeze(1).masked_fill(places > new, parents.shape[1] + 1)  # R N M
    least_since = until_now.flip(2).cummin(dim=2).values.flip(2)  # R N M
    found = torch.where(of_action == own, SIBLING, OTHER)  # R N M
    found = found.masked_fill(least_since > read.unsqueeze(1), ANCESTOR)
    found = found.masked_fill(places == own, PARENT)
    return found.masked_fill(places > new, FUTURE)
