"""Attention of the rows of a search: all rows of a sentence look at it together, and none at padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

CACHED = 2**18
"""Numbers that are compared at once: a megabyte, so that they stay in the processor's cache."""

LARGEST_KEY = 20.0
"""tanh of this is 1 to the last bit, in any precision."""


class Comparison(Protocol):
    """How the rows of a search score the places of a source; a softmax of the scores is the attention's."""

    def queries(self, hidden: Tensor) -> Tensor:
        """Hidden states n H as they are compared: n H."""

    def keys(self, keys: Tensor) -> Tensor:
        """The attention's keys N H as they are compared: N H."""

    def scores(self, queries: Tensor, keys: Tensor, scratch: Tensor) -> Tensor:
        """The scores k S of some queries k H for all keys S H of a sentence; scratch has room for k S H numbers."""


class TanhComparison:
    """v tanh(q + k)."""

    def __init__(self, query_weight: Tensor, score_weight: Tensor) -> None:
        self._query_weight = query_weight.t().contiguous()  # H H
        self._score_weight = score_weight  # H

    def queries(self, hidden: Tensor) -> Tensor:
        return hidden @ self._query_weight

    def keys(self, keys: Tensor) -> Tensor:
        return keys

    def scores(self, queries: Tensor, keys: Tensor, scratch: Tensor) -> Tensor:
        compared = scratch[: len(queries) * keys.numel()].view(len(queries), *keys.shape)  # k S H
        torch.add(queries.unsqueeze(1), keys, out=compared).tanh_()
        return torch.mv(compared.flatten(0, 1), self._score_weight).view(len(queries), -1)


class ExponentialComparison:
    """v tanh(q + k) = v - 2 v / (1 + e^2q e^2k), of which a softmax need not see the first term.

    The exponentials are made once for each query and key, and a division costs half of a tanh. Keys must be within
    LARGEST_KEY of 0. Then a query whose exponential overflows or vanishes, beyond 43 in single precision, does no
    harm: the sum is so large that its tanh is 1 or -1.
    """

    def __init__(self, query_weight: Tensor, score_weight: Tensor) -> None:
        self._query_weight = (2 * query_weight.t()).contiguous()  # H H
        self._score_weight = -2 * score_weight  # H
        self._one = score_weight.new_ones(())

    def queries(self, hidden: Tensor) -> Tensor:
        return (hidden @ self._query_weight).exp_()

    def keys(self, keys: Tensor) -> Tensor:
        return (2 * keys).exp_()

    def scores(self, queries: Tensor, keys: Tensor, scratch: Tensor) -> Tensor:
        compared = scratch[: len(queries) * keys.numel()].view(len(queries), *keys.shape)  # k S H
        torch.addcmul(self._one, queries.unsqueeze(1), keys, out=compared).reciprocal_()
        return torch.mv(compared.flatten(0, 1), self._score_weight).view(len(queries), -1)


class DotComparison:
    """q k."""

    def queries(self, hidden: Tensor) -> Tensor:
        return hidden

    def keys(self, keys: Tensor) -> Tensor:
        return keys

    def scores(self, queries: Tensor, keys: Tensor, scratch: Tensor) -> Tensor:  # noqa: ARG002
        return queries @ keys.t()


@dataclass(frozen=True)
class Sight:
    """The sentences of a batch as one RNN's rows look at them."""

    comparison: Comparison
    keys: tuple[Tensor, ...]  # S H each
    shown: tuple[Tensor, ...]  # S X each   what a place shows to a row that looks at nothing else

    def select(self, numbers: Sequence[int]) -> Sight:
        """These sentences in this order; nothing is copied."""
        return Sight(self.comparison, tuple(self.keys[n] for n in numbers), tuple(self.shown[n] for n in numbers))

    def look(self, hidden: Tensor, counts: Sequence[int]) -> Tensor:
        """n X: what hidden states n H see, of which each sentence has its count: the sums with attention's weights."""
        queries = self.comparison.queries(hidden)  # n H
        seen = hidden.new_empty(len(hidden), self.shown[0].shape[1])  # n X
        scratch = hidden.new_empty(max(CACHED, *(keys.numel() for keys in self.keys)))
        end = 0
        for count, keys, shown in zip(counts, self.keys, self.shown, strict=True):
            begin, end = end, end + count
            at_once = max(1, CACHED // keys.numel())
            scores = [
                self.comparison.scores(queries[first : min(first + at_once, end)], keys, scratch)  # k S
                for first in range(begin, end, at_once)
            ]
            if scores:
                weights = (scores[0] if len(scores) == 1 else torch.cat(scores)).softmax(dim=1)  # K S
                torch.mm(weights, shown, out=seen[begin:end])
        return seen
