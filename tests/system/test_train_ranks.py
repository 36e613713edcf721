"""`torchrun --no-python trdec train`: on one node and on two, killed and restarted."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from support.two_machines import HERE, Machine, two_machines
from trdec.corpora.toy.generate import write_corpus

pytestmark = pytest.mark.slow

CONFIG = """\
system: trdec-con
data:
  train: {source: train.vel, target: train.en, constituency: train.en.con}
  dev: {source: dev.vel, target: dev.en, constituency: dev.en.con}
  source_subwords: {size: 150}
  target_subwords: {size: 150}
batches: {batch_type: actions, batch_size: 200, subword_dropout: 0.1}
model: {embedding_size: 8, hidden_size: 8, dropout: {embeddings: 0.2, states: 0.2, readout: 0.2}}
training: {max_updates: 40, validate_every: 10, checkpoint_every: 3, log_every: 1, accumulate: 4, plot: false}
"""

TRDEC = Path(sys.executable).with_name("trdec")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranks")
    write_corpus(folder / "toy", 120, 1)
    (folder / "config.yaml").write_text(CONFIG)
    return folder


def start(
    folder: Path, output: Path, *options: str, overrides: tuple[str, ...] = (), machine: Machine = HERE
) -> subprocess.Popen[str]:
    """Start a training under torchrun, or in one process without options."""
    arguments = ["train", str(folder / "config.yaml"), f"folder={folder / 'toy'}", f"output={output}", *overrides]
    launcher = [sys.executable, "-m", "torch.distributed.run", *options, "--no-python"] if options else []
    command = [*machine.enter, *launcher, str(TRDEC), *arguments]
    environment = os.environ if machine is HERE else os.environ | {"GLOO_SOCKET_IFNAME": machine.interface}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)


def finish(process: subprocess.Popen[str]) -> str:
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0, said
    return said


def weights(output: Path) -> dict[str, torch.Tensor]:
    return load_file(output / "checkpoints" / "update-00000040" / "weights.safetensors")


def dev_loss(output: Path) -> float:
    rows = map(json.loads, (output / "log.jsonl").read_text().splitlines())
    return float([row["loss"] for row in rows if row["event"] == "dev"][-1])


@pytest.fixture(scope="module")
def model_alone(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("alone") / "model"
    finish(start(folder, output))
    return output


@pytest.fixture(scope="module")
def alone(model_alone: Path) -> dict[str, torch.Tensor]:
    return weights(model_alone)


@pytest.fixture(scope="module")
def together(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, torch.Tensor]:
    output = tmp_path_factory.mktemp("together") / "model"
    said = finish(start(folder, output, "--nproc-per-node", "2"))
    assert said.count("finished after 40 updates") == 1
    return weights(output)


def assert_close(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    for name, tensor in one.items():
        torch.testing.assert_close(other[name], tensor, rtol=1e-3, atol=1e-4, msg=name)


def test_torchrun_trains_as_one_process_does(alone: dict[str, torch.Tensor], together: dict[str, torch.Tensor]) -> None:
    assert_close(alone, together)


def test_two_nodes_train_as_one_process_does(alone: dict[str, torch.Tensor], folder: Path, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        endpoint = f"127.0.0.1:{free.getsockname()[1]}"
    options = ("--nnodes", "2", "--nproc-per-node", "1", "--rdzv-backend", "c10d", "--rdzv-endpoint", endpoint)
    nodes = [
        start(folder, tmp_path / "model", *options, "--local-addr", "127.0.0.1", "--node-rank", str(node))
        for node in range(2)
    ]
    for node in nodes:
        finish(node)
    assert_close(alone, weights(tmp_path / "model"))


def test_two_machines_train_as_one_process_does(model_alone: Path, folder: Path, tmp_path: Path) -> None:
    options = ("--nnodes", "2", "--nproc-per-node", "1", "--rdzv-backend", "c10d")
    with two_machines() as machines:
        options += ("--rdzv-endpoint", f"{machines[0].address}:29400")
        output = tmp_path / "model"
        nodes = []
        for machine in machines:
            # Both have the name of this machine, by which torchrun would find out which of them is the first.
            own = ("--local-addr", machine.address, "--rdzv-conf", f"is_host={int(machine is machines[0])}")
            nodes.append(start(folder, output, *options, *own, machine=machine))
        for node in nodes:
            finish(node)
    assert_close(weights(model_alone), weights(output))
    assert dev_loss(output) == pytest.approx(dev_loss(model_alone), rel=1e-5)


def ranks_of(output: Path) -> list[int]:
    """The processes that train there, besides torchrun."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if f"output={output}".encode() in words and b"torch.distributed.run" not in words:
                found.append(int(entry.name))
    return sorted(found)


@pytest.mark.parametrize("rank", [0, 1])
def test_torchrun_restarts_after_a_kill_with_the_same_result(
    together: dict[str, torch.Tensor], folder: Path, tmp_path: Path, rank: int
) -> None:
    output = tmp_path / "model"
    process = start(folder, output, "--nproc-per-node", "2", "--max-restarts", "1")
    limit = time.monotonic() + 120
    while not list((output / "checkpoints").glob("update-*")):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < limit
        time.sleep(0.01)
    os.kill(ranks_of(output)[rank], signal.SIGKILL)
    assert "resuming after update" in finish(process)
    assert all(torch.equal(tensor, weights(output)[name]) for name, tensor in together.items())


def test_a_stopped_rank_ends_torchrun_and_the_same_command_resumes(
    together: dict[str, torch.Tensor], folder: Path, tmp_path: Path
) -> None:
    output = tmp_path / "model"
    options = {"overrides": ("training.rank_timeout=3",)}
    process = start(folder, output, "--nproc-per-node", "2", **options)
    while not list((output / "checkpoints").glob("update-*")):
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.01)
    stopped = ranks_of(output)[0]
    os.kill(stopped, signal.SIGSTOP)
    said, _ = process.communicate(timeout=120)
    assert process.returncode
    assert f"LostRankError: rank 0 (process {stopped} on " in said or f"rank 1 (process {stopped} on " in said
    finish(start(folder, output, "--nproc-per-node", "2", **options))
    assert all(torch.equal(tensor, weights(output)[name]) for name, tensor in together.items())
