"""Each of the eight systems learns a handful of sentences by heart, in seconds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from trdec.configuration import Configuration
from trdec.corpora.toy.generate import write_corpus
from trdec.data.prepare import Preparation
from trdec.data.store import Prepared
from trdec.systems import SYSTEMS
from trdec.training.display import TrainingDisplay
from trdec.training.observers import JsonLines
from trdec.training.trainer import train


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toy")
    write_corpus(folder, 20, 1)
    return folder


def configuration(system: str, toy: Path, output: Path) -> Configuration:
    def corpus(name: str) -> dict[str, str]:
        annotations = {"constituency": "con", "dependency": "conllu", "supertags": "ccg"}
        files = {key: f"{name}.en.{ending}" for key, ending in annotations.items()}
        return {"source": f"{name}.vel", "target": f"{name}.en", **files}

    content: dict[str, Any] = {
        "system": system,
        "output": output,
        "folder": toy,
        "data": {
            "train": corpus("train"),
            "dev": corpus("train"),
            "source_subwords": {"size": 80},
            "target_subwords": {"size": 80},
        },
        "batches": {"batch_type": "sentences", "batch_size": 20},
        "model": {"embedding_size": 32, "hidden_size": 48, "initialisation_range": 0.3},
        "training": {
            "max_updates": 40,
            "validate_every": 20,
            "label_smoothing": 0,
            "optimiser": {"learning_rate": 0.02},
            "schedule": {"kind": "cosine", "warmup_updates": 5},
            "plot": False,
        },
    }
    return Configuration.model_validate(content)


def actions(prepared: Prepared) -> Iterator[int]:
    for number in range(len(prepared)):
        yield from prepared[number].actions.tolist()


def unigram_perplexities(preparation: Preparation) -> dict[str, float]:
    """Dev perplexity by kind of action of a model that knows the kind, and only how often actions are in training."""
    kinds = preparation.codec.table.kinds
    counts = Counter(actions(preparation.train))
    totals = Counter(kinds)  # one more of each action, for those that training does not have
    for action, count in counts.items():
        totals[kinds[action]] += count
    losses: dict[str, list[float]] = {}
    for action in actions(preparation.dev):
        losses.setdefault(kinds[action], []).append(math.log(totals[kinds[action]] / (counts[action] + 1)))
    return {kind: math.exp(sum(values) / len(values)) for kind, values in losses.items()}


FAMILIES = ("seq2seq", "ccg", "lin", "trdec-dep")
"""One system of each way to write a tree; the others differ in their trees only."""


@pytest.mark.parametrize(
    "system", [name if name in FAMILIES else pytest.param(name, marks=pytest.mark.slow) for name in SYSTEMS]
)
def test_a_system_learns_more_than_frequencies(toy: Path, tmp_path: Path, system: str) -> None:
    train(configuration(system, toy, tmp_path), TrainingDisplay(Console()))
    dev = [row for row in JsonLines(tmp_path / "log.jsonl").rows() if row["event"] == "dev"][-1]
    baseline = unigram_perplexities(Preparation.open(tmp_path))
    print(system, dev["perplexity"], baseline)
    for kind in {"word", "rule", "mark"} & set(baseline):
        assert dev["perplexity"][kind] - 1 < 0.3 * (baseline[kind] - 1) + 0.5, kind
