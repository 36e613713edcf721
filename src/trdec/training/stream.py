"""Batches in the order of their epochs' plans, from any place on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic

from numpy.typing import NDArray

from trdec.errors import TrainingError
from trdec.training.protocols import AnyBatch, Batches


class Stream(Generic[AnyBatch]):
    """An endless row of batches; `epoch` and `position` say which is next."""

    def __init__(self, batches: Batches[AnyBatch]) -> None:
        self._batches = batches
        self._planned: tuple[int, Sequence[NDArray[Any]]] | None = None
        self.epoch = 0
        self.position = 0

    def take(self, count: int) -> list[AnyBatch]:
        """The next batches."""
        return [self._next() for _ in range(count)]

    def _next(self) -> AnyBatch:
        if self.position >= len(self._plan(self.epoch)):
            self.epoch, self.position = self.epoch + 1, 0
        numbers = self._plan(self.epoch)[self.position]
        self.position += 1
        return self._batches.batch(numbers)

    def _plan(self, epoch: int) -> Sequence[NDArray[Any]]:
        if self._planned is None or self._planned[0] != epoch:
            plan = self._batches.plan(epoch)
            if not len(plan):
                raise TrainingError(
                    "expected training examples, found none. Look at the report of the data: the filters "
                    "may have left out every sentence."
                )
            self._planned = (epoch, plan)
        return self._planned[1]
