"""A training that begins with the weights of a trained model: fine-tuning, or transfer from another language pair."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from trdec.data.codec import Codec
from trdec.errors import TrainingError
from trdec.model.translation_model import TranslationModel
from trdec.model.weights import weights_of
from trdec.translation.model_directory import load_model

SOURCE_ROWS = ("encoder.embedding.weight", "encoder.sequence.embedding.weight")
ACTION_ROWS = ("decoder.embedding.weight", "output_weight")
SYMBOL_ROWS = ("decoder.symbols.weight",)
"""The weights that have a row for each source piece, for each action, or for each symbol that can be open."""

_START = object()
"""What the last row of actions belongs to: the action before the first."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """How much of a network was taken from another: how many of how many."""

    weights: tuple[int, int]
    """Matrices and vectors, whole or in part."""
    pieces: tuple[int, int]
    actions: tuple[int, int]

    def __str__(self) -> str:
        counts = (f"{found:,} of {count:,}" for found, count in (self.weights, self.pieces, self.actions))
        return "{} weights fit, {} source pieces and {} actions are in both; what is not starts fresh".format(*counts)


@dataclass(frozen=True)
class Parent:
    """A trained model to start from."""

    path: Path
    codec: Codec
    model: TranslationModel

    @classmethod
    def load(cls, path: Path, allow: Sequence[str]) -> Parent:
        """The model in a directory or an archive."""
        found = load_model(path, allow=allow)
        return cls(path, found.codec, found.network)


def start_from(parent: Parent, model: TranslationModel, codec: Codec) -> Transfer:
    """Give a network what fits of a trained model; TrainingError if nothing does."""
    taken = take_weights(model, codec, parent.model, parent.codec)
    if not taken.weights[0]:
        raise TrainingError(
            f"{parent.path}: no weight of this model has the name and size of one of the network to train. Choose "
            "the system and the sizes in `model` of that model, or remove training.start_from."
        )
    return taken


def take_weights(model: TranslationModel, codec: Codec, parent: TranslationModel, parent_codec: Codec) -> Transfer:
    """Copy the parent's weights of the same name and size; of embeddings and softmax, the rows that both have."""
    pieces = _common(_pieces(codec), _pieces(parent_codec))
    actions = _common(_actions(codec), _actions(parent_codec))
    symbols = _common(codec.table.symbols, parent_codec.table.symbols)
    rows = dict.fromkeys(SOURCE_ROWS, pieces) | dict.fromkeys(ACTION_ROWS, actions)
    rows |= dict.fromkeys(SYMBOL_ROWS, symbols)
    theirs, own = weights_of(parent), weights_of(model)
    with torch.no_grad():
        taken = [_copy(weight, theirs.get(name), rows.get(name)) for name, weight in own.items()]
    # The start and the end are in every network.
    return Transfer(
        (sum(taken), len(own)),
        (len(pieces) - 1, len(_pieces(codec)) - 1),
        (len(actions) - 1, len(_actions(codec)) - 1),
    )


def _pieces(codec: Codec) -> list[Hashable]:
    return list(codec.source_tokens)


def _actions(codec: Codec) -> list[Hashable]:
    return [*codec.table.actions, _START]


def _common(own: Sequence[Hashable], theirs: Sequence[Hashable]) -> Mapping[int, int]:
    """Of what both have: the row here, and the row there."""
    places = {item: place for place, item in enumerate(theirs)}
    return {place: places[item] for place, item in enumerate(own) if item in places}


def _copy(weight: Tensor, other: Tensor | None, rows: Mapping[int, int] | None) -> bool:
    """Copy another weight, or its common rows, if its size allows; returns whether it does."""
    if other is None or weight.shape[1:] != other.shape[1:] or (rows is None and len(weight) != len(other)):
        return False
    if rows is None:
        weight.copy_(other)
        return True
    inside = [(here, there) for here, there in rows.items() if here < len(weight)]  # the softmax has no start
    weight[[here for here, _ in inside]] = other[[there for _, there in inside]].to(weight.device)
    return True
