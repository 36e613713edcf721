"""A stage as a process. Dask's scheduler and workers load this file, so it imports nothing that takes long."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

LOOK_EVERY = 1.0
"""Seconds between two looks at whether a stage is still wanted."""


def run_task(key: str, folder: str, lock: str, log: str, arguments: Sequence[str]) -> int:
    """Run a stage as the task of this key, on the worker that calls this, and return its exit status.

    If the experiment ends or gives the task up, the process is told to end, and writes a checkpoint.
    """
    process = start_stage(Path(lock), Path(log), arguments, Path(folder))
    assert process.stdin is not None
    with process.stdin:
        while True:
            try:
                return process.wait(LOOK_EVERY)
            except subprocess.TimeoutExpired:
                if not _is_wanted(key):
                    process.terminate()


def _is_wanted(key: str) -> bool:
    from distributed import get_worker

    task = get_worker().state.tasks.get(key)
    return task is not None and task.state != "cancelled"


def start_stage(lock: Path, log: Path, arguments: Sequence[str], folder: Path | None = None) -> subprocess.Popen[bytes]:
    """Start a process that runs `trdec` with these arguments once it holds the lock, and ends if this one does.

    It runs in the current directory, or in another folder.
    """
    with log.open("wb") as stream:
        return subprocess.Popen(
            [sys.executable, "-m", "trdec.cli.child", str(lock), *arguments],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=stream,
            stderr=stream,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            start_new_session=True,  # Ctrl-C reaches only the experiment, which then ends its processes
        )
