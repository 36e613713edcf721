"""Where to compute, with how many bits, and the random numbers of that place."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from trdec.configuration.sections import TrainingConfiguration
from trdec.errors import TrainingError


def choose_device(configuration: TrainingConfiguration) -> torch.device:
    """The device a configuration asks for, which must be there and able to do what is asked."""
    name = configuration.device
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    elif name == "cuda" and not torch.cuda.is_available():
        raise TrainingError("training.device is cuda, but torch finds no such device. Set training.device=cpu or auto.")
    if configuration.precision == "bfloat16" and name == "cuda" and not torch.cuda.is_bf16_supported():
        raise TrainingError("training.precision is bfloat16, which this device cannot do. Set it to float32.")
    return torch.device(name)


def autocast(device: torch.device, configuration: TrainingConfiguration) -> torch.autocast:
    """The context in which products are computed with the precision asked for."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=configuration.precision == "bfloat16")


def random_state(device: torch.device) -> dict[str, Tensor]:
    """The state of torch's random numbers."""
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    return states


def set_random_state(device: torch.device, states: Mapping[str, Tensor]) -> None:
    """Go on with the random numbers from a remembered state."""
    torch.set_rng_state(states["cpu"].clone())
    if device.type == "cuda" and "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"].clone(), device)
