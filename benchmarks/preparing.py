"""Preparing many pairs: pairs per second, memory over time, disk, a kill in the middle; one JSON object per line.

    python benchmarks/preparing.py --pairs 10000000
    python benchmarks/preparing.py --pairs 300000 --part 50000    # smaller parts, so that there are some to resume from

The pairs are sentences of the toy language with other words put in at random, so that few are repeated. The corpus is
prepared for trdec-binary on one process, which is killed (kill -9) when half of its parts are whole; the same command
goes on. Some updates of training follow. Rates are per second of processor time, so a busy machine matters little.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from trdec.corpora.toy.generate import write_corpus

COMMAND = """
import sys
from trdec.cli.main import main
from trdec.data import make

make.PART = int(sys.argv.pop(1))
main()
"""


def write_pairs(folder: Path, pairs: int, longest: int, seed: int) -> None:
    """Write a training corpus of so many short pairs, and the toy language's dev corpus."""
    write_corpus(folder, 20_000, seed)
    texts = [[line.split() for line in (folder / f"train.{side}").read_text().splitlines()] for side in ("vel", "en")]
    short = [pair for pair in zip(*texts, strict=True) if max(map(len, pair)) <= longest]
    words = [sorted({word for pair in short for word in pair[side]}) for side in (0, 1)]
    draw = random.Random(seed)
    with (folder / "many.vel").open("w") as source, (folder / "many.en").open("w") as target:
        for _ in range(pairs):
            pair = draw.choice(short)
            for side, stream in enumerate((source, target)):
                line = list(pair[side])
                for _ in range(3):
                    line[int(draw.random() * len(line))] = words[side][int(draw.random() * len(words[side]))]
                stream.write(" ".join(line) + "\n")


def configuration(folder: Path) -> Path:
    """The file of the training that the pairs are prepared for."""
    content: dict[str, Any] = {
        "system": "trdec-binary",
        "output": str(folder / "model"),
        "folder": str(folder),
        "data": {
            "train": {"source": "many.vel", "target": "many.en"},
            "dev": {"source": "dev.vel", "target": "dev.en"},
            "source_subwords": {"size": 300},
            "target_subwords": {"size": 300},
        },
        "batches": {"batch_type": "actions", "batch_size": 800},
        "model": {"embedding_size": 32, "hidden_size": 32},
        "training": {"max_updates": 20, "validate_every": 20, "log_every": 1, "plot": False},
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


class Watched:
    """A process of trdec, looked at twice a second."""

    def __init__(self, folder: Path, part: int, *arguments: str) -> None:
        self._log = folder / "log.txt"
        with self._log.open("ab") as stream:
            self._process = subprocess.Popen(
                [sys.executable, "-c", COMMAND, str(part), *arguments], stdout=stream, stderr=stream
            )
        self.memory: list[float] = []
        self.seconds = 0.0

    def looks(self) -> Iterator[None]:
        """One for each look, until the process has ended, which it must do well unless it was killed."""
        while self._process.poll() is None:
            self._look()
            yield
            time.sleep(0.5)
        if self._process.returncode not in (0, -signal.SIGKILL):
            raise SystemExit(self._log.read_text())

    def kill(self) -> None:
        """kill -9."""
        self._look()
        self._process.kill()

    def figures(self) -> dict[str, Any]:
        """Seconds of processor time; MB of its own memory (no mapped files) in each tenth of its time, and at most."""
        tenths = [round(float(max(part))) for part in np.array_split(self.memory, min(10, len(self.memory)))]
        return {"processor_seconds": round(self.seconds, 1), "mb_in_each_tenth": tenths, "mb_at_most": max(tenths)}

    def _look(self) -> None:
        try:
            status = Path(f"/proc/{self._process.pid}/status").read_text()
            times = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return
        if found := [line for line in status.splitlines() if line.startswith("RssAnon")]:
            self.memory.append(int(found[0].split()[1]) / 1024)
            self.seconds = (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")


def size_of(folder: Path) -> float:
    """MB of the files below a folder, of which some may disappear meanwhile."""
    found = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            found += path.stat().st_size if path.is_file() else 0
    return found / 2**20


def measure(folder: Path, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Prepare, killed in the middle; then train a little."""
    write_pairs(folder, options.pairs, options.longest, 1)
    yield {"pairs": options.pairs, "text_mb": round(sum(path.stat().st_size for path in folder.glob("many.*")) / 2**20)}
    file, parts = configuration(folder), folder / "model" / ".data.unfinished"
    half = max(1, options.pairs // options.part // 2)
    killed = Watched(folder, options.part, "prepare", str(file), "--workers", "1")
    for _ in killed.looks():
        if len(list(parts.glob("train.0*"))) >= half:
            killed.kill()
    yield {"what": "prepare, killed", "parts_whole": len(list(parts.glob("train.0*"))), **killed.figures()}
    resumed, largest = Watched(folder, options.part, "prepare", str(file), "--workers", "1"), 0.0
    for number, _ in enumerate(resumed.looks()):
        if number % 10 == 0:
            largest = max(largest, size_of(folder / "model"))
    log, seconds = (folder / "log.txt").read_text(), killed.seconds + resumed.seconds
    yield {
        "what": "prepare, resumed",
        "parts_used_again": log.count("encoded before, used again"),
        **resumed.figures(),
        "disk_mb": round(size_of(folder / "model")),
        "disk_mb_at_most": round(largest),
        "pairs_per_processor_second_of_both": round(options.pairs / seconds),
    }
    training = Watched(folder, options.part, "train", str(file))
    for _ in training.looks():
        pass
    rows = [json.loads(line) for line in (folder / "model" / "log.jsonl").read_text().splitlines()]
    updates = sum(row["event"] == "train" for row in rows)
    yield {"what": "train", "updates": updates, **training.figures()}


def main() -> None:
    """Print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=10_000_000)
    parser.add_argument("--part", type=int, default=1_000_000, help="pairs per part")
    parser.add_argument("--longest", type=int, default=9, help="words of the longest sentence")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="trdec-preparing-") as name:
        for row in measure(Path(name), options):
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
