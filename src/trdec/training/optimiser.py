"""Adam with its gradients clipped as one vector, and its state as named tensors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

from trdec.errors import CheckpointError
from trdec.training.configuration import OptimiserConfiguration

_MOMENTS = ("step", "exp_avg", "exp_avg_sq")


class Optimiser:
    """Changes parameters by their gradients."""

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
        """Change the parameters and forget the gradients; the gradients' length before clipping.

        Where that is not finite, nothing is changed.
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
        """Go on from remembered moments."""
        known = {f"{moment}.{name}" for name in self._parameters for moment in _MOMENTS}
        if foreign := sorted(set(tensors) - known):
            raise CheckpointError(f"the optimiser has no {foreign[0]}: it belongs to another model.")
        for name, parameter in self._parameters.items():
            if f"step.{name}" not in tensors:
                continue  # a parameter that never had a gradient
            # Copies into memory of torch's own alignment: kernels may round otherwise where a file was mapped.
            self._adam.state[parameter] = {
                "step": tensors[f"step.{name}"].to(parameter.device, copy=True),
                "exp_avg": torch.empty_like(parameter).copy_(tensors[f"exp_avg.{name}"]).detach(),
                "exp_avg_sq": torch.empty_like(parameter).copy_(tensors[f"exp_avg_sq.{name}"]).detach(),
            }
