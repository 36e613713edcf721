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
from trdec.model.fast.compiled import kernels_for
from trdec.model.fast.kernels import MakeMatrix
from trdec.model.fast.source_table import Readers, SourceTable

LARGEST_KEY = 20.0
"""The largest key that is exponentiated apart from its query; its tanh is 1 to the last bit, in any precision."""


class KeyComparison(Protocol):
    """How rows score the places of their sources; a softmax of the scores gives the attention weights."""

    keys: SourceTable

    def queries(self, hidden: Tensor, out: Tensor | None = None) -> Tensor:
        """n H: the queries of hidden states n H, as they are compared with the keys."""

    def weights(self, readers: Readers, queries: Tensor, out: Tensor) -> None:
        """Fill out n S with the attention weights of queries n H; they are 0 at padding."""

    def start_backward(self) -> None:
        """Discard what an earlier backward pass accumulated."""

    def backward(self, readers: Readers, queries: Tensor, d_scores: Tensor, d_queries: Tensor) -> None:
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

    def __init__(
        self, keys: Tensor, lengths: list[int], query_weight: Tensor, score_weight: Tensor, matrix: MakeMatrix
    ) -> None:
        self.apart = bool((keys.abs() <= LARGEST_KEY).all())
        self._matrix = matrix
        self.keys = kernels_for(keys).table(self._prepared(2 * keys), lengths)
        self.query_weight, self.score_weight = query_weight, score_weight
        self._query_columns = matrix(2 * query_weight.t())  # H H
        self._weight = -2 * score_weight  # H

    def _prepared(self, doubled: Tensor) -> Tensor:
        return doubled.exp_() if self.apart else doubled

    def queries(self, hidden: Tensor, out: Tensor | None = None) -> Tensor:
        return self._prepared(self._query_columns.times(hidden, out=out))

    def weights(self, readers: Readers, queries: Tensor, out: Tensor) -> None:
        self.keys.additive_weights(readers, queries, self._weight, self.apart, out)

    def start_backward(self) -> None:
        self._query_rows = self._matrix(self.query_weight)  # H H
        self._d_keys = self.keys.zeros_like()
        self._d_score_weight = torch.zeros_like(self.score_weight)  # H

    def backward(self, readers: Readers, queries: Tensor, d_scores: Tensor, d_queries: Tensor) -> None:
        self.keys.additive_backward(
            readers, queries, self.apart, d_scores, d_queries, self._d_keys, self._d_score_weight
        )
        d_queries.mul_(4 * self.score_weight)

    def d_hidden(self, d_queries: Tensor) -> Tensor:
        return self._query_rows.times(d_queries)

    def gradients(self, hidden: Tensor, d_queries: Tensor) -> tuple[Tensor, ...]:
        d_keys = self._d_keys.packed().mul_(4 * self.score_weight)  # sum(S) H
        return d_keys, self._matrix(d_queries).transposed_times(hidden), -2 * self._d_score_weight


class DotComparison:
    """q k."""

    def __init__(self, keys: Tensor, lengths: list[int]) -> None:
        self.keys = kernels_for(keys).table(keys, lengths)

    def queries(self, hidden: Tensor, out: Tensor | None = None) -> Tensor:
        return hidden if out is None else out.copy_(hidden)

    def weights(self, readers: Readers, queries: Tensor, out: Tensor) -> None:
        self.keys.dot_weights(readers, queries, out)

    def start_backward(self) -> None:
        self._d_keys = self.keys.zeros_like()

    def backward(self, readers: Readers, queries: Tensor, d_scores: Tensor, d_queries: Tensor) -> None:
        self.keys.dot_backward(readers, queries, d_scores, d_queries, self._d_keys)

    def d_hidden(self, d_queries: Tensor) -> Tensor:
        return d_queries

    def gradients(self, hidden: Tensor, d_queries: Tensor) -> tuple[Tensor, ...]:  # noqa: ARG002
        return (self._d_keys.packed(),)


def parameters_of(attention: Attention) -> tuple[Tensor, ...]:
    """The parameters that comparing takes besides the keys."""
    return (attention.query_weight, attention.score_weight) if isinstance(attention, AdditiveAttention) else ()


def comparison_of(
    kind: type[Attention], keys: Tensor, lengths: list[int], parameters: Sequence[Tensor], matrix: MakeMatrix
) -> KeyComparison:
    """The comparison with keys sum(S) H for this kind of attention; `matrix` lays out what multiplies states."""
    if issubclass(kind, DotAttention):
        return DotComparison(keys, lengths)
    query_weight, score_weight = parameters
    return AdditiveComparison(keys, lengths, query_weight, score_weight, matrix)


class AttentionTape:
    """The attention weights of all places of a batch, and their gradients; those of the B start states are zero."""

    def __init__(self, comparison: KeyComparison, places: int) -> None:
        self.comparison = comparison
        some = comparison.keys.sentences[0]
        self._kernels = kernels_for(some)
        self.num_starts = len(comparison.keys.lengths)
        self.queries = some.new_empty(places, some.shape[1])  # N H
        self.weights = some.new_zeros(self.num_starts + places, comparison.keys.width)  # B+N S

    def forward(self, begin: int, hidden: Tensor, readers: Readers) -> None:
        """Fill the weights of the places from `begin` on, given their hidden states n H and sentences."""
        end = begin + readers.count
        queries = self.comparison.queries(hidden, out=self.queries[begin:end])  # n H
        self.comparison.weights(readers, queries, self.weights[self.num_starts + begin : self.num_starts + end])

    def start_backward(self) -> None:
        """Discard what an earlier backward pass accumulated."""
        self.comparison.start_backward()
        self.d_queries = torch.empty_like(self.queries)  # N H

    def backward(self, begin: int, readers: Readers, d_weights: Tensor) -> Tensor:
        """The gradient n H of the hidden states, given that of the weights n S."""
        end = begin + readers.count
        weights = self.weights[self.num_starts + begin : self.num_starts + end]  # n S
        d_scores = self._kernels.softmax_backward(weights, d_weights)  # n S
        d_queries = self.d_queries[begin:end]  # n H
        self.comparison.backward(readers, self.queries[begin:end], d_scores, d_queries)
        return self.comparison.d_hidden(d_queries)

    def gradients(self, hidden: Tensor) -> tuple[Tensor, ...]:
        """The gradients of the keys and the parameters, given the states N H of all places."""
        return self.comparison.gradients(hidden, self.d_queries)


class ContextTape:
    """The contexts' contribution to the gates, W c = sum over j of a[j] (W h[j]), and its gradients.

    W h is given for all places of the source, so a step multiplies S numbers per row instead of C.
    """

    def __init__(self, projected: Tensor, lengths: list[int]) -> None:
        self.projected = kernels_for(projected).table(projected, lengths)  # sum(S) 4H

    def forward(self, gates: Tensor, weights: Tensor, readers: Readers) -> None:
        """Add the contribution of the contexts with these weights n S to gates n 4H."""
        self.projected.add_sums(readers, weights, gates)

    def backward(self, d_gates: Tensor, d_weights: Tensor, readers: Readers) -> None:
        """Add the gradient of the weights to d_weights n S, given that of the gates n 4H."""
        self.projected.add_dots(readers, d_gates, d_weights)

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
