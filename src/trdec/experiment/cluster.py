"""The stages of an experiment on the workers of a Dask cluster.

Each stage is a task that starts an ordinary `trdec` process on a worker and waits for it. Data, models and logs are in
a folder that all machines share under the same name. A task whose worker is lost goes to another worker, where its
process waits for the lock of the run, which the old process holds until it has ended, and resumes from the checkpoint.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trdec.cluster import MEMORY, THREADS, check_workers, connected, result_of
from trdec.experiment.plan import Run, Stage
from trdec.experiment.run import log_of
from trdec.experiment.stage_process import run_task


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
        threads = run.training.training.threads if stage == "train" else 1
        needed = {THREADS: threads, MEMORY: self._memory}
        check_workers(self._client, needed)
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
            return int(result_of(future, run.name, "Give it more (the key `memory`)"))
        finally:
            with self._guard:
                self._futures.discard(future)

    def close(self) -> None:
        """Give up all stages; their processes end within a second, trainings with a checkpoint."""
        with self._guard:
            self._closed = True
            for future in self._futures:
                future.cancel(force=True)


@contextlib.contextmanager
def cluster_of(scheduler: str, memory: float) -> Iterator[Cluster]:
    """The cluster of the Dask scheduler at this address; each stage takes so many GB of memory."""
    with connected(scheduler) as client:
        yield Cluster(client, memory)
