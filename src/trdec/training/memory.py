"""Whether a network fits into memory, found before it is made."""

from __future__ import annotations

import math
import os
from pathlib import Path

import torch

from trdec.configuration import Configuration
from trdec.data.batch import Inventory
from trdec.errors import TrainingError
from trdec.model.translation_model import DECODERS, ENCODERS, weight_shapes

BYTES_PER_WEIGHT = 16
"""A weight, its gradient and Adam's two means, as float32; the least that training takes."""


def check_memory(configuration: Configuration, inventory: Inventory, device: torch.device) -> None:
    """Raise TrainingError if training this network takes more memory than there is."""
    weights, available = count_weights(configuration, inventory), available_memory(device)
    if weights is None or available is None or weights * BYTES_PER_WEIGHT <= available:
        return
    model = configuration.model
    layers = f"model.encoder_layers ({model.encoder_layers})"
    if configuration.system.has_transformers:
        layers = f"model.transformer.layers ({model.transformer.layers})"
    raise TrainingError(
        f"this network has {weights:,} weights, and training it takes at least "
        f"{weights * BYTES_PER_WEIGHT / 1e9:,.1f} GB; {available / 1e9:,.1f} GB of memory are available on "
        f"{device.type}. Lower model.hidden_size ({model.hidden_size}), model.embedding_size ({model.embedding_size}), "
        f"{layers} or the number of subwords."
    )


def count_weights(configuration: Configuration, inventory: Inventory) -> int | None:
    """How many weights the network has; None if its code is from outside trdec."""
    system, model = configuration.system, configuration.model
    if system.encoder not in ENCODERS or system.decoder not in DECODERS:
        return None
    return sum(map(math.prod, weight_shapes(model, inventory, system.encoder, system.decoder).values()))


def available_memory(device: torch.device) -> int | None:
    """The bytes that a process can still use on a device; None if the system does not say."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        sizes = {name: int(size.split()[0]) * 1024 for name, _, size in (line.partition(":") for line in lines)}
        return sizes["MemAvailable"] + sizes["SwapFree"]
    except (OSError, ValueError, KeyError, IndexError):
        names = ("SC_PHYS_PAGES", "SC_PAGE_SIZE")
        return math.prod(map(os.sysconf, names)) if all(name in os.sysconf_names for name in names) else None
