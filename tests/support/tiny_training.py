"""The smallest network and corpus that can be trained: a bigram model of actions, with dropout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from trdec.configuration.sections import TrainingConfiguration
from trdec.training.distributed import ALONE, Ranks
from trdec.training.loop import Loop, TrainingCorpus
from trdec.training.metrics import Kinds

torch.set_num_threads(1)

KINDS = ("rule", "rule", "word", "word", "word", "eop", "eos")


@dataclass(frozen=True)
class TinyBatch:
    actions: Tensor  # B T
    padding: Tensor  # B T

    @property
    def num_sentences(self) -> int:
        return self.actions.shape[0]

    def to(self, device: torch.device | str) -> TinyBatch:
        return TinyBatch(self.actions.to(device), self.padding.to(device))


class TinyBatches:
    """Rows of random actions in which each action has a favourite follower, cut into batches by a seed."""

    def __init__(self, count: int = 12, size: int = 3, seed: int = 0) -> None:
        generator = np.random.default_rng(seed)
        follow = np.array([2, 3, 4, 5, 0, 1, 6])
        self.rows = []
        for _ in range(count):
            row = [int(generator.integers(7))]
            for _ in range(int(generator.integers(2, 9))):
                row.append(int(follow[row[-1]] if generator.random() < 0.9 else generator.integers(7)))
            self.rows.append(row)
        self.size = size
        self.seed = seed

    def plan(self, epoch: int) -> list[NDArray[Any]]:
        order = np.random.default_rng((self.seed, epoch)).permutation(len(self.rows))
        return [order[start : start + self.size] for start in range(0, len(order), self.size)]

    def batch(self, numbers: NDArray[Any], epoch: int) -> TinyBatch:  # noqa: ARG002
        rows = [self.rows[int(number)] for number in numbers]
        actions = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
        padding = torch.ones_like(actions, dtype=torch.bool)
        for place, row in enumerate(rows):
            actions[place, : len(row)] = torch.tensor(row)
            padding[place, : len(row)] = False
        return TinyBatch(actions, padding)


@dataclass(frozen=True)
class TinyLoss:
    total: Tensor
    negative_log_probs: Tensor


class TinyModel(nn.Module):
    def __init__(self, size: int = 5, dropout: float = 0.3) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(KINDS) + 1, size)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(size, len(KINDS))

    def loss(self, batch: TinyBatch, label_smoothing: float) -> TinyLoss:
        previous = torch.roll(batch.actions, 1, dims=1)
        previous[:, 0] = len(KINDS)
        scores = self.output(self.dropout(self.embedding(previous))).log_softmax(dim=2)  # B T A
        plain = -scores.gather(2, batch.actions.unsqueeze(2)).squeeze(2)  # B T
        smoothed = (1 - label_smoothing) * plain - label_smoothing * scores.mean(dim=2)
        return TinyLoss(smoothed.masked_fill(batch.padding, 0).sum(), plain.masked_fill(batch.padding, 0))


@dataclass
class Recorder:
    """Remembers what it is told, and can end a training after an update, as a power cut would."""

    die_after: int | None = None
    on_advance: Callable[[int], None] | None = None
    train: list[Any] = field(default_factory=list)
    dev: list[Any] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tasks: dict[str, Any] = field(default_factory=dict)
    ended: bool = False

    def begin(self, update: int, max_updates: int) -> None:
        self.began = (update, max_updates)

    def advance(self, update: int) -> None:
        if self.on_advance:
            self.on_advance(update)
        if update == self.die_after:
            raise PowerCut

    def progress(self, task: str, done: int, total: int | None) -> None:
        self.tasks[task] = (done, total)

    def training(self, row: Any) -> None:
        self.train.append(row)

    def validation(self, row: Any) -> None:
        self.dev.append(row)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def end(self) -> None:
        self.ended = True


class PowerCut(BaseException):
    """Everything ends."""


DEFAULTS: dict[str, Any] = {
    "max_updates": 20,
    "validate_every": 4,
    "checkpoint_every": 3,
    "log_every": 5,
    "keep_best": 2,
    "optimiser": {"learning_rate": 0.05},
    "schedule": {"kind": "plateau", "warmup_updates": 0},
    "label_smoothing": 0.0,
    "final_weights": "best",
}


def make_loop(
    directory: Path,
    recorder: Recorder | None = None,
    model: Any = None,
    train: Any = None,
    dev: Any = None,
    fingerprint: str = "tiny",
    bleu: Callable[[], float] | None = None,
    ranks: Ranks = ALONE,
    **keys: Any,
) -> Loop[TinyBatch]:
    """A training of the tiny model as any process would begin it."""
    torch.manual_seed(1)
    corpus = TrainingCorpus(
        train if train is not None else TinyBatches(),
        dev if dev is not None else TinyBatches(6, seed=9),
        Kinds(KINDS),
        fingerprint,
    )
    configuration = TrainingConfiguration.model_validate({**DEFAULTS, **keys})
    return Loop(model or TinyModel(), corpus, configuration, directory, recorder or Recorder(), bleu=bleu, ranks=ranks)


def remains(directory: Path) -> dict[str, bytes]:
    """Every file of weights that a training left, and its last checkpoint's other tensors."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*.safetensors"))}
