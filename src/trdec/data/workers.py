"""Shards of a corpus, worked on by several processes, here or on a cluster."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import chain, islice
from typing import Any, ClassVar, Protocol, TypeVar

from trdec import __version__
from trdec.cluster import MEMORY, THREADS, check_workers, connected, result_of
from trdec.errors import WorkerError

Shard = TypeVar("Shard")
WorkerResult = TypeVar("WorkerResult")

AHEAD = 2
"""How many shards per worker are read ahead: more would only fill memory."""

_task: Callable[[Any], Any] | None = None


class ShardWorkers(Protocol):
    """Who works on the shards of a corpus."""

    def map(self, task: Callable[[Shard], WorkerResult], shards: Iterable[Shard]) -> Iterator[WorkerResult]:
        """The task's result for each shard, in the order of the shards, whoever works on them."""


class Processes:
    """So many processes of this machine."""

    def __init__(self, number: int) -> None:
        self._number = number

    def map(self, task: Callable[[Shard], WorkerResult], shards: Iterable[Shard]) -> Iterator[WorkerResult]:
        """The task's result for each shard, in order."""
        if self._number <= 1:
            yield from map(task, shards)
            return
        shards = iter(shards)
        first = list(islice(shards, 2))
        if len(first) < 2:  # one shard is done before a process has started
            yield from map(task, first)
            return
        # A process with threads (torch has some) cannot be forked safely, so workers are spawned.
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(self._number, mp_context=context, initializer=_set_task, initargs=(task,))
        try:
            results = (pool.submit(_run_worker, shard).result for shard in chain(first, shards))
            yield from _in_turn(results, lambda: AHEAD * self._number)
        except BrokenProcessPool as error:
            raise WorkerError(
                "a worker process died before it was done, perhaps for lack of memory. Try again with fewer workers."
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


HERE = Processes(1)
"""This process alone."""


class ClusterWorkers:
    """The workers of a Dask cluster, which have the same trdec installed."""

    NEEDED: ClassVar = {THREADS: 1, MEMORY: 2}
    """What a shard takes of a worker; most of the memory is for a parser's model."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def map(self, task: Callable[[Shard], WorkerResult], shards: Iterable[Shard]) -> Iterator[WorkerResult]:
        """The task's result for each shard, in order; a shard whose worker is lost goes to another one."""
        submit = partial(self._client.submit, resources=self.NEEDED, pure=False)
        # Loading is a task too: if its worker is lost, the scheduler can repeat it, but not find data it was given.
        loaded = submit(_load, __version__, sys.path, pickle.dumps(task))
        submitted = (submit(_run_on_cluster, loaded, shard) for shard in shards)
        results = (partial(result_of, future, "a shard of the corpus", _MORE_MEMORY) for future in submitted)
        yield from _in_turn(results, lambda: AHEAD * max(1, check_workers(self._client, self.NEEDED)))


_MORE_MEMORY = "Start workers with more memory"


@contextlib.contextmanager
def workers_of(scheduler: str | None, processes: int = 1) -> Iterator[ShardWorkers]:
    """The workers of a Dask scheduler; so many processes of this machine if there is none."""
    if scheduler is None:
        yield Processes(processes)
        return
    with connected(scheduler) as client:
        yield ClusterWorkers(client)


def _in_turn(results: Iterable[Callable[[], WorkerResult]], ahead: Callable[[], int]) -> Iterator[WorkerResult]:
    """What the functions return, in their order, each called when `ahead` more have been taken, or all."""
    waiting: deque[Callable[[], WorkerResult]] = deque()
    for result in results:
        waiting.append(result)
        if len(waiting) > ahead():
            yield waiting.popleft()()
    while waiting:
        yield waiting.popleft()()


_one_at_a_time = threading.Lock()


def _load(version: str, path: list[str], pickled: bytes) -> Callable[[Any], Any]:
    """On a worker of a cluster: the task, whose modules may be where the command found them."""
    if version != __version__:
        raise WorkerError(
            f"a Dask worker has trdec {__version__}, and this is trdec {version}. Install the same on all machines."
        )
    sys.path.extend(folder for folder in path if folder not in sys.path)
    return pickle.loads(pickled)  # type: ignore[no-any-return]


def _run_on_cluster(task: Callable[[Any], Any], shard: Any) -> Any:
    # Threads of a worker would only take turns in Python, and parsers are not made for several.
    with _one_at_a_time:
        return task(shard)


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
