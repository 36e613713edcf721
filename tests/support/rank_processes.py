"""Trainings of the tiny model on several processes."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import signal
import socket
import time
from collections.abc import Mapping
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import torch

from support.tiny_training import Recorder, TinyBatch, TinyLoss, TinyModel, make_loop
from trdec.errors import TrdecError
from trdec.training.distributed import join_ranks

# Processes are forked from one that has only imported what they need: quick to start, and like new.
os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["trdec.training.trainer", "torch._dynamo"])

LIMIT = 60.0
"""Seconds that a test waits for processes."""


class SickAt(TinyModel):
    """Has a loss that is not finite for every batch whose first action is this."""

    def __init__(self, action: int) -> None:
        super().__init__()
        self.action = action

    def loss(self, batch: TinyBatch, label_smoothing: float) -> TinyLoss:
        found = super().loss(batch, label_smoothing)
        if self.training and int(batch.actions[0, 0]) == self.action:
            return TinyLoss(found.total * math.nan, found.negative_log_probs)
        return found


def start_ranks(
    directory: Path, count: int, limit: float = 30.0, pause: float = 0.0, sick: int | None = None, **keys: Any
) -> list[BaseProcess]:
    """Start a training on so many ranks, which pause after each update."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    directory.mkdir(exist_ok=True)
    processes = []
    for rank in range(count):
        names = {"RANK": rank, "WORLD_SIZE": count, "LOCAL_RANK": rank, "MASTER_PORT": port}
        environment = {name: str(value) for name, value in names.items()} | {"MASTER_ADDR": "127.0.0.1"}
        arguments = (directory, environment, limit, pause, sick, keys)
        processes.append(PROCESSES.Process(target=be_rank, args=arguments, daemon=True))
        processes[-1].start()
    return processes


def be_rank(
    directory: Path, environment: Mapping[str, str], limit: float, pause: float, sick: int | None, keys: dict[str, Any]
) -> None:
    """Train as one rank; what it would say is written to a file."""
    os.environ.update(environment)
    recorder = Recorder(on_advance=lambda _: time.sleep(pause))
    told = directory.parent / f"{directory.name}.{environment['RANK']}"
    try:
        with join_ranks(limit) as ranks:
            torch.manual_seed(1)
            model = TinyModel() if sick is None else SickAt(sick)
            outcome = make_loop(directory, recorder, model, ranks=ranks, **keys).run()
    except TrdecError as error:
        told.write_text(f"{type(error).__name__}: {error}")
        raise SystemExit(1) from error
    told.write_text(json.dumps([outcome.update, outcome.best_update, outcome.best_score, outcome.skipped]))


def said(directory: Path, rank: int) -> str:
    """What a rank wrote when it ended."""
    return (directory.parent / f"{directory.name}.{rank}").read_text()


def finish(processes: list[BaseProcess]) -> list[int | None]:
    """The exit codes of processes that must end by themselves."""
    limit = time.monotonic() + LIMIT
    for process in processes:
        process.join(max(0.0, limit - time.monotonic()))
    codes = [process.exitcode for process in processes]
    for process in processes:
        if process.is_alive():
            process.kill()
    return codes


def wait_for_checkpoint(directory: Path) -> None:
    """Return when a training has written a checkpoint."""
    limit = time.monotonic() + LIMIT
    while not list((directory / "checkpoints").glob("update-*")):
        assert time.monotonic() < limit
        time.sleep(0.01)


def send(process: BaseProcess, number: signal.Signals) -> None:
    """Send a signal to a process."""
    assert process.pid
    os.kill(process.pid, number)
