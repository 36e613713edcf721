"""The sections of a configuration: data, batches, model, training and search."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)

from trdec.files import at_home
from trdec.text import SubwordKind
from trdec.tokenisers import TokeniserName, language_problem

Length = Annotated[int, Field(ge=1)]

SAVED = {"saved": True}
"""The context in which the configuration of a trained model is read: what it says of the training may be foolish."""


class _Configuration(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    _paths = field_validator("*", mode="after")(at_home)


class CorpusConfiguration(_Configuration):
    """The files of one corpus, aligned line by line."""

    source: Path = Field(
        description="Source sentences, one per line, perhaps compressed with gzip or Zstandard; or a column of a table "
        "or a field of JSON lines: `pairs.tsv:1`, `pairs.jsonl:de`."
    )
    target: Path = Field(description="Their translations, one per line.")
    constituency: Path | None = Field(
        default=None,
        description="Penn-style trees of the translations, for systems that learn constituency trees.",
    )
    dependency: Path | None = Field(
        default=None, description="Dependency trees of the translations in CoNLL-U, for systems that learn them."
    )
    supertags: Path | None = Field(
        default=None, description="A CCG supertag for each word of the translations, for systems that learn them."
    )
    source_constituency: Path | None = Field(
        default=None, description="Penn-style trees of the source, for systems with `source_trees: constituency`."
    )
    source_dependency: Path | None = Field(
        default=None, description="Dependency trees of the source in CoNLL-U, for `source_trees: dependency`."
    )
    source_supertags: Path | None = Field(
        default=None, description="A CCG supertag for each word of the source, for `source_trees: supertags`."
    )

    @model_serializer(mode="wrap")
    def _without_missing_source_trees(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Its keys; those of source trees only if given, so that records of other corpora stay what they were."""
        found: dict[str, Any] = handler(self)
        return {key: value for key, value in found.items() if value is not None or not key.startswith("source_")}


class TrainingCorpusConfiguration(CorpusConfiguration):
    """The files of a corpus to train on, and how often it is seen."""

    weight: float = Field(
        default=1.0,
        gt=0,
        le=1000,
        description="How often each pair is seen in an epoch: 2 is twice, 0.3 is three pairs in ten, drawn anew in "
        "each epoch.",
    )


class SubwordConfiguration(_Configuration):
    """Where one language's subwords come from."""

    model: Path | None = Field(
        default=None,
        description="A sentencepiece model to use. Without it, one is learnt from the training text.",
    )
    kind: SubwordKind = Field(default="bpe", description="The kind of model to learn if none is given: bpe or unigram.")
    size: int = Field(
        default=4000, ge=1, le=1_000_000, description="The number of pieces to learn if no model is given."
    )


class FilterConfiguration(_Configuration):
    """Which training pairs to leave out. Dev keeps every pair that can be encoded. Lengths are in pieces."""

    max_source_length: Length | None = Field(
        default=250, description="Leave out training pairs with more source pieces than this."
    )
    max_target_length: Length | None = Field(
        default=250, description="Leave out training pairs with more target pieces than this, not counting the tree."
    )
    max_ratio: Annotated[float, Field(ge=1)] | None = Field(
        default=9.0, description="Leave out training pairs in which one side is more than this many times as long."
    )
    remove_duplicates: bool = Field(
        default=False, description="Leave out training pairs that repeat an earlier one. They are counted in any case."
    )


class BatchConfiguration(_Configuration):
    """How large a batch is, and how its words are split."""

    batch_type: Literal["actions", "sentences"] = Field(
        default="sentences",
        description="What batch_size counts: sentences, or actions (source pieces plus target steps, without padding).",
    )
    batch_size: int = Field(
        default=32,
        ge=1,
        description="The maximum size of a batch; of actions, a longer example makes a batch alone. "
        "The paper's or-en system was trained with about 800 actions.",
    )
    trees: Literal["every", "drawn"] = Field(
        default="every",
        description="every: an epoch has each sentence once in each of the system's kinds of trees. drawn: once, in a "
        "kind that is drawn anew in each epoch; and a random tree is another one in each epoch.",
    )
    subword_dropout: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="In training, each piece of several characters is unavailable with this probability where a word "
        "is split, so that words are split differently in each epoch. Dev and translation are not affected.",
    )

    @model_validator(mode="after")
    def _a_size_in_actions(self) -> Self:
        if self.batch_type == "actions" and "batch_size" not in self.model_fields_set:
            raise ValueError("batch_type: actions needs a batch_size, such as 800. The default counts sentences.")
        return self


class DataConfiguration(_Configuration):
    """The corpora, and how text becomes numbers."""

    train: TrainingCorpusConfiguration = Field(description="The corpus to train on, or a list of several.")
    further: tuple[TrainingCorpusConfiguration, ...] = Field(
        default=(),
        description="More corpora to train on, such as back-translations. A list as `data.train` stands for its first "
        "corpus there and the others here.",
    )
    dev: CorpusConfiguration = Field(description="The corpus to validate on.")
    tokeniser: TokeniserName | None = Field(
        default=None,
        description="How text becomes words: unicode (raw text in any script, which comes back exactly), icu (the "
        "same, with words of ICU's dictionaries in scripts without spaces; unicode already uses them for the languages "
        "that need it, if they are installed), sacremoses (Moses' rules for one language), or none (words "
        "are separated by whitespace). By default unicode for a side whose language is given, none for the other.",
    )
    source_language: str | None = Field(
        default=None,
        description="The source language's code, such as de. If `tokeniser` is not given, this says that the text is "
        "raw; without it, the text must be tokenised: words are separated by whitespace.",
    )
    target_language: str | None = Field(
        default=None,
        description="The target language's code, such as en. If `tokeniser` is not given, this says that the text is "
        "raw, and that translations are to be raw text too.",
    )
    source_subwords: SubwordConfiguration = Field(
        default=SubwordConfiguration(), description="How source words are split into pieces."
    )
    target_subwords: SubwordConfiguration = Field(
        default=SubwordConfiguration(), description="How target words are split into pieces."
    )
    filters: FilterConfiguration = Field(
        default=FilterConfiguration(), description="Which training pairs to leave out."
    )
    min_rule_count: int = Field(
        default=1,
        ge=1,
        description="Leave out rules (or marks, such as supertags) that occur less often in training, "
        "and the trees that need them.",
    )

    @model_validator(mode="before")
    @classmethod
    def _first_and_further(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        if type(data.get("train")) is CorpusConfiguration:  # one without a weight, in a program
            return {**data, "train": dict(data["train"])}
        if not isinstance(data.get("train"), list | tuple):
            return data
        if not data["train"] or data.get("further"):
            raise ValueError("train: expected a list of at least one corpus, and then no `further`.")
        return {**data, "train": data["train"][0], "further": data["train"][1:]}

    @property
    def corpora(self) -> tuple[TrainingCorpusConfiguration, ...]:
        """Every corpus to train on."""
        return (self.train, *self.further)

    @property
    def source_tokeniser(self) -> TokeniserName:
        """The name of the source's tokeniser."""
        return self.tokeniser or ("none" if self.source_language is None else "unicode")

    @property
    def target_tokeniser(self) -> TokeniserName:
        """The name of the target's tokeniser."""
        return self.tokeniser or ("none" if self.target_language is None else "unicode")

    @model_validator(mode="after")
    def _known_languages(self) -> Self:
        for side in ("source", "target"):
            problem = language_problem(getattr(self, f"{side}_tokeniser"), getattr(self, f"{side}_language"))
            if problem is not None:
                raise ValueError(f"{side}_language: {problem}")
        return self


class DropoutConfiguration(_Configuration):
    """Dropout rates in training."""

    embeddings: float = Field(
        default=0.0, ge=0, lt=1, description="Dropout rate of source and action embeddings, drawn for each element."
    )
    tokens: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="Rate at which the whole embedding of a source piece or of an action is dropped.",
    )
    states: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="Dropout rate of every LSTM's hidden state in its recurrent product; the same elements are dropped "
        "at all steps of a sentence. In a Transformer, the rate of what each attention and each feed-forward part "
        "adds, drawn for each element.",
    )
    readout: float = Field(
        default=0.0, ge=0, lt=1, description="Dropout rate of the features before the softmax, drawn for each element."
    )


class TransformerConfiguration(_Configuration):
    """The Transformers, where the system has any. They are as wide as the embeddings, `model.embedding_size`."""

    layers: int = Field(default=4, gt=0, le=1024, description="Number of layers in an encoder, and in a decoder.")
    heads: int = Field(
        default=4,
        gt=0,
        le=1024,
        description="Number of attention heads; embedding_size must be a multiple of twice as many. In a tree "
        "Transformer, half of them see only ancestors.",
    )
    feed_forward: int = Field(
        default=1024, gt=0, le=65_536, description="Size of the inner states of the feed-forward parts."
    )

    def head_size(self, width: int) -> int:
        """The size of each head in a Transformer of this width; ValueError if there is none."""
        if width % (2 * self.heads):
            raise ValueError(
                f"a Transformer needs a model.embedding_size that is a multiple of twice model.transformer.heads, "
                f"{2 * self.heads}; found {width}."
            )
        return width // self.heads


class ModelConfiguration(_Configuration):
    """The network."""

    embedding_size: int = Field(
        default=256, gt=0, le=65_536, description="Size of source and action embeddings, and the width of Transformers."
    )
    hidden_size: int = Field(
        default=256, gt=0, le=65_536, description="Size of every LSTM's state; of the encoder's, per direction."
    )
    encoder_layers: int = Field(
        default=1, gt=0, le=1024, description="Number of bidirectional LSTM layers in the encoder."
    )
    attention: Literal["additive", "dot"] = Field(
        default="additive",
        description="How a decoder state s scores an encoder state h: v tanh(W s + U h), or s (U h).",
    )
    readout: Literal["paper", "released"] = Field(
        default="released",
        description="What the tree decoder's softmax sees: released, tanh of a projection of states and contexts, as "
        "in the authors' released code; or paper, tanh of the two states, as in the paper. "
        "The sequence decoder always projects its state and context.",
    )
    start: Literal["bridge", "last_state"] = Field(
        default="bridge",
        description="The first decoder states: bridge, a projection of the encoder's final cells; or last_state, "
        "the mean of the final states of its two directions.",
    )
    tie_embeddings: bool = Field(
        default=False,
        description="Use the action embeddings as the softmax matrix; the features must have the same size.",
    )
    lexical: bool = Field(
        default=False,
        description="Add features that depend on the source pieces attended to alone, not on the words around them: "
        "tanh(L sum of a e), with attention a and the pieces' embeddings e. It helps where pairs are few.",
    )
    initialisation: Literal["uniform", "xavier"] = Field(
        default="uniform",
        description="uniform: draw every parameter uniformly; xavier: Glorot's method for matrices, zero for biases.",
    )
    initialisation_range: float = Field(
        default=0.1,
        gt=0,
        le=1000,
        description="uniform: draw from the range between minus this number and this number.",
    )
    transformer: TransformerConfiguration = Field(
        default=TransformerConfiguration(), description="The size of Transformers, where the system has any."
    )
    dropout: DropoutConfiguration = Field(default=DropoutConfiguration(), description="Dropout in training.")


class OptimiserConfiguration(_Configuration):
    """Adam, and the clipping of gradients."""

    learning_rate: float = Field(
        default=0.003, gt=0, description="Adam's learning rate, which the schedule then changes."
    )
    beta_1: float = Field(default=0.9, ge=0, lt=1, description="Decay of Adam's mean of gradients.")
    beta_2: float = Field(default=0.999, ge=0, lt=1, description="Decay of Adam's mean of squared gradients.")
    epsilon: float = Field(
        default=1e-8, gt=0, description="Added to the root of the mean square, to avoid division by zero."
    )
    clip: float | None = Field(
        default=5.0, gt=0, description="Clip the norm of all gradients together to this; null: do not clip."
    )


class ScheduleConfiguration(_Configuration):
    """The learning rate over time."""

    kind: Literal["plateau", "constant", "inverse_square_root", "cosine"] = Field(
        default="cosine",
        description="plateau: multiply by `factor` whenever dev loss does not improve; constant; inverse_square_root: "
        "after warm-up, divide by the root of the number of updates; cosine: fall to `minimum` along half a cosine.",
    )
    factor: float = Field(default=0.5, gt=0, lt=1, description="plateau: multiply the rate by this.")
    patience: int = Field(
        default=0,
        ge=0,
        description="plateau: the number of validations without improvement to ignore before the rate falls.",
    )
    minimum: float = Field(
        default=0.0,
        ge=0,
        description="plateau and cosine: the rate never falls below this; at most `optimiser.learning_rate`.",
    )
    warmup_updates: int = Field(
        default=200, ge=0, description="The number of updates in which the rate rises linearly from zero."
    )
    decay_updates: int | None = Field(
        default=None,
        gt=0,
        description="cosine: the update at which the minimum is reached, after warm-up; null: `max_updates`.",
    )

    @model_validator(mode="after")
    def _decay_after_warm_up(self, info: ValidationInfo) -> Self:
        last = self.decay_updates
        if self.kind == "cosine" and last is not None and last <= self.warmup_updates and info.context != SAVED:
            raise ValueError(
                f"decay_updates: expected an update after those of warmup_updates, {self.warmup_updates}, in which the "
                f"rate still rises; found {last}. Raise decay_updates, or lower warmup_updates."
            )
        return self


class TrainingConfiguration(_Configuration):
    """How long to train, how often to validate, and what to keep."""

    max_updates: int = Field(default=8000, gt=0, description="The number of updates; raise it to train longer.")
    validate_every: int = Field(default=400, gt=0, description="Updates between two validations on dev.")
    checkpoint_every: int = Field(
        default=200, gt=0, description="Updates between two checkpoints; each validation also writes one."
    )
    log_every: int = Field(default=50, gt=0, description="Updates per line of the log.")
    accumulate: int = Field(
        default=1, gt=0, description="Batches per update; their gradients are added. Several processes share them."
    )
    start_from: Path | None = Field(
        default=None,
        description="A trained model to start from: its weights are taken where names and sizes fit, and of embeddings "
        "and softmax the rows of the pieces and actions that both vocabularies have.",
    )
    label_smoothing: float = Field(
        default=0.1,
        ge=0,
        lt=1,
        description="Share of the probability to spread over all legal actions in the loss, where a piece of text is "
        "written. Rules and ends are not smoothed.",
    )
    guidance: float = Field(
        default=0.0,
        ge=0,
        le=100,
        description="Weight of a second loss, which makes attention look at the source pieces that each target piece "
        "occurs together with in the training text; finding them takes 16 bytes of memory for each pair of a source "
        "piece and a target piece, 256 MB for 4,000 of each. 0: attention learns alone.",
    )
    optimiser: OptimiserConfiguration = Field(default=OptimiserConfiguration(), description="Adam and clipping.")
    schedule: ScheduleConfiguration = Field(default=ScheduleConfiguration(), description="The learning rate over time.")
    metric: Literal["loss", "bleu"] = Field(
        default="loss", description="What decides on dev which weights are best and when to stop early."
    )
    early_stopping: int | None = Field(
        default=None, gt=0, description="Stop after this many validations in a row without improvement; null: never."
    )
    keep_best: int = Field(default=1, gt=0, description="How many of the best weights to keep, in the folder `best`.")
    final_weights: Literal["best", "average", "last"] = Field(
        default="last",
        description="What `model.safetensors` holds: the best weights, the mean of all best weights kept, or the last.",
    )
    max_skipped: int = Field(
        default=10,
        gt=0,
        description="Stop after this many updates in a row that were skipped because the loss or the gradient was not "
        "finite.",
    )
    device: Literal["auto", "cpu", "cuda"] = Field(
        default="auto", description="Where to compute; auto: cuda if available, otherwise cpu."
    )
    precision: Literal["float32", "bfloat16"] = Field(
        default="float32",
        description="bfloat16: matrices and what they multiply are rounded to half the bits, which is faster only on "
        "hardware that supports it. Weights, states and Adam's moments stay float32; in recurrences, so do sums.",
    )
    threads: int = Field(
        default=1,
        gt=0,
        le=256,
        description="The number of CPU threads; results are the same to the bit only for the same number.",
    )
    rank_timeout: float = Field(
        default=300.0,
        gt=0,
        le=86_400,
        description="With several processes: end the training if one of them is not heard of for this many seconds.",
    )
    plot: bool = Field(default=True, description="Draw `loss.png` in the model directory.")
    tensorboard: bool = Field(
        default=False, description="Also write TensorBoard events; needs the extra `trdec[tensorboard]`."
    )

    @model_validator(mode="after")
    def _something_to_average(self) -> Self:
        if self.final_weights == "average" and self.keep_best < 2:
            raise ValueError(
                "final_weights: average needs at least two weights to average, but keep_best is 1. "
                "Set keep_best to 2 or more."
            )
        return self

    @model_validator(mode="after")
    def _minimum_below_the_rate(self, info: ValidationInfo) -> Self:
        minimum, rate = self.schedule.minimum, self.optimiser.learning_rate
        if self.schedule.kind in ("plateau", "cosine") and minimum > rate and info.context != SAVED:
            raise ValueError(
                f"schedule.minimum: expected at most optimiser.learning_rate, {rate}, from which the rate falls; found "
                f"{minimum}. Lower the one, or raise the other."
            )
        return self


class SearchConfiguration(_Configuration):
    """How the model translates unless told otherwise. `trdec tune` finds the best values on dev."""

    beam_size: int = Field(
        default=5,
        ge=1,
        le=10_000,
        description="Hypotheses pursued at once. A training that says nothing of it gives models that write trees 10.",
    )
    length_power: float = Field(
        default=1.0,
        ge=0,
        le=10,
        description="Log-probabilities are divided by length to this power. A training that says nothing of it gives "
        "models that write parsers' trees as derivations 1.5.",
    )
