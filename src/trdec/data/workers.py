"""A corpus in shards, encoded by worker processes."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np

from trdec.data.codec import Codec
from trdec.data.corpus import RawPair, Reader
from trdec.data.report import LeftOut, Reason, SplitReport
from trdec.data.source_form import SourceForm
from trdec.data.store import Example, Examples
from trdec.errors import TreeShapeError, UnknownActionError, UnknownRuleError, WorkerError
from trdec.targets.target import Target

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


@dataclass(frozen=True, slots=True)
class CountUnits:
    """Counts the rules or marks in the trees of a shard, and the marks of its sources' trees."""

    reader: Reader
    target: type[Target[Any]]
    source_form: SourceForm | None = None

    def __call__(self, shard: list[RawPair]) -> tuple[Counter[Any], Counter[str]]:
        """How often each occurs in the trees that are not left out."""
        counts: Counter[Any] = Counter()
        marks: Counter[str] = Counter()
        for pair in shard:
            words = self.reader.words(pair)
            if isinstance(words, LeftOut):
                continue
            source = self.reader.source_tree(pair, words.source)
            if isinstance(source, LeftOut):
                continue
            for entry in self.reader.trees(pair, words.target):
                if not isinstance(entry, LeftOut) and entry.tree is not None:
                    counts.update(self.target.units(entry.tree))
            if source is not None and self.source_form is not None:
                marks.update(self.source_form.units(source))
        return counts, marks


@dataclass(frozen=True, slots=True)
class Encode:
    """Encodes a shard."""

    reader: Reader
    codec: Codec

    def __call__(self, shard: list[RawPair]) -> tuple[Examples, SplitReport]:
        """The examples of the shard, and what was left out of it."""
        report = SplitReport()
        examples: list[Example] = []
        for pair in shard:
            examples += self._examples(pair, report)
        report.examples = len(examples)
        return Examples.of(examples), report

    def _examples(self, pair: RawPair, report: SplitReport) -> Iterator[Example]:
        report.pairs += 1
        report.duplicates += pair.repeated
        words = self.reader.words(pair)
        if isinstance(words, LeftOut):
            report.leave_out_pair(words)
            return
        source_tree = self.reader.source_tree(pair, words.source)
        if isinstance(source_tree, LeftOut):
            report.leave_out_pair(source_tree)
            return
        source = self.codec.encode_source_words(words.source, source_tree)
        numbers = source if source_tree is None else source[source[:, 1] == 1, 0]  # of the pieces and the end
        counted = False
        for treebank, entry in enumerate(self.reader.trees(pair, words.target)):
            if isinstance(entry, LeftOut):
                report.leave_out_tree(entry)
                continue
            assert entry.tree is not None
            try:
                steps = self.codec.encode_target(entry.tree)
            except (UnknownRuleError, UnknownActionError) as error:
                report.leave_out_tree(LeftOut(Reason.UNSEEN, f"{entry.place}: {error}"))
                continue
            except TreeShapeError as error:
                raise TreeShapeError(f"{entry.place}: {error}") from error
            report.crossing_arcs += not entry.was_projective
            report.steps += len(steps)
            if not counted:  # every tree of the pair has the same pieces
                counted = True
                report.source_pieces += len(numbers)
                report.unknown_source_pieces += int(np.count_nonzero(numbers == 0))
                report.unknown_target_pieces += int(np.count_nonzero(steps[:, 0] == self.codec.unknown_action))
            yield Example(source, steps, self.reader.first + pair.number, treebank)
