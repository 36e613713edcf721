"""How a network is trained, as a configuration file says it. The defaults are the paper's released or-en script."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class OptimiserConfiguration(BaseModel):
    """Adam and the clipping of its gradients."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    learning_rate: float = Field(default=0.001, gt=0, description="Adam's rate before the schedule changes it.")
    beta_1: float = Field(default=0.9, ge=0, lt=1, description="Decay of Adam's mean of gradients.")
    beta_2: float = Field(default=0.999, ge=0, lt=1, description="Decay of Adam's mean of squared gradients.")
    epsilon: float = Field(default=1e-8, gt=0, description="What Adam adds to the root of the mean square.")
    clip: float | None = Field(
        default=5.0, gt=0, description="Gradients longer than this, as one vector, are shortened to it; null never."
    )


class ScheduleConfiguration(BaseModel):
    """How the learning rate changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["plateau", "constant", "inverse_square_root", "cosine"] = Field(
        default="plateau",
        description="plateau: times `factor` whenever dev loss does not improve; constant; inverse_square_root: "
        "falls with the root of the update after warm-up; cosine: falls to `minimum` along half a cosine.",
    )
    factor: float = Field(default=0.5, gt=0, lt=1, description="plateau: what the rate is multiplied by.")
    patience: int = Field(
        default=0, ge=0, description="plateau: validations without improvement that are forgiven before the rate falls."
    )
    minimum: float = Field(default=0.0, ge=0, description="plateau and cosine: the rate never falls below this.")
    warmup_updates: int = Field(default=0, ge=0, description="Updates in which the rate rises linearly from zero.")
    decay_updates: int | None = Field(
        default=None, gt=0, description="cosine: the update at which the minimum is reached; null is `max_updates`."
    )


class TrainingConfiguration(BaseModel):
    """The loop: how long, how often it looks at dev, what it keeps."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_updates: int = Field(default=5000, gt=0, description="Updates after which training ends; raise it to go on.")
    validate_every: int = Field(default=200, gt=0, description="Updates between two looks at dev.")
    checkpoint_every: int = Field(
        default=200, gt=0, description="Updates between two checkpoints; each look at dev also writes one."
    )
    log_every: int = Field(default=50, gt=0, description="Updates summarised in one line of the log.")
    accumulate: int = Field(default=1, gt=0, description="Batches whose gradients are added up for one update.")
    label_smoothing: float = Field(
        default=0.0, ge=0, lt=1, description="Share of the probability that the loss spreads over all legal actions."
    )
    optimiser: OptimiserConfiguration = Field(default=OptimiserConfiguration(), description="Adam and clipping.")
    schedule: ScheduleConfiguration = Field(default=ScheduleConfiguration(), description="The learning rate over time.")
    metric: Literal["loss", "bleu"] = Field(
        default="loss", description="What on dev decides which weights are best and when to stop early."
    )
    early_stopping: int | None = Field(
        default=None, gt=0, description="Validations in a row without improvement that end training; null never."
    )
    keep_best: int = Field(default=1, gt=0, description="How many of the best weights are kept, in the folder `best`.")
    final_weights: Literal["best", "average", "last"] = Field(
        default="best",
        description="What `model.safetensors` holds: the best weights, the mean of those kept, or the last.",
    )
    max_skipped: int = Field(
        default=10,
        gt=0,
        description="Batches in a row (all those of an update) with a loss or gradient that is not finite after which "
        "training stops.",
    )
    device: Literal["auto", "cpu", "cuda"] = Field(
        default="auto", description="Where to compute; auto takes cuda if there."
    )
    precision: Literal["float32", "bfloat16"] = Field(
        default="float32",
        description="bfloat16 computes the products outside the recurrences in half the bits, which is faster only on "
        "a device with instructions for it; weights and recurrences stay float32.",
    )
    threads: int = Field(default=1, gt=0, description="CPU threads; the same number gives the same bits.")
    plot: bool = Field(default=True, description="Draw `loss.png` in the model directory.")
    tensorboard: bool = Field(
        default=False, description="Also write TensorBoard events; needs the extra `trdec[tensorboard]`."
    )

    @model_validator(mode="after")
    def _something_to_average(self) -> Self:
        if self.final_weights == "average" and self.keep_best < 2:
            raise ValueError(
                "final_weights: average is the mean of the weights that are kept, and keep_best is 1. "
                "Set keep_best to 2 or more."
            )
        return self
