"""The decoders' step as search runs it: the same as their definition, with less computation.

What does not change between steps is computed in advance: the projections of all action embeddings once for a set of
weights, those of the encoder's states, through which contexts enter gates and features, once for a batch of sentences,
a parent's once for all its children, a state's once for all hypotheses that continue it. The word RNN runs only on the
rows that write. All hypotheses of a sentence attend to it together, and none to padding.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

from trdec.data.batch import SourceBatch
from trdec.model.encoder import LSTMEncoder
from trdec.model.fast.attention import KeyComparison, comparison_of, parameters_of
from trdec.model.fast.compiled import kernels_for
from trdec.model.fast.kernels import MakeMatrix, RightMatrix
from trdec.model.fast.network import FastNetwork, FastRNN
from trdec.model.fast.source_table import Readers, SourceTable
from trdec.model.interfaces import Encoding, SearchPrecision

if TYPE_CHECKING:
    from trdec.model.translation_model import TranslationModel

FEW_ROWS = 8
"""So many rows are multiplied nearly as fast as one: their weights are read once for all of them."""


@dataclass(frozen=True)
class RowSource:
    """The sentences of a batch as one RNN attends to them."""

    comparison: KeyComparison
    values: SourceTable  # X   the context of a row that attends to one place only
    numbers: Tensor  # B'   those of the batch's sentences that are still being translated

    def select(self, sentences: Tensor) -> RowSource:
        """These sentences in this order; nothing of them is copied."""
        return replace(self, numbers=self.numbers[sentences])

    def contexts(self, hidden: Tensor, places: Tensor) -> Tensor:
        """n X: the sums of values by attention weight, for hidden states n H; `places` has the sentence of each row.

        The rows of a sentence are adjacent.
        """
        readers = Readers(self.numbers[places])
        weights = hidden.new_empty(readers.count, self.values.width)  # n S
        self.comparison.weights(readers, self.comparison.queries(hidden), weights)
        contexts = hidden.new_zeros(readers.count, self.values.sentences[0].shape[1])  # n X
        self.values.add_sums(readers, weights, contexts)
        return contexts


@dataclass(frozen=True)
class FastMemory:
    """The start states of the RNNs and what they attend to; dropping sentences copies nothing of the source."""

    starts: tuple[Tensor, ...]  # B KH each   hidden states, then cells, of the K RNNs side by side
    sources: tuple[RowSource, ...]  # one for each RNN

    def select(self, sentences: Tensor) -> FastMemory:
        """These sentences in this order."""
        return FastMemory(
            tuple(start[sentences] for start in self.starts),
            tuple(source.select(sentences) for source in self.sources),
        )


@dataclass(frozen=True)
class RNNRows:
    """What an LSTM leaves after a step besides its hidden states."""

    cell: Tensor  # R H
    context: Tensor  # R X   projected: its part in the next step's gates, 4H, in the readout, and lexical features

    def merged(self, rows: Tensor, places: Tensor, new: RNNRows, new_places: Tensor) -> RNNRows:
        """A table of R' rows: these rows m of R at `places`, the new ones at `new_places`."""

        def merge(old: Tensor, changed: Tensor) -> Tensor:
            table = old.new_empty(places.shape[0] + new_places.shape[0], old.shape[1])  # R' ...
            table.index_copy_(0, places, old.index_select(0, rows))
            return table.index_copy_(0, new_places, changed)

        return RNNRows(merge(self.cell, new.cell), merge(self.context, new.context))


def laid_out_once(matrix: MakeMatrix) -> MakeMatrix:
    """The first matrix that is asked for, laid out, whenever another is asked for: for weights that do not change."""
    found: list[RightMatrix] = []

    def lay_out(weight: Tensor) -> RightMatrix:
        if not found:
            found.append(matrix(weight))
        return found[0]

    return lay_out


class SearchRNN:
    """The weights of an attentional LSTM, laid out for steps of many rows without gradients."""

    def __init__(
        self,
        rnn: FastRNN,
        embedding: Tensor,
        state_weights: list[Tensor],
        readout: list[Tensor],
        matrix: MakeMatrix,
        source_matrix: MakeMatrix,
        num_lexical: int,
    ) -> None:
        parts = rnn.cell.input_weights
        self.size = rnn.cell.hidden_size
        self._actions = functional.linear(embedding, parts["action"], rnn.cell.bias)  # A+1 4H
        self._kernels = kernels_for(embedding)
        self._states = matrix(torch.cat(state_weights, dim=1).t())  # K 4H   what multiplies the previous states
        # What multiplies the context: in the gates, 4H C, and in each V of the readout, F C.
        self._contexts = source_matrix(torch.cat([parts["context"], *readout]).t())  # C X
        self._keys = source_matrix(rnn.attention.key_weight.t().clone())  # C H
        parameters = [parameter.detach().clone() for parameter in parameters_of(rnn.attention)]
        self._compare = partial(comparison_of, type(rnn.attention), parameters=parameters, matrix=laid_out_once(matrix))
        self.parents = matrix(parts["parent"].t().clone()) if "parent" in parts else None  # H 4H
        self._num_lexical = num_lexical

    def source(self, encoding: Encoding, meanings: Tensor | None) -> RowSource:
        """The source as this RNN attends to it, with the meanings B S F of its pieces if their sum is wanted."""
        states, lengths = encoding.packed_states, encoding.lengths.tolist()  # sum(S) C
        projected = self._contexts.times(states)  # sum(S) X
        if meanings is not None:
            projected = torch.cat([projected, encoding.pack(meanings)], dim=1)  # sum(S) X+F
        values = self._kernels.table(projected, lengths)
        comparison = self._compare(keys=self._keys.times(states), lengths=lengths)
        return RowSource(comparison, values, torch.arange(len(lengths), device=states.device))

    def start(self, cell: Tensor) -> RNNRows:
        """The rows before the first step, whose contexts are zero."""
        return RNNRows(cell, cell.new_zeros(cell.shape[0], self._contexts.shape[1] + self._num_lexical))

    def readout_part(self, context: Tensor) -> Tensor:
        """The part of contexts R X that the readout adds, R KF for its K matrices V."""
        return context[:, 4 * self.size : self._contexts.shape[1]]

    def lexical_features(self, context: Tensor) -> Tensor:
        """The lexical features R F, whose sums are the last part of contexts R X."""
        return torch.tanh(context[:, self._contexts.shape[1] :])

    def gates(self, states: Tensor, context: Tensor, rows: Tensor, actions: Tensor) -> Tensor:
        """n 4H: what the previous states R K, their contexts R X and the actions n add, for these rows n of R.

        Hypotheses that continue the same row share its products, unless they are so few that finding out costs more.
        """
        if rows.shape[0] <= FEW_ROWS:
            gates = context.index_select(0, rows)  # n X
            self._states.add_product(gates[:, : 4 * self.size], states.index_select(0, rows))
            return gates[:, : 4 * self.size].add_(self._actions.index_select(0, actions))
        distinct, place = torch.unique(rows, return_inverse=True)  # m, n
        shared = context.index_select(0, distinct)  # m X
        self._states.add_product(shared[:, : 4 * self.size], states.index_select(0, distinct))
        gates = shared.index_select(0, place)[:, : 4 * self.size]  # n 4H
        return gates.add_(self._actions.index_select(0, actions))

    def advance(
        self, gates: Tensor, previous_cell: Tensor, source: RowSource, places: Tensor
    ) -> tuple[Tensor, RNNRows]:
        """The hidden states n H and the other rows; gates n 4H are overwritten."""
        cell, tanh_cell, hidden = previous_cell.new_empty(3, *previous_cell.shape).unbind(0)  # n H each
        self._kernels.lstm_gates(gates, previous_cell, cell, tanh_cell, hidden)
        return hidden, RNNRows(cell, source.contexts(hidden, places))


class GrowingTable:
    """An append-only table of vectors that all hypotheses share; row 0 is the zero vector.

    Rows never move, so a row's number stays valid whichever hypotheses survive.
    """

    def __init__(self, like: Tensor) -> None:
        self._table = like.new_zeros(1, like.shape[-1])  # capacity X
        self._size = 1

    def append(self, vectors: Tensor) -> Tensor:
        """The numbers n of the new rows, given their vectors n X."""
        begin, end = self._size, self._size + vectors.shape[0]
        if end > self._table.shape[0]:
            larger = self._table.new_empty(2 * end, self._table.shape[1])
            larger[:begin] = self._table[:begin]
            self._table = larger
        self._table[begin:end] = vectors
        self._size = end
        return torch.arange(begin, end, device=vectors.device)

    def at(self, numbers: Tensor) -> Tensor:
        """n X: the vectors of these rows."""
        return self._table.index_select(0, numbers)

    def __len__(self) -> int:
        return self._size

    @property
    def device(self) -> torch.device:
        """Where the table is."""
        return self._table.device


class ProjectedParents:
    """What rule states, as parents, add to one RNN's gates: projected when first needed, and kept.

    Most states of a search are dropped, with their hypothesis, before they have a child.
    """

    def __init__(self, states: GrowingTable, columns: RightMatrix) -> None:  # H 4H
        self._states = states
        self._columns = columns
        none = states.at(torch.zeros(0, dtype=torch.long, device=states.device))  # 0 H
        self._projected = GrowingTable(columns.times(none))
        self._places = torch.zeros(1, dtype=torch.long, device=states.device)  # by number; 0 = not yet

    def gates(self, numbers: Tensor) -> Tensor:
        """n 4H: what the parents with these numbers n add to the gates; number 0 adds nothing."""
        if self._places.shape[0] < len(self._states):
            self._places = torch.cat([self._places, self._places.new_zeros(2 * len(self._states))])
        new = torch.unique(numbers[(self._places[numbers] == 0) & (numbers != 0)])  # m
        if new.shape[0]:
            self._places[new] = self._projected.append(self._columns.times(self._states.at(new)))
        return self._projected.at(self._places[numbers])

    def __len__(self) -> int:
        """The number of states projected."""
        return len(self._projected) - 1


@dataclass(frozen=True)
class FastState:
    """The RNNs after a step of R rows, and the R' rows that continue, each from one of the R: its origin."""

    states: Tensor  # R KH   the hidden states of the K RNNs side by side
    rnns: tuple[RNNRows, ...]
    origins: Tensor  # R'

    def select(self, rows: Tensor) -> FastState:
        """These rows in this order; the next step copies what it needs."""
        return replace(self, origins=self.origins[rows])


@dataclass(frozen=True)
class FastTreeState(FastState):
    """The same for a tree decoder, with what only trees have."""

    last_word: Tensor  # R'
    writing: Tensor  # R' bool
    parents: Tensor  # R' 1+T   for each step, the number of its rule state; 0 where it wrote a word
    rule_states: GrowingTable
    projected: tuple[ProjectedParents, ...]  # one for each RNN

    def select(self, rows: Tensor) -> FastTreeState:
        """These rows in this order; the next step copies what it needs."""
        return replace(
            self,
            origins=self.origins[rows],
            last_word=self.last_word[rows],
            writing=self.writing[rows],
            parents=self.parents.index_select(0, rows),
        )


class FastSearch:
    """A search model with the weights that the network had at construction, without gradients or dropout."""

    def __init__(self, network: FastNetwork, model: TranslationModel, precision: SearchPrecision) -> None:
        with torch.no_grad():
            output_matrix = model.output_matrix()  # A F
            self.num_actions = model.num_actions
            self._word_symbols = network.word_symbols
            self._starts = [copy.deepcopy(rnn.start) for rnn in network.rnns]
            self._encoder = model.encoder
            self._lexical = copy.deepcopy(model.lexical)
            self._softmax = model.softmax
            kernels = kernels_for(output_matrix)
            matrix = kernels.int8_matrix if precision == "int8" else kernels.matrix
            # Only an LSTM's states are known to be in [-1, 1].
            source_matrix = matrix if type(model.encoder) is LSTMEncoder else kernels.matrix
            # Features are a tanh or, with lexical features, the sum of two. Halved, that is in [-1, 1], as int8 needs.
            self._share = 1.0 if model.lexical is None else 0.5
            self._columns = [matrix(columns / self._share) for columns in model.softmax.columns(output_matrix)]  # F a
            contexts = network.readout_contexts()  # F C for each V and RNN
            self._rnns = [
                SearchRNN(
                    rnn,
                    network.embedding.detach(),
                    state_weights,
                    [of_rnns[number] for of_rnns in contexts],
                    matrix,
                    source_matrix,
                    num_lexical=0 if model.lexical is None or rnn is not network.rnns[-1] else output_matrix.shape[1],
                )
                for number, (rnn, state_weights) in enumerate(zip(network.rnns, network.state_weights(), strict=True))
            ]
            # What multiplies the states in each V of the readout, KH F.
            self._readout = [matrix(torch.cat(weights, dim=1).t()) for weights in network.readout_states()]

    def encode(self, source: SourceBatch) -> FastMemory:
        """The memory of the sources that all steps share."""
        with torch.no_grad():
            encoding = self._encoder(source)
            meanings: list[Tensor | None] = [None] * len(self._rnns)
            if self._lexical is not None:
                meanings[-1] = self._lexical.meanings(encoding)  # B S F   what writes words sums them
            starts = zip(*(start(encoding) for start in self._starts), strict=True)
            return FastMemory(
                tuple(torch.cat(parts, dim=1) for parts in starts),
                tuple(rnn.source(encoding, summed) for rnn, summed in zip(self._rnns, meanings, strict=True)),
            )

    def start(self, memory: FastMemory) -> FastState:
        """The state before the first step, one row per sentence."""
        states, cells = memory.starts  # B KH
        numbers = torch.arange(len(states), device=states.device)  # B
        rnns = tuple(rnn.start(cell) for rnn, cell in zip(self._rnns, cells.chunk(len(self._rnns), dim=1), strict=True))
        if self._word_symbols is None:
            return FastState(states, rnns, numbers)
        rule_states = GrowingTable(cells[:, : self._rnns[0].size])
        return FastTreeState(
            states,
            rnns,
            numbers,
            last_word=torch.full_like(numbers, self.num_actions),
            writing=torch.zeros_like(numbers, dtype=torch.bool),
            parents=torch.zeros_like(numbers).unsqueeze(1),
            rule_states=rule_states,
            projected=tuple(
                ProjectedParents(rule_states, rnn.parents) for rnn in self._rnns if rnn.parents is not None
            ),
        )

    def step(
        self, state: FastState, memory: FastMemory, previous: Tensor, symbols: Tensor, parents: Tensor
    ) -> tuple[Tensor, FastState]:
        """Log-probabilities R A of the next action, and the state after it."""
        with torch.no_grad():
            sentences = memory.starts[0].shape[0]
            places = torch.arange(sentences, device=previous.device).repeat_interleave(
                previous.shape[0] // sentences
            )  # R
            if isinstance(state, FastTreeState):
                features, after = self._step_in_tree(state, memory, previous, symbols, parents, places)
            else:
                features, after = self._step_in_sequence(state, memory, previous, places)
            return self._softmax.log_probs(self._columns, features.mul_(self._share), symbols), after

    def _step_in_sequence(
        self, state: FastState, memory: FastMemory, previous: Tensor, places: Tensor
    ) -> tuple[Tensor, FastState]:
        rows, (rnn,) = state.origins, self._rnns
        gates = rnn.gates(state.states, state.rnns[0].context, rows, previous)  # R 4H
        cell = state.rnns[0].cell.index_select(0, rows)  # R H
        hidden, after = rnn.advance(gates, cell, memory.sources[0], places)  # R H
        numbers = torch.arange(rows.shape[0], device=rows.device)  # R
        features = self._features([numbers], hidden, rnn.readout_part(after.context))  # R F
        if self._lexical is not None:
            features += rnn.lexical_features(after.context)
        return features, FastState(hidden, (after,), numbers)

    def _step_in_tree(
        self,
        state: FastTreeState,
        memory: FastMemory,
        previous: Tensor,
        symbols: Tensor,
        parents: Tensor,
        places: Tensor,  # R   the sentence of each row
    ) -> tuple[Tensor, FastState]:
        rows, (rule_rnn, word_rnn), size = state.origins, self._rnns, self._rnns[0].size
        assert self._word_symbols is not None
        last_word = torch.where(state.writing, previous, state.last_word)  # R
        writing = self._word_symbols[symbols]  # R
        writers, opening = writing.nonzero().squeeze(1), (~writing).nonzero().squeeze(1)  # W, R - W
        numbers = state.parents.gather(1, parents.unsqueeze(1)).squeeze(1)  # R

        gates = rule_rnn.gates(state.states, state.rnns[0].context, rows, previous)  # R 4H
        gates += state.projected[0].gates(numbers)
        cell = state.rnns[0].cell.index_select(0, rows)  # R H
        hidden, rule = rule_rnn.advance(gates, cell, memory.sources[0], places)  # R H

        states = state.states.index_select(0, rows)  # R 2H
        states[:, :size] = hidden
        written = rows[writers]  # W
        gates = word_rnn.gates(state.states[:, size:], state.rnns[1].context, written, last_word[writers])  # W 4H
        gates += state.projected[1].gates(numbers[writers])
        cell = state.rnns[1].cell.index_select(0, written)  # W H
        hidden_of_writers, new = word_rnn.advance(gates, cell, memory.sources[1], places[writers])  # W H
        states[:, size:].index_copy_(0, writers, hidden_of_writers)
        word = state.rnns[1].merged(rows[opening], opening, new, writers)

        context = rule_rnn.readout_part(rule.context) + word_rnn.readout_part(word.context)  # R KF for K matrices V
        here = torch.zeros_like(previous).index_copy_(0, opening, state.rule_states.append(hidden[opening]))  # R
        features = self._features([opening, writers], states, context)  # R F
        if self._lexical is not None:
            features.index_add_(0, writers, word_rnn.lexical_features(new.context))
        return features, FastTreeState(
            states,
            (rule, word),
            torch.arange(rows.shape[0], device=rows.device),
            last_word=last_word,
            writing=writing,
            parents=torch.cat([state.parents, here.unsqueeze(1)], dim=1),
            rule_states=state.rule_states,
            projected=state.projected,
        )

    def _features(self, due: list[Tensor], states: Tensor, context: Tensor) -> Tensor:
        """R F, from the states R KH side by side and the contexts as each V projects them, side by side.

        `due` has the rows that each V is for.
        """
        if not self._readout:
            return torch.tanh(states)
        if len(self._readout) == 1:
            return (states @ self._readout[0]).add_(context).tanh_()
        size = self._readout[0].shape[1]
        features = states.new_empty(states.shape[0], size)  # R F
        for rows, weight, projected in zip(
            due, self._readout, context.split_with_sizes([size] * len(due), dim=1), strict=True
        ):
            if rows.shape[0]:
                found = projected.index_select(0, rows)  # n F
                weight.add_product(found, states.index_select(0, rows))
                features.index_copy_(0, rows, found.tanh_())
        return features
