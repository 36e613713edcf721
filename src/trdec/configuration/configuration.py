"""A whole configuration, and the file it is read from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_serializer, field_validator, model_validator

from trdec.configuration.document import Document, apply_overrides, explain, read_document
from trdec.configuration.recipe import with_recipe
from trdec.configuration.sections import (
    SAVED,
    BatchConfiguration,
    DataConfiguration,
    ModelConfiguration,
    SearchConfiguration,
    TrainingConfiguration,
)
from trdec.errors import ConfigError, TrdecError, UsageError
from trdec.files import at_home, count_lines, writing
from trdec.systems import SYSTEMS, System, system_called, system_name, system_of_version_1, system_or_keys

CONFIGURATION_FILE = "config.yaml"

AnyModel = TypeVar("AnyModel", bound=BaseModel)

KEYS_WITHOUT_EFFECT = frozenset(
    {
        "training.checkpoint_every",
        "training.log_every",
        "training.max_skipped",
        "training.device",
        "training.threads",
        "training.rank_timeout",
        "training.plot",
        "training.tensorboard",
        "search.beam_size",
        "search.length_power",
    }
)
"""The keys that do not change what a training learns. Nor do paths: data are identified by their content.

Another device or number of threads rounds differently, but is still the same experiment.
"""

FREE_KEYS = KEYS_WITHOUT_EFFECT | {"training.max_updates", "training.early_stopping", "training.final_weights"}
"""The keys that may change when a training is resumed, besides paths."""


class Configuration(BaseModel):
    """One experiment."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    system: System = Field(description=f"What is trained: the name of a system ({', '.join(SYSTEMS)}), or these keys.")
    output: Path = Field(description="The model directory. A training that is in it is resumed.")
    folder: Path = Field(default=Path(), description="The folder that the paths in `data` are relative to.")
    seed: int = Field(
        default=1, ge=0, lt=2**63, description="The seed of the first weights, the order of batches and dropout."
    )
    data: DataConfiguration = Field(description="The corpora.")
    batches: BatchConfiguration = Field(default=BatchConfiguration(), description="The size of batches.")
    model: ModelConfiguration = Field(default=ModelConfiguration(), description="The sizes of the network.")
    training: TrainingConfiguration = Field(default=TrainingConfiguration(), description="The training.")
    search: SearchConfiguration = Field(default=SearchConfiguration(), description="How the model translates.")

    _paths = field_validator("*", mode="after")(at_home)

    @field_validator("system", mode="before")
    @classmethod
    def _system_by_name(cls, value: Any) -> Any:
        return known_system(value) if isinstance(value, str) else value

    @field_serializer("system")
    def _name_of_the_system(self, system: System) -> str | dict[str, Any]:
        return system_or_keys(system)

    @model_validator(mode="after")
    def _features_as_large_as_embeddings(self) -> Self:
        model = self.model
        features = 2 * model.hidden_size
        states_alone = self.system.decoder == "tree" and model.readout == "paper"
        if model.tie_embeddings and states_alone and features != model.embedding_size:
            raise ValueError(
                f"model.tie_embeddings needs features of the embeddings' size, {model.embedding_size}, but this "
                f"decoder's readout gives {features}. Choose model.readout: released, or do not tie."
            )
        return self

    @model_validator(mode="after")
    def _heads_fit_into_transformers(self) -> Self:
        if self.system.has_transformers:
            self.model.transformer.head_size(self.model.embedding_size)
        return self

    @property
    def located_data(self) -> DataConfiguration:
        """The data with every path below `folder`."""
        return _below(self.data, self.folder)

    def save(self, path: Path) -> None:
        """Write every key with its value, as YAML that `load_configuration` reads."""
        with writing(path) as stream:
            yaml.safe_dump(self.model_dump(mode="json"), stream, sort_keys=False, allow_unicode=True, width=100)


def known_system(name: str) -> System:
    """The system of this name; ValueError, as a configuration class raises it, if there is none."""
    try:
        return system_called(name)
    except UsageError as error:
        raise ValueError(str(error)) from error


def load_configuration(path: Path | str, overrides: Sequence[str] = (), pairs: int | None = None) -> Configuration:
    """The configuration of a YAML file, changed by `key=value` overrides with dotted keys.

    Keys that depend on the size of the training corpus, and are left out, have the values for `pairs` sentence pairs,
    by default for as many as the corpus has.
    """
    document = apply_overrides(read_document(Path(path)), overrides, Configuration, {"system": _keys_of_system})
    size = _training_pairs(document.content) if pairs is None else pairs
    return _checked(document if size is None else replace(document, content=with_recipe(document.content, size)))


def load_saved_configuration(directory: Path) -> Configuration:
    """The configuration in a model directory, also one that an older version of trdec wrote."""
    document = read_document(directory / CONFIGURATION_FILE)
    try:
        return _checked(replace(document, content=_in_five_keys(document.content)), SAVED)
    except (UsageError, ValueError) as error:
        raise ConfigError(f"{document.name}: {error}") from error


def _training_pairs(content: dict[str, Any]) -> int | None:
    """How many pairs an epoch has; None if a corpus cannot be read, which is reported where it is needed."""
    try:
        folder, data = Path(content.get("folder", "")).expanduser(), content["data"]
        corpora = [*(data["train"] if isinstance(data["train"], list) else [data["train"]]), *data.get("further", ())]
        pairs = 0.0
        for corpus in corpora:
            pairs += count_lines(folder / Path(corpus["source"]).expanduser()) * corpus.get("weight", 1)
        return round(pairs)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError, RuntimeError, TrdecError):
        return None


def _in_five_keys(content: dict[str, Any]) -> dict[str, Any]:
    """The content with its system in five keys; before, it was spread over `system`, `data` and `model`."""
    data, model, name = content.get("data"), content.get("model"), content.get("system")
    if not (isinstance(data, dict) and isinstance(model, dict) and isinstance(name, str) and "decoder" in model):
        return content
    system = system_of_version_1(name, data.get("transforms") or (), data.get("trees") or ())
    return content | {
        "system": system_or_keys(system),
        "data": {key: value for key, value in data.items() if key not in ("trees", "transforms")},
        "model": {key: value for key, value in model.items() if key != "decoder"},
    }


def _keys_of_system(name: str) -> dict[str, Any]:
    return system_called(name).model_dump(mode="json")


def _checked(document: Document, context: dict[str, bool] | None = None) -> Configuration:
    try:
        return Configuration.model_validate(document.content, context=context)
    except ValidationError as error:
        if {"recipe", "systems"} & document.content.keys() and "data" not in document.content:
            raise ConfigError(
                f"{document.name}: expected a training configuration, found an experiment (it has the keys "
                f"{', '.join(document.content)}). Run it with: trdec experiment {document.name}"
            ) from error
        raise ConfigError("\n".join(explain(error, document, Configuration))) from error


def check_unchanged(before: Configuration, now: Configuration, path: Path) -> None:
    """Refuse to resume a training as another experiment."""
    old, new = dict(flatten(before)), dict(flatten(now))
    free = set(FREE_KEYS)
    if now.training.schedule.kind == "cosine" and now.training.schedule.decay_updates is None:
        free.discard("training.max_updates")  # the whole curve depends on it
    free.update(key for values in (old, new) for key, value in values.items() if isinstance(value, Path))
    if (before.training.start_from is None) != (now.training.start_from is None):
        free.discard("training.start_from")  # it decides the first weights; the model itself may have moved
    changed = [key for key in new if old.get(key) != new[key] and key not in free]
    if changed:
        lines = [f"  {key}: {old.get(key)!r} there, {new[key]!r} now" for key in changed]
        raise ConfigError(
            f"{path}: the training in this directory has another configuration:\n"
            + "\n".join(lines)
            + "\nChoose another output for a new training, or set these keys back to resume the old one."
        )


def flatten(model: BaseModel, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every key, dotted, with its value."""
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, System):
            yield f"{prefix}{name}", system_name(value)
        elif isinstance(value, BaseModel):
            yield from flatten(value, f"{prefix}{name}.")
        elif isinstance(value, tuple) and all(isinstance(item, BaseModel) for item in value):
            yield f"{prefix}{name}", len(value)
            for place, item in enumerate(value):
                yield from flatten(item, f"{prefix}{name}.{place}.")
        else:
            yield f"{prefix}{name}", value


def _below(model: AnyModel, folder: Path) -> AnyModel:
    changed: dict[str, Any] = {}
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, Path):
            changed[name] = folder / value
        elif isinstance(value, BaseModel):
            changed[name] = _below(value, folder)
        elif isinstance(value, tuple):
            changed[name] = tuple(_below(item, folder) if isinstance(item, BaseModel) else item for item in value)
    return model.model_copy(update=changed)
