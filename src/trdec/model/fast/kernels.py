"""The operations that training and search spend their time in, each in torch, for any precision and device.

`compiled` has the same kernels in C, and says which of the two serve a tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import torch
from torch import Tensor

from trdec.model.fast.source_table import SourceTable

_LINE = 16
"""How many single-precision numbers fit into a cache line."""

_COLLIDING = 256
"""Rows a multiple of this many numbers apart share few lines of the processor's cache and evict each other."""


def padded_stride(matrix: Tensor) -> Tensor:
    """The same matrix with rows that start at cache lines and a stride that is not a multiple of 256 numbers.

    This makes multiplying fifty rows by a 512 x 2048 matrix a quarter faster.
    """
    height, width = matrix.shape
    stride = -(-width // _LINE) * _LINE
    if stride % _COLLIDING == 0:
        stride += _LINE
    return matrix.new_empty(height, stride)[:, :width].copy_(matrix)


def sum_by_row(rows: Tensor, values: Tensor, num_rows: int) -> Tensor:
    """num_rows X: for each row, the sum of the values M X that belong to it."""
    return values.new_zeros(num_rows, values.shape[1]).index_add_(0, rows, values)


class RightMatrix:
    """A matrix K X that rows are multiplied by, laid out to be fast for few of them."""

    def __init__(self, matrix: Tensor) -> None:
        self.shape, self.dtype = matrix.shape, matrix.dtype
        self._given = matrix

    @cached_property
    def _laid_out(self) -> Tensor:
        return padded_stride(self._given.contiguous())  # two copies are faster than one that transposes and pads

    def times(self, rows: Tensor, out: Tensor | None = None) -> Tensor:
        """The product n X of rows n K with the matrix."""
        return torch.mm(rows, self._laid_out, out=out)

    def __rmatmul__(self, rows: Tensor) -> Tensor:
        return self.times(rows)

    def add_product(self, out: Tensor, rows: Tensor) -> None:
        """Add to out n X the product of rows n K with the matrix."""
        out.addmm_(rows, self._laid_out)

    def transposed_times(self, rows: Tensor) -> Tensor:
        """The product X n of the transposed matrix X K with rows K n: a sum of K outer products."""
        return self._given.t() @ rows


MakeMatrix = Callable[[Tensor], RightMatrix]
"""How a matrix is laid out, and how it is rounded: one of the functions of `Kernels`."""


class Bfloat16Matrix(RightMatrix):
    """A matrix K X that is rounded to bfloat16, as are the rows that it is multiplied by; sums are not rounded."""

    @cached_property
    def _laid_out(self) -> Tensor:
        return padded_stride(_in_bfloat16(self._given))

    def times(self, rows: Tensor, out: Tensor | None = None) -> Tensor:
        return super().times(_in_bfloat16(rows), out)

    def add_product(self, out: Tensor, rows: Tensor) -> None:
        super().add_product(out, _in_bfloat16(rows))

    def transposed_times(self, rows: Tensor) -> Tensor:
        return _in_bfloat16(self._given).t() @ _in_bfloat16(rows)


def _in_bfloat16(numbers: Tensor) -> Tensor:
    return numbers.bfloat16().to(numbers.dtype)


class Int8Matrix(RightMatrix):
    """A matrix K X in int8, each column with its own scale, that rows of numbers in [-1, 1] are multiplied by.

    Every input of a decoder's products is a tanh, or a sigmoid times one. So the scale of rows is fixed, 1 / 127, and a
    row's product does not depend on the other rows.
    """

    @cached_property
    def _laid_out(self) -> Tensor:
        """The matrix as it is rounded, up to a factor for each column: whole numbers."""
        return padded_stride((self._given / self._largest * 127).round_())

    @cached_property
    def _largest(self) -> Tensor:
        """X: the largest magnitude in each column."""
        return self._given.abs().amax(dim=0).clamp_(min=torch.finfo(self.dtype).tiny)

    def times(self, rows: Tensor, out: Tensor | None = None) -> Tensor:
        # Whole numbers of these sizes are multiplied and added without rounding, or nearly.
        return torch.mm(_in_127ths(rows), self._laid_out, out=out).mul_(self._largest / 127**2)

    def add_product(self, out: Tensor, rows: Tensor) -> None:
        out += self.times(rows)

    def transposed_times(self, rows: Tensor) -> Tensor:
        return self.times(rows.t()).t()


def _in_127ths(rows: Tensor) -> Tensor:
    return (127 * rows).clamp_(-127, 127).round_()


class Kernels:
    """Every kernel in torch."""

    name = "torch"

    def matrix(self, matrix: Tensor) -> RightMatrix:
        """A matrix K X that rows are multiplied by; it must not change as long as it is used."""
        return RightMatrix(matrix)

    def bfloat16_matrix(self, matrix: Tensor) -> RightMatrix:
        """The same, with matrix and rows rounded to bfloat16."""
        return Bfloat16Matrix(matrix)

    def int8_matrix(self, matrix: Tensor) -> RightMatrix:
        """The same, with the matrix rounded to int8 and rows, which must be in [-1, 1], to 127ths."""
        return Int8Matrix(matrix)

    def table(self, packed: Tensor, lengths: list[int]) -> SourceTable:
        """Vectors sum(S) X at the places of sentences of these lengths."""
        return SourceTable(packed, lengths)

    def lstm_gates(self, gates: Tensor, previous_cell: Tensor, cell: Tensor, tanh_cell: Tensor, hidden: Tensor) -> None:
        """Activate gates n 4H in place, in the order i, f, o, g, and fill the cell, its tanh and the hidden state, n H.

        c = f c' + i g,  h = o tanh c
        """
        size = hidden.shape[1]
        gates[:, : 3 * size].sigmoid_()
        gates[:, 3 * size :].tanh_()
        i, f, o, g = gates.chunk(4, dim=1)  # n H each
        torch.mul(f, previous_cell, out=cell).addcmul_(i, g)
        torch.tanh(cell, out=tanh_cell)
        torch.mul(o, tanh_cell, out=hidden)

    def lstm_gates_backward(
        self, gates: Tensor, previous_cell: Tensor, tanh_cell: Tensor, d_hidden: Tensor, d_cell: Tensor, d_gates: Tensor
    ) -> None:
        """Fill d_gates n 4H and turn d_cell n H into the gradient of the previous cell, given activated gates."""
        size = tanh_cell.shape[1]
        i, f, o, g = gates.chunk(4, dim=1)  # n H each
        d_i, d_f, d_o, d_g = d_gates.chunk(4, dim=1)  # n H each
        torch.mul(d_hidden, tanh_cell, out=d_o)
        d_cell += torch.ops.aten.tanh_backward(d_hidden * o, tanh_cell)
        torch.mul(d_cell, g, out=d_i)
        torch.mul(d_cell, previous_cell, out=d_f)
        torch.mul(d_cell, i, out=d_g)
        d_cell *= f
        sigmoids = slice(0, 3 * size)
        torch.ops.aten.sigmoid_backward(d_gates[:, sigmoids], gates[:, sigmoids], grad_input=d_gates[:, sigmoids])
        torch.ops.aten.tanh_backward(d_g, g, grad_input=d_g)

    def softmax_backward(self, weights: Tensor, d_weights: Tensor) -> Tensor:
        """The gradient n S of the scores, given the weights n S and their gradient."""
        products = weights * d_weights  # n S
        return products.addcmul_(weights, products.sum(dim=1, keepdim=True), value=-1)
