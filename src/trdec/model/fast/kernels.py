"""The operations that training and search spend their time in, and the source table that attention reads.

Each operation is a function of tensors with one implementation in torch; a faster one replaces it here."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

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


def transposed(weight: Tensor) -> Tensor:
    """A weight X K as the matrix K X that rows R K are multiplied by, laid out to be fast for few rows."""
    return padded_stride(weight.t().contiguous())  # two copies are faster than one that transposes and pads


def lstm_gates(gates: Tensor, previous_cell: Tensor, cell: Tensor, tanh_cell: Tensor, hidden: Tensor) -> None:
    """Activate gates n 4H in place, in the order i, f, o, g, and fill the cell, its tanh and the hidden state, n H."""
    size = hidden.shape[1]
    gates[:, : 3 * size].sigmoid_()
    gates[:, 3 * size :].tanh_()
    i, f, o, g = gates.chunk(4, dim=1)  # n H each
    torch.mul(f, previous_cell, out=cell).addcmul_(i, g)
    torch.tanh(cell, out=tanh_cell)
    torch.mul(o, tanh_cell, out=hidden)


def lstm_gates_backward(
    gates: Tensor, previous_cell: Tensor, tanh_cell: Tensor, d_hidden: Tensor, d_cell: Tensor, d_gates: Tensor
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


def softmax_backward(weights: Tensor, d_weights: Tensor, out: Tensor) -> Tensor:
    """The gradient n S of the scores, in `out`, given the weights n S and their gradient."""
    products = torch.mul(weights, d_weights, out=out)
    return products.addcmul_(weights, products.sum(dim=1, keepdim=True), value=-1)


def sum_by_row(rows: Tensor, values: Tensor, num_rows: int) -> Tensor:
    """num_rows X: for each row, the sum of the values M X that belong to it."""
    return values.new_zeros(num_rows, values.shape[1]).index_add_(0, rows, values)


CACHED = 2**16
"""How many numbers a group of several sentences may take: a quarter of a megabyte."""

ENOUGH = 4
"""How many sentences must fit into such a group to make it worthwhile."""


class SourceTable:
    """Vectors sum(S) X at the places of sentences of these lengths."""

    def __init__(self, packed: Tensor, lengths: list[int]) -> None:
        self.lengths = lengths
        self.width = max(lengths)
        self.sentences = packed.split_with_sizes(lengths)  # S X each
        at_once = CACHED // max(1, self.width * packed.shape[1])
        self.padded: Tensor | None = None  # B S X, where groups have several sentences
        self.at_once = 1
        if at_once >= ENOUGH:
            self.at_once = at_once
            self.padded = pad_sequence(list(self.sentences), batch_first=True)
        else:
            self._singles = [sentence.unsqueeze(0) for sentence in self.sentences]  # 1 S X each

    def groups(self, sentences: list[int]) -> tuple[list[int], list[Tensor]]:
        """For rows that each read one sentence: the number of rows in each group, and the vectors g S X it reads."""
        if self.padded is None:
            return [1] * len(sentences), [self._singles[sentence] for sentence in sentences]
        chunks = [sentences[first : first + self.at_once] for first in range(0, len(sentences), self.at_once)]
        return [len(chunk) for chunk in chunks], [self._pick(chunk) for chunk in chunks]

    def add_products(self, sentences: list[int], left: Sequence[Tensor], right: Sequence[Tensor]) -> None:
        """Add left times right, g S X after broadcasting, to the vectors that each group of these rows reads.

        No two rows read the same sentence.
        """
        sizes, vectors = self.groups(sentences)
        first = 0
        for size, target, one, other in zip(sizes, vectors, left, right, strict=True):
            self.add_product(sentences[first : first + size], target, one, other)
            first += size

    def add_product(self, sentences: list[int], vectors: Tensor, left: Tensor, right: Tensor) -> None:
        """Add left times right, g S X after broadcasting, to the vectors that a group of these sentences reads."""
        if self.padded is None or _adjacent(sentences):
            vectors.addcmul_(left, right)  # a view
        else:
            self.padded.index_add_(0, torch.tensor(sentences, device=vectors.device), left * right)

    def packed(self) -> Tensor:
        """sum(S) X: the vectors, sentence after sentence."""
        if self.padded is None:
            return torch.cat(list(self.sentences))
        return torch.cat([row[:length] for row, length in zip(self.padded.unbind(0), self.lengths, strict=True)])

    def _pick(self, sentences: list[int]) -> Tensor:
        """g S X: a view where the sentences are adjacent, otherwise a copy."""
        assert self.padded is not None
        first = sentences[0]
        if _adjacent(sentences):
            return self.padded[first : first + len(sentences)]
        return self.padded.index_select(0, torch.tensor(sentences, device=self.padded.device))

    def row_parts(self, table: Tensor, sentences: list[int], sizes: list[int]) -> Sequence[Tensor]:
        """For each group of rows, its entries of a table n S, without padding, flattened: views, made in one call."""
        flat, width = table.view(-1), table.shape[1]
        if self.padded is not None:
            return flat.split_with_sizes([size * width for size in sizes])
        pieces = [size for sentence in sentences for size in (self.lengths[sentence], width - self.lengths[sentence])]
        return flat.split_with_sizes(pieces)[::2]


def _adjacent(sentences: list[int]) -> bool:
    first = sentences[0]
    return sentences == list(range(first, first + len(sentences)))
