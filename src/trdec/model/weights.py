"""Weights as safetensors files, written atomically and checked when read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from trdec.errors import CheckpointError, FileError
from trdec.files import checksum, replacing_file


class HasWeights(Protocol):
    """Anything with weights: the part of `nn.Module` that loading and saving need."""

    def state_dict(self) -> dict[str, Any]:
        """Every weight by name."""

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> Any:
        """Set the weights."""


def weights_of(model: HasWeights) -> dict[str, Tensor]:
    """The model's weights by name; a tied weight, which has two names, appears under the first."""
    seen: set[tuple[int, tuple[int, ...]]] = set()
    weights: dict[str, Tensor] = {}
    for name, tensor in model.state_dict().items():
        place = (tensor.data_ptr(), tuple(tensor.shape))
        if place not in seen or tensor.numel() == 0:
            seen.add(place)
            weights[name] = tensor.detach()
    return weights


def set_weights(model: HasWeights, weights: Mapping[str, Tensor], name: Path | str) -> None:
    """Give the model these weights; names and shapes must match the model's exactly."""
    own = weights_of(model)
    if missing := sorted(set(own) - set(weights)):
        raise CheckpointError(f"{name}: {missing[0]!r} is missing: these are another model's weights.")
    if foreign := sorted(set(weights) - set(own)):
        raise CheckpointError(f"{name}: the model has no {foreign[0]!r}: these are another model's weights.")
    for key, tensor in own.items():
        found = tuple(weights[key].shape)
        if found != tuple(tensor.shape):
            raise CheckpointError(
                f"{name}: expected {key} of shape {tuple(tensor.shape)}, found {found}: "
                "these are another model's weights."
            )
    model.load_state_dict(weights, strict=False)


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> str:
    """Write tensors to a file that appears only when it is complete and on disk, and return its checksum."""
    # One metadata entry only: safetensors does not keep the order of several, and files must be reproducible.
    content = {name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()}
    try:
        with replacing_file(path, durable=True) as temporary:
            save_file(content, temporary, metadata={"format": "pt"})
            return checksum(temporary)
    except (OSError, SafetensorError) as error:
        raise FileError(f"{path}: cannot be written: {error}.") from error


def read_tensors(path: Path, digest: str | None = None) -> dict[str, Tensor]:
    """The tensors in a file; if a checksum is given, the file must have it."""
    if digest is not None:
        check_file(path, digest)
    try:
        return load_file(path)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror or error}.") from error
    except SafetensorError as error:
        raise CheckpointError(f"{path}: expected a safetensors file, found something else: {error}.") from error


def check_file(path: Path, digest: str) -> None:
    """Raise CheckpointError if the file does not have the given checksum."""
    try:
        found = checksum(path)
    except FileError as error:
        raise CheckpointError(str(error)) from error
    if found != digest:
        raise CheckpointError(f"{path}: the file is damaged: its checksum is not the one recorded.")


def average(many: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of several models' weights; integers are taken from the first model."""
    first = many[0]
    return {
        name: (
            torch.stack([weights[name].double() for weights in many]).mean(dim=0).to(tensor.dtype)
            if tensor.is_floating_point()
            else tensor
        )
        for name, tensor in first.items()
    }
