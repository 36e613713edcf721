"""A model's process as its parent sees it: started, watched, fed with batches, and replaced when it dies."""

from __future__ import annotations

import contextlib
import logging
import math
import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, Literal, Protocol

from trdec.serve.jobs import Job, LineFailure, LineResults, ModelDescription, WaitingJobs
from trdec.serve.model_process import run_model

_log = logging.getLogger(__name__)

LOOK = 0.2
"""Seconds between looks at whether a process still lives, and is still wanted."""

MOST_DEATHS = 2
"""How many processes may die with a request before it is given up, and at the start before the server is."""

LINGER = 0.05
"""How long a batch waits at most for those just answered to ask again, as a share of the seconds of the one before."""

LONGEST_PAUSE = 30.0
"""Seconds before a process that keeps dying is started once more."""


class BatchObserver(Protocol):
    """Is told what a model does."""

    def batch(self, model: str, lines: int, seconds: float) -> None:
        """A batch was answered."""
        ...

    def restarted(self, model: str) -> None:
        """The process died and is started again."""
        ...


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """What a process is started with."""

    paths: tuple[Path, ...]
    precision: Literal["float32", "int8"] = "float32"
    threads: int = 1
    allow: tuple[str, ...] = ()
    seconds: float = 60.0
    """A batch that takes longer is given up, and the process with it."""


class QueueFull(Exception):
    """Too many lines wait already."""


class _Died(Exception):
    """The process is gone."""


class _Unwanted(Exception):
    """Nobody waits for what the process does."""


class ModelRunner:
    """Keeps a model's process alive and gives it what waits, in one batch, whenever it is free."""

    def __init__(
        self,
        name: str,
        settings: ProcessSettings,
        queue: int,
        observer: BatchObserver,
        loaded: Callable[[ModelDescription | LineFailure], None],
    ) -> None:
        """`loaded` is called once, from another thread: with what the model is, or why it cannot be served."""
        self.name = name
        self._settings = settings
        self._queue = queue
        self._observer = observer
        self._loaded: Callable[[ModelDescription | LineFailure], None] | None = loaded
        self._waiting = WaitingJobs()
        self._changed = threading.Condition()
        self._process: SpawnProcess | None = None
        self._ready = False
        self._stopping = False
        self._starting = 0.0
        """Seconds until the last process was ready."""
        self._seconds_per_line = 0.05
        self._lingering = 0.0
        """Until when a batch waits for those who were answered last to ask again."""
        self._present = 0
        """The lines of the last batch and those that waited before any of them was answered."""
        self._thread = threading.Thread(target=self._run, name=f"model {name}", daemon=True)

    def start(self) -> None:
        """Start the process, and the thread that looks after it."""
        self._thread.start()

    @property
    def ready(self) -> bool:
        """Whether the process is there and its model is loaded."""
        process = self._process
        return self._ready and process is not None and process.is_alive()

    @property
    def process_id(self) -> int | None:
        """The number of the process, while there is one."""
        return None if self._process is None else self._process.pid

    @property
    def waiting_lines(self) -> int:
        """The lines that wait."""
        with self._changed:
            return self._waiting.num_lines

    @property
    def expected_wait(self) -> int:
        """Seconds, from 1 to 60, after which what waits now is probably done."""
        return max(1, min(60, math.ceil(self.waiting_lines * self._seconds_per_line)))

    def submit(self, job: Job) -> None:
        """Let a job wait for its turn; QueueFull if too many lines do, unless none do at all."""
        with self._changed:
            lines = self._waiting.num_lines
            if lines and lines + len(job.lines) > self._queue:
                raise QueueFull
            self._waiting.add(job)
            self._changed.notify()

    def cancel(self, job: Job) -> None:
        """Nobody waits for this job any more: lines of it that were not sent yet never are."""
        with self._changed:
            job.abandon()
            self._waiting.remove(job)

    def stop(self) -> None:
        """End the process after its present batch, and wait for that."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        deaths = 0
        while not self._stopping:
            began = time.monotonic()
            unanswered: dict[int, tuple[Job, int]] = {}
            try:
                with self._started() as connection:
                    self._load(connection)
                    self._starting = time.monotonic() - began
                    while unanswered := dict(enumerate(self._next_batch())):
                        self._exchange(connection, unanswered)
            except _Unwanted:
                _log.warning(
                    "nobody waits for what the model does", extra={"model": self.name, "lines": len(unanswered)}
                )
                self._observer.restarted(self.name)
            except Exception as error:  # noqa: BLE001  (whatever happened, requests get their answers from the next)
                deaths = 1 if time.monotonic() - began > LONGEST_PAUSE else deaths + 1
                self._give_back(list(unanswered.values()))
                _log.warning(
                    "model process died",
                    extra={"model": self.name, "lines": len(unanswered), "reason": type(error).__name__},
                )
                self._observer.restarted(self.name)
                self._report(LineFailure("its process died while it was loaded", "server"), deaths >= MOST_DEATHS)
                self._pause(0 if deaths == 1 else min(LONGEST_PAUSE, 0.25 * 2 ** min(deaths, 10)))
        self._fail_the_rest()

    @contextlib.contextmanager
    def _started(self) -> Iterator[Connection]:
        """The connection to a new process, which ends with the block."""
        connection = self._spawn()
        try:
            yield connection
        finally:
            self._end_process(connection)

    def _spawn(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        chosen = self._settings
        process = context.Process(
            target=run_model,
            args=(theirs, chosen.paths, chosen.precision, chosen.threads, list(chosen.allow)),
            name=f"trdec model {self.name}",
            daemon=True,
        )
        try:
            process.start()
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self._process = process
        return ours

    def _load(self, connection: Connection) -> None:
        """Wait until the model is loaded."""
        found = self._receive(connection, self._check_not_stopping)
        if isinstance(found, LineFailure):
            _log.error("model cannot be loaded", extra={"model": self.name})
            self._report(found, True)
            raise _Died
        _log.info("model ready", extra={"model": self.name, "process_id": self.process_id})
        self._ready = True
        self._report(found, True)

    def _report(self, found: ModelDescription | LineFailure, final: bool) -> None:
        """Tell once how loading went."""
        if final and self._loaded is not None:
            self._loaded(found)
            self._loaded = None

    def _next_batch(self) -> list[tuple[Job, int]]:
        """What waits, as soon as anything does, and those just answered had time to ask again; nothing at the end."""
        with self._changed:
            while self._waiting or not self._stopping:
                if not self._waiting:
                    if not self._changed.wait(LOOK) and not (self._process and self._process.is_alive()):
                        raise _Died
                elif (
                    self._waiting.num_lines < self._present
                    and not self._waiting.full
                    and not self._stopping
                    and (left := self._lingering - time.monotonic()) > 0
                ):
                    self._changed.wait(left)
                else:
                    return self._waiting.take()
            return []

    def _exchange(self, connection: Connection, unanswered: dict[int, tuple[Job, int]]) -> None:
        """Have a batch of lines translated; each leaves it with its answer."""
        began = time.monotonic()
        lines = len(unanswered)
        connection.send((unanswered[0][0].settings, [job.lines[number] for job, number in unanswered.values()]))
        while unanswered:
            results: LineResults = self._receive(connection, lambda: self._check_wanted(unanswered, began))
            with self._changed:
                if len(unanswered) == lines:
                    self._present = lines + self._waiting.num_lines
                for place, result in results:
                    job, number = unanswered.pop(place)
                    job.results[number] = result
                    if len(job.results) == len(job.lines):
                        job.finish()
        seconds = time.monotonic() - began
        self._lingering = began + (1 + LINGER) * seconds
        self._seconds_per_line += 0.2 * (seconds / lines - self._seconds_per_line)
        self._observer.batch(self.name, lines, seconds)

    def _receive(self, connection: Connection, check: Callable[[], None]) -> Any:
        """What the process sends; _Died if it dies, or whatever `check` raises, which is called while nothing comes."""
        assert self._process is not None
        while connection not in (found := wait([connection, self._process.sentinel], LOOK)):
            if found:
                raise _Died
            check()
        return connection.recv()

    def _check_not_stopping(self) -> None:
        if self._stopping:
            raise _Died

    def _check_wanted(self, unanswered: dict[int, tuple[Job, int]], began: float) -> None:
        """_Died if a batch takes too long, or _Unwanted if somebody else waits, and nobody for this batch any more."""
        seconds = time.monotonic() - began
        too_long = seconds > self._settings.seconds
        with self._changed:
            if any(job.open for job, _ in unanswered.values()):
                if too_long:
                    raise _Died
            # Nobody knows how long the batch still takes. Ending its process once it has run as long as the next needs
            # to start costs those who wait at most twice what they would have waited had it been known.
            elif too_long or self._stopping or (self._waiting and seconds > self._starting):
                raise _Unwanted

    def _give_back(self, batch: list[tuple[Job, int]]) -> None:
        """Let unanswered lines wait again; a job that has cost too many processes is given up."""
        with self._changed:
            for job in {id(job): job for job, _ in batch}.values():
                job.attempts += 1
                if job.attempts >= MOST_DEATHS:
                    job.lost = True
                    job.finish()
                    self._waiting.remove(job)
            self._waiting.put_back([(job, number) for job, number in batch if job.open])

    def _pause(self, seconds: float) -> None:
        with self._changed:
            if not self._stopping and seconds:
                self._changed.wait_for(lambda: self._stopping, seconds)

    def _end_process(self, connection: Connection) -> None:
        self._ready = False
        connection.close()
        if self._process is not None:
            self._process.kill()  # it has nothing to save
            self._process.join()

    def _fail_the_rest(self) -> None:
        with self._changed:
            while self._waiting:
                for job in {id(job): job for job, _ in self._waiting.take()}.values():
                    job.lost = True
                    self._waiting.remove(job)
                    job.finish()
