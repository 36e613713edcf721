"""Losses added up by kind of action: rule, word, mark, end of phrase, end of sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

WORD = "word"
ALL = "all"


def perplexity(loss: float, count: float) -> float:
    """exp(loss / count)"""
    mean = loss / count if count else 0.0
    return math.exp(mean) if mean < 700 else math.inf


class Kinds:
    """The kind of every action, as a tensor that sums can be taken by."""

    def __init__(self, kinds: Sequence[str], device: torch.device | str = "cpu") -> None:
        self.names = tuple(dict.fromkeys(kinds))
        numbers = {name: number for number, name in enumerate(self.names)}
        self.numbers = torch.tensor([numbers[kind] for kind in kinds], device=device)  # A

    def of(self, actions: Tensor, padding: Tensor) -> Tensor:
        """The kind of every action that is not padding, in one row."""
        return self.numbers[actions[~padding]]


class KindSums:
    """How many actions of each kind there were, and their summed loss (minus log-probability)."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.losses: dict[str, float] = {}

    def add(self, kinds: Kinds, actions: Tensor, padding: Tensor, losses: Tensor) -> None:
        """Add a batch's losses, B T."""
        rows = kinds.of(actions, padding)  # N
        size = len(kinds.names)
        counts = torch.bincount(rows, minlength=size).tolist()
        each = losses.detach()[~padding].double()  # N
        sums = torch.zeros(size, dtype=torch.float64, device=rows.device).index_add_(0, rows, each).tolist()
        for name, count, loss in zip(kinds.names, counts, sums, strict=True):
            if count:
                self.counts[name] = self.counts.get(name, 0) + count
                self.losses[name] = self.losses.get(name, 0.0) + loss

    @property
    def actions(self) -> int:
        """The number of actions of all kinds."""
        return sum(self.counts.values())

    @property
    def words(self) -> int:
        """The number of words, or of subwords where words are segmented."""
        return self.counts.get(WORD, 0)

    @property
    def loss(self) -> float:
        """The summed loss of all kinds."""
        return math.fsum(self.losses.values())

    def perplexities(self) -> dict[str, float]:
        """The perplexity of all actions, then of each kind that occurred."""
        each = {name: perplexity(loss, self.counts[name]) for name, loss in self.losses.items()}
        return {ALL: perplexity(self.loss, self.actions), **each}

    def state(self) -> dict[str, Any]:
        """The sums, as JSON."""
        return {"counts": self.counts, "losses": self.losses}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from remembered sums."""
        self.counts, self.losses = dict(state["counts"]), dict(state["losses"])
