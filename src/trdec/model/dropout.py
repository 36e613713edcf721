"""Dropout masks, sampled once per batch so that stepping and the whole-sequence recurrence can share them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from trdec.configuration.sections import DropoutConfiguration


def sample_mask(shape: tuple[int, ...], share: float, like: Tensor) -> Tensor | None:
    """0 at the given share of places and 1 / (1 - share) at the others; None when nothing is dropped."""
    if share == 0:
        return None
    return torch.empty(shape, dtype=like.dtype, device=like.device).bernoulli_(1 - share).div_(1 - share)


def sample_embedding_mask(shape: tuple[int, ...], rates: DropoutConfiguration, like: Tensor) -> Tensor | None:
    """A mask of embeddings, ... E, that drops single elements and whole embeddings, each at its own rate."""
    elements = sample_mask(shape, rates.embeddings, like)  # ... E
    tokens = sample_mask((*shape[:-1], 1), rates.tokens, like)  # ... 1
    if elements is None:
        return None if tokens is None else tokens.expand(shape)
    return elements if tokens is None else elements * tokens


def drop(values: Tensor, mask: Tensor | None) -> Tensor:
    """The values that the mask keeps."""
    return values if mask is None else values * mask


@dataclass(frozen=True)
class DecoderDropout:
    """The masks of a decoder for one batch, or for one step of it; a field that is None drops nothing.

    The tree decoder's `rule` fields belong to its rule RNN, those of other decoders to all that they have.
    """

    rule_embeddings: Tensor | None = None  # B T E, or B E for one step
    word_embeddings: Tensor | None = None  # B T E
    rule_states: Tensor | None = None  # B H: the same at all steps
    word_states: Tensor | None = None  # B H
    added: Tensor | None = None  # B T 3L E: what the parts of a Transformer's layers add
    features: Tensor | None = None  # B T F

    def at(self, step: int) -> DecoderDropout:
        """The masks of one step."""
        return self._changed(lambda mask: mask[:, step])

    def of_one_step(self) -> DecoderDropout:
        """The masks of one step as those of a batch that has only this step."""
        return self._changed(lambda mask: mask.unsqueeze(1))

    def _changed(self, change: Callable[[Tensor], Tensor]) -> DecoderDropout:
        names = ("rule_embeddings", "word_embeddings", "added", "features")
        return replace(self, **{name: change(mask) for name in names if (mask := getattr(self, name)) is not None})


NO_DROPOUT = DecoderDropout()
