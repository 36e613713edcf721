"""`trdec experiment --dask`: the same report from workers, also if one is killed in the middle."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from support.dask_cluster import LIMIT, end, running_scheduler, wait_for, worker
from support.small_experiment import results_of, write_experiment
from support.two_machines import HERE, Machine, two_machines

pytestmark = pytest.mark.slow

UPDATES = "changes.training.max_updates=100"


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[str]:
    """The address of a scheduler."""
    with running_scheduler(tmp_path) as address:
        yield address


def experiment(file: Path, scheduler: str, *overrides: str, machine: Machine = HERE) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "trdec.cli.main", "experiment", str(file), "--dask", scheduler, *overrides]
    return subprocess.Popen(
        [*machine.enter, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background ignore it
    )


def worker_that_runs(run: Path, workers: list[subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """The worker that started the process that holds or awaits the lock of a run."""
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):  # a process may end meanwhile
            if entry.name.isdigit() and str(run / ".lock").encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                return next(each for each in workers if each.pid == os.getsid(parent))
    raise AssertionError(f"no process is working on {run}")


@contextlib.contextmanager
def one_machine() -> Iterator[tuple[Machine, Machine]]:
    """Two workers of this machine."""
    yield HERE, HERE


@pytest.mark.parametrize("place", [one_machine, two_machines])
def test_an_experiment_survives_the_loss_of_a_worker(
    place: Callable[[], AbstractContextManager[tuple[Machine, Machine]]], tmp_path: Path
) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    file = write_experiment(tmp_path / "there", tmp_path / "there" / "out")
    runs = tmp_path / "there" / "out" / "runs"
    found: list[Path] = []
    with place() as machines, running_scheduler(tmp_path, machines[0]) as scheduler:
        workers = [
            worker(scheduler, f"worker-{number}", tmp_path, machine=machine) for number, machine in enumerate(machines)
        ]
        process = experiment(file, scheduler, UPDATES, machine=machines[0])
        try:
            wait_for(lambda: found.extend(runs.glob("*/model/checkpoints/update-*")) or found, process)
            run = found[0].parents[2]
            end(worker_that_runs(run, workers))
            said, _ = process.communicate(timeout=LIMIT)
        finally:
            process.kill()
            for each in workers:
                end(each)
    assert process.returncode == 0, said
    assert "resuming after update" in (run / "train.log").read_text()

    alone = write_experiment(tmp_path / "here", tmp_path / "here" / "out")
    command = [sys.executable, "-m", "trdec.cli.main", "experiment", str(alone), UPDATES]
    subprocess.run(command, check=True, capture_output=True)
    here, there = (results_of(tmp_path / name / "out") for name in ("here", "there"))
    assert there == here


def test_an_experiment_that_ends_ends_its_stages(scheduler: str, tmp_path: Path) -> None:
    file = write_experiment(tmp_path, tmp_path / "out")
    each = worker(scheduler, "worker", tmp_path)
    endless = [f"changes.training.{key}=100000" for key in ("max_updates", "checkpoint_every", "validate_every")]
    process = experiment(file, scheduler, *endless, "systems=[seq2seq]", "changes.training.log_every=1")
    model = tmp_path / "out" / "runs" / "seq2seq-1" / "model"
    try:
        wait_for((model / "log.jsonl").exists, process)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=LIMIT)
        assert process.returncode == 130, said
        wait_for(lambda: list((model / "checkpoints").glob("update-*")), each)
    finally:
        process.kill()
        end(each)
    assert "trdec: interrupted after update" in (model.parent / "train.log").read_text()


def test_workers_that_offer_too_little_are_named(scheduler: str, tmp_path: Path) -> None:
    file = write_experiment(tmp_path, tmp_path / "out")
    each = worker(scheduler, "worker", tmp_path, resources="threads=1")
    try:
        said, _ = experiment(file, scheduler).communicate(timeout=LIMIT)
    finally:
        end(each)
    assert "threads=1 memory=2" in said
    assert "docs/scaling.md" in said


def test_a_scheduler_that_does_not_answer_is_named(tmp_path: Path) -> None:
    said, _ = experiment(write_experiment(tmp_path, tmp_path / "out"), "tcp://127.0.0.1:1").communicate(timeout=LIMIT)
    assert "UsageError: --dask tcp://127.0.0.1:1: no Dask scheduler answers there" in said
