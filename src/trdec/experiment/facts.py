"""What is remembered of a finished stage: how long, how much, how good, with which versions."""

from __future__ import annotations

import math
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from trdec import __version__
from trdec.experiment.plan import Run
from trdec.text.lines import read_lines
from trdec.training.log import JsonLines

PACKAGES = ("numpy", "sacrebleu", "sentencepiece", "torch")


def training_facts(run: Run) -> dict[str, Any]:
    """The course of a training, from its log."""
    model = run.directory / "model"
    rows = list(JsonLines(model / "log.jsonl").rows())
    train = [row for row in rows if row["event"] == "train"]
    dev = [row for row in rows if row["event"] == "dev"]
    by_bleu = run.training.training.metric == "bleu"
    best = min(dev, key=lambda row: -row["bleu"] if by_bleu else _loss(row))
    return {
        "updates": dev[-1]["update"],
        "sentences": sum(row["sentences"] for row in train),
        "actions": sum(row["actions"] for row in train),
        "seconds": dev[-1]["seconds"],
        "parameters": parameters(model / "model.safetensors"),
        "best_update": best["update"],
        "dev_perplexity": best["perplexity"],
        "curve": [{"update": row["update"], "perplexity": row["perplexity"]} for row in dev],
        "versions": versions(),
    }


def _loss(row: dict[str, Any]) -> float:
    return math.inf if row["loss"] is None else row["loss"]


def translation_facts(run: Run, seconds: float) -> dict[str, Any]:
    """How many lines were translated, and in what time."""
    return {"sentences": sum(1 for _ in read_lines(run.translations)), "seconds": round(seconds, 1)}


def parameters(weights: Path) -> int:
    """How many numbers a file of weights holds."""
    from safetensors import safe_open

    total = 0
    with safe_open(weights, framework="numpy") as tensors:
        for name in tensors.keys():  # noqa: SIM118  (it is no mapping)
            size = 1
            for length in tensors.get_slice(name).get_shape():
                size *= length
            total += size
    return total


def versions() -> dict[str, str]:
    """What the numbers were made with."""
    system = {"trdec": __version__, "python": platform.python_version(), "system": platform.platform(terse=True)}
    return system | {name: version(name) for name in PACKAGES}
