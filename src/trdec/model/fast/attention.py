"""Fast attention: comparing queries with keys, and the weights and contexts of a batch's steps with their gradients.

Attention costs a product per source place. Three things make it fast: exponentials are computed once for each query
and key, not once for each pair; rows are compared in groups that stay in the processor's cache (`kernels`); and a
context enters gates and features as a sum of projected encoder states: W c = sum over j of a[j] (W h[j]).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from trdec.model.attention import AdditiveAttention, Attention, DotAttention
from trdec.model.fast.kernels import SourceTable, padded_stride, softmax_backward, transposed

LARGEST_KEY = 20.0
"""The largest key that is exponentiated apart from its query; its tanh is 1 to the last bit, in any precision."""


class KeyComparison(Protocol):
    """How rows score the places of their sources; a softmax of the scores gives the attention weights."""

    keys: SourceTable

    def queries(self, hidden: Tensor, out: Tensor | None = None) -> Tensor:
        """n H: the queries of hidden states n H, as they are compared with the keys."""

    def add_scores(self, vectors: Tensor, queries: Tensor, scores: Tensor) -> None:
        """Add to scores g*S those of queries g 1 H for keys g S H, or for keys 1 S H that the whole group shares."""

    def start_backward(self) -> None:
        """Discard what an earlier backward pass accumulated."""

    def backward(self, sentences: list[int], queries: Tensor, d_scores: Tensor, d_queries: Tensor) -> None:
        """Fill d_queries n H and accumulate the gradients of keys and parameters, given those of the scores n S."""

    def d_hidden(self, d_queries: Tensor) -> Tensor:
        """The gradient n H of the hidden states, given that of the queries."""

    def gradients(self, hidden: Tensor, d_queries: Tensor) -> tuple[Tensor, ...]:
        """The gradients of the keys sum(S) H and of the parameters, given the states and gradients of all places."""


class AdditiveComparison:
    """v tanh(q + k), up to a term that is the same for all keys: -2 v r with r = 1 / (1 + e^2q e^2k).

    tanh(q + k) = 1 - 2 r and its derivative is 4 (r - r^2). The exponentials are computed once for each query and key,
    and a division costs half as much as a tanh. The scores are v - 2 v r; the first term affects neither the softmax
    nor v's gradient, since the gradients of a softmax's scores sum to zero. With keys within LARGEST_KEY of 0, a query
    whose exponential overflows or vanishes (beyond 43 in single precision) does no harm: the sum is so large that its
    tanh is 1 or -1. With larger keys, the exponential of the sum is computed instead.
    """

    def __init__(self, keys: Tensor, lengths: list[int], query_weight: Tensor, score_weight: Tensor) -> None:
        self.apart = bool((keys.abs() <= LARGEST_KEY).all())
        self.keys = SourceTable(self._prepared(2 * keys), lengths)
        self.query_weight, self.score_weight = query_weight, score_weight
        self._query_columns = transposed(query_weight).mul_(2)  # H H
        self._weight = -2 * score_weight  # H
        self._one = keys.new_ones(())
        self._scratch = keys.new_empty(0)
        self._rooms: dict[tuple[int, int], tuple[Tensor, Tensor]] = {}

    def _prepared(self, doubled: Tensor) -> Tensor:
        return doubled.exp_() if self.apart else doubled

    def queries(self, hidden: Tensor, out: Tensor | None = None) -> Tensor:
        return self._prepared(torch.mm(hidden, self._query_columns, out=out))

    def _room(self, rows: int, places: int) -> tuple[Tensor, Tensor]:
        """Reused memory, as g S H and as g*S H; the views are kept, since making them costs a tenth of a row."""
        if (rows, places) not in self._rooms:
            shape = (rows, places, len(self.score_weight))
            size = rows * places * len(self.score_weight)
            if len(self._scratch) < size:
                self._scratch = self.score_weight.new_empty(size)
                self._rooms.clear()
            room = self._scratch[:size].view(shape)
            self._rooms[rows, places] = room, room.flatten(0, 1)
        return self._rooms[rows, places]

    def _reciprocals(self, vectors: Tensor, queries: Tensor) -> tuple[Tensor, Tensor]:
        """r, as g S H and as g*S H, until the next call."""
        out, flat = self._room(queries.shape[0], vectors.shape[1])
        if self.apart:
            torch.addcmul(self._one, vectors, queries, out=out)
        else:
            torch.add(vectors, queries, out=out).exp_().add_(1)
        out.reciprocal_()
        return out, flat

    def add_scores(self, vectors: Tensor, queries: Tensor, scores: Tensor) -> None:
        scores.addmv_(self._reciprocals(vectors, queries)[1], self._weight)

    def start_backward(self) -> None:
        self._query_rows = padded_stride(self.query_weight)  # H H
        zeros = self.score_weight.new_zeros(sum(self.keys.lengths), len(self.score_weight))
        self._d_keys = SourceTable(zeros, self.keys.lengths)
        self._d_score_weight = torch.zeros_like(self.score_weight)  # H

    def backward(self, sentences: list[int], queries: Tensor, d_scores: Tensor, d_queries: Tensor) -> None:
        sizes, vectors = self.keys.groups(sentences)
        _, d_vectors = self._d_keys.groups(sentences)
        parts = self.keys.row_parts(d_scores, sentences, sizes)  # g*S each
        first = 0
        for size, keys, d_key, query, d_score, d_query in zip(
            sizes,
            vectors,
            d_vectors,
            queries.unsqueeze(1).split_with_sizes(sizes),  # g 1 H each
            parts,
            d_queries.unsqueeze(1).split_with_sizes(sizes),  # g 1 H each
            strict=True,
        ):
            compared, flat = self._reciprocals(keys, query)  # g S H, g*S H
            self._d_score_weight.addmv_(flat.t(), d_score)
            compared.addcmul_(compared, compared, value=-1)  # a quarter of tanh'
            by_row = d_score.view(size, 1, -1)  # g 1 S
            torch.bmm(by_row, compared, out=d_query)
            self._d_keys.add_product(sentences[first : first + size], d_key, compared, by_row.transpose(1, 2))
            first += size
        d_queries.mul_(4 * self.score_weight)

    def d_hidden(self, d_queries: Tensor) -> Tensor:
        return d_queries @ self._query_rows

    def gradients(self, hidden: Tensor, d_queries: Tensor) -> tuple[Tensor, ...]:
        d_keys = self._d_keys.packed().mul_(4 * self.score_weight)  # sum(S) H
        return d_keys, d_queries.t() @ hidden, -2 * self._d_score_weight


class DotComparison:
    """q k."""

    def __init__(self, keys: Tensor, lengths: list[int]) -> None:
        self.keys = SourceTable(keys, lengths)
        self._size = keys.shape[1]

    def queries(self, hidden: Tensor, out: Tensor | None = None) -> Tensor:
        return hidden if out is None else out.copy_(hidden)

    def add_scores(self, vectors: Tensor, queries: Tensor, scores: Tensor) -> None:
        scores += torch.matmul(vectors, queries.transpose(1, 2)).flatten()

    def start_backward(self) -> None:
        some = self.keys.sentences[0]
        self._d_keys = SourceTable(some.new_zeros(sum(self.keys.lengths), self._size), self.keys.lengths)

    def backward(self, sentences: list[int], queries: Tensor, d_scores: Tensor, d_queries: Tensor) -> None:
        sizes, vectors = self.keys.groups(sentences)
        parts = self.keys.row_parts(d_scores, sentences, sizes)  # g*S each
        by_row = [part.view(size, 1, -1) for part, size in zip(parts, sizes, strict=True)]  # g 1 S each
        for keys, d_score, d_query in zip(vectors, by_row, d_queries.unsqueeze(1).split_with_sizes(sizes), strict=True):
            torch.bmm(d_score, keys, out=d_query)
        query_parts = queries.unsqueeze(1).split_with_sizes(sizes)  # g 1 H each
        self._d_keys.add_products(sentences, [part.transpose(1, 2) for part in by_row], query_parts)

    def d_hidden(self, d_queries: Tensor) -> Tensor:
        return d_queries

    def gradients(self, hidden: Tensor, d_queries: Tensor) -> tuple[Tensor, ...]:  # noqa: ARG002
        return (self._d_keys.packed(),)


def parameters_of(attention: Attention) -> tuple[Tensor, ...]:
    """The parameters that comparing takes besides the keys."""
    return (attention.query_weight, attention.score_weight) if isinstance(attention, AdditiveAttention) else ()


def comparison_of(
    kind: type[Attention], keys: Tensor, lengths: list[int], parameters: Sequence[Tensor]
) -> KeyComparison:
    """The comparison with keys sum(S) H for this kind of attention."""
    if issubclass(kind, DotAttention):
        return DotComparison(keys, lengths)
    query_weight, score_weight = parameters
    return AdditiveComparison(keys, lengths, query_weight, score_weight)


class AttentionTape:
    """The attention weights of all places of a batch, and their gradients; those of the B start states are zero."""

    def __init__(self, comparison: KeyComparison, places: int) -> None:
        self.comparison = comparison
        lengths, some = comparison.keys.lengths, comparison.keys.sentences[0]
        self.num_starts, width = len(lengths), comparison.keys.width
        self.queries = some.new_empty(places, some.shape[1])  # N H
        self.weights = some.new_zeros(self.num_starts + places, width)  # B+N S
        is_padding = torch.arange(width, device=some.device) >= torch.tensor(lengths, device=some.device)[:, None]
        self.bias = some.new_zeros(is_padding.shape).masked_fill_(is_padding, -torch.inf)  # B S

    def forward(self, begin: int, hidden: Tensor, sentences: list[int], numbers: Tensor) -> None:
        """Fill the weights of the places from `begin` on, given their hidden states n H and sentences."""
        end = begin + len(sentences)
        queries = self.comparison.queries(hidden, out=self.queries[begin:end])  # n H
        scores = self.bias.index_select(0, numbers)  # n S
        keys = self.comparison.keys
        sizes, vectors = keys.groups(sentences)
        parts = keys.row_parts(scores, sentences, sizes)  # g*S each
        add_scores = self.comparison.add_scores
        for group, query, part in zip(vectors, queries.unsqueeze(1).split_with_sizes(sizes), parts, strict=True):
            add_scores(group, query, part)
        torch.softmax(scores, dim=1, out=self.weights[self.num_starts + begin : self.num_starts + end])

    def start_backward(self) -> None:
        """Discard what an earlier backward pass accumulated."""
        self.comparison.start_backward()
        self.d_queries = torch.empty_like(self.queries)  # N H

    def backward(self, begin: int, sentences: list[int], d_weights: Tensor) -> Tensor:
        """The gradient n H of the hidden states, given that of the weights n S."""
        end = begin + len(sentences)
        weights = self.weights[self.num_starts + begin : self.num_starts + end]  # n S
        d_scores = softmax_backward(weights, d_weights, out=torch.empty_like(weights))  # n S
        d_queries = self.d_queries[begin:end]  # n H
        self.comparison.backward(sentences, self.queries[begin:end], d_scores, d_queries)
        return self.comparison.d_hidden(d_queries)

    def gradients(self, hidden: Tensor) -> tuple[Tensor, ...]:
        """The gradients of the keys and the parameters, given the states N H of all places."""
        return self.comparison.gradients(hidden, self.d_queries)


class ContextTape:
    """The contexts' contribution to the gates, W c = sum over j of a[j] (W h[j]), and its gradients.

    W h is given for all places of the source, so a step multiplies S numbers per row instead of C.
    """

    def __init__(self, projected: Tensor, lengths: list[int]) -> None:
        self.projected = SourceTable(projected, lengths)  # sum(S) 4H
        self.transposed = [sentence.t() for sentence in self.projected.sentences]  # 4H S each

    def forward(self, gates: Tensor, weights: Tensor, sentences: list[int]) -> None:
        """Add the contribution of the contexts with these weights n S to gates n 4H."""
        table = self.projected
        if table.padded is None:
            parts = table.row_parts(weights, sentences, [])  # S each
            for sentence, row, weight in zip(sentences, gates.unbind(0), parts, strict=True):
                row.addmv_(self.transposed[sentence], weight)
            return
        sizes, vectors = table.groups(sentences)
        parts = table.row_parts(weights, sentences, sizes)  # g*S each
        for projected, rows, part in zip(vectors, gates.unsqueeze(1).split_with_sizes(sizes), parts, strict=True):
            rows.baddbmm_(part.view(len(rows), 1, -1), projected)

    def backward(self, d_gates: Tensor, d_weights: Tensor, sentences: list[int]) -> None:
        """Add the gradient of the weights to d_weights n S, given that of the gates n 4H."""
        table = self.projected
        if table.padded is None:
            parts = table.row_parts(d_weights, sentences, [])  # S each
            for sentence, row, d_weight in zip(sentences, d_gates.unbind(0), parts, strict=True):
                d_weight.addmv_(table.sentences[sentence], row)
            return
        sizes, vectors = table.groups(sentences)
        parts = table.row_parts(d_weights, sentences, sizes)  # g*S each
        for projected, rows, part in zip(vectors, d_gates.unsqueeze(2).split_with_sizes(sizes), parts, strict=True):
            part.view(len(rows), -1, 1).baddbmm_(projected, rows)

    def gradient(self, d_gates: Tensor, weights: Tensor, sentences: Tensor) -> Tensor:
        """sum(S) 4H, from the gate gradients M 4H, the weights M S that entered them and the sentences M."""
        lengths = self.projected.lengths
        sums = d_gates.new_empty(sum(lengths), d_gates.shape[1])  # sum(S) 4H
        places = torch.argsort(sentences, stable=True)  # M
        counts = torch.bincount(sentences, minlength=len(lengths)).tolist()
        for chosen, total in zip(places.split_with_sizes(counts), sums.split_with_sizes(lengths), strict=True):
            by_place = weights.index_select(0, chosen)[:, : len(total)]  # m S
            torch.mm(by_place.t(), d_gates.index_select(0, chosen), out=total)
        return sums
