"""The parts of an LSTM decoder from which its fast recurrence and its fast search are built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import linear

from trdec.data.batch import Batch
from trdec.model.attention import AdditiveAttention, DotAttention
from trdec.model.dropout import DecoderDropout, drop
from trdec.model.fast.attention import parameters_of
from trdec.model.fast.plan import Packing, ReferencedStates, StepPlan, embed_tokens
from trdec.model.fast.recurrence import Layout, Recurrence, RNNInputs, RNNLayout, in_precision_of, matrices_for
from trdec.model.interfaces import DecoderPass, Encoding
from trdec.model.lstm_cell import LSTMCell
from trdec.model.readout import ProjectedReadout, TreeReadout
from trdec.model.sequence_decoder import SequenceDecoder
from trdec.model.tree_decoder import TreeDecoder


@dataclass(frozen=True)
class FastRNN:
    """One attentional LSTM of a decoder."""

    name: str
    cell: LSTMCell
    attention: AdditiveAttention | DotAttention
    start: Callable[[Encoding], tuple[Tensor, Tensor]]

    def inputs(
        self,
        encoding: Encoding,
        order: Tensor,
        tokens: Tensor,
        token_rows: Tensor,
        mask: Tensor | None,
        parents: ReferencedStates | None,
    ) -> tuple[RNNInputs, RNNLayout]:
        """Its inputs to the recurrence, given embedded tokens M E and each place's row among them."""
        weights, source = self.cell.input_weights, encoding.packed_states  # sum(S) C
        hidden, cell = self.start(encoding)  # B H
        inputs = RNNInputs(
            tokens=linear(tokens, weights["action"], self.cell.bias),  # M 4H
            hidden_weight=self.cell.hidden_weight,
            projected=linear(source, weights["context"]),  # sum(S) 4H
            hidden=hidden[order],
            cell=cell[order],
            keys=self.attention.keys(source),  # sum(S) H
            parent_weight=weights.get("parent"),
            attention=parameters_of(self.attention),
        )
        return inputs, RNNLayout(token_rows, None if mask is None else mask[order], parents, type(self.attention))


@dataclass(frozen=True)
class FastNetwork:
    """The parts of a decoder; the word RNN, where there is one, follows the rule RNN."""

    embedding: Tensor  # A+1 E
    rnns: tuple[FastRNN, ...]
    readout: ProjectedReadout | TreeReadout
    word_symbols: Tensor | None  # Y bool; None if there is no word RNN

    @classmethod
    def of(cls, decoder: TreeDecoder | SequenceDecoder) -> FastNetwork:
        """The parts of a decoder, with its present weights."""
        embedding = decoder.embedding.weight
        if isinstance(decoder, SequenceDecoder):
            rnn = FastRNN("sequence", decoder.cell, decoder.attention, decoder.start_state)
            return cls(embedding, (rnn,), decoder.readout, None)
        rule, word = decoder.rule_rnn, decoder.word_rnn
        rnns = (
            FastRNN("rule", rule.cell, rule.attention, decoder.rule_start),
            FastRNN("word", word.cell, word.attention, decoder.word_start),
        )
        return cls(embedding, rnns, decoder.readout, decoder.word_symbols)

    def state_weights(self) -> list[list[Tensor]]:
        """For each RNN, what multiplies the previous states, 4H H each: its own, and in the rule RNN the word RNN's."""
        return [
            [rnn.cell.hidden_weight, *([rnn.cell.input_weights["word"]] if "word" in rnn.cell.input_weights else [])]
            for rnn in self.rnns
        ]

    def readout_states(self) -> list[list[Tensor]]:
        """F H for each V of the readout and each RNN: what multiplies its states. No V: the states are the features."""
        return [list(projection[::2]) for projection in self.readout.projections()]

    def readout_contexts(self) -> list[list[Tensor]]:
        """F C for each V of the readout and each RNN: what multiplies its contexts."""
        return [list(projection[1::2]) for projection in self.readout.projections()]

    def run(self, encoding: Encoding, batch: Batch, dropout: DecoderDropout) -> DecoderPass:
        """The features of all steps: the same as stepping through the batch, but faster."""
        plan = StepPlan(batch, len(self.embedding) - 1, self.word_symbols)
        packing, words = plan.packing, plan.words

        def packed(mask: Tensor | None) -> Tensor | None:
            return None if mask is None else packing.pack(mask)

        groups = [(plan.tokens, packed(dropout.rule_embeddings))]
        masks = [dropout.rule_states]
        parents: list[ReferencedStates | None] = [None]
        if words is not None:
            mask = packed(dropout.word_embeddings)
            groups.append((words.tokens, None if mask is None else mask[words.places]))
            masks.append(dropout.word_states)
            parents = [words.rule_parents, words.word_parents]
        embedded = embed_tokens(self.embedding, groups)  # M E and N, M E and W
        prepared = [
            rnn.inputs(encoding, packing.order, tokens, rows, mask, opened)
            for rnn, (tokens, rows), mask, opened in zip(self.rnns, embedded, masks, parents, strict=True)
        ]
        tensors = [inputs.tensors() for inputs, _ in prepared]
        layouts = [layout for _, layout in prepared]
        hidden_weight = self.rnns[0].cell.hidden_weight
        word_layout = layouts[1] if words is not None else None
        layout = Layout(plan, encoding.lengths.tolist(), layouts[0], word_layout, matrices_for(hidden_weight))
        rest = () if words is None else (*tensors[1], self.rnns[0].cell.input_weights["word"])
        found = in_precision_of(hidden_weight, Recurrence, layout, len(tensors[0]), *tensors[0], *rest)

        states, attention = [found[0]], [found[1][plan.num_rows :]]  # N H, N S
        latest: list[Tensor | None] = [None]
        attention_by_rnn = {self.rnns[0].name: attention[0]}
        due: list[Tensor | None] = [None]
        if words is not None:
            states.append(found[2])  # B+W H
            attention.append(found[3].index_select(0, words.latest))  # N S
            latest.append(words.latest)
            is_word = torch.zeros_like(plan.tokens, dtype=torch.bool).index_fill_(0, words.places, True)  # N
            attention_by_rnn[self.rnns[1].name] = attention[1] * is_word.unsqueeze(1)
            due = [(~is_word).nonzero().squeeze(1), words.places]
        features = self._features(encoding, packing, states, latest, attention, due)  # N F
        places, shape = packing.places_in(batch.actions.shape[1]), (batch.num_sentences, batch.actions.shape[1])
        return DecoderPass(drop(features, packed(dropout.features)), places, attention_by_rnn, shape)

    def _features(
        self,
        encoding: Encoding,
        packing: Packing,
        states: list[Tensor],  # M H each
        latest: list[Tensor | None],  # N each   the row of each place's state; None where that is the place itself
        attention: list[Tensor],  # N S each
        due: list[Tensor | None],  # the places at which each V of the readout is due; None: all
    ) -> Tensor:
        """N F: tanh of the states side by side, or of the sum over the RNNs of V s + V' c."""
        projections = self.readout_states()
        if not projections:
            at_places = [s if rows is None else s.index_select(0, rows) for s, rows in zip(states, latest, strict=True)]
            return torch.tanh(torch.cat(at_places, dim=1))
        attended = packing.unpack(torch.cat(attention, dim=1), len(packing.counts))  # B T KS
        parts = []
        for weights, context_weights, places in zip(projections, self.readout_contexts(), due, strict=True):
            part = _at(_contexts(encoding, packing, attended, context_weights), places)  # n F
            for state, weight, rows in zip(states, weights, latest, strict=True):
                # Sums, here and in the gradients of shared states, are computed in the states' own precision.
                part = part + _project(state, weight, places if rows is None else _at(rows, places)).to(state.dtype)
            parts.append(part)
        if len(parts) == 1:
            return torch.tanh(parts[0])
        order = torch.argsort(torch.cat([places for places in due if places is not None]))  # N
        return torch.tanh(torch.cat(parts).index_select(0, order))


def _at(table: Tensor, places: Tensor | None) -> Tensor:
    """These rows of the table; None: all."""
    return table if places is None else table.index_select(0, places)


def _project(states: Tensor, weight: Tensor, rows: Tensor | None) -> Tensor:
    """n F: the projections of these rows n of the states M H. Where rows share states, each is projected once."""
    if rows is not None and len(rows) > len(states):
        return linear(states, weight).index_select(0, rows)
    return linear(_at(states, rows), weight)


def _contexts(encoding: Encoding, packing: Packing, attended: Tensor, weights: list[Tensor]) -> Tensor:
    """N F: the sum over the RNNs of V' c = sum over j of a[j] (V' h[j]), given all their weights a, B T KS.

    The encoder's states are projected instead of the contexts: in a tree there are fewer of them, and F is smaller
    than C.
    """
    projected = [encoding.unpack(linear(encoding.packed_states, weight)) for weight in weights]  # B S F each
    values = torch.cat(projected, dim=1)  # B KS F
    return packing.pack(attended.bmm(values.to(attended.dtype)))
