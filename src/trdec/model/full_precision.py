"""Recurrences in the precision of their parameters."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def apply_in_precision_of(parameter: Tensor, function: type[torch.autograd.Function], *arguments: Any) -> Any:
    """What the function gives for the arguments, computed in the parameter's precision.

    Under autocast the products around a recurrence may be of lower precision; errors would add up inside it.
    """
    converted = (
        argument.to(parameter.dtype) if isinstance(argument, Tensor) and argument.is_floating_point() else argument
        for argument in arguments
    )
    with torch.autocast(parameter.device.type, enabled=False):
        return function.apply(*converted)  # type: ignore[no-untyped-call]
