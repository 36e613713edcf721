"""The recurrence that training runs: all steps of a batch, forward and backward, in one autograd function.

It computes what stepping the decoder computes. Only what depends on the previous step is in the loop; derivations that
have ended drop out; the word RNN runs only on the rows that write a word; a parent is projected once; the gradient of
each weight is one product over all steps. A *tape* holds the activations of one part at all places.

The sequence decoder's recurrence is the tree decoder's without parents or a word RNN.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trdec.model.attention import Attention
from trdec.model.fast.attention import AttentionTape, ContextTape, comparison_of
from trdec.model.fast.compiled import kernels_for
from trdec.model.fast.kernels import MakeMatrix, RightMatrix, sum_by_row
from trdec.model.fast.plan import Packing, ReferencedStates, StepPlan, Visit, rows_before, take, visits_of


def in_precision_of(parameter: Tensor, function: type[torch.autograd.Function], *arguments: Any) -> Any:
    """The function applied to the arguments, computed in the parameter's precision.

    Under autocast, products outside a recurrence give results of lower precision; inside it, errors would accumulate.
    """
    converted = (
        argument.to(parameter.dtype) if isinstance(argument, Tensor) and argument.is_floating_point() else argument
        for argument in arguments
    )
    with torch.autocast(parameter.device.type, enabled=False):
        return function.apply(*converted)  # type: ignore[no-untyped-call]


def matrices_for(parameter: Tensor) -> MakeMatrix:
    """Under autocast on a processor, weights and what they multiply are rounded to bfloat16, but no sum and no state.

    On a graphics processor, nothing in a recurrence is rounded.
    """
    kernels, device = kernels_for(parameter), parameter.device.type
    return kernels.bfloat16_matrix if device == "cpu" and torch.is_autocast_enabled(device) else kernels.matrix


class LSTMTape:
    """Activations of an LSTM, and their gradients; the first B rows of the tables are its start states."""

    def __init__(
        self,
        gates: Tensor,  # N 4H   what the inputs contribute; becomes the activated gates
        hidden_weight: Tensor,  # 4H H
        hidden: Tensor,  # B H
        cell: Tensor,  # B H
        mask: Tensor | None,  # B H   variational dropout of the hidden state where it enters the product
        matrix: MakeMatrix,
    ) -> None:
        self.num_starts, size = hidden.shape
        places = len(gates)
        self.gates = gates
        self.hidden_weight = hidden_weight
        self.kernels = kernels_for(gates)
        self.hidden_columns = matrix(hidden_weight.t())  # H 4H
        self._matrix = matrix
        self.mask = mask
        self.hidden = gates.new_empty(self.num_starts + places, size)  # B+N H
        self.cells = gates.new_empty(self.num_starts + places, size)  # B+N H
        self.hidden[: self.num_starts] = hidden
        self.cells[: self.num_starts] = cell
        self.tanh_cells = gates.new_empty(places, size)  # N H

    @cached_property
    def hidden_rows(self) -> RightMatrix:
        """4H H, which only the backward pass needs."""
        return self._matrix(self.hidden_weight)

    def forward(self, visit: Visit) -> Tensor:
        """The hidden states n H of the places visited."""
        gates = self.gates[visit.begin : visit.end]  # n 4H
        recurrent = take(self.hidden, visit.previous)  # n H
        if self.mask is not None:
            recurrent = recurrent * take(self.mask, visit.rows)
        self.hidden_columns.add_product(gates, recurrent)
        here = slice(self.num_starts + visit.begin, self.num_starts + visit.end)
        hidden = self.hidden[here]  # n H
        tanh_cells = self.tanh_cells[visit.begin : visit.end]
        self.kernels.lstm_gates(gates, take(self.cells, visit.previous), self.cells[here], tanh_cells, hidden)
        return hidden

    def backward(self, visit: Visit, d_hidden: Tensor, d_cell: Tensor, d_gates: Tensor) -> Tensor:
        """The gradient n H of the previous hidden states; fills d_gates, makes d_cell that of the previous cells."""
        places = slice(visit.begin, visit.end)
        previous = take(self.cells, visit.previous)  # n H
        self.kernels.lstm_gates_backward(
            self.gates[places], previous, self.tanh_cells[places], d_hidden, d_cell, d_gates
        )
        d_recurrent = self.hidden_rows.times(d_gates)  # n H
        if self.mask is not None:
            d_recurrent *= take(self.mask, visit.rows)
        return d_recurrent

    def hidden_weight_gradient(self, d_gates: Tensor, before: Tensor, rows: Tensor) -> Tensor:
        """4H H, from the gate gradients of all places and the table rows of their previous states."""
        recurrent = take(self.hidden, before)  # N H
        if self.mask is not None:
            recurrent *= take(self.mask, rows)
        return self._matrix(d_gates).transposed_times(recurrent)


class LSTMRecurrence(torch.autograd.Function):
    """Hidden states N H of all places and final cells B H (sorted rows) of an LSTM that starts from zeros."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, hidden_weight: Tensor, mask: Tensor | None, packing: Packing, matrix: MakeMatrix
    ) -> tuple[Tensor, Tensor]:
        zeros = inputs.new_zeros(len(packing.order), hidden_weight.shape[1])  # B H
        tape = LSTMTape(inputs.clone(), hidden_weight, zeros, zeros, mask, matrix)
        visits = visits_of(packing)
        for visit in visits:
            tape.forward(visit)
        ctx.tape, ctx.packing, ctx.visits = tape, packing, visits
        final_cells = tape.cells[tape.num_starts + packing.last_places()]  # B H
        return tape.hidden[tape.num_starts :].detach(), final_cells

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_hidden: Tensor, d_final_cells: Tensor) -> tuple[Tensor | None, ...]:
        tape, packing = ctx.tape, ctx.packing
        d_gates = torch.empty_like(tape.gates)  # N 4H
        d_cell = d_final_cells.clone()  # B H   the final cell's gradient at a row's last step, then what flows back
        d_recurrent = torch.zeros_like(d_cell)  # B H
        for visit in reversed(ctx.visits):
            places, rows = slice(visit.begin, visit.end), visit.rows
            d_here = d_recurrent[rows].add_(d_hidden[places])  # n H
            d_recurrent[rows] = tape.backward(visit, d_here, d_cell[rows], d_gates[places])
        d_weight = tape.hidden_weight_gradient(d_gates, rows_before(packing), packing.rows)
        return d_gates, d_weight, None, None, None


def run_lstm(inputs: Tensor, hidden_weight: Tensor, mask: Tensor | None, packing: Packing) -> tuple[Tensor, Tensor]:
    """Hidden states N H and final cells B H, given the inputs' contribution to the gates N 4H.

    The cells and the variational dropout mask B H follow the packing's order of sequences.
    """
    matrix = matrices_for(hidden_weight)
    hidden, cells = in_precision_of(hidden_weight, LSTMRecurrence, inputs, hidden_weight, mask, packing, matrix)
    return hidden, cells


@dataclass(frozen=True)
class RNNInputs:
    """The start states, inputs and weights of an attentional LSTM: everything that has a gradient."""

    tokens: Tensor  # M 4H   projected embeddings with the bias
    hidden_weight: Tensor  # 4H H
    projected: Tensor  # sum(S) 4H   the encoder's states, projected as contexts are for the gates
    hidden: Tensor  # B H   sorted rows
    cell: Tensor  # B H
    keys: Tensor  # sum(S) H
    parent_weight: Tensor | None  # 4H H   None where there are no parents
    attention: tuple[Tensor, ...]

    def tensors(self) -> tuple[Tensor | None, ...]:
        """All of them, in the order of the fields."""
        return (*(getattr(self, field.name) for field in fields(self)[:-1]), *self.attention)

    @classmethod
    def from_tensors(cls, tensors: tuple[Any, ...]) -> RNNInputs:
        """The inverse of `tensors`."""
        count = len(fields(cls)) - 1
        values = dict(zip((field.name for field in fields(cls)), tensors[:count], strict=False))
        return cls(**values, attention=tuple(tensors[count:]))


@dataclass(frozen=True)
class RNNLayout:
    """What has no gradient: each place's token row, the dropout of the state, and the steps that are parents."""

    token_rows: Tensor  # M
    mask: Tensor | None  # B H   sorted rows
    parents: ReferencedStates | None
    attention: type[Attention]


@dataclass(frozen=True)
class Layout:
    """Everything about a batch that has no gradient."""

    plan: StepPlan
    source_lengths: list[int]
    rule: RNNLayout
    word: RNNLayout | None
    matrix: MakeMatrix


class ParentTape:
    """The projections of parents' states into the gates, and their gradients."""

    def __init__(self, referenced: ReferencedStates, weight: Tensor, matrix: MakeMatrix) -> None:
        self.referenced = referenced
        self.weight = weight
        self._matrix = matrix
        self.columns = matrix(weight.t())  # H 4H
        self.projected = weight.new_zeros(1 + len(referenced), weight.shape[0])  # 1+Q 4H

    def start_backward(self) -> None:
        """Discard what an earlier backward pass accumulated."""
        self.weight_rows = self._matrix(self.weight)  # 4H H
        self.d_projected = torch.zeros_like(self.projected)

    def project(self, step: int, hidden: Tensor) -> None:
        """Project the states among n H of a step that have children."""
        numbers, rows = self.referenced.made_at(step)
        if rows.shape[0]:
            self.columns.times(hidden.index_select(0, rows), out=self.projected[numbers])

    def project_backward(self, step: int, d_hidden: Tensor) -> None:
        """Add the children's share to the gradient n H of a step's states."""
        numbers, rows = self.referenced.made_at(step)
        if rows.shape[0]:
            d_hidden.index_add_(0, rows, self.weight_rows.times(self.d_projected[numbers]))

    def gradient(self, hidden: Tensor) -> Tensor:
        """4H H, given the states N H of all places."""
        return self._matrix(self.d_projected[1:]).transposed_times(hidden.index_select(0, self.referenced.places))


class RNNTape:
    """An attentional LSTM with input feeding, and with parents if it has any, over all its places."""

    def __init__(self, inputs: RNNInputs, layout: RNNLayout, source_lengths: list[int], matrix: MakeMatrix) -> None:
        self.layout, self.num_tokens = layout, len(inputs.tokens)
        gates = inputs.tokens.index_select(0, layout.token_rows)  # N 4H
        self.lstm = LSTMTape(gates, inputs.hidden_weight, inputs.hidden, inputs.cell, layout.mask, matrix)
        self.num_starts = self.lstm.num_starts
        comparison = comparison_of(layout.attention, inputs.keys, source_lengths, inputs.attention, matrix)
        self.attention = AttentionTape(comparison, len(gates))
        self.context = ContextTape(inputs.projected, source_lengths)
        self.parents: ParentTape | None = None
        if layout.parents is not None and inputs.parent_weight is not None:
            self.parents = ParentTape(layout.parents, inputs.parent_weight, matrix)

    @property
    def states(self) -> Tensor:
        """N H: the hidden states of all places."""
        return self.lstm.hidden[self.num_starts :]

    def forward(self, visit: Visit) -> Tensor:
        """The hidden states n H of the places visited."""
        gates = self.lstm.gates[visit.begin : visit.end]  # n 4H
        if self.parents is not None:
            numbers = self.parents.referenced.numbers[visit.begin : visit.end]
            gates += self.parents.projected.index_select(0, numbers)
        self.context.forward(gates, take(self.attention.weights, visit.previous), visit.readers)
        hidden = self.lstm.forward(visit)  # n H
        self.attention.forward(visit.begin, hidden, visit.readers)
        return hidden

    def start_backward(self, d_weights: Tensor) -> None:
        """Begin with the gradient B+N S that the attention weights have from outside the recurrence."""
        self.attention.start_backward()
        if self.parents is not None:
            self.parents.start_backward()
        self.d_gates = torch.empty_like(self.lstm.gates)  # N 4H
        self.d_weights = d_weights.clone()  # B+N S

    def backward(self, visit: Visit, d_hidden: Tensor, d_cell: Tensor) -> Tensor:
        """The gradient n H of the previous hidden states; turns d_cell into that of the previous cells."""
        d_gates = self.d_gates[visit.begin : visit.end]  # n 4H
        d_weights = self.d_weights[self.num_starts + visit.begin : self.num_starts + visit.end]  # n S
        d_hidden += self.attention.backward(visit.begin, visit.readers, d_weights)
        d_previous = self.lstm.backward(visit, d_hidden, d_cell, d_gates)  # n H
        if self.parents is not None:
            numbers = self.parents.referenced.numbers[visit.begin : visit.end]
            self.parents.d_projected.index_add_(0, numbers, d_gates)
        d_weights_before = take(self.d_weights, visit.previous)  # n S
        self.context.backward(d_gates, d_weights_before, visit.readers)
        if isinstance(visit.previous, Tensor):
            self.d_weights.index_copy_(0, visit.previous, d_weights_before)
        return d_previous

    def gradients(
        self,
        before: Tensor,  # N   table rows
        rows: Tensor,  # N
        sentences: Tensor,  # N
        d_hidden: Tensor,  # B H   of the start states
        d_cell: Tensor,  # B H
        parent_states: Tensor,  # the rule RNN's, N H
    ) -> tuple[Tensor | None, ...]:
        """The gradients of `RNNInputs`, in the order of its fields, computed once those of all gates are known."""
        d_keys, *d_attention = self.attention.gradients(self.states)
        weights = self.attention.weights.index_select(0, before)  # N S   those of the contexts
        return (
            sum_by_row(self.layout.token_rows, self.d_gates, self.num_tokens),
            self.lstm.hidden_weight_gradient(self.d_gates, before, rows),
            self.context.gradient(self.d_gates, weights, sentences),
            d_hidden,
            d_cell,
            d_keys,
            None if self.parents is None else self.parents.gradient(parent_states),
            *d_attention,
        )


class WordsInRules:
    """The contribution of each row's most recent word state to the rule RNN's gates, and its gradient."""

    def __init__(self, weight: Tensor, word: RNNTape, matrix: MakeMatrix) -> None:
        self.weight = weight  # 4H H
        self.word = word
        self._matrix = matrix
        self.columns = matrix(weight.t())  # H 4H
        self.latest = self.columns.times(word.lstm.hidden[: word.num_starts])  # B 4H

    def forward(self, visit: Visit, hidden: Tensor) -> None:
        """Replace the earlier word states of these rows by the new ones, n H."""
        assert isinstance(visit.rows, Tensor)
        self.latest.index_copy_(0, visit.rows, self.columns.times(hidden))

    def start_backward(self) -> None:
        """Discard what an earlier backward pass accumulated."""
        self.weight_rows = self._matrix(self.weight)  # 4H H
        # The gradient of a word state's contribution is a sum over the steps until the next word state.
        self.d_latest = torch.zeros_like(self.latest)  # B 4H
        self.d_projected = self.latest.new_empty(len(self.word.lstm.hidden), self.latest.shape[1])  # B+W 4H

    def backward(self, visit: Visit) -> Tensor:
        """The gradient n H of the word states of this visit."""
        assert isinstance(visit.rows, Tensor)
        here = slice(self.word.num_starts + visit.begin, self.word.num_starts + visit.end)
        d_projected = torch.index_select(self.d_latest, 0, visit.rows, out=self.d_projected[here])  # n 4H
        self.d_latest.index_fill_(0, visit.rows, 0)
        return self.weight_rows.times(d_projected)

    def start_gradient(self) -> Tensor:
        """The gradient B H of the start states."""
        self.d_projected[: self.word.num_starts] = self.d_latest
        return self.weight_rows.times(self.d_latest)

    def gradient(self) -> Tensor:
        """4H H."""
        return self._matrix(self.d_projected).transposed_times(self.word.lstm.hidden)


class Tape:
    """The rule RNN, and the word RNN where there is one, over the steps of a batch."""

    def __init__(self, layout: Layout, rule: RNNInputs, word: RNNInputs | None, word_to_rule: Tensor | None) -> None:
        self.plan = layout.plan
        self.rule = RNNTape(rule, layout.rule, layout.source_lengths, layout.matrix)
        self.word: RNNTape | None = None
        self.words_in_rules: WordsInRules | None = None
        if layout.word is not None and word is not None and word_to_rule is not None:
            self.word = RNNTape(word, layout.word, layout.source_lengths, layout.matrix)
            self.words_in_rules = WordsInRules(word_to_rule, self.word, layout.matrix)
        self.parents = [rnn.parents for rnn in (self.rule, self.word) if rnn is not None and rnn.parents is not None]

    def forward(self) -> None:
        """Run all steps."""
        plan, words = self.plan, self.plan.words
        for step, visit in enumerate(plan.visits):
            if self.words_in_rules is not None:
                self.rule.lstm.gates[visit.begin : visit.end] += self.words_in_rules.latest[visit.rows]
            hidden = self.rule.forward(visit)  # n H
            for parents in self.parents:
                parents.project(step, hidden)
            if self.word is not None and self.words_in_rules is not None and words is not None:
                word_visit = words.visits[step]
                if word_visit.readers.count:
                    self.words_in_rules.forward(word_visit, self.word.forward(word_visit))

    def backward(
        self, d_rule: Tensor, d_rule_weights: Tensor, d_word: Tensor | None = None, d_word_weights: Tensor | None = None
    ) -> tuple[Tensor | None, ...]:
        """The gradients of the rule RNN's inputs, the word RNN's, and the weight of word states in the rule RNN."""
        plan, rule, words = self.plan, self.rule, self.plan.words
        rule.start_backward(d_rule_weights)
        if self.word is not None and self.words_in_rules is not None:
            assert d_word is not None and d_word_weights is not None
            self.word.start_backward(d_word_weights)
            self.words_in_rules.start_backward()
            d_word = d_word.clone()  # B+W H
            d_word_cells = torch.zeros_like(d_word)  # B+W H
        d_cell = torch.zeros_like(rule.lstm.cells[: plan.num_rows])  # B H
        d_recurrent = torch.zeros_like(d_cell)  # B H
        for step, visit in reversed(list(enumerate(plan.visits))):
            if words is not None and words.visits[step].readers.count:
                assert d_word is not None
                self._backward_words(words.visits[step], d_word, d_word_cells)
            d_hidden = d_recurrent[visit.rows].add_(d_rule[visit.begin : visit.end])  # n H
            for parents in self.parents:
                parents.project_backward(step, d_hidden)
            d_recurrent[visit.rows] = rule.backward(visit, d_hidden, d_cell[visit.rows])
            if self.words_in_rules is not None:
                self.words_in_rules.d_latest[visit.rows] += rule.d_gates[visit.begin : visit.end]

        packing, states = plan.packing, rule.states
        of_rule = rule.gradients(plan.before, packing.rows, packing.sequences, d_recurrent, d_cell, states)
        if self.word is None or self.words_in_rules is None or words is None or d_word is None:
            return of_rule
        starts = slice(0, plan.num_rows)
        d_start = d_word[starts].add_(self.words_in_rules.start_gradient())  # B H
        of_word = self.word.gradients(words.before, words.rows, words.sentences, d_start, d_word_cells[starts], states)
        return (*of_rule, *of_word, self.words_in_rules.gradient())

    def _backward_words(self, visit: Visit, d_word: Tensor, d_word_cells: Tensor) -> None:
        assert self.word is not None and self.words_in_rules is not None and isinstance(visit.previous, Tensor)
        here = slice(self.word.num_starts + visit.begin, self.word.num_starts + visit.end)
        d_hidden = d_word[here]  # n H
        d_hidden += self.words_in_rules.backward(visit)
        d_cell = d_word_cells[here].clone()  # n H
        d_word.index_add_(0, visit.previous, self.word.backward(visit, d_hidden, d_cell))
        d_word_cells.index_add_(0, visit.previous, d_cell)


class Recurrence(torch.autograd.Function):
    """The states and attention weights of the rule RNN, and of the word RNN where there is one.

    Rule states N H and rule attention weights B+N S; then word states B+W H and word attention weights B+W S. Tables
    of B+... rows begin with a row for each start state, whose attention weights are zero.
    """

    @staticmethod
    def forward(ctx: Any, layout: Layout, num_rule_inputs: int, *tensors: Any) -> tuple[Tensor, ...]:
        rule = RNNInputs.from_tensors(tensors[:num_rule_inputs])
        if layout.word is None:
            tape = Tape(layout, rule, None, None)
        else:
            tape = Tape(layout, rule, RNNInputs.from_tensors(tensors[num_rule_inputs:-1]), tensors[-1])
        ctx.tape = tape
        tape.forward()
        found = (tape.rule.states.detach(), tape.rule.attention.weights.detach())
        if tape.word is None:
            return found
        return (*found, tape.word.lstm.hidden.detach(), tape.word.attention.weights.detach())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, *ctx.tape.backward(*gradients)
