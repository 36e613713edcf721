"""Cases chosen by atheris, which keeps those that reach new code and mutates them further."""

from __future__ import annotations

import multiprocessing
import os
import re
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path

from fuzz.harness import Cases, Failure, Limits, Outcome, Target, fuzz, problem, use_memory_for_files
from fuzz.mutation import LONGEST


def fuzz_by_coverage(target: Target, seed: int, seconds: float, cases: int | None = None) -> Outcome:
    """The outcome of the cases that atheris runs until the first failure; they have no numbers, so it is case 0."""
    outcome, begin = Outcome(target.name), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="trdec-fuzz-") as temporary:
        folder = Path(temporary)
        (folder / "seeds").mkdir()
        inputs = Cases(target, seed)
        for number, data in enumerate(target.seeds()):
            (folder / "seeds" / str(number)).write_bytes(data)
        (folder / "seeds" / "mutated").write_bytes(inputs[len(list(target.seeds()))])
        (folder / "tokens").write_text("".join(map(_dictionary_line, target.tokens)), encoding="ascii")
        limits = Limits()
        arguments = [
            str(folder / "seeds"),
            f"-dict={folder / 'tokens'}",
            f"-artifact_prefix={folder}/failure-",
            f"-max_total_time={max(1, int(seconds))}",
            f"-seed={seed}",
            f"-max_len={LONGEST}",
            f"-timeout={limits.seconds * 6:.0f}",
            f"-rss_limit_mb={(limits.memory >> 20) + 1000}",
            "-print_final_stats=1",
            *([] if cases is None else [f"-runs={cases}"]),
        ]
        process = multiprocessing.get_context("spawn").Process(
            target=_work, args=(target.name, arguments, folder / "log")
        )
        process.start()
        process.join()
        log = (folder / "log").read_text(encoding="utf-8", errors="replace")
        if found := re.search(r"stat::number_of_executed_units:\s*(\d+)", log):
            outcome.cases = int(found[1])
        if found := re.search(r"stat::slowest_unit_time_sec:\s*(\d+)", log):
            outcome.slowest = float(found[1])
        for path in folder.glob("failure-*"):
            # libFuzzer's limits are of the clock and of the whole process, so the case is measured once more, alone.
            alone = fuzz(replace(target, seeds=partial(list, [path.read_bytes()])), seed, 600, cases=1)
            outcome.failures += alone.failures
        if process.exitcode and not list(folder.glob("failure-*")):
            outcome.failures.append(Failure(0, b"", f"exit code {process.exitcode}\n{log[-3000:]}"))
    outcome.seconds = time.monotonic() - begin
    return outcome


def _work(name: str, arguments: list[str], log: Path) -> None:
    import atheris

    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    use_memory_for_files()
    with atheris.instrument_imports(include=["trdec"]):
        target = import_module("fuzz.targets").all_targets()[name]

    def run(data: bytes) -> None:
        wrong, _ = problem(target, data)
        if wrong is not None:
            raise AssertionError(wrong)

    atheris.Setup([sys.argv[0], *arguments], run)
    atheris.Fuzz()


def _dictionary_line(token: bytes) -> str:
    return '"' + "".join(f"\\x{byte:02x}" for byte in token[:100]) + '"\n' if token else ""
