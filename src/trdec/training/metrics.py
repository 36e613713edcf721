"""What training reports: losses by kind of action, over some updates and on dev, and BLEU on dev."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from trdec.configuration.sections import DataConfiguration
from trdec.errors import TrainingError
from trdec.files import read_lines
from trdec.training.distributed import ALONE, Ranks
from trdec.training.interfaces import AnyBatch, Batches, Trainable

if TYPE_CHECKING:
    from trdec.data.codec import Codec
    from trdec.model.translation_model import TranslationModel
    from trdec.progress import Progress

WORD = "word"
ALL = "all"


def perplexity(loss: float, count: float) -> float:
    """exp(loss / count)"""
    mean = loss / count if count else 0.0
    return math.exp(mean) if mean < 700 else math.inf


class Kinds:
    """The kind of every action, as a tensor to sum by."""

    def __init__(self, kinds: Sequence[str], device: torch.device | str = "cpu") -> None:
        self.names = tuple(dict.fromkeys(kinds))
        numbers = {name: number for number, name in enumerate(self.names)}
        self.numbers = torch.tensor([numbers[kind] for kind in kinds], device=device)  # A

    def of(self, actions: Tensor, padding: Tensor) -> Tensor:
        """The kind of every action that is not padding, in one row."""
        return self.numbers[actions[~padding]]


class KindSums:
    """The number of actions of each kind, and their summed loss (minus log-probability)."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.losses: dict[str, float] = {}

    def add(self, kinds: Kinds, actions: Tensor, padding: Tensor, losses: Tensor) -> None:
        """Add a batch's losses, B T."""
        rows = kinds.of(actions, padding)  # N
        size = len(kinds.names)
        counts = torch.bincount(rows, minlength=size).tolist()
        each = losses.detach()[~padding].double()  # N
        sums = torch.zeros(size, dtype=torch.float64, device=rows.device).index_add_(0, rows, each).tolist()
        for name, count, loss in zip(kinds.names, counts, sums, strict=True):
            if count:
                self.counts[name] = self.counts.get(name, 0) + count
                self.losses[name] = self.losses.get(name, 0.0) + loss

    def include(self, other: KindSums) -> None:
        """Add the sums of other batches."""
        for name, count in other.counts.items():
            self.counts[name] = self.counts.get(name, 0) + count
            self.losses[name] = self.losses.get(name, 0.0) + other.losses[name]

    def values(self, kinds: Kinds) -> list[float]:
        """The counts of every kind, then the losses, as ranks tell them each other."""
        return [self.counts.get(name, 0) for name in kinds.names] + [self.losses.get(name, 0.0) for name in kinds.names]

    @classmethod
    def of_values(cls, values: Sequence[float], kinds: Kinds) -> KindSums:
        """The sums that have these values."""
        sums, size = cls(), len(kinds.names)
        for name, count, loss in zip(kinds.names, values[:size], values[size:], strict=True):
            if count:
                sums.counts[name], sums.losses[name] = int(count), loss
        return sums

    @property
    def actions(self) -> int:
        """The number of actions of all kinds."""
        return sum(self.counts.values())

    @property
    def words(self) -> int:
        """The number of words, or of subwords where words are segmented."""
        return self.counts.get(WORD, 0)

    @property
    def loss(self) -> float:
        """The summed loss of all kinds."""
        return math.fsum(self.losses.values())

    def perplexities(self) -> dict[str, float]:
        """The perplexity of all actions, then of each kind that occurred."""
        each = {name: perplexity(loss, self.counts[name]) for name, loss in self.losses.items()}
        return {ALL: perplexity(self.loss, self.actions), **each}

    def state(self) -> dict[str, Any]:
        """The sums, as JSON."""
        return {"counts": self.counts, "losses": self.losses}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from saved sums."""
        self.counts, self.losses = dict(state["counts"]), dict(state["losses"])


class Window:
    """Sums over some updates, for one line of the log."""

    def __init__(self) -> None:
        self.updates = 0
        self.sentences = 0
        self.loss = 0.0
        self.norm = 0.0
        self.seconds = 0.0
        self.sums = KindSums()

    def row(self) -> dict[str, Any]:
        """The amounts trained on, and the means: loss per sentence, perplexities, speed, gradient norm."""
        seconds = max(self.seconds, 1e-9)
        return {
            "sentences": self.sentences,
            "actions": self.sums.actions,
            "loss": self.loss / max(1, self.sentences),
            "perplexity": self.sums.perplexities(),
            "words_per_second": round(self.sums.words / seconds, 1),
            "actions_per_second": round(self.sums.actions / seconds, 1),
            "gradient_norm": self.norm / max(1, self.updates),
        }

    def state(self) -> dict[str, Any]:
        """The sums, as JSON."""
        counters = {"updates": self.updates, "sentences": self.sentences, "loss": self.loss}
        return {**counters, "norm": self.norm, "seconds": self.seconds, "sums": self.sums.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from saved sums."""
        self.updates, self.sentences, self.loss = state["updates"], state["sentences"], state["loss"]
        self.norm, self.seconds = state["norm"], state["seconds"]
        self.sums.restore(state["sums"])


@dataclass(frozen=True, slots=True)
class DevLosses:
    """Losses on dev: per sentence, and the sums by kind of action."""

    sentences: int
    sums: KindSums

    @property
    def loss(self) -> float:
        """The loss summed over steps, divided by sentences."""
        return self.sums.loss / self.sentences


def measure_dev(
    model: Trainable[AnyBatch],
    batches: Batches[AnyBatch],
    kinds: Kinds,
    device: torch.device | str = "cpu",
    autocast: contextlib.AbstractContextManager[object] | None = None,
    progress: Progress | None = None,
    ranks: Ranks = ALONE,
) -> DevLosses:
    """The model's losses on these batches, without dropout; each rank measures its share."""
    sums, sentences = KindSums(), 0
    model.train(False)
    with torch.no_grad(), autocast or contextlib.nullcontext():
        plan = batches.plan(0)[ranks.number :: ranks.count]
        total = sum(map(len, plan))
        for numbers in plan:
            batch = batches.batch(numbers, 0).to(device)
            sums.add(kinds, batch.actions, batch.padding, model.loss(batch, 0.0).negative_log_probs)
            sentences += batch.num_sentences
            if progress is not None:
                progress("validating", sentences, total)
    model.train(True)
    shares = ranks.gather([sentences, *sums.values(kinds)])
    sentences, sums = 0, KindSums()
    for share in shares:
        sentences += int(share[0])
        sums.include(KindSums.of_values(share[1:], kinds))
    if not sentences:
        raise TrainingError(
            "expected dev examples, found none. See the data report: perhaps the grammar covers none of dev's trees."
        )
    return DevLosses(sentences, sums)


def dev_bleu(model: TranslationModel, codec: Codec, data: DataConfiguration, progress: Progress | None = None) -> float:
    """BLEU of greedy translations of dev, against the text in its file."""
    from trdec.evaluation.scores import bleu_metric, bleu_tokeniser  # slow to import, and few trainings need it
    from trdec.search.beam import BeamSettings
    from trdec.translation.source import parsed_lines
    from trdec.translation.translator import Translator

    device = next(model.parameters()).device.type
    key = codec.system.source_annotation
    parses = None if key is None else getattr(data.dev, key)
    references = [line.text for line in read_lines(data.dev.target)]
    texts = (line.text for line in read_lines(data.dev.source))
    sources = parsed_lines(codec.system, texts, parses, len(references))
    finished = None if progress is None else lambda done: progress("translating dev", done, len(references))
    translations = Translator([model], codec, device=device).stream(sources, BeamSettings(1), progress=finished)
    metric = bleu_metric(bleu_tokeniser(references, data.target_tokeniser != "none"))
    return float(metric.corpus_score([found.text for found in translations], [references]).score)
