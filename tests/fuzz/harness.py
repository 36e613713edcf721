"""Runs a target on case after case in a process of its own, and notes every case that breaks a promise.

A case may raise nothing but a TrdecError, and cost no more than the limits allow. Case number n of a target depends on
the seed, the target's name and n alone, so it can be run again by itself.
"""

from __future__ import annotations

import ctypes
import logging
import multiprocessing
import os
import resource
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from fuzz.mutation import LONGEST, TOKENS, mutate
from trdec.errors import TrdecError

_ROOM = 2 << 30  # bytes of addresses beyond those of the start: a runaway case meets this, not the whole machine
_FAILURES = 20  # of one target; then it is stopped


@dataclass(frozen=True)
class Limits:
    """What a case may cost: seconds of the processor, and bytes that the process grows by.

    A case that does not end is stopped after PATIENCE times as many seconds of computing, or of waiting for anything
    but a processor: on a machine that others use, seconds of the clock say nothing.
    """

    seconds: float = 5.0
    memory: int = 500 << 20

    PATIENCE: ClassVar[int] = 2


@dataclass(frozen=True)
class Target:
    """Something that reads input: `run` may raise a TrdecError for a case, and nothing else.

    `seeds` gives good inputs, which are mutated; `tokens` are spliced in beside the general ones; `generate`, if there
    is one, makes half of the cases. All are functions of a module, since they are called in another process.
    """

    name: str
    run: Callable[[bytes], None]
    seeds: Callable[[], Sequence[bytes]]
    tokens: Sequence[bytes] = ()
    generate: Callable[[Random], bytes] | None = None
    weight: float = 1.0  # of the time that all targets share


@dataclass(frozen=True)
class Failure:
    """A case that broke a promise: its number, its input, and what happened."""

    case: int
    data: bytes
    reason: str


@dataclass
class Outcome:
    """What became of a target's cases."""

    target: str
    cases: int = 0
    refused: int = 0
    """Cases that ended in a TrdecError."""
    seconds: float = 0.0
    slowest: float = 0.0
    growth: int = 0
    """Bytes that the process grew by."""
    reached: tuple[int, int] | None = None
    """Places of the code that the seeds reached, and all cases together, where that was counted."""
    failures: list[Failure] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The figures, and for each failure its case and its last line."""
        return {
            "target": self.target,
            "cases": self.cases,
            "refused": self.refused,
            "seconds": round(self.seconds, 1),
            "slowest_seconds": round(self.slowest, 3),
            "growth_mb": round(self.growth / (1 << 20), 1),
            **({} if self.reached is None else {"reached": list(self.reached)}),
            "failures": [{"case": f.case, "reason": f.reason.strip().rpartition("\n")[2]} for f in self.failures],
        }


class Cases:
    """The cases of a target, by number."""

    def __init__(self, target: Target, seed: int) -> None:
        self._target = target
        self._seed = seed
        self._seeds = list(target.seeds())
        self._tokens = (*TOKENS, *target.tokens * max(1, len(TOKENS) // max(1, len(target.tokens))))

    def __getitem__(self, number: int) -> bytes:
        if number < len(self._seeds):
            return self._seeds[number]
        random = Random(f"{self._seed} {self._target.name} {number}")
        if self._target.generate is not None and random.random() < 0.5:
            case = self._target.generate(random)[:LONGEST]
            if random.random() < 0.5:
                return case
        else:
            case = random.choice(self._seeds)
        return mutate(case, self._seeds, self._tokens, random)


def use_memory_for_files() -> None:
    """Keep temporary files in memory where that is possible: on a disk, most of a case's time is spent waiting."""
    if os.access("/dev/shm", os.W_OK):
        tempfile.tempdir = "/dev/shm"


def problem(target: Target, data: bytes) -> tuple[str | None, bool]:
    """What is wrong with how the target takes the input, if anything is, and whether it refused it."""
    try:
        target.run(data)
    except TrdecError:
        return None, True
    except BaseException:  # noqa: BLE001  # whatever it is, it is what is looked for
        return traceback.format_exc(), False
    return None, False


@dataclass(frozen=True)
class Verdict:
    """What a case did: what is wrong, if anything is; whether it was refused; what it cost."""

    wrong: str | None
    refused: bool
    seconds: float
    growth: int
    """Bytes that the process has grown by since the judge was made."""


class Judge:
    """Runs cases in this process and says of each whether it keeps the promises."""

    def __init__(self, target: Target, limits: Limits) -> None:
        self._target = target
        self._limits = limits
        self._start = _greatest_memory()

    def verdict(self, data: bytes) -> Verdict:
        """Run the case."""
        begin = time.process_time()
        wrong, refused = problem(self._target, data)
        took, growth = time.process_time() - begin, _greatest_memory() - self._start
        if wrong is None and growth > self._limits.memory:
            wrong = f"the process grew by {growth >> 20} MB, more than {self._limits.memory >> 20}"
        if wrong is None and took > self._limits.seconds:
            wrong = f"took {took:.1f} seconds, more than {self._limits.seconds:g}"
        return Verdict(wrong, refused, took, growth)


class Shared:
    """What the process is doing, where the one that watches it can see it even when it hangs or has died."""

    def __init__(self, context: Any) -> None:
        self.case = context.RawValue(ctypes.c_longlong, -1)
        self.running = context.RawValue(ctypes.c_bool, False)
        self.refused = context.RawValue(ctypes.c_longlong, 0)
        self.slowest = context.RawValue(ctypes.c_double, 0.0)
        self.growth = context.RawValue(ctypes.c_longlong, 0)

    def note(self, verdict: Verdict) -> None:
        """Count a case in."""
        self.refused.value += verdict.refused
        self.slowest.value = max(self.slowest.value, verdict.seconds)
        self.growth.value = verdict.growth

    def add_to(self, outcome: Outcome) -> None:
        """Add what the process did to what others did before it."""
        outcome.refused += self.refused.value
        outcome.slowest = max(outcome.slowest, self.slowest.value)
        outcome.growth = max(outcome.growth, self.growth.value)


def fuzz(
    target: Target,
    seed: int,
    seconds: float,
    cases: int | None = None,
    limits: Limits = Limits(),  # noqa: B008
) -> Outcome:
    """The outcome of as many cases as fit into the time, or of this many if that is fewer."""
    outcome = Outcome(target.name)
    begin = time.monotonic()
    while (left := begin + seconds - time.monotonic()) > 0 and (cases is None or outcome.cases < cases):
        _run_process(target, seed, left, cases, limits, outcome)
        if len(outcome.failures) >= _FAILURES:
            break
    outcome.seconds = time.monotonic() - begin
    return outcome


class Watch:
    """How long a process has been computing at one case, and how long it has been waiting."""

    _TICKS = os.sysconf("SC_CLK_TCK")

    def __init__(self, process: int) -> None:
        self._stat = Path(f"/proc/{process}/stat")
        self._case: int | None = None
        self._began = self._computed = self._looked = self._waited = 0.0

    def look(self, case: int | None) -> str:
        """Look once; what has taken how long at this case."""
        state, computed = self._state()
        now = time.monotonic()
        if case != self._case:
            self._case, self._began, self._waited = case, computed, 0.0
        elif state == b"S" and computed == self._computed:  # asleep; without a processor it would be "R"
            self._waited += now - self._looked
        self._computed, self._looked = computed, now
        return f"computed for {self._computed - self._began:.1f} seconds and waited for {self._waited:.1f}"

    @property
    def longest(self) -> float:
        """The seconds of computing, or of waiting if those are more."""
        return max(self._computed - self._began, self._waited)

    def _state(self) -> tuple[bytes, float]:
        try:
            fields = self._stat.read_bytes().rpartition(b")")[2].split()
        except OSError:  # it has just ended
            return b"X", self._computed
        return fields[0], (int(fields[11]) + int(fields[12])) / self._TICKS


def _run_process(
    target: Target, seed: int, seconds: float, cases: int | None, limits: Limits, outcome: Outcome
) -> None:
    """Run cases, from the next on, until the time is up or the process had to be stopped."""
    context = multiprocessing.get_context("spawn")
    shared = Shared(context)
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(
        target=_work, args=(target, seed, outcome.cases, cases, seconds, limits, shared, sending), daemon=True
    )
    process.start()
    sending.close()
    assert process.pid is not None
    watch = Watch(process.pid)
    ended = ""  # why, if it was too early
    while True:
        try:
            while receiving.poll(0.1):
                outcome.failures.append(receiving.recv())
        except EOFError:
            process.join()
            ended = f"the process died: exit code {process.exitcode}" if process.exitcode else ""
            break
        spent = watch.look(shared.case.value if shared.running.value else None)
        if shared.running.value and watch.longest > limits.seconds * limits.PATIENCE:
            ended = f"did not end: it {spent}"
            process.kill()
            process.join()
            break
    receiving.close()
    last = shared.case.value
    if ended and last < 0:
        raise RuntimeError(f"{target.name}: {ended} before its first case")
    if ended:
        outcome.failures.append(Failure(last, Cases(target, seed)[last], ended))
    outcome.cases = last + 1
    shared.add_to(outcome)


def _work(
    target: Target,
    seed: int,
    first: int,
    cases: int | None,
    seconds: float,
    limits: Limits,
    shared: Shared,
    sending: Connection,
) -> None:
    logging.disable()
    use_memory_for_files()
    inputs = Cases(target, seed)
    problem(target, inputs[0])  # loads what is loaded once
    judge = Judge(target, limits)
    addresses = _addresses() + _ROOM
    resource.setrlimit(resource.RLIMIT_AS, (addresses, addresses))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    end, number = time.monotonic() + seconds, first
    while time.monotonic() < end and (cases is None or number < cases):
        data = inputs[number]
        shared.case.value = number
        shared.running.value = True
        verdict = judge.verdict(data)
        shared.running.value = False
        shared.note(verdict)
        if verdict.wrong is not None:
            sending.send(Failure(number, data, verdict.wrong))
            if verdict.growth > limits.memory:
                return  # the next cases get a process that has not grown
        number += 1


def _greatest_memory() -> int:
    # Not getrusage: its maximum includes that of the process that started this one.
    return _status(b"VmHWM")


def _addresses() -> int:
    return _status(b"VmSize")


def _status(name: bytes) -> int:
    """A figure that Linux has of this process, in bytes."""
    with open("/proc/self/status", "rb", buffering=0) as stream:  # noqa: PTH123
        return int(stream.read(4096).partition(name + b":")[2].split(None, 1)[0]) << 10
