"""The same task over many shards, in several processes, with the results in order."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from typing import Any, TypeVar

from trdec.errors import WorkerError

Shard = TypeVar("Shard")
Result = TypeVar("Result")

AHEAD = 2
"""So many shards a worker are read before their turn: more would only fill memory."""

_task: Callable[[Any], Any] | None = None


def ordered_map(task: Callable[[Shard], Result], shards: Iterable[Shard], workers: int) -> Iterator[Result]:
    """What the task makes of each shard, in the order of the shards, whatever the number of workers."""
    shards = iter(shards)
    first = list(islice(shards, 2))
    if workers <= 1 or len(first) < 2:  # one shard is done before a process has started
        yield from map(task, chain(first, shards))
        return
    # A process with threads (torch has some) cannot be forked safely, so workers start afresh.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_set_task, initargs=(task,))
    waiting: deque[Future[Result]] = deque()
    try:
        for shard in chain(first, shards):
            waiting.append(pool.submit(_run, shard))
            if len(waiting) > AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        raise WorkerError(
            "a worker process died before its work was done, perhaps for want of memory. Try again with fewer workers."
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _set_task(task: Callable[[Any], Any]) -> None:
    global _task
    _task = task
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    # The other workers hold the ends of the pipes too, so that a worker whose parent was killed would wait for ever.
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _run(shard: Any) -> Any:
    assert _task is not None
    return _task(shard)
