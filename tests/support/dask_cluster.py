"""Schedulers and workers of Dask on this machine, each a process of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

LIMIT = 600
"""Seconds after which a test gives up; what it waits for is a fact."""


@contextlib.contextmanager
def running_scheduler(folder: Path) -> Iterator[str]:
    """The address of a scheduler."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    log = folder / "scheduler.log"
    process = dask("scheduler", *options, log=log)
    try:
        wait_for(lambda: "Scheduler at" in log.read_text(), process)
        yield f"tcp://127.0.0.1:{port}"
    finally:
        end(process)


def dask(*arguments: str, log: Path) -> subprocess.Popen[bytes]:
    """A process of Dask, in a session of its own."""
    with log.open("wb") as stream:
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments], stdout=stream, stderr=stream, start_new_session=True
        )


def worker(scheduler: str, name: str, folder: Path, resources: str = "threads=1 memory=4") -> subprocess.Popen[bytes]:
    """A worker with one thread that the scheduler knows."""
    options = ["--nthreads", "1", "--name", name, "--resources", resources, "--no-dashboard"]
    place, log = ["--local-directory", str(folder / name), "--host", "127.0.0.1"], folder / f"{name}.log"
    process = dask("worker", scheduler, *options, *place, log=log)
    wait_for(lambda: "Registered to" in log.read_text(), process)
    return process


def wait_for(found: Callable[[], object], process: subprocess.Popen[Any]) -> None:
    """Wait until something is found, as long as the process runs."""
    limit = time.monotonic() + LIMIT
    while not found():
        assert process.poll() is None, f"{process.args} ended with status {process.returncode}"
        assert time.monotonic() < limit, f"{process.args}: nothing found in {LIMIT} seconds"
        time.sleep(0.02)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and everything it started in its session."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
