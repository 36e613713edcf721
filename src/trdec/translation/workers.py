"""Several processes that translate batches for one translator."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from types import TracebackType
from typing import TYPE_CHECKING, Self

import torch

from trdec.errors import OutOfMemoryError
from trdec.translation.translation import Translation

if TYPE_CHECKING:
    from trdec.translation.translator import Task, Translator

_AHEAD = 2
"""Batches per process that are handed out before the first is back, so that no process waits for its next one."""

_translator: Translator | None = None
"""In a worker process, the translator it has loaded."""


class Workers:
    """Processes of one thread each, with models of their own; they end with the block, or with the parent process.

    `load` returns the translator in each of them; it must be a function that can be pickled.
    """

    def __init__(self, jobs: int, load: Callable[[], Translator]) -> None:
        context = multiprocessing.get_context("spawn")  # torch's threads do not survive a fork
        self._jobs = jobs
        self._pool = ProcessPoolExecutor(jobs, context, initializer=_start, initargs=(load,))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(cancel_futures=True)

    def map(self, tasks: Iterable[Task]) -> Iterator[list[Translation]]:
        """The translations of each task, in order."""
        waiting: deque[Future[list[Translation]]] = deque()
        try:
            for task in tasks:
                waiting.append(self._pool.submit(_translate, task))
                if len(waiting) >= _AHEAD * self._jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise OutOfMemoryError(
                "a process that was translating has ended, probably for lack of memory: each has models of its own. "
                "Use fewer `jobs`, or a smaller `batch_size` or `beam_size`."
            ) from error


def _start(load: Callable[[], Translator]) -> None:
    """Prepare a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process decides what an interruption means
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(1)
    global _translator
    _translator = load()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _translate(task: Task) -> list[Translation]:
    assert _translator is not None
    return _translator.search(task)
