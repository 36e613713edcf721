"""Shards of a corpus, worked on by several processes."""

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
WorkerResult = TypeVar("WorkerResult")

AHEAD = 2
"""How many shards per worker are read ahead: more would only fill memory."""

_task: Callable[[Any], Any] | None = None


def ordered_map(task: Callable[[Shard], WorkerResult], shards: Iterable[Shard], workers: int) -> Iterator[WorkerResult]:
    """The task's result for each shard, in the order of the shards, for any number of workers."""
    shards = iter(shards)
    first = list(islice(shards, 2))
    if workers <= 1 or len(first) < 2:  # one shard is done before a process has started
        yield from map(task, chain(first, shards))
        return
    # A process with threads (torch has some) cannot be forked safely, so workers are spawned.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_set_task, initargs=(task,))
    waiting: deque[Future[WorkerResult]] = deque()
    try:
        for shard in chain(first, shards):
            waiting.append(pool.submit(_run_worker, shard))
            if len(waiting) > AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        raise WorkerError(
            "a worker process died before it was done, perhaps for lack of memory. Try again with fewer workers."
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _set_task(task: Callable[[Any], Any]) -> None:
    global _task
    _task = task
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    # The other workers hold the ends of the pipes too, so a worker whose parent was killed would wait forever.
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _run_worker(shard: Any) -> Any:
    assert _task is not None
    return _task(shard)


SHARD = 500
"""Sentence pairs per shard, for any number of workers."""

ShardItem = TypeVar("ShardItem")


def shards(items: Iterable[ShardItem]) -> Iterator[list[ShardItem]]:
    """The items in lists of SHARD, the last one shorter."""
    iterator = iter(items)
    while shard := list(islice(iterator, SHARD)):
        yield shard
