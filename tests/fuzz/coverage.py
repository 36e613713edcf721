"""Cases chosen by atheris, which keeps those that reach new code and mutates them further."""

from __future__ import annotations

import ctypes
import logging
import multiprocessing
import os
import pickle
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from fuzz.harness import (
    Cases,
    Failure,
    Judge,
    Limits,
    Outcome,
    Shared,
    Target,
    Watch,
    fuzz,
    problem,
    use_memory_for_files,
)
from fuzz.mutation import LONGEST, TOKENS

_FIRST = 50  # generated cases that atheris starts from, beside the seeds
_SLOWER = 5  # times, at most, that code takes while atheris watches it


def fuzz_by_coverage(
    target: Target,
    seed: int,
    seconds: float,
    cases: int | None = None,
    limits: Limits = Limits(),  # noqa: B008
) -> Outcome:
    """The outcome of the cases that atheris runs until the first failure; they have no numbers, so it is case 0.

    Code that is watched is slower, and atheris itself grows: a case that seems to break a promise is judged once more,
    alone. If it is innocent, the next process goes on from the cases that were kept.
    """
    outcome, begin = Outcome(target.name), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="trdec-fuzz-") as temporary:
        folder = Path(temporary)
        _write_inputs(folder, target, seed)
        left = seconds
        while left > 0 and (cases is None or outcome.cases < cases) and not outcome.failures:
            run = None if cases is None else cases - outcome.cases
            left -= _run_process(folder, target, seed, max(1, int(left)), run, limits, outcome)
    outcome.seconds = time.monotonic() - begin
    return outcome


def _write_inputs(folder: Path, target: Target, seed: int) -> None:
    """The cases to start from, and what may be spliced into them."""
    (folder / "kept").mkdir()
    inputs = Cases(target, seed)
    for number in range(len(target.seeds()) + _FIRST):
        (folder / "kept" / str(number)).write_bytes(inputs[number])
    (folder / "tokens").write_text("".join(map(_dictionary_line, (*TOKENS, *target.tokens))), encoding="ascii")


def _run_process(
    folder: Path, target: Target, seed: int, seconds: int, cases: int | None, limits: Limits, outcome: Outcome
) -> float:
    """Run cases until one seems to break a promise, or the time is up; the seconds that the cases took."""
    log = folder / "log"
    log.write_bytes(b"")
    arguments = [
        str(folder / "kept"),
        f"-dict={folder / 'tokens'}",
        f"-artifact_prefix={folder}/",
        f"-max_total_time={seconds}",
        f"-seed={seed}",
        f"-max_len={LONGEST}",
        "-timeout=0",  # time and memory are watched as for other cases
        "-rss_limit_mb=0",
        *([] if cases is None else [f"-runs={cases}"]),
    ]
    context = multiprocessing.get_context("spawn")
    shared = _SharedCase(context)
    process = context.Process(target=_work, args=(pickle.dumps(target), arguments, limits, shared, log), daemon=True)
    process.start()
    assert process.pid is not None
    watch = Watch(process.pid)
    while process.is_alive():
        process.join(0.1)
        watch.look(shared.case.value if shared.running.value else None)
        if shared.running.value and watch.longest > _SLOWER * limits.seconds * limits.PATIENCE:
            process.kill()
            process.join()
    shared.add_to(outcome)
    outcome.cases += shared.case.value + 1
    said = log.read_text(encoding="utf-8", errors="replace")
    if reached := [int(number) for number in re.findall(r"\bcov: (\d+)", said)]:
        first = reached[0] if outcome.reached is None else outcome.reached[0]
        outcome.reached = (first, max(reached))
    if shared.suspect.value or process.exitcode:
        if shared.case.value < 0:
            raise RuntimeError(f"{target.name}: exit code {process.exitcode} before the first case\n{said[-3000:]}")
        outcome.failures += _alone(target, shared.data[: shared.length.value], limits)
    return max(1.0, shared.seconds.value)


class _SharedCase(Shared):
    """The case itself too, since it has no number to make it from."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self.suspect = context.RawValue(ctypes.c_bool, False)
        self.seconds = context.RawValue(ctypes.c_double, 0.0)
        self.length = context.RawValue(ctypes.c_longlong, 0)
        self.data = context.RawArray(ctypes.c_char, LONGEST)

    def begin(self, data: bytes) -> None:
        """Note the case that is about to run."""
        ctypes.memmove(self.data, data, len(data))
        self.length.value = len(data)
        self.case.value += 1
        self.running.value = True


def _alone(target: Target, data: bytes, limits: Limits) -> Sequence[Failure]:
    """What is wrong with this case when it is run after a good one, in a process that nothing slows down."""
    inputs = [target.seeds()[0], data]
    found = fuzz(replace(target, seeds=partial(list, inputs)), 1, 600, cases=len(inputs), limits=limits)
    return [replace(failure, case=0) for failure in found.failures]


def _work(pickled: bytes, arguments: list[str], limits: Limits, shared: _SharedCase, log: Path) -> None:
    import atheris

    descriptor = os.open(log, os.O_WRONLY)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    logging.disable()
    use_memory_for_files()
    with atheris.instrument_imports(include=["trdec", "yaml"]):
        target: Target = pickle.loads(pickled)  # imports its module
        problem(target, target.seeds()[0])  # imports what is imported within functions
    judges: list[Judge] = []
    begin = time.monotonic()

    def run(data: bytes) -> None:
        if not judges:
            judges.append(Judge(target, limits))  # now that atheris has what memory it begins with
        shared.begin(data)
        verdict = judges[0].verdict(data)
        shared.running.value = False
        shared.note(verdict)
        shared.seconds.value = time.monotonic() - begin
        if verdict.wrong is not None:
            shared.suspect.value = True
            os._exit(0)  # not by an exception, which atheris does not always survive

    atheris.Setup([sys.argv[0], *arguments], run)
    atheris.Fuzz()


def _dictionary_line(token: bytes) -> str:
    return '"' + "".join(f"\\x{byte:02x}" for byte in token[:64]) + '"\n' if token else ""  # it takes no more
