"""An LSTM over packed sequences, as the encoder runs it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trdec.model.lstm_tape import LSTMTape
from trdec.model.packing import Packing


class LSTMRecurrence(torch.autograd.Function):
    """Hidden states N H of all places and final cells B H (sorted rows) of an LSTM that starts from zeros."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, hidden_weight: Tensor, mask: Tensor | None, packing: Packing
    ) -> tuple[Tensor, Tensor]:
        zeros = inputs.new_zeros(len(packing.order), hidden_weight.shape[1])  # B H
        tape = LSTMTape(inputs.clone(), hidden_weight, zeros, zeros, mask)
        before = 0
        for count, offset in zip(packing.counts, packing.offsets, strict=False):
            tape.forward(offset, offset + count, slice(before, before + count), slice(0, count))
            before = tape.num_starts + offset
        ctx.tape, ctx.packing = tape, packing
        final_cells = tape.cells[tape.num_starts + packing.last_places()]  # B H
        return tape.hidden[tape.num_starts :].detach(), final_cells

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_hidden: Tensor, d_final_cells: Tensor) -> tuple[Tensor | None, ...]:
        tape, packing = ctx.tape, ctx.packing
        d_gates = torch.empty_like(tape.gates)  # N 4H
        d_cell = d_final_cells.clone()  # B H   a row's own until its last step, then what flows back
        d_recurrent = d_hidden.new_zeros(d_cell.shape)  # B H
        for step in reversed(range(len(packing.counts))):
            count, offset = packing.counts[step], packing.offsets[step]
            end = offset + count
            before = tape.num_starts + packing.offsets[step - 1] if step else 0
            d_recurrent[:count] = tape.backward(
                offset,
                end,
                slice(before, before + count),
                slice(0, count),
                d_recurrent[:count].add_(d_hidden[offset:end]),
                d_cell[:count],
                d_gates[offset:end],
            )
        previous = previous_rows(packing)
        return d_gates, tape.hidden_weight_gradient(d_gates, previous, packing.rows), None, None


def previous_rows(packing: Packing) -> Tensor:
    """N: the row, in a tape's tables, of the state before each place."""
    num_starts = len(packing.order)
    before = num_starts + packing.place(packing.rows, packing.steps - 1)
    return torch.where(packing.steps == 0, packing.rows, before)
