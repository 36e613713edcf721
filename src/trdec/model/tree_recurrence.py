"""TrDec's two RNNs over a whole batch: the recurrence that training runs.

It computes what stepping the tree decoder computes. Only what depends on the step before is in the loop; finished
derivations drop out; the word RNN runs on the rows that write a word; a parent's projection is formed once; every
weight's gradient is one product over all steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trdec.model.attention_tape import MakeTape
from trdec.model.context_tape import context_tape
from trdec.model.lstm_recurrence import previous_rows
from trdec.model.lstm_tape import LSTMTape
from trdec.model.row_spacing import spaced, turned
from trdec.model.tree_plan import ReferencedStates, TreePlan


@dataclass(frozen=True)
class RNNInputs:
    """What one of the two RNNs starts from and is fed."""

    tokens: Tensor  # M 4H   projected embeddings with the bias
    hidden_weight: Tensor  # 4H H
    parent_weight: Tensor  # 4H H
    projected: Tensor  # sum(S) 4H   the encoder's states as contexts enter the gates
    hidden: Tensor  # B H   sorted rows
    cell: Tensor  # B H
    keys: Tensor  # B S H
    attention: tuple[Tensor, ...]

    def tensors(self) -> tuple[Tensor, ...]:
        """All of them, in the order of the fields."""
        return (
            self.tokens,
            self.hidden_weight,
            self.parent_weight,
            self.projected,
            self.hidden,
            self.cell,
            self.keys,
            *self.attention,
        )

    @classmethod
    def from_tensors(cls, tensors: tuple[Tensor, ...]) -> RNNInputs:
        """The inverse of `tensors`."""
        tokens, hidden_weight, parent_weight, projected, hidden, cell, keys, *attention = tensors
        return cls(tokens, hidden_weight, parent_weight, projected, hidden, cell, keys, attention=tuple(attention))


@dataclass(frozen=True)
class Layout:
    """Everything about a batch that has no gradient."""

    plan: TreePlan
    source_lengths: list[int]
    rule_tokens: Tensor  # N   rows of the projected tokens
    word_tokens: Tensor  # W
    rule_mask: Tensor | None  # B H   sorted rows
    word_mask: Tensor | None
    tape: MakeTape


class ParentTape:
    """The projections of parents' states into the gates, and their gradients."""

    def __init__(self, referenced: ReferencedStates, weight: Tensor) -> None:
        self.referenced = referenced
        self.weight = weight
        self.columns = turned(weight)  # H 4H
        self.projected = weight.new_zeros(1 + len(referenced), weight.shape[0])  # 1+Q 4H

    def start_backward(self) -> None:
        """Forget what an earlier backward pass has gathered."""
        self.rows = spaced(self.weight)  # 4H H
        self.d_projected = torch.zeros_like(self.projected)

    def forward(self, step: int, hidden: Tensor) -> None:
        """Project those of a step's states n H that have children."""
        numbers, rows = self.referenced.made_at(step)
        if len(rows):
            torch.mm(hidden.index_select(0, rows), self.columns, out=self.projected[numbers])

    def backward(self, step: int, d_hidden: Tensor) -> None:
        """Add the children's share of the gradient n H of a step's states."""
        numbers, rows = self.referenced.made_at(step)
        if len(rows):
            d_hidden.index_add_(0, rows, self.d_projected[numbers] @ self.rows)

    def gradient(self, hidden: Tensor) -> Tensor:
        """4H H, given the states N H of all places."""
        return self.d_projected[1:].t() @ hidden.index_select(0, self.referenced.places)


class TreeTape:
    """The activations of both RNNs, forward and backward over the steps of a batch."""

    def __init__(self, rule: RNNInputs, word: RNNInputs, word_to_rule: Tensor, layout: Layout) -> None:
        plan, lengths = layout.plan, layout.source_lengths
        places, words = plan.packing.size, len(plan.word_places)
        self.plan, self.layout = plan, layout
        self.rule_token_rows, self.word_token_rows = len(rule.tokens), len(word.tokens)
        self.word_to_rule = word_to_rule  # 4H H
        self.word_to_rule_columns = turned(word_to_rule)  # H 4H
        rule_inputs = rule.tokens.index_select(0, layout.rule_tokens)  # N 4H
        self.rule = LSTMTape(rule_inputs, rule.hidden_weight, rule.hidden, rule.cell, layout.rule_mask)
        word_inputs = word.tokens.index_select(0, layout.word_tokens)  # W 4H
        self.word = LSTMTape(word_inputs, word.hidden_weight, word.hidden, word.cell, layout.word_mask)
        self.rule_attention = layout.tape(rule.keys, lengths, places, rule.attention)
        self.word_attention = layout.tape(word.keys, lengths, words, word.attention)
        self.rule_context = context_tape(rule.projected, lengths)
        self.word_context = context_tape(word.projected, lengths)
        self.rule_parents = ParentTape(plan.rule_parents, rule.parent_weight)
        self.word_parents = ParentTape(plan.word_parents, word.parent_weight)

    def _spans(self, step: int) -> tuple[int, int, slice, int, int]:
        """Where a step's places begin and end, the table rows before them, and its words' begin and end."""
        packing, plan = self.plan.packing, self.plan
        begin, end = packing.offsets[step], packing.offsets[step + 1]
        before = plan.num_rows + packing.offsets[step - 1] if step else 0
        previous = slice(before, before + end - begin)
        return begin, end, previous, plan.word_bounds[step], plan.word_bounds[step + 1]

    def forward(self) -> None:
        """Run all steps."""
        plan, starts = self.plan, self.plan.num_rows
        # What each row's most recent word state contributes to the rule RNN's gates: B 4H.
        self.latest_words = self.word.hidden[:starts] @ self.word_to_rule_columns
        for step, count in enumerate(plan.packing.counts):
            begin, end, previous, word_begin, word_end = self._spans(step)
            sentences = plan.sentences[:count]
            gates = self.rule.gates[begin:end]  # n 4H
            gates += self.rule_parents.projected.index_select(0, plan.rule_parents.numbers[begin:end])
            gates += self.latest_words[:count]
            if step:
                self.rule_context.forward(gates, self.rule_attention.weights[previous], sentences)
            hidden = self.rule.forward(begin, end, previous, slice(0, count))  # n H
            self.rule_attention.forward(begin, hidden, sentences)
            self.rule_parents.forward(step, hidden)
            self.word_parents.forward(step, hidden)
            if word_begin < word_end:
                self._forward_words(word_begin, word_end)

    def _forward_words(self, begin: int, end: int) -> None:
        plan = self.plan
        previous, sentences = plan.word_before[begin:end], plan.word_sentences[begin:end]
        gates = self.word.gates[begin:end]  # w 4H
        gates += self.word_parents.projected.index_select(0, plan.word_parents.numbers[begin:end])
        self.word_context.forward(gates, self.word_attention.weights.index_select(0, previous), sentences)
        rows = plan.word_rows[begin:end]
        hidden = self.word.forward(begin, end, previous, rows)  # w H
        self.word_attention.forward(begin, hidden, sentences)
        self.latest_words.index_copy_(0, rows, hidden @ self.word_to_rule_columns)

    def backward(
        self, d_rule: Tensor, d_word: Tensor, d_rule_weights: Tensor, d_word_weights: Tensor
    ) -> tuple[Tensor, ...]:
        """Gradients of the rule RNN's inputs, the word RNN's, and the word states' way into the rule RNN."""
        plan, starts = self.plan, self.plan.num_rows
        for tape in (self.rule_attention, self.word_attention, self.rule_parents, self.word_parents):
            tape.start_backward()
        self.word_to_rule_rows = spaced(self.word_to_rule)  # 4H H
        self.d_rule_gates = torch.empty_like(self.rule.gates)  # N 4H
        self.d_word_gates = torch.empty_like(self.word.gates)  # W 4H
        # The gradient of a word state's contribution is the sum over the steps until the next one.
        self.d_latest_words = torch.zeros_like(self.latest_words)  # B 4H
        self.d_projected_words = self.d_word_gates.new_empty(len(d_word), self.latest_words.shape[1])  # B+W 4H
        self.d_word = d_word.clone()  # B+W H
        self.d_word_cells = torch.zeros_like(self.d_word)  # B+W H
        self.d_rule_weights = d_rule_weights.clone()  # B+N S
        self.d_word_weights = d_word_weights.clone()  # B+W S
        d_cell = torch.zeros_like(self.rule.cells[:starts])  # B H
        d_recurrent = torch.zeros_like(d_cell)  # B H

        for step in reversed(range(len(plan.packing.counts))):
            begin, end, previous, word_begin, word_end = self._spans(step)
            count = end - begin
            if word_begin < word_end:
                self._backward_words(word_begin, word_end)
            d_hidden = d_recurrent[:count].add_(d_rule[begin:end])  # n H
            self.rule_parents.backward(step, d_hidden)
            self.word_parents.backward(step, d_hidden)
            sentences = plan.sentences[:count]
            d_weights = self.d_rule_weights[starts + begin : starts + end]  # n S
            d_hidden += self.rule_attention.backward(begin, sentences, d_weights)
            d_gates = self.d_rule_gates[begin:end]  # n 4H
            d_recurrent[:count] = self.rule.backward(
                begin, end, previous, slice(0, count), d_hidden, d_cell[:count], d_gates
            )
            self.rule_parents.d_projected.index_add_(0, plan.rule_parents.numbers[begin:end], d_gates)
            self.d_latest_words[:count] += d_gates
            if step:
                self.rule_context.backward(d_gates, self.d_rule_weights[previous], sentences)

        self.d_projected_words[:starts] = self.d_latest_words
        self.d_word[:starts] += self.d_latest_words @ self.word_to_rule_rows
        return self._gradients(d_recurrent, d_cell)

    def _backward_words(self, begin: int, end: int) -> None:
        plan, starts = self.plan, self.plan.num_rows
        here = slice(starts + begin, starts + end)
        previous, sentences = plan.word_before[begin:end], plan.word_sentences[begin:end]
        rows = plan.word_rows[begin:end]
        d_projected = torch.index_select(self.d_latest_words, 0, rows, out=self.d_projected_words[here])  # w 4H
        self.d_latest_words.index_fill_(0, rows, 0)
        d_hidden = self.d_word[here]  # w H
        d_hidden += d_projected @ self.word_to_rule_rows
        d_hidden += self.word_attention.backward(begin, sentences, self.d_word_weights[here])
        d_gates, d_cell = self.d_word_gates[begin:end], self.d_word_cells[here].clone()
        d_previous = self.word.backward(begin, end, previous, rows, d_hidden, d_cell, d_gates)  # w H
        self.d_word.index_add_(0, previous, d_previous)
        self.d_word_cells.index_add_(0, previous, d_cell)
        self.word_parents.d_projected.index_add_(0, plan.word_parents.numbers[begin:end], d_gates)
        d_weights = self.d_word_weights.index_select(0, previous)  # w S
        self.word_context.backward(d_gates, d_weights, sentences)
        self.d_word_weights.index_copy_(0, previous, d_weights)

    def _gradients(self, d_hidden: Tensor, d_cell: Tensor) -> tuple[Tensor, ...]:
        """Every gradient that could wait until all gates' gradients were known."""
        plan, starts, layout = self.plan, self.plan.num_rows, self.layout
        packing = plan.packing
        previous = previous_rows(packing)  # N
        word_sentences = packing.sequences[plan.word_places]  # W
        rule_hidden, word_hidden = self.rule.hidden[starts:], self.word.hidden[starts:]
        rule_weights = self.rule_attention.weights.index_select(0, previous)  # N S   those that formed the contexts
        word_weights = self.word_attention.weights.index_select(0, plan.word_before)  # W S
        rule = (
            _sum_by(layout.rule_tokens, self.d_rule_gates, self.rule_token_rows),
            self.rule.hidden_weight_gradient(self.d_rule_gates, previous, packing.rows),
            self.rule_parents.gradient(rule_hidden),
            self.rule_context.gradient(self.d_rule_gates, rule_weights, packing.sequences),
            d_hidden,
            d_cell,
            *self.rule_attention.gradients(rule_hidden, packing.sequences),
        )
        word = (
            _sum_by(layout.word_tokens, self.d_word_gates, self.word_token_rows),
            self.word.hidden_weight_gradient(self.d_word_gates, plan.word_before, plan.word_rows),
            self.word_parents.gradient(rule_hidden),
            self.word_context.gradient(self.d_word_gates, word_weights, word_sentences),
            self.d_word[:starts],
            self.d_word_cells[:starts],
            *self.word_attention.gradients(word_hidden, word_sentences),
        )
        return (*rule, *word, self.d_projected_words.t() @ self.word.hidden)


def _sum_by(rows: Tensor, values: Tensor, num_rows: int) -> Tensor:
    return values.new_zeros(num_rows, values.shape[1]).index_add_(0, rows, values)


class TreeRecurrence(torch.autograd.Function):
    """The states and attention weights of both RNNs: rule states N H, then tables that begin with B start rows.

    Word states B+W H, rule attention weights B+N S, word attention weights B+W S; a start has zero weights.
    """

    @staticmethod
    def forward(ctx: Any, layout: Layout, num_rule_inputs: int, *tensors: Tensor) -> tuple[Tensor, ...]:
        rule = RNNInputs.from_tensors(tensors[:num_rule_inputs])
        word = RNNInputs.from_tensors(tensors[num_rule_inputs:-1])
        ctx.tape = tape = TreeTape(rule, word, tensors[-1], layout)
        tape.forward()
        return (
            tape.rule.hidden[layout.plan.num_rows :].detach(),
            tape.word.hidden.detach(),
            tape.rule_attention.weights.detach(),
            tape.word_attention.weights.detach(),
        )

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, *ctx.tape.backward(*gradients)
