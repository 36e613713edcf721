"""The stages of an experiment on the workers of a Dask cluster.

Each stage is a task that starts an ordinary `trdec` process on a worker and waits for it. Data, models and logs are in
a folder that all machines share under the same name. A task whose worker is lost goes to another worker, where its
process waits for the lock of the run, which the old process holds until it has ended, and resumes from the checkpoint.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import subprocess
import threading
from asyncio import CancelledError
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from trdec.errors import UsageError, WorkerError, excerpt
from trdec.experiment.plan import Run, Stage
from trdec.experiment.run import log_of, start_stage

THREADS, MEMORY = "threads", "memory"
"""The resources that workers declare and stages take: threads, and GB of memory."""

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


class Cluster:
    """Runs stages on the workers of a Dask cluster."""

    def __init__(self, client: Any, memory: float) -> None:
        self._client = client
        self._memory = memory
        self._guard = threading.Lock()
        self._futures: set[Any] = set()
        self._closed = False

    def run(self, run: Run, stage: Stage) -> int:
        """Run a stage to its end."""
        from distributed import KilledWorker

        threads = run.training.training.threads if stage == "train" else 1
        needed = {THREADS: threads, MEMORY: self._memory}
        self._check_workers(needed)
        with self._guard:
            if self._closed:
                return 0
            key = f"{run.directory.name}-{stage}-{secrets.token_hex(4)}"
            future = self._client.submit(
                run_task,
                key,
                str(Path.cwd()),
                str((run.directory / ".lock").absolute()),
                str(log_of(run, stage).absolute()),
                run.commands[stage],
                resources=needed,
                pure=False,
                key=key,
            )
            self._futures.add(future)
        try:
            return int(future.result())
        except KilledWorker as error:
            raise WorkerError(
                f"{run.name}: the workers that ran this stage died one after the other, perhaps for lack of memory. "
                "Give it more (the key `memory`), and run the same command again to resume."
            ) from error
        except CancelledError as error:
            raise WorkerError(
                f"{run.name}: the Dask scheduler gave this stage up. Run the same command again to resume."
            ) from error
        finally:
            with self._guard:
                self._futures.discard(future)

    def _check_workers(self, needed: dict[str, float]) -> None:
        """Raise UsageError if there are workers and none of them could ever run the stage."""
        workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        offers = [worker["resources"] for worker in workers]
        if offers and not any(all(offer.get(name, 0) >= need for name, need in needed.items()) for offer in offers):
            wanted = " ".join(f"{name}={need:g}" for name, need in needed.items())
            raise UsageError(
                f"none of the {len(offers)} Dask workers offers what a stage needs, the resources {wanted} (memory in "
                "GB). Start workers that offer as much; docs/scaling.md shows how."
            )

    def close(self) -> None:
        """Give up all stages; their processes end within a second, trainings with a checkpoint."""
        with self._guard:
            self._closed = True
            for future in self._futures:
                future.cancel(force=True)


_ADDRESS = re.compile(r"(?:(?:tcp|tls|ws|wss)://)?(?:\[[0-9a-fA-F:.%]+\]|[\w.-]+):([0-9]{1,5})", re.ASCII)


@contextlib.contextmanager
def cluster_of(scheduler: str, memory: float) -> Iterator[Cluster]:
    """The cluster of the Dask scheduler at this address; each stage takes so many GB of memory."""
    found = _ADDRESS.fullmatch(scheduler)
    if found is None or not 0 < int(found[1]) < 1 << 16:  # a client of such a one waits, and ends in a traceback
        raise UsageError(
            f"`dask`: expected the address of a scheduler, such as tcp://host:8786, found {excerpt(scheduler)}."
        )
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError(
            "`dask` needs the package distributed, which is not installed. Install it with: "
            "pip install 'trdec[cluster]'"
        ) from error
    try:
        client = Client(scheduler, timeout=10, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(
            f"`dask` {scheduler}: no Dask scheduler answers there: {error}. Start one with: dask scheduler"
        ) from error
    with client:
        yield Cluster(client, memory)
