"""Which batches come next, what is drawn for them, and what a rank did of an update."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from trdec.errors import TrainingError
from trdec.training.interfaces import AnyBatch, Batches
from trdec.training.metrics import Kinds, KindSums


class Stream(Generic[AnyBatch]):
    """An endless sequence of batches, as example numbers; `epoch` and `position` say which is next."""

    def __init__(self, batches: Batches[AnyBatch]) -> None:
        self._batches = batches
        self._planned: tuple[int, Sequence[NDArray[Any]]] | None = None
        self.epoch = 0
        self.position = 0

    def next(self) -> NDArray[Any]:
        """The example numbers of the next batch."""
        if self.position >= len(self._plan(self.epoch)):
            self.epoch, self.position = self.epoch + 1, 0
        numbers = self._plan(self.epoch)[self.position]
        self.position += 1
        return numbers

    def batch(self, numbers: NDArray[Any]) -> AnyBatch:
        """The batch of the numbers that `next` gave last."""
        return self._batches.batch(numbers, self.epoch)

    def _plan(self, epoch: int) -> Sequence[NDArray[Any]]:
        if self._planned is None or self._planned[0] != epoch:
            plan = self._batches.plan(epoch)
            if not len(plan):
                raise TrainingError(
                    f"expected training examples, found none in epoch {epoch}. See the data report: perhaps the "
                    "filters left out every sentence, or every `weight` in data.train is too small to draw any."
                )
            self._planned = (epoch, plan)
        return self._planned[1]


def seed_of_batch(seed: int, update: int, batch: int) -> int:
    """The seed of what a network draws for this batch of this update."""
    return int(np.random.SeedSequence((seed, update, batch)).generate_state(1, np.uint64)[0])


@dataclass(frozen=True, slots=True)
class Share:
    """What one rank did of an update, or why it did not do all of it."""

    put_back: bool
    """Whether a signal came between two of its batches."""
    skipped: int
    """The number of the batch whose loss is not finite, counted from 1 in the whole update; 0 if there is none."""
    epoch: int
    position: int
    total: float
    sums: KindSums

    def values(self, kinds: Kinds) -> list[float]:
        """The share as numbers, as ranks tell them each other."""
        numbers = [self.put_back, self.skipped, self.epoch, self.position, self.total]
        return [*numbers, *self.sums.values(kinds)]

    @classmethod
    def of_values(cls, values: Sequence[float], kinds: Kinds) -> Share:
        """The share that has these values."""
        put_back, skipped, epoch, position, total, *sums = values
        return cls(bool(put_back), int(skipped), int(epoch), int(position), total, KindSums.of_values(sums, kinds))
