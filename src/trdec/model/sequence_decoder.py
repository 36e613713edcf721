"""The attentional LSTM decoder that seq2seq, CCG and LIN share."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from trdec.configuration.sections import ModelConfiguration
from trdec.data.batch import Batch, Inventory
from trdec.model.attention import ATTENTIONS, attend
from trdec.model.context_features import context_features
from trdec.model.dropout import NO_DROPOUT, DecoderDropout, drop, sample_mask
from trdec.model.embedded_tokens import embed_tokens
from trdec.model.full_precision import apply_in_precision_of
from trdec.model.lstm_cell import LSTMCell
from trdec.model.memory import Memory
from trdec.model.packing import Packing
from trdec.model.readout import SequenceReadout
from trdec.model.sequence_recurrence import SequenceLayout, SequenceRecurrence
from trdec.model.start import STARTS


@dataclass(frozen=True)
class SequenceDecoderState:
    """The LSTM after a step; a sequence has no parents, so every address is 0."""

    hidden: Tensor  # R H
    cell: Tensor  # R H
    context: Tensor  # R C
    here: Tensor  # R

    def select(self, rows: Tensor) -> SequenceDecoderState:
        """These rows in this order."""
        return SequenceDecoderState(self.hidden[rows], self.cell[rows], self.context[rows], self.here[rows])


class SequenceDecoder(nn.Module):
    """An LSTM with attention and input feeding.

        s[t] = LSTM([y[t-1]; c[t-1]], s[t-1])

    `step` is its definition. `sequence` computes the same for a whole batch.
    """

    def __init__(self, configuration: ModelConfiguration, inventory: Inventory) -> None:
        super().__init__()
        embedding, hidden = configuration.embedding_size, configuration.hidden_size
        context = 2 * hidden
        self.dropout = configuration.dropout
        self.start_action = inventory.num_actions
        self.embedding = nn.Embedding(inventory.num_actions + 1, embedding)
        self.cell = LSTMCell({"action": embedding, "context": context}, hidden)
        self.attention = ATTENTIONS[configuration.attention](hidden, context)
        self.start_state = STARTS[configuration.start](hidden)
        self.readout = SequenceReadout(embedding, hidden, context)
        self.feature_size = self.readout.feature_size

    def prepare(self, memory: Memory) -> Memory:
        """The memory with the attention's keys."""
        return replace(memory, keys=(memory.unpack(self.attention.keys(memory.packed_states())),))

    def start(self, memory: Memory) -> SequenceDecoderState:
        """The state before the first step, one row a sentence."""
        hidden, cell = self.start_state(memory)  # B H
        context = torch.zeros_like(memory.final_cells)  # B C
        return SequenceDecoderState(hidden, cell, context, memory.lengths.new_zeros(len(hidden)))

    def step(
        self,
        state: SequenceDecoderState,
        memory: Memory,
        previous: Tensor,  # R
        symbols: Tensor,  # noqa: ARG002  R   a sequence knows no open symbols
        parents: Tensor,  # noqa: ARG002  R   nor parents
        dropout: DecoderDropout = NO_DROPOUT,
    ) -> tuple[Tensor, SequenceDecoderState]:
        """Features R F of the next action, and the state after it."""
        embedded = drop(self.embedding(previous), dropout.rule_embeddings)  # R E
        recurrent = drop(state.hidden, dropout.rule_states)  # R H
        hidden, cell = self.cell({"action": embedded, "context": state.context}, recurrent, state.cell)  # R H
        context = attend(self.attention, hidden, memory.keys[0], memory)  # R C
        features = drop(self.readout(hidden, context), dropout.features)  # R F
        return features, SequenceDecoderState(hidden, cell, context, torch.zeros_like(previous))

    def sequence(self, memory: Memory, batch: Batch, dropout: DecoderDropout = NO_DROPOUT) -> Tensor:
        """Features B T F of all steps."""
        features, packing = self.packed_sequence(memory, batch, dropout)
        return packing.unpack(features, batch.actions.shape[1])  # B T F

    def packed_sequence(
        self, memory: Memory, batch: Batch, dropout: DecoderDropout = NO_DROPOUT
    ) -> tuple[Tensor, Packing]:
        """Features N F of all steps that are not padding."""
        packing = Packing((~batch.padding).sum(dim=1))
        weights, source = self.cell.input_weights, memory.packed_states()  # sum(S) C
        previous = torch.full_like(batch.actions, self.start_action)  # B T
        previous[:, 1:] = batch.actions[:, :-1]

        def packed(mask: Tensor | None) -> Tensor | None:
            return None if mask is None else packing.pack(mask)

        [(embedded, token_rows)] = embed_tokens(
            self.embedding.weight, [(packing.pack(previous), packed(dropout.rule_embeddings))]
        )  # M E, N
        mask = None if dropout.rule_states is None else dropout.rule_states[packing.order]
        layout = SequenceLayout(packing, memory.lengths.tolist(), token_rows, mask, self.attention.tape)
        states, attention = apply_in_precision_of(
            self.cell.hidden_weight,
            SequenceRecurrence,
            layout,
            nn.functional.linear(embedded, weights["action"], self.cell.bias),  # M 4H
            self.cell.hidden_weight,
            nn.functional.linear(source, weights["context"]),  # sum(S) 4H
            *(start[packing.order] for start in self.start_state(memory)),  # B H
            memory.keys[0],
            *self.attention.parameters_in_loop(),
        )  # N H, B+N S

        def contexts(*weights: Tensor) -> Tensor:
            return context_features(memory, source, packing, [attention[batch.num_sentences :]], weights)  # N F

        features = self.readout.sequence(states, contexts)  # N F
        return drop(features, packed(dropout.features)), packing

    def sample_dropout(self, batch: Batch) -> DecoderDropout:
        """The places to drop while training on this batch."""
        num_sentences, num_steps = batch.actions.shape
        weight, rates = self.embedding.weight, self.dropout
        return DecoderDropout(
            rule_embeddings=sample_mask((num_sentences, num_steps, weight.shape[1]), rates.embeddings, weight),
            rule_states=sample_mask((num_sentences, self.cell.hidden_size), rates.states, weight),
            features=sample_mask((num_sentences, num_steps, self.feature_size), rates.readout, weight),
        )
