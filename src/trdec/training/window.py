"""What happened since the last line of the log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trdec.training.kinds import KindSums


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
