"""`trdec experiment --dask`: the same report from workers, also if one is killed in the middle."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.small_experiment import results_of, write_experiment

pytestmark = pytest.mark.slow

LIMIT = 600


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[str]:
    """The address of a scheduler."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    options = ["--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    process = dask("scheduler", *options, log=tmp_path / "scheduler.log")
    yield address
    end(process)


def dask(*arguments: str, log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as stream:
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments], stdout=stream, stderr=stream, start_new_session=True
        )


def worker(scheduler: str, name: str, folder: Path, resources: str = "threads=1 memory=4") -> subprocess.Popen[bytes]:
    options = ["--nthreads", "1", "--name", name, "--resources", resources, "--no-dashboard"]
    place = ["--local-directory", str(folder / name), "--host", "127.0.0.1"]
    return dask("worker", scheduler, *options, *place, log=folder / f"{name}.log")


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and everything it started in its session."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def experiment(file: Path, scheduler: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "trdec.cli.main", "experiment", str(file), "--dask", scheduler]
    longer = "changes.training.max_updates=60"
    return subprocess.Popen([*command, longer], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def wait_for(found: Any, process: subprocess.Popen[str]) -> None:
    limit = time.monotonic() + LIMIT
    while not found():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < limit
        time.sleep(0.02)


def test_an_experiment_survives_the_loss_of_a_worker(scheduler: str, tmp_path: Path) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    alone = write_experiment(tmp_path / "here", tmp_path / "here" / "out")
    command = [sys.executable, "-m", "trdec.cli.main", "experiment", str(alone), "changes.training.max_updates=60"]
    subprocess.run(command, check=True, capture_output=True)

    file = write_experiment(tmp_path / "there", tmp_path / "there" / "out")
    workers = [worker(scheduler, f"worker-{number}", tmp_path) for number in range(2)]
    process = experiment(file, scheduler)
    runs = tmp_path / "there" / "out" / "runs"
    try:
        wait_for(lambda: len(list(runs.glob("*/model/checkpoints/update-*"))) >= 2, process)
        end(workers[0])
        said, _ = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
        for each in workers:
            end(each)
    assert process.returncode == 0, said
    logs = [path.read_text() for path in runs.glob("*/train.log")]
    assert any("resuming after update" in log for log in logs), logs
    here, there = (results_of(tmp_path / name / "out") for name in ("here", "there"))
    assert there == here


def test_an_experiment_that_ends_ends_its_stages(scheduler: str, tmp_path: Path) -> None:
    file = write_experiment(tmp_path, tmp_path / "out")
    each = worker(scheduler, "worker", tmp_path)
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "trdec.cli.main", "experiment", str(file), "--dask", scheduler),
            *("changes.training.max_updates=100000", "changes.training.checkpoint_every=100000"),
            *("changes.training.validate_every=100000", "systems=[seq2seq]", "changes.training.log_every=1"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    model = tmp_path / "out" / "runs" / "seq2seq-1" / "model"
    try:
        wait_for((model / "log.jsonl").exists, process)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=LIMIT)
        assert process.returncode == 130, said
        limit = time.monotonic() + 60
        while not list((model / "checkpoints").glob("update-*")):
            assert time.monotonic() < limit
            time.sleep(0.05)
    finally:
        process.kill()
        end(each)
    assert "trdec: interrupted after update" in (model.parent / "train.log").read_text()


def test_workers_that_offer_too_little_are_named(scheduler: str, tmp_path: Path) -> None:
    file = write_experiment(tmp_path, tmp_path / "out")
    each = worker(scheduler, "worker", tmp_path, resources="threads=1")
    try:
        limit = time.monotonic() + LIMIT
        while "Registered to" not in (tmp_path / "worker.log").read_text():
            assert time.monotonic() < limit
            time.sleep(0.05)
        said, _ = experiment(file, scheduler).communicate(timeout=LIMIT)
    finally:
        end(each)
    assert "threads=1 memory=2" in said
    assert "docs/scaling.md" in said


def test_a_scheduler_that_does_not_answer_is_named(tmp_path: Path) -> None:
    said, _ = experiment(write_experiment(tmp_path, tmp_path / "out"), "tcp://127.0.0.1:1").communicate(timeout=LIMIT)
    assert "UsageError: --dask tcp://127.0.0.1:1: no Dask scheduler answers there" in said
