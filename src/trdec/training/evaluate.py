"""How well a model predicts dev."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import torch

from trdec.errors import TrainingError
from trdec.training.kinds import Kinds, KindSums
from trdec.training.protocols import AnyBatch, Batches, Trainable


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Losses on dev: per sentence, and the sums by kind of action."""

    sentences: int
    sums: KindSums

    @property
    def loss(self) -> float:
        """The loss summed over steps, divided by sentences."""
        return self.sums.loss / self.sentences


def evaluate(
    model: Trainable[AnyBatch],
    batches: Batches[AnyBatch],
    kinds: Kinds,
    device: torch.device | str = "cpu",
    autocast: contextlib.AbstractContextManager[object] | None = None,
) -> Evaluation:
    """The model's losses on these batches, without dropout; randomness and training mode stay as they were."""
    sums, sentences = KindSums(), 0
    model.train(False)
    with torch.random.fork_rng(), torch.no_grad(), autocast or contextlib.nullcontext():
        for numbers in batches.plan(0):
            batch = batches.batch(numbers).to(device)
            sums.add(kinds, batch.actions, batch.padding, model.loss(batch, 0.0).negative_log_probs)
            sentences += batch.num_sentences
    model.train(True)
    if not sentences:
        raise TrainingError(
            "expected dev examples, found none. Look at the report of the data: none of dev's trees may be "
            "covered by the training data."
        )
    return Evaluation(sentences, sums)
