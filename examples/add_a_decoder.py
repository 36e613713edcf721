"""A decoder of your own: no recurrence and no attention, only the last two actions and the parent's.

A decoder is a `torch.nn.Module` with the methods of `trdec.model.interfaces.Decoder`. Its `step` is all there is to
write: without a fast form it is trained and searched by stepping. Name it in the system:

    system: {trees: [binary-1], decoder: "add_a_decoder:Trigrams"}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from trdec.configuration.sections import ModelConfiguration
from trdec.data.batch import Batch, Inventory
from trdec.model.dropout import NO_DROPOUT, DecoderDropout
from trdec.model.interfaces import Encoding


@dataclass(frozen=True)
class MeanOfSource:
    """The mean of the encoder's states: all that this decoder knows of the source."""

    vectors: Tensor  # B C

    def select(self, sentences: Tensor) -> MeanOfSource:
        """These sentences in this order."""
        return MeanOfSource(self.vectors[sentences])


@dataclass(frozen=True)
class Written:
    """The actions so far; place 0 and the place before the first action hold the number of no action."""

    actions: Tensor  # R 1+T

    @property
    def attention(self) -> Mapping[str, Tensor]:
        """It looks at no place in particular."""
        return {}

    def select(self, rows: Tensor) -> Written:
        """These rows in this order."""
        return Written(self.actions[rows])


class Trigrams(nn.Module):
    """features = tanh(V [y[t-1]; y[t-2]; y[p]; source]), p the step whose rule opened the current node."""

    def __init__(self, configuration: ModelConfiguration, inventory: Inventory, context_size: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(inventory.num_actions + 1, configuration.embedding_size)
        self.projection = nn.Linear(3 * configuration.embedding_size + context_size, configuration.embedding_size)
        self.feature_size = configuration.embedding_size

    def prepare(self, encoding: Encoding) -> MeanOfSource:
        """The mean of the source's states."""
        return MeanOfSource(encoding.states.sum(dim=1) / encoding.lengths.unsqueeze(1))

    def start(self, memory: MeanOfSource) -> Written:
        """Nothing written, one row per sentence."""
        none = self.embedding.num_embeddings - 1
        return Written(torch.full((len(memory.vectors), 1), none, device=memory.vectors.device))

    def step(
        self,
        state: Written,
        memory: MeanOfSource,
        previous: Tensor,  # R
        symbols: Tensor,  # noqa: ARG002  R   the softmax alone needs them
        parents: Tensor,  # R
        dropout: DecoderDropout = NO_DROPOUT,  # noqa: ARG002
    ) -> tuple[Tensor, Written]:
        """Features R F of the next action, and the state after it."""
        # Column t of the actions is what step t - 1 chose, so the parent's action, of step p - 1, is in column p.
        actions = torch.cat([state.actions, previous.unsqueeze(1)], dim=1)  # R 2+T
        parent = actions.gather(1, parents.unsqueeze(1) + (parents > 0).unsqueeze(1))  # R 1
        seen = torch.cat([previous.unsqueeze(1), state.actions[:, -1:], parent], dim=1)  # R 3
        rows_per_sentence = len(previous) // len(memory.vectors)
        source = memory.vectors.repeat_interleave(rows_per_sentence, dim=0)  # R C
        features = torch.tanh(self.projection(torch.cat([self.embedding(seen).flatten(1), source], dim=1)))  # R F
        return features, Written(actions)

    def sample_dropout(self, batch: Batch) -> DecoderDropout:  # noqa: ARG002
        """Nothing is dropped."""
        return NO_DROPOUT
