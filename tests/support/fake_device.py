"""A device that is not the processor, for machines without one: its tensors are kept here, and refuse to mix.

Like a GPU, it raises an error where its tensors meet those of the processor in one operation, but for numbers (tensors
without axes), indices, and copies from one to the other. It knows nothing of a GPU's own kernels.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

DEVICE = torch.device("meta")
"""The one name of another device that torch can work with anywhere; here its tensors hold something."""

_aten = torch.ops.aten
COPIES = {_aten._to_copy.default, _aten.copy_.default, _aten.to.device, _aten.to.dtype_layout, _aten.to.other}
TAKES_INDICES_FROM_HERE = {_aten.index.Tensor, _aten.index_put.default, _aten.index_put_.default}


class Elsewhere(Tensor):
    """A tensor of the device: what it holds is on the processor."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> Elsewhere:
        """The tensor of the device that holds the same."""
        found: Elsewhere = torch.Tensor._make_wrapper_subclass(
            cls,
            inner.size(),
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=DEVICE,
            requires_grad=inner.requires_grad,
        )
        found.inner = inner
        return found

    def __repr__(self, **_: Any) -> str:
        return f"Elsewhere({self.inner!r})"

    def tolist(self) -> Any:
        """What it holds, which any device may be asked for."""
        return self.inner.tolist()

    @classmethod
    def __torch_dispatch__(cls, operation: Any, types: Any, arguments: Any = (), keys: Any = None) -> Any:
        """The operation, if all its tensors are on the device or may be elsewhere."""
        return _run(operation, arguments, keys or {})


@contextlib.contextmanager
def fake_device() -> Iterator[None]:
    """A block in which DEVICE can be named where tensors are made."""
    autocast, tensor = torch.autocast, torch.tensor

    def autocast_here(device: str, **keys: Any) -> Any:
        return autocast("cpu" if device == DEVICE.type else device, **keys)

    with pytest.MonkeyPatch.context() as changed, _Mode():
        changed.setattr(torch, "autocast", autocast_here)  # torch has no lower precision for a device of this name
        # Made of a list, torch's own meta tensor holds nothing.
        changed.setattr(torch, "tensor", lambda data, device="cpu", **keys: tensor(data, **keys).to(device))
        yield


class _Mode(TorchDispatchMode):
    def __torch_dispatch__(self, operation: Any, types: Any, arguments: Any = (), keys: Any = None) -> Any:
        """The operation, its result on the device if it was asked for or if its tensors are there."""
        return _run(operation, arguments, keys or {})


def _run(operation: Any, arguments: Any, keys: dict[str, Any]) -> Any:
    tensors = [each for each in tree_flatten((arguments, keys))[0] if isinstance(each, Tensor)]
    there = [each for each in tensors if isinstance(each, Elsewhere)]
    here = [each for each in tensors if not isinstance(each, Elsewhere) and each.ndim]
    may_mix = operation in COPIES or (operation in TAKES_INDICES_FROM_HERE and isinstance(arguments[0], Elsewhere))
    if there and here and not may_mix:
        raise RuntimeError(f"{operation}: expected all tensors on one device, found two")
    named = [each for each in tree_flatten((arguments, keys))[0] if isinstance(each, torch.device)]
    is_there = named == [DEVICE] if named else bool(there)
    if operation is _aten.copy_.default:
        is_there = isinstance(arguments[0], Elsewhere)
    results = operation(*tree_map(_inner, arguments), **tree_map(_inner, keys))
    if not is_there:
        return results
    same = {id(each.inner): each for each in there}  # an operation in place returns what it was given

    def wrapped(each: Any) -> Any:
        if not isinstance(each, Tensor):
            return each
        with torch.inference_mode(False):  # or views could not be taken of it
            return same[id(each)] if id(each) in same else Elsewhere(each)

    return tree_map(wrapped, results)


def _inner(value: Any) -> Any:
    if isinstance(value, torch.device):
        return torch.device("cpu")
    return value.inner if isinstance(value, Elsewhere) else value
