"""The fast attention of small networks: many sentences in one call.

A small network spends its time in calling, not in computing, so rows are visited in blocks that together fit the
processor's cache. Neighbouring sentences are a view of the batch's tensors; others are copied first, which costs less
than a call for each. The source's padding is computed and weighs nothing.
"""

from __future__ import annotations

import torch
from torch import Tensor

from trdec.model.attention_tape import softmax_gradient
from trdec.model.reciprocals import Reciprocals
from trdec.model.row_spacing import turned

CACHED = 2**16
"""Numbers that a block may take: a quarter of a megabyte."""

ENOUGH = 4
"""Sentences that must fit a block to make it worth while."""


def fits_blocks(num_source: int, size: int) -> bool:
    """Whether sentences of so many places and numbers a place are small enough for this file."""
    return num_source * size * ENOUGH <= CACHED


class Blocks:
    """Vectors B S X at the places of sentences, picked for blocks of rows."""

    def __init__(self, values: Tensor) -> None:
        self.values = values
        self.at_once = max(1, CACHED // max(1, values[0].numel()))

    def slices(self, num_rows: int) -> list[slice]:
        """The rows of each block."""
        return [slice(first, min(first + self.at_once, num_rows)) for first in range(0, num_rows, self.at_once)]

    def pick(self, sentences: list[int]) -> Tensor:
        """b S X of these sentences."""
        first = sentences[0]
        if sentences == list(range(first, first + len(sentences))):
            return self.values[first : first + len(sentences)]
        return self.values.index_select(0, self._numbers(sentences))

    def add(self, sentences: list[int], left: Tensor, right: Tensor) -> None:
        """Add the product of left and right, b S X once broadcast, to these sentences, which are all different."""
        first = sentences[0]
        if sentences == list(range(first, first + len(sentences))):
            self.values[first : first + len(sentences)].addcmul_(left, right)
        else:
            self.values.index_add_(0, self._numbers(sentences), left * right)

    def _numbers(self, sentences: list[int]) -> Tensor:
        return torch.tensor(sentences, device=self.values.device)


class AdditiveBlockTape:
    """v tanh(W s + k), compared by `Reciprocals`: exponentials are kept, the rest is computed again on the way back."""

    def __init__(self, keys: Tensor, lengths: list[int], places: int, parameters: tuple[Tensor, ...]) -> None:
        self.query_weight, self.score_weight = parameters
        num_sentences, num_source, size = keys.shape
        self.compare = Reciprocals(keys)
        self.query_columns = turned(self.query_weight).mul_(2)  # H H
        self.keys = Blocks(self.compare.keys)  # B S H
        self.scratch = keys.new_empty(self.keys.at_once, num_source, size)  # b S H
        is_padding = torch.arange(num_source, device=keys.device) >= torch.tensor(lengths, device=keys.device)[:, None]
        self.bias = keys.new_zeros(is_padding.shape).masked_fill_(is_padding, -torch.inf)  # B S
        self.queries = keys.new_empty(places, size)  # N H
        self.num_starts = num_sentences
        self.weights = keys.new_zeros(num_sentences + places, num_source)  # B+N S

    def start_backward(self) -> None:
        self.d_keys = Blocks(torch.zeros_like(self.keys.values))  # B S H
        self.d_queries = torch.empty_like(self.queries)  # N H
        self.d_scores = torch.empty_like(self.weights[self.num_starts :])  # N S
        self.d_score_weight = torch.zeros_like(self.score_weight)  # H

    def forward(self, begin: int, hidden: Tensor, sentences: list[int]) -> None:
        end = begin + len(sentences)
        queries = self.queries[begin:end]  # n H
        self.compare.prepare(torch.mm(hidden, self.query_columns, out=queries))
        scores = self.bias.index_select(0, torch.tensor(sentences, device=hidden.device))  # n S
        for rows in self.keys.slices(len(sentences)):
            compared = self._compared(sentences[rows], queries[rows])  # b S H
            scores[rows].view(-1).addmv_(compared.flatten(0, 1), self.score_weight, alpha=-2)
        torch.softmax(scores, dim=1, out=self.weights[self.num_starts + begin : self.num_starts + end])

    def backward(self, begin: int, sentences: list[int], d_weights: Tensor) -> Tensor:
        end = begin + len(sentences)
        weights = self.weights[self.num_starts + begin : self.num_starts + end]  # n S
        d_scores = softmax_gradient(weights, d_weights, out=self.d_scores[begin:end])  # n S
        queries, d_queries = self.queries[begin:end], self.d_queries[begin:end]  # n H
        for rows in self.keys.slices(len(sentences)):
            compared = self._compared(sentences[rows], queries[rows])  # b S H
            d_block = d_scores[rows]  # b S
            self.d_score_weight.addmv_(compared.flatten(0, 1).t(), d_block.flatten())
            compared.addcmul_(compared, compared, value=-1)  # a quarter of tanh'
            torch.bmm(d_block.unsqueeze(1), compared, out=d_queries[rows].unsqueeze(1))
            self.d_keys.add(sentences[rows], compared, d_block.unsqueeze(2))
        d_queries.mul_(4 * self.score_weight)
        return d_queries @ self.query_weight  # n H

    def _compared(self, sentences: list[int], queries: Tensor) -> Tensor:
        """b S H: the reciprocals of these sentences and queries b H, until the next call."""
        return self.compare(self.keys.pick(sentences), queries.unsqueeze(1), out=self.scratch[: len(sentences)])

    def gradients(self, hidden: Tensor, sentences: Tensor) -> tuple[Tensor, ...]:  # noqa: ARG002
        d_keys = self.d_keys.values.mul_(4 * self.score_weight)  # B S H
        return d_keys, self.d_queries.t() @ hidden, -2 * self.d_score_weight
