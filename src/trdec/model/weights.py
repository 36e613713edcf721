"""Weights as files: safetensors, written whole or not at all, checked on reading."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from trdec.errors import CheckpointError, FileError


class HasWeights(Protocol):
    """A network, as far as its weights go."""

    def state_dict(self) -> dict[str, Any]:
        """Every weight by name."""

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> Any:
        """Set the weights."""


def weights_of(model: HasWeights) -> dict[str, Tensor]:
    """The model's weights by name; a tensor that has two names (tied weights) under the first of them."""
    seen: set[tuple[int, tuple[int, ...]]] = set()
    weights: dict[str, Tensor] = {}
    for name, tensor in model.state_dict().items():
        place = (tensor.data_ptr(), tuple(tensor.shape))
        if place not in seen or tensor.numel() == 0:
            seen.add(place)
            weights[name] = tensor.detach()
    return weights


def set_weights(model: HasWeights, weights: Mapping[str, Tensor], name: Path | str) -> None:
    """Give the model these weights, which must be all that it has and of the same shapes."""
    own = weights_of(model)
    if missing := sorted(set(own) - set(weights)):
        raise CheckpointError(f"{name}: has no weights {missing[0]!r}, which the model needs: it is another model's.")
    if foreign := sorted(set(weights) - set(own)):
        raise CheckpointError(f"{name}: holds {foreign[0]!r}, which the model does not have: it is another model's.")
    for key, tensor in own.items():
        found = tuple(weights[key].shape)
        if found != tuple(tensor.shape):
            raise CheckpointError(
                f"{name}: expected {key} of shape {tuple(tensor.shape)}, found {found}: it is another model's."
            )
    model.load_state_dict(weights, strict=False)


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> str:
    """Write tensors to a file that appears only when it is complete and on disk; its SHA-256."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        # One metadata entry only: safetensors does not keep the order of several, and files must be reproducible.
        content = {name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()}
        save_file(content, temporary, metadata={"format": "pt"})
        temporary.chmod(0o666 & ~_mask())  # safetensors makes private files; these are a user's ordinary ones
        synchronise(temporary)
        digest = checksum(temporary)
        temporary.replace(path)
        synchronise(path.parent)
    except (OSError, SafetensorError) as error:
        temporary.unlink(missing_ok=True)
        raise FileError(f"{path}: cannot be written: {error}.") from error
    return digest


def read_tensors(path: Path, digest: str | None = None) -> dict[str, Tensor]:
    """The tensors of a file, whose SHA-256 must be the one given, if any."""
    if digest is not None:
        check_file(path, digest)
    try:
        return load_file(path)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror or error}.") from error
    except SafetensorError as error:
        raise CheckpointError(f"{path}: expected a safetensors file, found something else: {error}.") from error


def check_file(path: Path, digest: str) -> None:
    """Refuse a file whose SHA-256 is not the one given."""
    try:
        found = checksum(path)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror or error}.") from error
    if found != digest:
        raise CheckpointError(f"{path}: its checksum is not the one recorded: the file is damaged.")


def average(many: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of several models' weights; what is not a floating-point number is taken from the first."""
    first = many[0]
    return {
        name: (
            torch.stack([weights[name].double() for weights in many]).mean(dim=0).to(tensor.dtype)
            if tensor.is_floating_point()
            else tensor
        )
        for name, tensor in first.items()
    }


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def checksum(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def synchronise(path: Path) -> None:
    """Wait until a file, or the list of a folder's files, is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
