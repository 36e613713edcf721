"""Schedulers and workers of Dask on this machine, each a process of its own."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from support.two_machines import HERE, Machine

LIMIT = 600
"""Seconds after which a test gives up; what it waits for is a fact."""


@contextlib.contextmanager
def running_scheduler(folder: Path, machine: Machine = HERE) -> Iterator[str]:
    """The address of a scheduler."""
    log = folder / "scheduler.log"
    process = dask(machine, "scheduler", "--host", machine.address, "--port", "0", "--no-dashboard", log=log)
    try:
        wait_for(lambda: "Scheduler at" in log.read_text(), process)
        found = re.search(r"Scheduler at: *(tcp://\S+)", log.read_text())
        assert found, log.read_text()
        yield found[1]
    finally:
        end(process)


def dask(machine: Machine, *arguments: str, log: Path) -> subprocess.Popen[bytes]:
    """A process of Dask, in a session of its own."""
    with log.open("wb") as stream:
        return subprocess.Popen(
            [*machine.enter, sys.executable, "-m", "dask", *arguments],
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )


def worker(
    scheduler: str, name: str, folder: Path, resources: str = "threads=1 memory=4", machine: Machine = HERE
) -> subprocess.Popen[bytes]:
    """A worker with one thread that the scheduler knows."""
    options = ["--nthreads", "1", "--name", name, "--resources", resources, "--no-dashboard"]
    place, log = ["--local-directory", str(folder / name), "--host", machine.address], folder / f"{name}.log"
    process = dask(machine, "worker", scheduler, *options, *place, log=log)
    wait_for(lambda: "Registered to" in log.read_text(), process)
    return process


def wait_for(found: Callable[[], object], process: subprocess.Popen[Any]) -> None:
    """Wait until something is found, as long as the process runs."""
    limit = time.monotonic() + LIMIT
    while not found():
        assert process.poll() is None, (process.args, process.returncode, process.communicate()[0])
        assert time.monotonic() < limit, f"{process.args}: nothing found in {LIMIT} seconds"
        time.sleep(0.02)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and everything it started in its session."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
