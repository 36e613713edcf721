"""Requests as jobs: lines that are sent to a model's process, what comes back, and which lines share a batch."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from trdec.trees.tree import Nonterminal


@dataclass(frozen=True, slots=True)
class LineSettings:
    """How lines are translated: lines with equal settings may share a batch."""

    beam_size: int = 5
    n_best: int = 1
    length_power: float | None = None
    """None: the model's own."""
    length_unit: Literal["actions", "words"] = "actions"
    min_ratio: float = 0.0
    max_ratio: float = 6.0
    max_extra: int = 50
    words: int | None = None
    demands: tuple[str, ...] = ()
    """Which of `prefix` and `skeleton` the lines have."""
    answer: Literal["texts", "details", "attention"] = "texts"
    """Only the texts; also trees, actions and scores; also attention."""


@dataclass(frozen=True, slots=True)
class WaitingLine:
    """A sentence to translate, and what its translation must look like."""

    text: str
    prefix: str = ""
    skeleton: Nonterminal | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The translations of a line, best first; as one JSON object too if details were requested."""

    texts: tuple[str, ...]
    details: str | None = None


@dataclass(frozen=True, slots=True)
class LineFailure:
    """Why a line has no translation."""

    message: str
    blame: Literal["request", "server"]
    field: str | None = None


LineResult = Answer | LineFailure

LineResults = list[tuple[int, LineResult]]
"""What became of lines of a batch, with their numbers in it."""


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """What a process says about its model when it is ready."""

    source_language: str | None
    target_language: str | None
    system: str
    trees: bool
    """Whether it writes trees, not only sequences."""
    beam_size: int = 5
    """The beam that it translates with unless told otherwise."""


ROWS_AT_ONCE = 512
"""Hypotheses of the lines that a model translates together."""


class Job:
    """The lines of one request, with the results that have come so far."""

    def __init__(self, settings: LineSettings, lines: Sequence[WaitingLine], done: Callable[[Job], None]) -> None:
        """`done` is called once, with the job, when every line has its result or the job has failed."""
        self.settings = settings
        self.lines = lines
        self.results: dict[int, LineResult] = {}
        self.waiting = deque(range(len(lines)))
        self.attempts = 0
        """How many processes died while they had lines of this job."""
        self.lost = False
        """Whether it was given up because of that."""
        self._done: Callable[[Job], None] | None = done

    @property
    def open(self) -> bool:
        """Whether somebody still waits for it."""
        return self._done is not None

    def finish(self) -> None:
        """Tell whoever waits."""
        if self._done is not None:
            self._done(self)
            self._done = None

    def abandon(self) -> None:
        """Nobody waits any more."""
        self._done = None


class WaitingJobs:
    """Jobs in the order of their turns; a batch takes an equal share of each job with the same settings."""

    def __init__(self) -> None:
        self._jobs: deque[Job] = deque()

    @property
    def num_lines(self) -> int:
        """The lines that wait."""
        return sum(len(job.waiting) for job in self._jobs)

    @property
    def full(self) -> bool:
        """Whether enough waits for a whole batch of the widest beam that waits."""
        return self.num_lines * max((job.settings.beam_size for job in self._jobs), default=0) >= ROWS_AT_ONCE

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def add(self, job: Job) -> None:
        """Let a new job wait behind the others."""
        self._jobs.append(job)

    def remove(self, job: Job) -> None:
        """A job that is no longer wanted leaves, if it waits here."""
        if job in self._jobs:
            self._jobs.remove(job)

    def put_back(self, batch: Sequence[tuple[Job, int]]) -> None:
        """Lines that were not answered wait again, before all others."""
        for job, number in reversed(batch):
            job.waiting.appendleft(number)
            if job not in self._jobs:
                self._jobs.appendleft(job)

    def take(self) -> list[tuple[Job, int]]:
        """The next batch: jobs and numbers of their lines.

        The first job's settings decide. A job that was in a batch with which a process died is a batch by itself.
        What remains of a job waits behind the others, so that a long text does not hold up short ones.
        """
        first = self._jobs[0]
        chosen = (
            [first] if first.attempts else [j for j in self._jobs if j.settings == first.settings and not j.attempts]
        )
        room = max(1, ROWS_AT_ONCE // first.settings.beam_size)
        batch: list[tuple[Job, int]] = []
        while room and chosen:
            share = max(1, room // len(chosen))
            for job in chosen:
                for _ in range(min(share, room, len(job.waiting))):
                    batch.append((job, job.waiting.popleft()))
                    room -= 1
            chosen = [job for job in chosen if job.waiting]
        taken = {id(job): job for job, _ in batch}
        untouched = [job for job in self._jobs if id(job) not in taken]
        self._jobs = deque([*untouched, *(job for job in taken.values() if job.waiting)])
        return batch
