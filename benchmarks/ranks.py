"""Training on several processes: the same result, how fast, and what kills cost; one JSON object per line.

    python benchmarks/ranks.py same              # dev loss after 200 updates on 1, 2 and 4 processes
    python benchmarks/ranks.py speed             # actions per second on 1 and 2 processes, batches of 800 and 12,800
    python benchmarks/ranks.py lost --times 10   # kill -9 and SIGSTOP at random moments: seconds to the end, same bits

It trains on the toy language, under torchrun. `speed` needs a machine with nothing else to do, and a core per process;
an update is two batches, one after the other or one on each process: the same training.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from trdec.corpora.toy.generate import write_corpus

CORPUS = {"source": "{}.vel", "target": "{}.en", "constituency": "{}.en.con"}


def configuration(folder: Path, hidden: int, subwords: int) -> Path:
    """The file of the training that is measured."""
    content: dict[str, Any] = {
        "system": "trdec-con",
        "output": "unused",
        "folder": str(folder / "toy"),
        "data": {
            **{split: {role: name.format(split) for role, name in CORPUS.items()} for split in ("train", "dev")},
            "source_subwords": {"size": subwords},
            "target_subwords": {"size": subwords},
        },
        "batches": {"batch_type": "actions", "batch_size": 800},
        "model": {
            "embedding_size": hidden,
            "hidden_size": hidden,
            "dropout": {"embeddings": 0.2, "states": 0.2, "readout": 0.2},
        },
        "training": {
            "accumulate": 4,
            "checkpoint_every": 200,
            "plot": False,
            "log_every": 1,
            "keep_best": 1,
            "rank_timeout": 10,
        },
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def start(file: Path, output: Path, processes: int, *overrides: str) -> subprocess.Popen[bytes]:
    """Start a training on so many processes."""
    run = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(processes), "-m"]
    launcher = run if processes > 1 else [sys.executable, "-m"]
    command = [*launcher, "trdec.cli.main", "train", str(file), f"output={output}", *overrides]
    with output.with_suffix(".log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)


def finish(process: subprocess.Popen[bytes], output: Path) -> None:
    """Wait for a training, which must succeed."""
    if process.wait():
        raise SystemExit(output.with_suffix(".log").read_text())


def rows(output: Path, event: str) -> list[dict[str, Any]]:
    """The lines of a training's log."""
    lines = map(json.loads, (output / "log.jsonl").read_text().splitlines())
    return [row for row in lines if row["event"] == event]


def same(file: Path, folder: Path, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The last dev loss on 1, 2 and 4 processes, and how far it is from that of one."""
    losses = {}
    keys = [f"training.max_updates={options.updates}", f"training.validate_every={options.updates}"]
    for processes in (1, 2, 4):
        output = folder / f"same-{processes}"
        finish(start(file, output, processes, *keys), output)
        losses[processes] = rows(output, "dev")[-1]["loss"]
        difference = abs(losses[processes] - losses[1]) / losses[1]
        yield {"processes": processes, "updates": options.updates, "dev_loss": losses[processes], "apart": difference}


def speed(file: Path, folder: Path, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Actions per second of training, without start-up and validation."""
    for size in options.sizes:
        rates = {}
        for processes in (1, 2):
            output = folder / f"speed-{size}-{processes}"
            keys = [f"batches.batch_size={size}", "training.accumulate=2"]
            keys += [f"training.{key}={options.updates}" for key in ("max_updates", "validate_every")]
            finish(start(file, output, processes, *keys), output)
            measured = rows(output, "train")[options.updates // 5 :]  # the first warm up
            rates[processes] = sum(row["actions_per_second"] for row in measured) / len(measured)
            ratio = round(rates[processes] / rates[1], 3)
            yield {"batch": size, "processes": processes, "actions_per_second": round(rates[processes]), "ratio": ratio}


def lost(file: Path, folder: Path, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Kill or stop a rank at random moments, start again, and compare the weights with those of an undisturbed run."""
    keys = [f"training.max_updates={options.updates}", "training.validate_every=20", "training.checkpoint_every=5"]
    finish(start(file, folder / "whole", 2, *keys), folder / "whole")
    draw, output = random.Random(options.seed), folder / "lost"
    for number in range(options.times):
        process = start(file, output, 2, *keys)
        before = checkpoint(output)
        early = number % 3 == 2  # every third is lost while it starts, the others after some updates
        while process.poll() is None and not (len(ranks_of(output)) > 1 if early else checkpoint(output) > before):
            time.sleep(0.02)
        time.sleep(draw.uniform(0, 3 if early else 0.5))
        ranks = ranks_of(output)
        if process.poll() is not None or len(ranks) < 2:
            raise SystemExit(f"the training ended before it could be disturbed {options.times} times: more --updates")
        victim, kind = draw.randrange(2), (signal.SIGKILL, signal.SIGSTOP)[number % 2]
        os.kill(ranks[victim], kind)
        began, done = time.monotonic(), checkpoint(output)
        while ranks[1 - victim] in ranks_of(output):
            if time.monotonic() > began + 120:
                raise SystemExit("the other process still waits for the lost one after two minutes")
            time.sleep(0.1)
        other = round(time.monotonic() - began, 1)
        process.wait(timeout=120)
        yield {
            "lost": kind.name,
            "rank": victim,
            "checkpoint_then": done,
            "checkpoint_after": checkpoint(output),
            "seconds_to_end_of_other": other,
            "seconds_to_end_of_torchrun": round(time.monotonic() - began, 1),
            "left_behind": len(ranks_of(output)),
        }
        for left in ranks_of(output):
            os.kill(left, signal.SIGKILL)
    finish(start(file, output, 2, *keys), output)
    resumed = re.findall(r"resuming after update (\d+)", output.with_suffix(".log").read_text())
    equal = (output / "model.safetensors").read_bytes() == (folder / "whole" / "model.safetensors").read_bytes()
    yield {"updates": options.updates, "resumed_after": [*map(int, resumed)], "same_bits": equal}


def checkpoint(output: Path) -> int:
    """The update of the last checkpoint."""
    return max((int(path.name[7:]) for path in (output / "checkpoints").glob("update-*")), default=0)


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


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["same", "speed", "lost"])
    parser.add_argument("--updates", type=int, help="updates of each training; 200, 30 for speed")
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--subwords", type=int, default=300)
    parser.add_argument("--hidden", type=int, help="64, 512 for speed")
    parser.add_argument("--sizes", type=int, nargs="+", default=[800, 12800])
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1, help="of the moments at which processes are lost")
    options = parser.parse_args()
    is_speed = options.what == "speed"
    options.updates = options.updates or (30 if is_speed else 200)
    with tempfile.TemporaryDirectory(prefix="trdec-ranks-") as name:
        folder = Path(name)
        write_corpus(folder / "toy", options.sentences, 1)
        file = configuration(folder, options.hidden or (512 if is_speed else 64), options.subwords)
        for row in {"same": same, "speed": speed, "lost": lost}[options.what](file, folder, options):
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
