"""Attention of the rows of a search: all rows of a sentence look at it together, and none at padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from trdec.model.reciprocals import Reciprocals
from trdec.model.row_spacing import turned

CACHED = 2**18
"""Numbers that are compared at once: a megabyte, so that they stay in the processor's cache."""


class Comparison(Protocol):
    """How the rows of a search score the places of a source; a softmax of the scores is the attention's."""

    def queries(self, hidden: Tensor) -> Tensor:
        """Hidden states n H as they are compared: n H."""

    @property
    def keys(self) -> Tensor:
        """The attention's keys N H as they are compared: N H."""

    def scores(self, queries: Tensor, keys: Tensor, scratch: Tensor) -> Tensor:
        """The scores k S of some queries k H for all keys S H of a sentence; scratch has room for k S H numbers."""


class AdditiveComparison:
    """v tanh(q + k), but for a term that is the same for all keys."""

    def __init__(self, keys: Tensor, query_weight: Tensor, score_weight: Tensor) -> None:
        self._compare = Reciprocals(keys)
        self.keys = self._compare.keys
        self._query_columns = turned(query_weight).mul_(2)  # H H
        self._score_weight = -2 * score_weight  # H

    def queries(self, hidden: Tensor) -> Tensor:
        return self._compare.prepare(hidden @ self._query_columns)

    def scores(self, queries: Tensor, keys: Tensor, scratch: Tensor) -> Tensor:
        room = scratch[: len(queries) * keys.numel()].view(len(queries), *keys.shape)  # k S H
        compared = self._compare(keys, queries.unsqueeze(1), out=room)  # k S H
        return torch.mv(compared.flatten(0, 1), self._score_weight).view(len(queries), -1)


class DotComparison:
    """q k."""

    def __init__(self, keys: Tensor) -> None:
        self.keys = keys

    def queries(self, hidden: Tensor) -> Tensor:
        return hidden

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
