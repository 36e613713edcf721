"""Adam, its learning rate over time, and when to stop early."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from trdec.configuration.sections import OptimiserConfiguration, ScheduleConfiguration
from trdec.errors import CheckpointError
from trdec.training.distributed import Ranks

_MOMENTS = ("step", "exp_avg", "exp_avg_sq")


class Optimiser:
    """Adam with clipped gradients."""

    def __init__(
        self, named_parameters: Iterable[tuple[str, nn.Parameter]], configuration: OptimiserConfiguration
    ) -> None:
        self._parameters = {name: parameter for name, parameter in named_parameters if parameter.requires_grad}
        self._clip = configuration.clip
        self._adam = torch.optim.Adam(
            self._parameters.values(),
            lr=configuration.learning_rate,
            betas=(configuration.beta_1, configuration.beta_2),
            eps=configuration.epsilon,
            fused=all(parameter.dtype.is_floating_point for parameter in self._parameters.values()),
        )

    def step(self, rate: float) -> float:
        """Update the parameters, drop the gradients and return the gradient norm before clipping.

        If the norm is not finite, the parameters stay as they are.
        """
        gradients = [parameter.grad for parameter in self._parameters.values() if parameter.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients)
        length = float(norm)
        if math.isfinite(length):
            if self._clip is not None:
                torch.nn.utils.clip_grads_with_norm_(self._parameters.values(), self._clip, norm)
            for group in self._adam.param_groups:
                group["lr"] = rate
            self._adam.step()
        self.forget()
        return length

    def add_gradients(self, ranks: Ranks) -> None:
        """Replace every gradient by its sum over the ranks."""
        if ranks.count == 1:
            return
        flags = ranks.gather([parameter.grad is not None for parameter in self._parameters.values()])
        used = [
            parameter for parameter, *found in zip(self._parameters.values(), *flags, strict=True) if any(found)
        ]  # as on one rank, a parameter that no batch reached has no gradient
        parts = [torch.zeros_like(weight) if weight.grad is None else weight.grad for weight in used]
        flat = torch.cat([part.flatten() for part in parts])
        ranks.add(flat)
        place = 0
        for parameter in used:
            parameter.grad = flat[place : place + parameter.numel()].view_as(parameter)
            place += parameter.numel()

    def scale(self, factor: float) -> None:
        """Multiply all gradients."""
        for parameter in self._parameters.values():
            if parameter.grad is not None:
                parameter.grad.mul_(factor)

    def forget(self) -> None:
        """Drop all gradients."""
        self._adam.zero_grad(set_to_none=True)

    def tensors(self) -> dict[str, Tensor]:
        """Adam's moments by the parameter's name."""
        state = self._adam.state
        return {
            f"{moment}.{name}": state[parameter][moment].detach()
            for name, parameter in self._parameters.items()
            if parameter in state
            for moment in _MOMENTS
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Continue from saved moments."""
        known = {f"{moment}.{name}" for name in self._parameters for moment in _MOMENTS}
        if foreign := sorted(set(tensors) - known):
            raise CheckpointError(f"the model has no parameter for {foreign[0]}: this state is another model's.")
        for name, parameter in self._parameters.items():
            if f"step.{name}" not in tensors:
                continue  # a parameter that never had a gradient
            # Copied into memory with torch's own alignment: kernels may round differently on a mapped file.
            self._adam.state[parameter] = {
                "step": tensors[f"step.{name}"].to(parameter.device, copy=True),
                "exp_avg": torch.empty_like(parameter).copy_(tensors[f"exp_avg.{name}"]).detach(),
                "exp_avg_sq": torch.empty_like(parameter).copy_(tensors[f"exp_avg_sq.{name}"]).detach(),
            }


class Schedule(Protocol):
    """The learning rate of each update; what it depends on besides the update is its state."""

    def rate(self, update: int) -> float:
        """The learning rate of this update, the first being 1."""

    def validated(self, loss: float) -> None:
        """Take a dev loss into account."""

    def state(self) -> dict[str, Any]:
        """The state to save, as JSON."""

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""


class Constant:
    """rate[u] = r min(1, u / warm-up)"""

    def __init__(self, rate: float, configuration: ScheduleConfiguration) -> None:
        self.base = rate
        self.warmup = configuration.warmup_updates
        self.minimum = configuration.minimum

    def rate(self, update: int) -> float:
        """The learning rate of this update."""
        return self.base * (update / self.warmup if update < self.warmup else self.share(update))

    def share(self, update: int) -> float:  # noqa: ARG002  (others depend on it)
        """The share of the base rate after warm-up."""
        return 1.0

    def validated(self, loss: float) -> None:
        """The rate does not depend on dev."""

    def state(self) -> dict[str, Any]:
        """There is no state."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Nothing to restore."""


class InverseSquareRoot(Constant):
    """rate[u] = r sqrt(warm-up / u) after warm-up"""

    def share(self, update: int) -> float:
        """The share of the base rate after warm-up."""
        return math.sqrt(max(self.warmup, 1) / update)


class Cosine(Constant):
    """rate[u] = m + (r - m) (1 + cos(pi d)) / 2, where d is the share of the decay that is done, and m the minimum"""

    def __init__(self, rate: float, configuration: ScheduleConfiguration, max_updates: int) -> None:
        super().__init__(rate, configuration)
        self.last = configuration.decay_updates or max_updates

    def share(self, update: int) -> float:
        """The share of the base rate after warm-up."""
        done = min(1.0, (update - self.warmup) / max(1, self.last - self.warmup))
        floor = min(1.0, self.minimum / self.base)
        return floor + (1.0 - floor) * (1.0 + math.cos(math.pi * done)) / 2.0


class Plateau(Constant):
    """rate = r factor^n, where n is the number of validations that did not improve on the best before them."""

    def __init__(self, rate: float, configuration: ScheduleConfiguration) -> None:
        super().__init__(rate, configuration)
        self.factor = configuration.factor
        self.patience = configuration.patience
        self.best: float | None = None
        self.forgiven = 0
        self.falls = 0

    def share(self, update: int) -> float:  # noqa: ARG002
        """The share of the base rate after warm-up."""
        return max(self.factor**self.falls, min(1.0, self.minimum / self.base))

    def validated(self, loss: float) -> None:
        """Lower the rate if dev loss did not improve."""
        if self.best is None or loss < self.best:
            self.best, self.forgiven = loss, 0
        elif self.forgiven < self.patience:
            self.forgiven += 1
        else:
            self.falls, self.forgiven = self.falls + 1, 0

    def state(self) -> dict[str, Any]:
        """The best loss, and how often it was not improved on."""
        return {"best": self.best, "forgiven": self.forgiven, "falls": self.falls}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.best, self.forgiven, self.falls = state["best"], state["forgiven"], state["falls"]


def make_schedule(configuration: ScheduleConfiguration, rate: float, max_updates: int) -> Schedule:
    """The schedule that a configuration asks for."""
    match configuration.kind:
        case "constant":
            return Constant(rate, configuration)
        case "inverse_square_root":
            return InverseSquareRoot(rate, configuration)
        case "cosine":
            return Cosine(rate, configuration, max_updates)
        case "plateau":
            return Plateau(rate, configuration)


class EarlyStopping:
    """Counts validations in a row without a better score (lower is better)."""

    def __init__(self, patience: int | None) -> None:
        self.patience = patience
        self.best: float | None = None
        self.stale = 0

    def validated(self, score: float) -> None:
        """Take a dev score into account."""
        if self.best is None or score < self.best:
            self.best, self.stale = score, 0
        else:
            self.stale += 1

    @property
    def exhausted(self) -> bool:
        """Whether patience has run out."""
        return self.patience is not None and self.stale >= self.patience

    def state(self) -> dict[str, Any]:
        """The state to save, as JSON."""
        return {"best": self.best, "stale": self.stale}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.best, self.stale = state["best"], state["stale"]
