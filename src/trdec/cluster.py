"""A Dask cluster: finding it, what its workers must offer, and what is said when they are lost."""

from __future__ import annotations

import contextlib
import re
from asyncio import CancelledError
from collections.abc import Iterator, Mapping
from typing import Any

from trdec.errors import UsageError, WorkerError, excerpt

THREADS, MEMORY = "threads", "memory"
"""The resources that workers declare and tasks take: threads, and GB of memory."""


_ADDRESS = re.compile(r"(?:(?:tcp|tls|ws|wss)://)?(?:\[[0-9a-fA-F:.%]+\]|[\w.-]+):([0-9]{1,5})", re.ASCII)


@contextlib.contextmanager
def connected(scheduler: str) -> Iterator[Any]:
    """A client of the Dask scheduler at this address."""
    found = _ADDRESS.fullmatch(scheduler)
    if found is None or not 0 < int(found[1]) < 1 << 16:  # a client of such a one waits, and ends in a traceback
        raise UsageError(
            f"`dask`: expected the address of a scheduler, such as tcp://host:8786, found {excerpt(scheduler)}."
        )
    try:
        from distributed import Client, Security
    except ImportError as error:
        raise UsageError(
            "`dask` needs the package distributed, which is not installed. Install it with: "
            "pip install 'trdec[cluster]'"
        ) from error
    if scheduler.startswith("tls:") and not Security().tls_ca_file:  # type: ignore[attr-defined, no-untyped-call]
        raise UsageError(
            f"`dask` {scheduler}: a scheduler with tls needs certificates, and Dask's configuration names none. Set "
            "distributed.comm.tls.ca-file and what goes with it there, or use an address with tcp."
        )
    try:
        client = Client(scheduler, timeout=10, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(
            f"`dask` {scheduler}: no Dask scheduler answers there: {error}. Start one with: dask scheduler"
        ) from error
    with client:
        yield client


def check_workers(client: Any, needed: Mapping[str, float]) -> int:
    """How many threads the workers have; UsageError if there are workers and none could ever run such a task."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    offers = [worker["resources"] for worker in workers]
    if offers and not any(all(offer.get(name, 0) >= need for name, need in needed.items()) for offer in offers):
        wanted = " ".join(f"{name}={need:g}" for name, need in needed.items())
        raise UsageError(
            f"none of the {len(offers)} Dask workers offers what a task needs, the resources {wanted} (memory in "
            "GB). Start workers that offer as much; docs/scaling.md shows how."
        )
    return sum(worker["nthreads"] for worker in workers)


def result_of(future: Any, what: str, advice: str) -> Any:
    """The result of a task, which may be an exception; WorkerError if its workers died or it was given up."""
    from distributed import KilledWorker

    try:
        return future.result()
    except KilledWorker as error:
        raise WorkerError(
            f"{what}: the Dask workers that had this task died one after the other, perhaps for lack of memory. "
            f"{advice}, and run the same command again to resume."
        ) from error
    except CancelledError as error:
        raise WorkerError(
            f"{what}: the Dask scheduler gave this task up. Run the same command again to resume."
        ) from error
