"""A derivation that search found, and the trail that leads back along it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A whole derivation, EOS last, as the numbers of its actions."""

    actions: tuple[int, ...]
    action_log_probs: tuple[float, ...]
    log_prob: float
    """Their sum: the model's log-probability of the derivation."""
    score: float
    """What it was ranked by: the log-probability normalised by length."""
    truncated: bool
    """Whether the greatest length kept it from an action that the model found most probable."""


class Trail:
    """For each step and row, the action taken and the row it came from: hypotheses share their beginnings."""

    def __init__(self) -> None:
        self._steps: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []

    def append(self, origins: Tensor, actions: Tensor, log_probs: Tensor) -> None:
        """One step: where each row came from, its action and that action's log-probability."""
        self._steps.append((origins.cpu().numpy(), actions.cpu().numpy(), log_probs.cpu().numpy()))

    def back(self, row: int) -> tuple[list[int], list[float]]:
        """The actions that lead to a row of the latest step, first to last, and their log-probabilities."""
        return self.back_from(len(self._steps), row)

    def back_from(self, steps: int, row: int) -> tuple[list[int], list[float]]:
        """The actions that lead to what was this row after so many steps."""
        actions: list[int] = []
        log_probs: list[float] = []
        for origins, taken, scores in reversed(self._steps[:steps]):
            actions.append(int(taken[row]))
            log_probs.append(float(scores[row]))
            row = int(origins[row])
        return actions[::-1], log_probs[::-1]

    def __len__(self) -> int:
        return len(self._steps)
