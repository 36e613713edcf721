"""The attentional LSTM decoder that seq2seq, CCG and LIN share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import torch
from torch import Tensor, nn

from trdec.configuration.sections import ModelConfiguration
from trdec.data.batch import Batch, Inventory
from trdec.model.attention import ATTENTIONS, attend
from trdec.model.dropout import NO_DROPOUT, DecoderDropout, drop, sample_embedding_mask, sample_mask
from trdec.model.interfaces import Encoding
from trdec.model.lstm_cell import LSTMCell
from trdec.model.readout import ProjectedReadout
from trdec.model.start import STARTS


@dataclass(frozen=True)
class SequenceMemory:
    """The encoding, with the keys that attention compares states with."""

    encoding: Encoding
    keys: Tensor  # B S H

    def select(self, sentences: Tensor) -> SequenceMemory:
        """These sentences in this order."""
        return SequenceMemory(self.encoding.select(sentences), self.keys[sentences])


@dataclass(frozen=True)
class SequenceDecoderState:
    """The LSTM after a step."""

    hidden: Tensor  # R H
    cell: Tensor  # R H
    context: Tensor  # R C
    weights: Tensor  # R S

    @property
    def attention(self) -> Mapping[str, Tensor]:
        """The attention weights of the latest step."""
        return {"sequence": self.weights}

    def select(self, rows: Tensor) -> SequenceDecoderState:
        """These rows in this order."""
        return SequenceDecoderState(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


class SequenceDecoder(nn.Module):
    """An LSTM with attention and input feeding.

    s[t] = LSTM([y[t-1]; c[t-1]], s[t-1])
    """

    def __init__(self, configuration: ModelConfiguration, inventory: Inventory, context_size: int) -> None:
        super().__init__()
        embedding, hidden = configuration.embedding_size, configuration.hidden_size
        self.dropout = configuration.dropout
        self.embedding = nn.Embedding(inventory.num_actions + 1, embedding)
        self.cell = LSTMCell({"action": embedding, "context": context_size}, hidden)
        self.attention = ATTENTIONS[configuration.attention](hidden, context_size)
        self.start_state = STARTS[configuration.start](hidden, context_size)
        self.readout = ProjectedReadout(1, embedding, hidden, context_size)
        self.feature_size = self.readout.feature_size

    def prepare(self, encoding: Encoding) -> SequenceMemory:
        """The encoding with the attention's keys."""
        return SequenceMemory(encoding, self.attention.keys(encoding.states))

    def start(self, memory: SequenceMemory) -> SequenceDecoderState:
        """The state before the first step, one row per sentence."""
        hidden, cell = self.start_state(memory.encoding)  # B H
        states = memory.encoding.states  # B S C
        return SequenceDecoderState(hidden, cell, torch.zeros_like(states[:, 0]), torch.zeros_like(states[:, :, 0]))

    def step(
        self,
        state: SequenceDecoderState,
        memory: SequenceMemory,
        previous: Tensor,  # R
        symbols: Tensor,  # noqa: ARG002  R   a sequence has no open symbols
        parents: Tensor,  # noqa: ARG002  R   nor parents
        dropout: DecoderDropout = NO_DROPOUT,
    ) -> tuple[Tensor, SequenceDecoderState]:
        """Features R F of the next action, and the state after it."""
        embedded = drop(self.embedding(previous), dropout.rule_embeddings)  # R E
        recurrent = drop(state.hidden, dropout.rule_states)  # R H
        hidden, cell = self.cell({"action": embedded, "context": state.context}, recurrent, state.cell)  # R H
        context, weights = attend(self.attention, hidden, memory.keys, memory.encoding)  # R C, R S
        features = drop(self.readout(hidden, context), dropout.features)  # R F
        return features, SequenceDecoderState(hidden, cell, context, weights)

    def sample_dropout(self, batch: Batch) -> DecoderDropout:
        """The dropout masks for training on this batch."""
        num_sentences, num_steps = batch.actions.shape
        weight, rates = self.embedding.weight, self.dropout
        return DecoderDropout(
            rule_embeddings=sample_embedding_mask((num_sentences, num_steps, weight.shape[1]), rates, weight),
            rule_states=sample_mask((num_sentences, self.cell.hidden_size), rates.states, weight),
            features=sample_mask((num_sentences, num_steps, self.feature_size), rates.readout, weight),
        )
