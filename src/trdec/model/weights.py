"""Weights as safetensors files, written atomically and checked when read."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from trdec.data.manifest import MANIFEST, WEIGHTS, replacing_model_file, write_manifest
from trdec.errors import CheckpointError, FileError
from trdec.files import checksum, replacing_file

Shapes = Mapping[str, tuple[int, ...]]
"""The shape of each weight, by name."""


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
    check_shapes(
        {key: tuple(tensor.shape) for key, tensor in own.items()},
        {key: tuple(tensor.shape) for key, tensor in weights.items()},
        name,
    )
    model.load_state_dict(weights, strict=False)


def check_shapes(own: Shapes, weights: Shapes, name: Path | str) -> None:
    """Raise CheckpointError unless weights of these names and shapes are this model's own."""
    if missing := sorted(set(own) - set(weights)):
        raise CheckpointError(f"{name}: {missing[0]!r} is missing: these are another model's weights.")
    if foreign := sorted(set(weights) - set(own)):
        raise CheckpointError(f"{name}: the model has no {foreign[0]!r}: these are another model's weights.")
    for key, expected in own.items():
        if weights[key] != expected:
            raise CheckpointError(
                f"{name}: expected {key} of shape {expected}, found {weights[key]}: these are another model's weights."
            )


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> str:
    """Write tensors to a file that appears only when it is complete and on disk, and return its checksum."""
    with _write_errors(path), replacing_file(path, durable=True) as temporary:
        _save(temporary, tensors)
        return checksum(temporary)


def write_model_weights(directory: Path, tensors: Mapping[str, Tensor]) -> Path:
    """Write the weights to translate with into a model directory, and say so in its manifest."""
    path = directory / WEIGHTS
    with _write_errors(path), replacing_model_file(directory, WEIGHTS) as temporary:
        _save(temporary, tensors)
    if not (directory / MANIFEST).exists():
        write_manifest(directory)
    return path


def _save(path: Path, tensors: Mapping[str, Tensor]) -> None:
    # One metadata entry only: safetensors does not keep the order of several, and files must be reproducible.
    content = {name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()}
    save_file(content, path, metadata={"format": "pt"})


@contextlib.contextmanager
def _write_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, SafetensorError) as error:
        raise FileError(f"{path}: cannot be written: {error}.") from error


def read_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """The shape of each tensor in a file, from its header alone."""
    with _read_errors(path), safe_open(path, framework="pt") as tensors:
        return {name: tuple(tensors.get_slice(name).get_shape()) for name in tensors.keys()}  # noqa: SIM118


def read_tensors(path: Path, digest: str | None = None) -> dict[str, Tensor]:
    """The tensors in a file; if a checksum is given, the file must have it."""
    if digest is not None:
        check_file(path, digest)
    with _read_errors(path):
        return load_file(path)


@contextlib.contextmanager
def _read_errors(path: Path) -> Iterator[None]:
    try:
        yield
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
