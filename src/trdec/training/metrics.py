"""What training reports: losses by kind of action, on the updates of a window and on dev."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from trdec.errors import TrainingError
from trdec.training.interfaces import AnyBatch, Batches, Trainable

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


class Window:
    """Sums over some updates, and the line of the log they make."""

    def __init__(self) -> None:
        self.updates = 0
        self.sentences = 0
        self.loss = 0.0
        self.norm = 0.0
        self.seconds = 0.0
        self.sums = KindSums()

    def row(self) -> dict[str, Any]:
        """How much was trained on, and the means: loss a sentence, perplexities, speed, gradient length."""
        seconds = max(self.seconds, 1e-9)
        return {
            "sentences": self.sentences,
            "actions": self.sums.actions,
            "loss": self.loss / max(1, self.sentences),
            "perplexity": self.sums.perplexities(),
            "words_per_second": round(self.sums.words / seconds, 1),
            "actions_per_second": round(self.sums.actions / seconds, 1),
            "gradient_norm": self.norm / max(1, self.updates),
        }

    def state(self) -> dict[str, Any]:
        """The sums, as JSON."""
        counters = {"updates": self.updates, "sentences": self.sentences, "loss": self.loss}
        return {**counters, "norm": self.norm, "seconds": self.seconds, "sums": self.sums.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from remembered sums."""
        self.updates, self.sentences, self.loss = state["updates"], state["sentences"], state["loss"]
        self.norm, self.seconds = state["norm"], state["seconds"]
        self.sums.restore(state["sums"])


@dataclass(frozen=True, slots=True)
class DevLosses:
    """Losses on dev: per sentence, and the sums by kind of action."""

    sentences: int
    sums: KindSums

    @property
    def loss(self) -> float:
        """The loss summed over steps, divided by sentences."""
        return self.sums.loss / self.sentences


def measure_dev(
    model: Trainable[AnyBatch],
    batches: Batches[AnyBatch],
    kinds: Kinds,
    device: torch.device | str = "cpu",
    autocast: contextlib.AbstractContextManager[object] | None = None,
) -> DevLosses:
    """The model's losses on these batches, without dropout; randomness and training mode stay as they were."""
    sums, sentences = KindSums(), 0
    model.train(False)
    with torch.random.fork_rng(), torch.no_grad(), autocast or contextlib.nullcontext():
        for numbers in batches.plan(0):
            batch = batches.batch(numbers).to(device)
            sums.add(kinds, batch.actions, batch.padding, model.loss(batch, 0.0).negative_log_probs)
            sentences += batch.num_sentences
    model.train(True)
    if not sentences:
        raise TrainingError(
            "expected dev examples, found none. Look at the report of the data: none of dev's trees may be "
            "covered by the training data."
        )
    return DevLosses(sentences, sums)
