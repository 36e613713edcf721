"""The fast LSTM: the steps of many rows with everything that can wait left out of the loop.

A tape owns the activations of one LSTM over all places of a batch. What enters the gates other than through the
hidden state is added to `gates` before the step; weight gradients are formed after the last step, each as one
product over all places.
"""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from trdec.model.row_spacing import spaced, turned

Rows = slice | Tensor
"""Rows of a table: a view where they stand together, an index where they do not."""


def take(table: Tensor, rows: Rows) -> Tensor:
    """These rows of the table; an index of whole rows copies them several times as fast as `[]` does."""
    return table[rows] if isinstance(rows, slice) else table.index_select(0, rows)


class LSTMTape:
    """Activations and their gradients of an LSTM; the first B rows of the tables are its start states."""

    def __init__(
        self,
        gates: Tensor,  # N 4H   what the inputs contribute; becomes the activated gates
        hidden_weight: Tensor,  # 4H H
        hidden: Tensor,  # B H
        cell: Tensor,  # B H
        mask: Tensor | None,  # B H   variational dropout of the hidden state where it enters the product
    ) -> None:
        self.num_starts, size = hidden.shape
        places = gates.shape[0]
        self.size = size
        self.gates = gates
        self.hidden_weight = hidden_weight  # 4H H
        self.hidden_columns = turned(hidden_weight)  # H 4H
        self.mask = mask
        self.hidden = gates.new_empty(self.num_starts + places, size)  # B+N H
        self.cells = gates.new_empty(self.num_starts + places, size)  # B+N H
        self.hidden[: self.num_starts] = hidden
        self.cells[: self.num_starts] = cell
        self.tanh_cells = gates.new_empty(places, size)  # N H

    @cached_property
    def hidden_rows(self) -> Tensor:
        """4H H, made for the way back alone."""
        return spaced(self.hidden_weight)

    def forward(self, begin: int, end: int, previous: Rows, rows: Rows) -> Tensor:
        """The hidden states n H of places begin to end, whose previous states are given rows of the tables."""
        gates = self.gates[begin:end]  # n 4H
        recurrent = take(self.hidden, previous)  # n H
        if self.mask is not None:
            recurrent = recurrent * take(self.mask, rows)
        gates.addmm_(recurrent, self.hidden_columns)
        gates[:, : 3 * self.size].sigmoid_()
        gates[:, 3 * self.size :].tanh_()
        i, f, o, g = gates.chunk(4, dim=1)  # n H each
        first = self.num_starts + begin
        cell = self.cells[first : first + end - begin]  # n H
        hidden = self.hidden[first : first + end - begin]  # n H
        torch.mul(f, take(self.cells, previous), out=cell).addcmul_(i, g)
        torch.tanh(cell, out=self.tanh_cells[begin:end])
        return torch.mul(o, self.tanh_cells[begin:end], out=hidden)

    def backward(
        self, begin: int, end: int, previous: Rows, rows: Rows, d_hidden: Tensor, d_cell: Tensor, d_gates: Tensor
    ) -> Tensor:
        """The gradient n H of the previous hidden states; fills d_gates, turns d_cell into the previous cells'."""
        gates, tanh_cell = self.gates[begin:end], self.tanh_cells[begin:end]
        i, f, o, g = gates.chunk(4, dim=1)  # n H each
        d_i, d_f, d_o, d_g = d_gates.chunk(4, dim=1)  # n H each
        torch.mul(d_hidden, tanh_cell, out=d_o)
        d_cell += torch.ops.aten.tanh_backward(d_hidden * o, tanh_cell)
        torch.mul(d_cell, g, out=d_i)
        torch.mul(d_cell, take(self.cells, previous), out=d_f)
        torch.mul(d_cell, i, out=d_g)
        d_cell *= f
        sigmoids = slice(0, 3 * self.size)
        torch.ops.aten.sigmoid_backward(d_gates[:, sigmoids], gates[:, sigmoids], grad_input=d_gates[:, sigmoids])
        torch.ops.aten.tanh_backward(d_g, g, grad_input=d_g)
        d_recurrent = d_gates @ self.hidden_rows  # n H
        if self.mask is not None:
            d_recurrent *= take(self.mask, rows)
        return d_recurrent

    def hidden_weight_gradient(self, d_gates: Tensor, previous: Tensor, rows: Tensor) -> Tensor:
        """4H H, from the gate gradients of all places and the table rows that came before them."""
        recurrent = take(self.hidden, previous)  # N H
        if self.mask is not None:
            recurrent *= take(self.mask, rows)
        return d_gates.t() @ recurrent
