"""How contexts enter the gates of a recurrence: W c = sum over j of a[j] (W h[j]).

W h is given for all places of the source, sum(S) 4H, so that a step multiplies S numbers a row instead of C. Like the
attention itself it comes in two forms, a sentence at a time for large networks and in blocks for small ones.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from trdec.model.attention_tape import fill_products, row_parts
from trdec.model.block_attention_tape import Blocks, fits_blocks


class ContextTape(Protocol):
    """What contexts contribute to the gates, and the gradients of that."""

    def forward(self, gates: Tensor, weights: Tensor, sentences: list[int]) -> None:
        """Add the contribution of the contexts with these weights n S to gates n 4H."""

    def backward(self, d_gates: Tensor, d_weights: Tensor, sentences: list[int]) -> None:
        """Add the gradient n S of the weights."""

    def gradient(self, d_gates: Tensor, weights: Tensor, sentences: Tensor) -> Tensor:
        """sum(S) 4H, from the gate gradients M 4H, the weights M S that entered them and the sentences M."""


def context_tape(projected: Tensor, lengths: list[int]) -> ContextTape:
    """The form that suits the size of the projected states sum(S) 4H."""
    kind = ContextBlockTape if fits_blocks(max(lengths), projected.shape[1]) else ContextRowTape
    return kind(projected, lengths)


class ContextRowTape:
    """A sentence at a time."""

    def __init__(self, projected: Tensor, lengths: list[int]) -> None:
        self.projected = projected.split_with_sizes(lengths)  # S 4H each
        self.transposed = [row.t() for row in self.projected]  # 4H S each
        self.lengths = lengths

    def forward(self, gates: Tensor, weights: Tensor, sentences: list[int]) -> None:
        parts = row_parts(weights, self.lengths, sentences)  # S each
        for sentence, row, weight in zip(sentences, gates.unbind(0), parts, strict=True):
            row.addmv_(self.transposed[sentence], weight)

    def backward(self, d_gates: Tensor, d_weights: Tensor, sentences: list[int]) -> None:
        parts = row_parts(d_weights, self.lengths, sentences)  # S each
        for sentence, row, d_weight in zip(sentences, d_gates.unbind(0), parts, strict=True):
            d_weight.addmv_(self.projected[sentence], row)

    def gradient(self, d_gates: Tensor, weights: Tensor, sentences: Tensor) -> Tensor:
        sums = d_gates.new_empty(sum(self.lengths), d_gates.shape[1])  # sum(S) 4H
        fill_products(weights, d_gates, sentences, sums.split_with_sizes(self.lengths))
        return sums


class ContextBlockTape:
    """Blocks of sentences at a time."""

    def __init__(self, projected: Tensor, lengths: list[int]) -> None:
        parts = list(projected.split_with_sizes(lengths))  # S 4H each
        self.projected = Blocks(torch.nn.utils.rnn.pad_sequence(parts, batch_first=True))  # B S 4H
        self.lengths = torch.tensor(lengths, device=projected.device)  # B
        self.width = self.projected.values.shape[1]

    def forward(self, gates: Tensor, weights: Tensor, sentences: list[int]) -> None:
        for rows in self.projected.slices(len(sentences)):
            projected = self.projected.pick(sentences[rows])  # b S 4H
            gates[rows].unsqueeze(1).baddbmm_(weights[rows, : self.width].unsqueeze(1), projected)

    def backward(self, d_gates: Tensor, d_weights: Tensor, sentences: list[int]) -> None:
        for rows in self.projected.slices(len(sentences)):
            projected = self.projected.pick(sentences[rows])  # b S 4H
            d_weights[rows, : self.width].unsqueeze(2).baddbmm_(projected, d_gates[rows].unsqueeze(2))

    def gradient(self, d_gates: Tensor, weights: Tensor, sentences: Tensor) -> Tensor:
        order = torch.argsort(sentences, stable=True)  # M
        counts = torch.bincount(sentences, minlength=len(self.lengths)).tolist()
        by_sentence = [
            list(table.index_select(0, order).split_with_sizes(counts)) for table in (weights[:, : self.width], d_gates)
        ]
        places = [torch.nn.utils.rnn.pad_sequence(parts, batch_first=True) for parts in by_sentence]  # B m S, B m 4H
        sums = torch.bmm(places[0].transpose(1, 2), places[1])  # B S 4H
        is_real = torch.arange(self.width, device=sums.device) < self.lengths.unsqueeze(1)  # B S
        return sums[is_real]
