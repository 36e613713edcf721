"""The fast attention of large networks: its weights at all places, and their gradients.

Sentences are visited one at a time: a sentence's keys fit the processor's cache, none of the source's padding is
touched, and rows that do not attend at a step cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from trdec.model.reciprocals import Reciprocals
from trdec.model.row_spacing import spaced, turned


class AttentionTape(Protocol):
    """Attention weights of all places, and their gradients; the first rows of the table are zero."""

    weights: Tensor  # B+N S

    def __init__(self, keys: Tensor, lengths: list[int], places: int, parameters: tuple[Tensor, ...]) -> None: ...

    def forward(self, begin: int, hidden: Tensor, sentences: list[int]) -> None:
        """Fill the weights of the places from `begin` on, given their hidden states n H and sentences."""

    def backward(self, begin: int, sentences: list[int], d_weights: Tensor) -> Tensor:
        """The gradient n H of the hidden states, given that of the weights n S."""

    def start_backward(self) -> None:
        """Forget what an earlier backward pass has gathered."""

    def gradients(self, hidden: Tensor, sentences: Tensor) -> tuple[Tensor, ...]:
        """The gradients of the keys and the parameters, given the states N H and sentences N of all places."""


MakeTape = Callable[[Tensor, list[int], int, tuple[Tensor, ...]], AttentionTape]
"""Makes a tape from keys, source lengths, the number of places and parameters."""


def row_parts(table: Tensor, lengths: list[int], sentences: list[int]) -> tuple[Tensor, ...]:
    """The rows of a table n S as long as their sentences are: views, made in one call."""
    width = table.shape[1]
    sizes = [size for sentence in sentences for size in (lengths[sentence], width - lengths[sentence])]
    return table.view(-1).split_with_sizes(sizes)[::2]


def softmax_gradient(weights: Tensor, d_weights: Tensor, out: Tensor) -> Tensor:
    """The gradient n S of the scores, given the weights n S and their gradient."""
    products = torch.mul(weights, d_weights, out=out)
    return products.addcmul_(weights, products.sum(dim=1, keepdim=True), value=-1)


def fill_products(left: Tensor, right: Tensor, sentences: Tensor, sums: Sequence[Tensor]) -> None:
    """Fill each sentence's sum S X, over its places among M, of left M S times right M X."""
    places = torch.argsort(sentences, stable=True)  # M
    counts = torch.bincount(sentences, minlength=len(sums)).tolist()
    for chosen, total in zip(places.split_with_sizes(counts), sums, strict=True):
        torch.mm(left.index_select(0, chosen)[:, : len(total)].t(), right.index_select(0, chosen), out=total)


class AdditiveTape:
    """v tanh(W s + k), compared by `Reciprocals`: exponentials are kept, the rest is computed again on the way back."""

    def __init__(self, keys: Tensor, lengths: list[int], places: int, parameters: tuple[Tensor, ...]) -> None:
        self.query_weight, self.score_weight = parameters
        self.query_columns = turned(self.query_weight).mul_(2)  # H H
        num_sentences, num_source, size = keys.shape
        self.compare = Reciprocals(keys)
        self.keys = [row[:length] for row, length in zip(self.compare.keys.unbind(0), lengths, strict=True)]
        self.lengths = lengths
        self.queries = keys.new_empty(places, size)  # N H
        self.num_starts = num_sentences
        self.weights = keys.new_zeros(num_sentences + places, num_source)  # B+N S
        scratch = keys.new_empty(num_source, size)  # S H
        self.scratch = [scratch[:length] for length in lengths]
        self.scratch_transposed = [part.t() for part in self.scratch]

    def start_backward(self) -> None:
        self.query_rows = spaced(self.query_weight)  # H H
        shape = (self.num_starts, self.weights.shape[1], self.queries.shape[1])
        self.d_keys = self.queries.new_zeros(shape)  # B S H
        self.d_keys_rows = [row[:length] for row, length in zip(self.d_keys.unbind(0), self.lengths, strict=True)]
        self.d_queries = torch.empty_like(self.queries)  # N H
        self.d_scores = torch.empty_like(self.weights[self.num_starts :])  # N S
        self.d_score_weight = torch.zeros_like(self.score_weight)  # H

    def forward(self, begin: int, hidden: Tensor, sentences: list[int]) -> None:
        end = begin + len(sentences)
        queries = self.queries[begin:end]  # n H
        self.compare.prepare(torch.mm(hidden, self.query_columns, out=queries))
        scores = self.weights.new_full((end - begin, self.weights.shape[1]), -torch.inf)  # n S
        weight = -2 * self.score_weight  # H
        parts = row_parts(scores, self.lengths, sentences)  # S each
        for sentence, query, score in zip(sentences, queries.unbind(0), parts, strict=True):
            compared = self.compare(self.keys[sentence], query, out=self.scratch[sentence])  # S H
            torch.mv(compared, weight, out=score)
        torch.softmax(scores, dim=1, out=self.weights[self.num_starts + begin : self.num_starts + end])

    def backward(self, begin: int, sentences: list[int], d_weights: Tensor) -> Tensor:
        end = begin + len(sentences)
        weights = self.weights[self.num_starts + begin : self.num_starts + end]  # n S
        d_scores = softmax_gradient(weights, d_weights, out=self.d_scores[begin:end])  # n S
        d_queries = self.d_queries[begin:end]  # n H
        for sentence, query, d_score, d_query in zip(
            sentences,
            self.queries[begin:end].unbind(0),
            row_parts(d_scores, self.lengths, sentences),
            d_queries.unbind(0),
            strict=True,
        ):
            transposed = self.scratch_transposed[sentence]  # H S
            compared = self.compare(self.keys[sentence], query, out=self.scratch[sentence])  # S H
            self.d_score_weight.addmv_(transposed, d_score)
            compared.addcmul_(compared, compared, value=-1)  # a quarter of tanh'
            torch.mv(transposed, d_score, out=d_query)
            self.d_keys_rows[sentence].addcmul_(compared, d_score.unsqueeze(1))
        d_queries.mul_(4 * self.score_weight)
        return d_queries @ self.query_rows  # n H

    def gradients(self, hidden: Tensor, sentences: Tensor) -> tuple[Tensor, ...]:  # noqa: ARG002
        d_keys = self.d_keys.mul_(4 * self.score_weight)  # B S H
        return d_keys, self.d_queries.t() @ hidden, -2 * self.d_score_weight


class DotTape:
    """s k."""

    def __init__(
        self,
        keys: Tensor,
        lengths: list[int],
        places: int,
        parameters: tuple[Tensor, ...],  # noqa: ARG002  this kind has none
    ) -> None:
        num_sentences, num_source, _ = keys.shape
        self.keys = [row[:length] for row, length in zip(keys.unbind(0), lengths, strict=True)]
        self.lengths = lengths
        self.num_starts = num_sentences
        self.weights = keys.new_zeros(num_sentences + places, num_source)  # B+N S

    def start_backward(self) -> None:
        self.d_scores = torch.empty_like(self.weights[self.num_starts :])  # N S

    def forward(self, begin: int, hidden: Tensor, sentences: list[int]) -> None:
        end = begin + len(sentences)
        scores = self.weights.new_full((end - begin, self.weights.shape[1]), -torch.inf)  # n S
        parts = row_parts(scores, self.lengths, sentences)  # S each
        for sentence, row, score in zip(sentences, hidden.unbind(0), parts, strict=True):
            torch.mv(self.keys[sentence], row, out=score)
        torch.softmax(scores, dim=1, out=self.weights[self.num_starts + begin : self.num_starts + end])

    def backward(self, begin: int, sentences: list[int], d_weights: Tensor) -> Tensor:
        end = begin + len(sentences)
        weights = self.weights[self.num_starts + begin : self.num_starts + end]  # n S
        d_scores = softmax_gradient(weights, d_weights, out=self.d_scores[begin:end])  # n S
        d_hidden = weights.new_empty(end - begin, self.keys[0].shape[1])  # n H
        parts = row_parts(d_scores, self.lengths, sentences)  # S each
        for sentence, d_score, d_row in zip(sentences, parts, d_hidden.unbind(0), strict=True):
            torch.mv(self.keys[sentence].t(), d_score, out=d_row)
        return d_hidden

    def gradients(self, hidden: Tensor, sentences: Tensor) -> tuple[Tensor, ...]:
        d_keys = hidden.new_zeros(self.num_starts, self.d_scores.shape[1], hidden.shape[1])  # B S H
        rows = [row[:length] for row, length in zip(d_keys.unbind(0), self.lengths, strict=True)]
        fill_products(self.d_scores, hidden, sentences, rows)
        return (d_keys,)
