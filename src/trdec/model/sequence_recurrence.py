"""The attentional LSTM with input feeding over a whole batch: the recurrence that training runs."""

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
from trdec.model.packing import Packing


@dataclass(frozen=True)
class SequenceLayout:
    """Everything about a batch that has no gradient."""

    packing: Packing
    source_lengths: list[int]
    tokens: Tensor  # N   rows of the projected tokens
    mask: Tensor | None  # B H   sorted rows
    tape: MakeTape


class SequenceTape:
    """The activations of the LSTM, forward and backward over the steps of a batch."""

    def __init__(
        self,
        layout: SequenceLayout,
        tokens: Tensor,  # M 4H
        hidden_weight: Tensor,  # 4H H
        projected: Tensor,  # sum(S) 4H
        hidden: Tensor,  # B H
        cell: Tensor,  # B H
        keys: Tensor,  # B S H
        *attention: Tensor,
    ) -> None:
        self.layout, self.num_tokens, self.starts = layout, len(tokens), len(hidden)
        self.sentences: list[int] = layout.packing.order.tolist()
        self.lstm = LSTMTape(tokens.index_select(0, layout.tokens), hidden_weight, hidden, cell, layout.mask)
        self.attention = layout.tape(keys, layout.source_lengths, layout.packing.size, attention)
        self.context = context_tape(projected, layout.source_lengths)

    def _spans(self, step: int) -> tuple[int, int, slice]:
        """Where a step's places begin and end, and the table rows before them."""
        offsets = self.layout.packing.offsets
        begin, end = offsets[step], offsets[step + 1]
        before = self.starts + offsets[step - 1] if step else 0
        return begin, end, slice(before, before + end - begin)

    def forward(self) -> None:
        """Run all steps."""
        for step, count in enumerate(self.layout.packing.counts):
            begin, end, previous = self._spans(step)
            sentences = self.sentences[:count]
            if step:
                self.context.forward(self.lstm.gates[begin:end], self.attention.weights[previous], sentences)
            hidden = self.lstm.forward(begin, end, previous, slice(0, count))  # n H
            self.attention.forward(begin, hidden, sentences)

    def backward(self, d_states: Tensor, d_weights: Tensor) -> tuple[Tensor, ...]:
        """Gradients of the inputs, in the order of the constructor."""
        packing, layout = self.layout.packing, self.layout
        self.attention.start_backward()
        d_weights = d_weights.clone()  # B+N S
        d_all_gates = torch.empty_like(self.lstm.gates)  # N 4H
        d_cell = torch.zeros_like(self.lstm.cells[: self.starts])  # B H
        d_recurrent = torch.zeros_like(d_cell)  # B H
        for step in reversed(range(len(packing.counts))):
            begin, end, previous = self._spans(step)
            count = end - begin
            sentences, here = self.sentences[:count], slice(self.starts + begin, self.starts + end)
            d_hidden = d_recurrent[:count].add_(d_states[begin:end])  # n H
            d_hidden += self.attention.backward(begin, sentences, d_weights[here])
            d_gates = d_all_gates[begin:end]  # n 4H
            d_recurrent[:count] = self.lstm.backward(
                begin, end, previous, slice(0, count), d_hidden, d_cell[:count], d_gates
            )
            if step:
                self.context.backward(d_gates, d_weights[previous], sentences)
        before, hidden = previous_rows(packing), self.lstm.hidden[self.starts :]
        d_tokens = d_all_gates.new_zeros(self.num_tokens, d_all_gates.shape[1])  # M 4H
        return (
            d_tokens.index_add_(0, layout.tokens, d_all_gates),
            self.lstm.hidden_weight_gradient(d_all_gates, before, packing.rows),
            self.context.gradient(d_all_gates, self.attention.weights[before], packing.sequences),
            d_recurrent,
            d_cell,
            *self.attention.gradients(hidden, packing.sequences),
        )


class SequenceRecurrence(torch.autograd.Function):
    """States N H, and attention weights B+N S that begin with a zero row for each start."""

    @staticmethod
    def forward(ctx: Any, layout: SequenceLayout, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        ctx.tape = tape = SequenceTape(layout, *tensors)
        tape.forward()
        return tape.lstm.hidden[tape.starts :].detach(), tape.attention.weights.detach()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_states: Tensor, d_weights: Tensor) -> tuple[Tensor | None, ...]:
        return None, *ctx.tape.backward(d_states, d_weights)
