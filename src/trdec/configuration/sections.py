"""The sections of a configuration file: data, batches, model and training."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from trdec.files import at_home
from trdec.text import SubwordKind

Length = Annotated[int, Field(ge=1)]


class _Configuration(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    _paths = field_validator("*", mode="after")(at_home)


class CorpusConfiguration(_Configuration):
    """The files of one corpus, aligned line by line."""

    source: Path = Field(description="Source sentences, one a line.")
    target: Path = Field(description="Their translations, one a line.")
    constituency: Path | None = Field(
        default=None,
        description="Penn-style trees of the translations, for the systems that learn constituency trees.",
    )
    dependency: Path | None = Field(
        default=None, description="Dependency trees of the translations in CoNLL-U, for the systems that learn those."
    )
    supertags: Path | None = Field(
        default=None, description="A CCG supertag for each word of the translations, for the systems that learn those."
    )


class SubwordConfiguration(_Configuration):
    """Where one language's subwords come from."""

    model: Path | None = Field(
        default=None,
        description="A sentencepiece model to use; without one, a model is learnt from the training text.",
    )
    kind: SubwordKind = Field(default="bpe", description="How a model is learnt where none is given: bpe or unigram.")
    size: int = Field(default=4000, ge=1, description="How many pieces to learn where no model is given.")


class FilterConfiguration(_Configuration):
    """Which training pairs are left out; dev keeps every pair that can be encoded. Lengths are in pieces."""

    max_source_length: Length | None = Field(
        default=250, description="Leave out training pairs with more source pieces than this."
    )
    max_target_length: Length | None = Field(
        default=250, description="Leave out training pairs with more target pieces than this, not counting the tree."
    )
    max_ratio: Annotated[float, Field(ge=1)] | None = Field(
        default=9.0, description="Leave out training pairs one side of which has more than this many times the pieces."
    )
    remove_duplicates: bool = Field(
        default=False, description="Leave out training pairs that stood in the files before; they are counted anyway."
    )


class BatchConfiguration(_Configuration):
    """How much is trained on at once."""

    batch_type: Literal["actions", "sentences"] = Field(
        default="actions",
        description="What batch_size counts: actions (source pieces and target steps together, padding aside) "
        "or sentences.",
    )
    batch_size: int = Field(
        default=800,
        ge=1,
        description="The most that a batch holds; a longer example is a batch of its own. "
        "The paper's or-en system was trained with about 800 actions.",
    )


class DataConfiguration(_Configuration):
    """Everything between text files and numbers."""

    train: CorpusConfiguration = Field(description="What is trained on.")
    dev: CorpusConfiguration = Field(description="What progress is measured on.")
    source_language: str | None = Field(
        default=None,
        description="The source language's code (de): its text is raw and tokenised here. "
        "Without it, text is tokenised already: white space parts words.",
    )
    target_language: str | None = Field(
        default=None,
        description="The target language's code (en): its text is raw, tokenised here and detokenised in translations. "
        "Without it, text is tokenised already: white space parts words.",
    )
    source_subwords: SubwordConfiguration = Field(
        default=SubwordConfiguration(), description="The pieces of source words."
    )
    target_subwords: SubwordConfiguration = Field(
        default=SubwordConfiguration(), description="The pieces of target words."
    )
    filters: FilterConfiguration = Field(
        default=FilterConfiguration(), description="Which training pairs are left out."
    )
    min_rule_count: int = Field(
        default=1,
        ge=1,
        description="Leave out rules (or marks, such as supertags) seen less often in training, "
        "and the trees that need them.",
    )


class DropoutConfiguration(BaseModel):
    """Which share of which activations is dropped in training."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    embeddings: float = Field(
        default=0.0, ge=0, lt=1, description="Share of source and action embeddings dropped, each place on its own."
    )
    states: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="Share of every LSTM's hidden state dropped where it enters its own recurrent product, "
        "the same places at all steps of a sentence.",
    )
    readout: float = Field(
        default=0.0, ge=0, lt=1, description="Share of the features dropped before the softmax, each place on its own."
    )


class ModelConfiguration(BaseModel):
    """The sizes and the kinds of a network's parts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    embedding_size: int = Field(default=512, gt=0, description="Size of source and action embeddings.")
    hidden_size: int = Field(default=512, gt=0, description="Size of every LSTM's state, one direction of the encoder.")
    encoder_layers: int = Field(default=1, gt=0, description="Number of bidirectional LSTM layers in the encoder.")
    attention: Literal["additive", "dot"] = Field(
        default="additive", description="How a state scores a source place: v tanh(W s + U h), or the product s (U h)."
    )
    readout: Literal["paper", "released"] = Field(
        default="released",
        description="What the tree decoder's softmax sees: tanh of a projection of states and contexts, as the "
        "authors' released code has it, or tanh of the two states alone, as the paper writes it. "
        "The sequence decoder always projects its state and context.",
    )
    start: Literal["bridge", "last_state"] = Field(
        default="bridge",
        description="How decoder states begin: a projection of the encoder's final cells, "
        "or the mean of its two directions' final states.",
    )
    tie_embeddings: bool = Field(
        default=False, description="Use the action embeddings as the softmax matrix, which needs features of that size."
    )
    initialisation: Literal["uniform", "xavier"] = Field(
        default="uniform", description="Draw every parameter uniformly, or matrices after Glorot with biases zero."
    )
    initialisation_range: float = Field(
        default=0.1, gt=0, description="Uniform initialisation draws from minus this number to this number."
    )
    dropout: DropoutConfiguration = Field(
        default=DropoutConfiguration(), description="What is dropped in training, nothing by default."
    )


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
