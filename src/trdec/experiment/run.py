"""The runs of an experiment: each stage is a process, finished when its record is written."""

from __future__ import annotations

import contextlib
import json
import math
import os
import platform
import subprocess
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from trdec import __version__
from trdec.data.manifest import WEIGHTS
from trdec.errors import FileError, TrdecError
from trdec.experiment.plan import Plan, Run, Stage
from trdec.experiment.stage_process import start_stage
from trdec.files import checksum, read_lines, text_file, writing
from trdec.training.observers import JsonLines

LAST_LINES = 5
"""How many lines of a failed stage's log are shown."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A stage that ended with an error, or whose result cannot be used."""

    run: Run
    stage: Stage
    reason: str
    log: Path

    @property
    def ends_run(self) -> bool:
        """Whether the stages after it cannot be done: no other stage needs the loss by kind of action."""
        return self.stage != "score"


class ExperimentObserver(Protocol):
    """Notified of what happens, from several threads."""

    def skipped(self, run: Run, stage: Stage) -> None:
        """The stage was finished before."""

    def started(self, run: Run, stage: Stage) -> None:
        """The stage starts or resumes."""

    def finished(self, run: Run, stage: Stage, record: dict[str, Any]) -> None:
        """The stage is done."""

    def failed(self, failure: Failure) -> None:
        """The stage ended with an error."""


class Machines(Protocol):
    """Where the stages of an experiment run."""

    def run(self, run: Run, stage: Stage) -> int:
        """Run a stage to its end, with its output in its log, and return its exit status."""

    def close(self) -> None:
        """End all stages that are running; trainings write a checkpoint first."""


def execute(plan: Plan, jobs: int, observer: ExperimentObserver, machines: Machines | None = None) -> list[Failure]:
    """Finish all runs, `jobs` at a time, as processes here or at another place; stages finished before are skipped.

    A test text is translated once everything else is done: until then, dev is all that anyone can tune on.
    """
    runner = _Runner(Records(plan), observer, machines or ThisMachine())
    failures: list[Failure] = []
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for runs, stages in _passes(plan):
                ended = {failure.run.name for failure in failures if failure.ends_run}
                due = [run for run in runs if not ended & {run.name, *(one.name for one in run.members)}]
                for future in as_completed([pool.submit(runner.finish, run, stages) for run in due]):
                    if failure := future.result():
                        failures.append(failure)
        except BaseException:
            runner.close()
            pool.shutdown(cancel_futures=True)
            raise
    order = (*plan.runs, *plan.ensembles)
    return sorted(failures, key=lambda failure: order.index(failure.run))


def _passes(plan: Plan) -> list[tuple[tuple[Run, ...], tuple[Stage, ...]]]:
    """Which runs finish which stages; each pass waits for the one before it."""
    if plan.experiment.test is None:
        return [(plan.schedule, ("train", "tune", "translate", "score")), (plan.ensembles, ("translate",))]
    return [
        (plan.schedule, ("train", "tune", "dev", "score")),
        (plan.ensembles, ("dev",)),
        ((*plan.schedule, *plan.ensembles), ("translate",)),
    ]


@dataclass(frozen=True, slots=True)
class ExperimentProgress:
    """How many updates, or lines, of how many are done."""

    done: int
    total: int


def progress(run: Run, stage: Stage, lines: int) -> ExperimentProgress:
    """How far a stage has come; `lines` is the number to be translated."""
    if stage == "train":
        row = JsonLines(run.directory / "model" / "log.jsonl").last()
        return ExperimentProgress(row["update"] if row else 0, run.training.training.max_updates)
    if stage in ("tune", "score"):  # a summary at the end
        return ExperimentProgress(0, 1)
    path = run.translations(stage)
    return ExperimentProgress(path.read_bytes().count(b"\n") if path.exists() else 0, lines)


class Records:
    """The records of a plan's finished stages."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._checksums: dict[Path, str] = {}

    def finished(self, run: Run, stage: Stage) -> dict[str, Any] | None:
        """The record of a stage, if it has one and nothing it depends on has changed."""
        record = self._read(run, stage)
        if record is None or not run.result(stage).exists():
            return None
        before, now = record.get("depends_on"), self._depends_on(run, stage)
        if stage == "score" and before is not None:
            # Older records also name the test text, which scoring does not read.
            before["files"] = {name: found for name, found in before["files"].items() if name in now["files"]}
        return record if before == now else None

    def finish(self, run: Run, stage: Stage, record: Mapping[str, Any]) -> None:
        """Write the record of a finished stage."""
        together = {"seeds": [member.seed for member in run.members]} if run.members else {}
        content = {**record, **together, "depends_on": self._depends_on(run, stage)}
        with writing(self._path(run, stage)) as stream:
            json.dump(content, stream, indent=2, ensure_ascii=False)
            stream.write("\n")

    def seeds_together(self, ensemble: Run) -> tuple[int, ...] | None:
        """The seeds of the models that last translated together, whichever the plan names; None if there are none."""
        for stage in ("translate", "dev"):
            if (record := self._read(ensemble, stage)) is not None and "seeds" in record:
                return tuple(record["seeds"])
        return None

    def _path(self, run: Run, stage: Stage) -> Path:
        return run.directory / f"{stage}.json"

    def _read(self, run: Run, stage: Stage) -> dict[str, Any] | None:
        path = self._path(run, stage)
        if not path.exists():
            return None
        try:
            record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise FileError(f"{path}: expected the record of a finished run, as JSON. Remove the file.") from error
        return record

    def _depends_on(self, run: Run, stage: Stage) -> dict[str, Any]:
        files = {
            os.path.relpath(path, self._plan.folder): self._checksum(path) for path in self._plan.files(run, stage)
        }
        before: dict[str, Any] = {}
        if stage != "train":
            first, *others = (self._checksum(model / WEIGHTS) for model in run.models)
            before = {"model": first, **({"with": others} if others else {})}
        if stage in ("dev", "translate") and run.decoding.is_tuned:
            before["trials"] = checksum(run.trials) if run.trials.exists() else "missing"
        return {**run.depends_on(stage), "files": files, **before}

    def _checksum(self, named: Path) -> str:
        path, _ = text_file(named)  # without the column or field of it that may be named
        if not path.exists():
            return "missing"
        if path.suffix == ".safetensors":  # it changes while the experiment runs
            return checksum(path)
        if path not in self._checksums:
            self._checksums[path] = checksum(path)
        return self._checksums[path]


PACKAGES = ("numpy", "sacrebleu", "sentencepiece", "torch")


def training_record(run: Run) -> dict[str, Any]:
    """How a training went, from its log."""
    model = run.directory / "model"
    rows = list(JsonLines(model / "log.jsonl").rows())
    train = [row for row in rows if row["event"] == "train"]
    dev = [row for row in rows if row["event"] == "dev"]
    by_bleu = run.training.training.metric == "bleu"
    best = min(dev, key=lambda row: -row["bleu"] if by_bleu else _loss(row))
    return {
        "updates": dev[-1]["update"],
        "sentences": sum(row["sentences"] for row in train),
        "actions": sum(row["actions"] for row in train),
        "seconds": dev[-1]["seconds"],
        "parameters": parameters(model / "model.safetensors"),
        "best_update": best["update"],
        "dev_perplexity": best["perplexity"],
        "curve": [{"update": row["update"], "perplexity": row["perplexity"]} for row in dev],
        "versions": versions(),
    }


def _loss(row: dict[str, Any]) -> float:
    return math.inf if row["loss"] is None else row["loss"]


def translation_record(run: Run, stage: Stage, seconds: float) -> dict[str, Any]:
    """How many lines were translated, and how fast."""
    return {"sentences": sum(1 for _ in read_lines(run.translations(stage))), "seconds": round(seconds, 1)}


def _record(run: Run, stage: Stage, seconds: float) -> dict[str, Any]:
    if stage == "train":
        return training_record(run)
    if stage in ("tune", "score"):
        return json_record(run.result(stage))
    return translation_record(run, stage, seconds)


def json_record(result: Path) -> dict[str, Any]:
    """What a stage wrote: how much of the loss on dev is of which kind of action, or what was tried on dev."""
    record: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    return record


def parameters(weights: Path) -> int:
    """How many numbers a file of weights holds."""
    from safetensors import safe_open

    total = 0
    with safe_open(weights, framework="numpy") as tensors:
        for name in tensors.keys():  # noqa: SIM118  (it is no mapping)
            size = 1
            for length in tensors.get_slice(name).get_shape():
                size *= length
            total += size
    return total


def versions() -> dict[str, str]:
    """The versions of everything the numbers depend on."""
    system = {"trdec": __version__, "python": platform.python_version(), "system": platform.platform(terse=True)}
    return system | {name: version(name) for name in PACKAGES}


def log_of(run: Run, stage: Stage) -> Path:
    """The file that a stage writes its output to."""
    return run.directory / f"{stage}.log"


class ThisMachine:
    """Runs stages as processes on this machine."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    def run(self, run: Run, stage: Stage) -> int:
        """Run a stage to its end."""
        with self._guard:
            if self._closed:
                return 0
            process = start_stage(run.directory / ".lock", log_of(run, stage), run.commands[stage])
            self._processes.add(process)
        status = process.wait()
        with self._guard:
            self._processes.discard(process)
        assert process.stdin is not None
        process.stdin.close()
        return status

    def close(self) -> None:
        """Terminate all processes."""
        with self._guard:
            self._closed = True
            for process in self._processes:
                process.terminate()


class _Runner:
    """Runs stages, and can be closed while they run: trainings then write checkpoints before they end."""

    def __init__(self, records: Records, observer: ExperimentObserver, machines: Machines) -> None:
        self._records = records
        self._observer = observer
        self._machines = machines
        self._closed = False

    def finish(self, run: Run, stages: Sequence[Stage]) -> Failure | None:
        """Run those of a run's stages that are not finished.

        Whatever goes wrong ends this run and no other: trainings of hours may be running beside it.
        """
        for stage in stages:
            if stage not in run.commands or self._closed:
                continue
            log = log_of(run, stage)
            try:
                reason = self._finish_stage(run, stage, log)
            except (TrdecError, OSError) as error:
                reason = str(error)
            except Exception as error:  # noqa: BLE001  (a mistake of ours, which is listed with the run)
                reason = _mistake(error, log)
            if reason is not None and not self._closed:
                failure = Failure(run, stage, reason, log)
                self._observer.failed(failure)
                return failure
        return None

    def _finish_stage(self, run: Run, stage: Stage, log: Path) -> str | None:
        """Run a stage that is not finished; returns why it failed, or None."""
        run.directory.mkdir(parents=True, exist_ok=True)
        if self._records.finished(run, stage) is not None:
            self._observer.skipped(run, stage)
            return None
        self._observer.started(run, stage)
        began = time.monotonic()
        status = self._machines.run(run, stage)
        if self._closed:
            return None
        if status:
            return _reason(log, status)
        record = _record(run, stage, time.monotonic() - began)
        self._records.finish(run, stage, record)
        self._observer.finished(run, stage, record)
        return None

    def close(self) -> None:
        """End what is running, and start nothing more."""
        self._closed = True
        self._machines.close()


def _mistake(error: Exception, log: Path) -> str:
    """What went wrong where nothing should; the stage's log gets the place in the code."""
    with contextlib.suppress(OSError), log.open("a", encoding="utf-8", errors="backslashreplace") as stream:
        traceback.print_exception(error, file=stream)
    return f"{type(error).__name__}: {error}"


def _reason(log: Path, status: int) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-LAST_LINES:]
    return "\n".join(lines) or f"it ended with status {status} and no output."
