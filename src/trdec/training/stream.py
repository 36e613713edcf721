"""Which batches come next, what is drawn for them, and what a rank did of an update."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from trdec.errors import TrainingError
from trdec.training.interfaces import AnyBatch, Batches
from trdec.training.metrics import Kinds, KindSums

EpochPlan = Sequence[NDArray[Any]]
"""The example numbers of every batch of an epoch."""

Made = TypeVar("Made")


class Stream(Generic[AnyBatch]):
    """An endless sequence of batches; `epoch` and `position` say which is next.

    While one batch is trained on, the next is made in the background, and in the second half of an epoch the next
    epoch is planned. Batches depend on their numbers and their epoch alone, so this changes nothing but the time. What
    was made for another place than the one that is asked for, because the stream was put back, is thrown away.
    """

    def __init__(self, batches: Batches[AnyBatch]) -> None:
        self._batches = batches
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="batches")
        self._one_at_a_time = Lock()  # what splits words into pieces may keep a state of its own
        self._planned: tuple[int, EpochPlan] | None = None
        self._next_plan: tuple[int, Future[EpochPlan]] | None = None
        self._next_batch: tuple[tuple[int, int], Future[AnyBatch]] | None = None
        self.epoch = 0
        self.position = 0

    def next(self) -> NDArray[Any]:
        """The example numbers of the next batch."""
        if self.position >= len(self._plan(self.epoch)):
            self.epoch, self.position = self.epoch + 1, 0
        numbers = self._plan(self.epoch)[self.position]
        self.position += 1
        return numbers

    def batch(self, numbers: NDArray[Any], stride: int = 1) -> AnyBatch:
        """The batch of the numbers that `next` gave last; the one that comes `stride` batches later is begun."""
        place, begun, self._next_batch = (self.epoch, self.position), self._next_batch, None
        waiting = begun[1] if begun and begun[0] == place else None
        found = _result(waiting, lambda: self._make(numbers, self.epoch))
        self._begin(stride)
        return found

    def close(self) -> None:
        """Make nothing more."""
        self._worker.shutdown(cancel_futures=True)

    def _make(self, numbers: NDArray[Any], epoch: int) -> AnyBatch:
        with self._one_at_a_time:
            return self._batches.batch(numbers, epoch)

    def _begin(self, stride: int) -> None:
        plan, later = self._plan(self.epoch), self.position + stride
        if later <= len(plan):
            making = self._worker.submit(self._make, plan[later - 1], self.epoch)
            self._next_batch = ((self.epoch, later), making)
        following = self.epoch + 1
        if 2 * later > len(plan) and (self._next_plan is None or self._next_plan[0] != following):
            self._next_plan = (following, self._worker.submit(self._batches.plan, following))

    def _plan(self, epoch: int) -> EpochPlan:
        if self._planned is None or self._planned[0] != epoch:
            begun, self._next_plan = self._next_plan, None
            waiting = begun[1] if begun and begun[0] == epoch else None
            plan = _result(waiting, lambda: self._batches.plan(epoch))
            if not len(plan):
                raise TrainingError(
                    f"expected training examples, found none in epoch {epoch}. See the data report: perhaps the "
                    "filters left out every sentence, or every `weight` in data.train is too small to draw any."
                )
            self._planned = (epoch, plan)
        return self._planned[1]


def _result(begun: Future[Made] | None, make: Callable[[], Made]) -> Made:
    """What was begun; if nothing was, or it has not started, it is made here rather than waited for."""
    return make() if begun is None or begun.cancel() else begun.result()


def stride_after(count: int, batches: int, ranks: int, rank: int) -> int:
    """How many batches after batch `count` of an update of so many batches this rank has its next."""
    return ranks if count + ranks < batches else batches + rank - count


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
