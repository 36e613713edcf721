"""Doing a plan: stages as processes of their own, some at a time; one that fails does not stop the others."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from trdec.errors import TrdecError
from trdec.experiment.facts import training_facts, translation_facts
from trdec.experiment.plan import STAGES, Plan, Run, Stage
from trdec.experiment.records import Records

LAST_LINES = 5
"""How much of a failed stage's log is shown."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A stage that ended with an error, so that its run has no result."""

    run: Run
    stage: Stage
    reason: str
    log: Path


class Watcher(Protocol):
    """Is told what happens, from several threads."""

    def skipped(self, run: Run, stage: Stage) -> None:
        """The stage was finished before."""

    def started(self, run: Run, stage: Stage) -> None:
        """The stage begins, or goes on."""

    def finished(self, run: Run, stage: Stage, facts: dict[str, Any]) -> None:
        """The stage is done."""

    def failed(self, failure: Failure) -> None:
        """The stage ended with an error."""


def execute(plan: Plan, jobs: int, watcher: Watcher) -> list[Failure]:
    """Finish all runs, `jobs` at a time; what was finished before is not done again."""
    workshop = _Workshop(Records(plan), watcher)
    failures: list[Failure] = []
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for future in as_completed([pool.submit(workshop.finish, run) for run in plan.schedule]):
                if failure := future.result():
                    failures.append(failure)
        except BaseException:
            workshop.close()
            pool.shutdown(cancel_futures=True)
            raise
    return sorted(failures, key=lambda failure: plan.runs.index(failure.run))


class _Workshop:
    """Runs stages, and can be closed while they run: a training then writes a checkpoint before it ends."""

    def __init__(self, records: Records, watcher: Watcher) -> None:
        self._records = records
        self._watcher = watcher
        self._guard = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    def finish(self, run: Run) -> Failure | None:
        """Do all stages of a run that are not done."""
        run.directory.mkdir(parents=True, exist_ok=True)
        for stage in STAGES:
            if self._closed:
                return None
            if self._records.finished(run, stage) is not None:
                self._watcher.skipped(run, stage)
                continue
            self._watcher.started(run, stage)
            began = time.monotonic()
            status, log = self._run(run, stage)
            if self._closed:
                return None
            reason = _reason(log, status) if status else None
            if reason is None:
                try:
                    seconds = time.monotonic() - began
                    facts = training_facts(run) if stage == "train" else translation_facts(run, seconds)
                    self._records.finish(run, stage, facts)
                except (TrdecError, OSError) as error:
                    reason = str(error)
            if reason is not None:
                failure = Failure(run, stage, reason, log)
                self._watcher.failed(failure)
                return failure
            self._watcher.finished(run, stage, facts)
        return None

    def _run(self, run: Run, stage: Stage) -> tuple[int, Path]:
        log = run.directory / f"{stage}.log"
        command = [sys.executable, "-m", "trdec.cli.child", str(run.directory / ".lock"), *run.commands[stage]]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        with log.open("wb") as stream:
            with self._guard:
                if self._closed:
                    return 0, log
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=stream,
                    stderr=stream,
                    env=environment,
                    start_new_session=True,  # Ctrl-C reaches the experiment alone, which then ends its processes
                )
                self._processes.add(process)
            status = process.wait()
        with self._guard:
            self._processes.discard(process)
        assert process.stdin is not None
        process.stdin.close()
        return status, log

    def close(self) -> None:
        """End all processes, in the way that lets trainings write a checkpoint."""
        with self._guard:
            self._closed = True
            for process in self._processes:
                process.terminate()


def _reason(log: Path, status: int) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-LAST_LINES:]
    return "\n".join(lines) or f"it ended with status {status} and said nothing."
