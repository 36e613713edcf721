"""Learning rates over time."""

from __future__ import annotations

import math
from typing import Any, Protocol

from trdec.training.configuration import ScheduleConfiguration


class Schedule(Protocol):
    """The rate of each update. What it has learnt from dev is its state, which a checkpoint keeps."""

    def rate(self, update: int) -> float:
        """The learning rate of this update, the first being 1."""

    def validated(self, loss: float) -> None:
        """Take note of a dev loss."""

    def state(self) -> dict[str, Any]:
        """What has to be remembered, as JSON."""

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a remembered state."""


class Constant:
    """rate[u] = r min(1, u / warm-up)"""

    def __init__(self, rate: float, configuration: ScheduleConfiguration) -> None:
        self.base = rate
        self.warmup = configuration.warmup_updates
        self.minimum = configuration.minimum

    def rate(self, update: int) -> float:
        """The learning rate of this update."""
        return self.base * (update / self.warmup if update < self.warmup else self.share(update))

    def share(self, update: int) -> float:  # noqa: ARG002  (others depend on it)
        """The share of the base rate after warm-up."""
        return 1.0

    def validated(self, loss: float) -> None:
        """Dev changes nothing here."""

    def state(self) -> dict[str, Any]:
        """Nothing to remember."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Nothing to restore."""


class InverseSquareRoot(Constant):
    """rate[u] = r sqrt(warm-up / u) after warm-up"""

    def share(self, update: int) -> float:
        """The share of the base rate after warm-up."""
        return math.sqrt(max(self.warmup, 1) / update)


class Cosine(Constant):
    """rate[u] = m + (r - m) (1 + cos(pi d)) / 2, where d is the share of the decay that is done, and m the minimum"""

    def __init__(self, rate: float, configuration: ScheduleConfiguration, max_updates: int) -> None:
        super().__init__(rate, configuration)
        self.last = configuration.decay_updates or max_updates

    def share(self, update: int) -> float:
        """The share of the base rate after warm-up."""
        done = min(1.0, (update - self.warmup) / max(1, self.last - self.warmup))
        floor = min(1.0, self.minimum / self.base)
        return floor + (1.0 - floor) * (1.0 + math.cos(math.pi * done)) / 2.0


class Plateau(Constant):
    """rate = r factor^n, where n counts the validations that were no better than the best before them."""

    def __init__(self, rate: float, configuration: ScheduleConfiguration) -> None:
        super().__init__(rate, configuration)
        self.factor = configuration.factor
        self.patience = configuration.patience
        self.best: float | None = None
        self.forgiven = 0
        self.falls = 0

    def share(self, update: int) -> float:  # noqa: ARG002
        """The share of the base rate after warm-up."""
        return max(self.factor**self.falls, min(1.0, self.minimum / self.base))

    def validated(self, loss: float) -> None:
        """Let the rate fall if dev loss did not improve."""
        if self.best is None or loss < self.best:
            self.best, self.forgiven = loss, 0
        elif self.forgiven < self.patience:
            self.forgiven += 1
        else:
            self.falls, self.forgiven = self.falls + 1, 0

    def state(self) -> dict[str, Any]:
        """The best loss and how often it was missed."""
        return {"best": self.best, "forgiven": self.forgiven, "falls": self.falls}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a remembered state."""
        self.best, self.forgiven, self.falls = state["best"], state["forgiven"], state["falls"]


def make_schedule(configuration: ScheduleConfiguration, rate: float, max_updates: int) -> Schedule:
    """The schedule that a configuration asks for."""
    match configuration.kind:
        case "constant":
            return Constant(rate, configuration)
        case "inverse_square_root":
            return InverseSquareRoot(rate, configuration)
        case "cosine":
            return Cosine(rate, configuration, max_updates)
        case "plateau":
            return Plateau(rate, configuration)
