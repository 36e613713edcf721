"""How long a derivation may be, and how its length counts in its score."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor

from trdec.errors import UsageError
from trdec.search.frontiers import STEPS, Effects

NO_LIMIT = 1 << 40

MAX_RATIO = 100.0
"""The most actions per source piece that may be allowed."""

MAX_EXTRA = 100_000
"""The most actions that may be allowed whatever the source."""

MAX_LENGTH_POWER = 10.0
"""The greatest power of a length: beyond it scores would leave the range of numbers."""


@dataclass(frozen=True, slots=True)
class Normalisation:
    """score = log-probability / length ** power, where length counts all actions or only words (subwords).

    Power 0 compares plain probabilities, which favours short derivations; 1, the default, is what the paper's
    released code does.
    """

    power: float = 1.0
    unit: Literal["actions", "words"] = "actions"

    def __post_init__(self) -> None:
        if not 0 <= self.power <= MAX_LENGTH_POWER:
            raise UsageError(f"expected a `length_power` from 0 to {MAX_LENGTH_POWER:g}, found {self.power}.")

    def score(self, log_prob: float, actions: int, words: int) -> float:
        """The score of a complete derivation."""
        length = {"actions": actions, "words": words}[self.unit]
        return float(log_prob / max(1, length) ** self.power)

    def bound(self, log_probs: Tensor, most_actions: Tensor) -> Tensor:
        """R: an upper bound on final scores, given log-probabilities R so far and the greatest numbers of actions R.

        A log-probability is at most 0 and can only fall, and neither unit counts more than the actions, so the
        greatest length gives the greatest score.
        """
        return log_probs / most_actions.clamp(min=1).to(log_probs.dtype) ** self.power  # R


@dataclass(frozen=True, slots=True)
class LengthLimits:
    """The least and the greatest number of actions, given the number of source pieces.

    least = min_ratio * source,  greatest = max_ratio * source + max_extra
    """

    min_ratio: float = 0.0
    max_ratio: float = 6.0
    max_extra: int = 50

    def __post_init__(self) -> None:
        ratios = (self.min_ratio, self.max_ratio)
        if not (all(0 <= ratio <= MAX_RATIO for ratio in ratios) and 0 <= self.max_extra <= MAX_EXTRA):
            raise UsageError(
                f"expected length limits from 0 to {MAX_RATIO:g} actions per source piece and to {MAX_EXTRA:,} more, "
                f"found `min_ratio` {self.min_ratio}, `max_ratio` {self.max_ratio}, `max_extra` {self.max_extra}."
            )
        if self.min_ratio > self.max_ratio:
            raise UsageError(
                f"no translation can have at least {self.min_ratio} and at most {self.max_ratio} actions per source "
                "piece. Choose a min_ratio no greater than max_ratio."
            )

    def bounds(self, source_lengths: Tensor, effects: Effects) -> Bounds:
        """The bounds for these sentences; the shortest possible derivation is always allowed."""
        low = torch.zeros(len(source_lengths), effects.gains.shape[1], dtype=torch.long)  # B M
        high = torch.full_like(low, NO_LIMIT)  # B M
        lengths = source_lengths.cpu().double()
        low[:, STEPS] = (lengths * self.min_ratio).floor().long()
        shortest = int(effects.needs[list(effects.start), STEPS].sum())
        high[:, STEPS] = (lengths * self.max_ratio + self.max_extra).floor().long().clamp(min=shortest)
        return Bounds(low.to(source_lengths.device), high.to(source_lengths.device))


@dataclass(frozen=True)
class Bounds:
    """How much a complete derivation must have, and may have, of each measure."""

    low: Tensor  # B M
    high: Tensor  # B M

    @cached_property
    def have_minimum(self) -> bool:
        """Whether any sentence must have some of any measure."""
        return bool((self.low > 0).any())

    def select(self, sentences: Tensor) -> Bounds:
        """These sentences in this order."""
        return Bounds(self.low[sentences], self.high[sentences])

    def at_least(self, low: Tensor) -> Bounds:
        """The same bounds, with at least this much B M of each measure."""
        return Bounds(torch.maximum(self.low, low), self.high)

    def too_long(
        self, effects: Effects, used: Tensor, needs_below: Tensor, lacking: Tensor | None = None
    ) -> Tensor | None:
        """R A: the actions after which no completion stays within the upper bounds; None if there are none.

        `lacking` R A is how many more steps, beyond the shortest completion, what is demanded takes.
        """
        width = used.shape[0] // self.high.shape[0]
        room = self.high.repeat_interleave(width, dim=0) - used - needs_below  # R M
        takes = effects.takes  # A M
        if lacking is None:
            tight = (room < effects.most_taken).any(dim=0)  # M
            if not bool(tight.any()):
                return None
            return (takes[:, tight] > room[:, tight].unsqueeze(1)).any(dim=2)  # R A
        too_long = (takes > room.unsqueeze(1)).any(dim=2)  # R A
        return too_long | (takes[:, STEPS] + lacking > room[:, STEPS, None])

    def too_short(self, effects: Effects, used: Tensor, needs_below: Tensor) -> Tensor | None:
        """R A: the actions after which no word could follow although a measure is still too small; None if none are."""
        if not self.have_minimum:
            return None
        low = self.low.repeat_interleave(used.shape[0] // self.low.shape[0], dim=0)  # R M
        unmet = (used < low).any(dim=0)  # M
        if not bool(unmet.any()):
            return None
        closing = effects.needs_after[:, STEPS] + needs_below[:, STEPS, None] <= effects.closed  # R A
        reached = (used + needs_below)[:, None, unmet] + effects.takes[:, unmet]  # R A m
        return closing & (reached < low[:, None, unmet]).any(dim=2)  # R A
