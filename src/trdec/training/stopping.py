"""When to give up hoping for better dev scores."""

from __future__ import annotations

from typing import Any


class EarlyStopping:
    """Counts validations in a row without a better score (lower is better)."""

    def __init__(self, patience: int | None) -> None:
        self.patience = patience
        self.best: float | None = None
        self.stale = 0

    def validated(self, score: float) -> None:
        """Take note of a score."""
        if self.best is None or score < self.best:
            self.best, self.stale = score, 0
        else:
            self.stale += 1

    @property
    def exhausted(self) -> bool:
        """Whether patience has run out."""
        return self.patience is not None and self.stale >= self.patience

    def state(self) -> dict[str, Any]:
        """What has to be remembered, as JSON."""
        return {"best": self.best, "stale": self.stale}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a remembered state."""
        self.best, self.stale = state["best"], state["stale"]
