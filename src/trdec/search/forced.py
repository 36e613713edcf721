"""Forced decoding: the log-probability of derivations that are given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from trdec.data.batching import collate
from trdec.data.codec import Codec
from trdec.data.prepared import Example
from trdec.model.translation_model import TranslationModel
from trdec.search.translation import ScoredAction

PLACES = 6000
"""Source places and steps in a batch, at most."""


@dataclass(frozen=True, slots=True)
class Forced:
    """A given derivation with the log-probability of each of its actions."""

    actions: tuple[ScoredAction, ...]

    @property
    def log_prob(self) -> float:
        """The log-probability of the whole derivation."""
        return math.fsum(action.log_prob for action in self.actions)

    def by_kind(self) -> dict[str, tuple[int, float]]:
        """For each kind of action, how many there are and their summed log-probability."""
        kinds = dict.fromkeys(action.kind for action in self.actions)
        chosen = {kind: [a.log_prob for a in self.actions if a.kind == kind] for kind in kinds}
        return {kind: (len(log_probs), math.fsum(log_probs)) for kind, log_probs in chosen.items()}


@torch.inference_mode()
def force(
    model: TranslationModel[Any],
    codec: Codec,
    pairs: Sequence[tuple[NDArray[np.int32], NDArray[np.int32]]],  # source S, steps T 3
) -> list[Forced]:
    """What the model gives each derivation, in their order."""
    # Longest first, as `collate` orders a batch too, so that rows keep the places given to them here.
    order = sorted(range(len(pairs)), key=lambda number: -len(pairs[number][1]))
    found: dict[int, Forced] = {}
    device = next(model.parameters()).device
    for numbers in batches_of(order, pairs):
        batch = collate([Example(*pairs[number], sentence=number, treebank=0) for number in numbers])
        log_probs = model.log_probs(batch.to(device)).tolist()
        for number, row in zip(numbers, log_probs, strict=True):
            actions = pairs[number][1][:, 0].tolist()
            found[number] = Forced(
                tuple(
                    ScoredAction(str(codec.table.actions[action]), codec.table.kinds[action], log_prob)
                    for action, log_prob in zip(actions, row[: len(actions)], strict=True)
                )
            )
    return [found[number] for number in range(len(pairs))]


def batches_of(order: Sequence[int], pairs: Sequence[tuple[NDArray[np.int32], NDArray[np.int32]]]) -> list[list[int]]:
    """The numbers of the pairs of each batch, in this order: as many as have at most `PLACES`, or one that has more."""
    batches: list[list[int]] = []
    filled = PLACES
    for number in order:
        size = len(pairs[number][0]) + len(pairs[number][1])
        if filled + size > PLACES:
            batches.append([])
            filled = 0
        batches[-1].append(number)
        filled += size
    return batches
