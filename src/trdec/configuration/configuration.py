"""A whole configuration, and the file it is read from."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from trdec.configuration.document import Document, apply_overrides, explain, read_document
from trdec.configuration.sections import (
    BatchConfiguration,
    DataConfiguration,
    ModelConfiguration,
    TrainingConfiguration,
)
from trdec.errors import ConfigError
from trdec.files import at_home, writing
from trdec.systems import SYSTEMS

CONFIGURATION_FILE = "config.yaml"

AnyModel = TypeVar("AnyModel", bound=BaseModel)

FREE_KEYS = frozenset(
    {
        "training.max_updates",
        "training.early_stopping",
        "training.checkpoint_every",
        "training.log_every",
        "training.final_weights",
        "training.max_skipped",
        "training.device",
        "training.threads",
        "training.plot",
        "training.tensorboard",
    }
)
"""The keys that may change when a training is resumed, besides paths: data are identified by their content.

Another device or number of threads rounds differently, but is still the same experiment.
"""


class Configuration(BaseModel):
    """One experiment."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    system: str = Field(description=f"The system to train: {', '.join(SYSTEMS)}.")
    output: Path = Field(description="The model directory. A training that is in it is resumed.")
    folder: Path = Field(default=Path(), description="The folder that the paths in `data` are relative to.")
    seed: int = Field(
        default=1, ge=0, lt=2**63, description="The seed of the first weights, the order of batches and dropout."
    )
    data: DataConfiguration = Field(description="The corpora.")
    batches: BatchConfiguration = Field(default=BatchConfiguration(), description="The size of batches.")
    model: ModelConfiguration = Field(
        default=ModelConfiguration(), description="The network; `model.decoder` is decided by the system."
    )
    training: TrainingConfiguration = Field(default=TrainingConfiguration(), description="The training.")

    _paths = field_validator("*", mode="after")(at_home)

    @field_validator("system")
    @classmethod
    def _known_system(cls, name: str) -> str:
        return known_system(name)

    @model_validator(mode="before")
    @classmethod
    def _decoder_of_the_system(cls, value: Any) -> Any:
        if not isinstance(value, dict) or value.get("system") not in list(SYSTEMS):  # it may be a list: no hashing
            return value
        model = value.get("model", {})
        decoder = SYSTEMS[value["system"]].decoder
        if not isinstance(model, dict):
            return value
        if model.get("decoder", decoder) != decoder:
            raise ValueError(
                f"model.decoder: expected {decoder}, which the system {value['system']} has, found "
                f"{model['decoder']!r}. Leave it out: the system decides."
            )
        return {**value, "model": {**model, "decoder": decoder}}

    @property
    def located_data(self) -> DataConfiguration:
        """The data with every path below `folder`."""
        return _below(self.data, self.folder)

    def save(self, path: Path) -> None:
        """Write every key with its value, as YAML that `load_configuration` reads."""
        with writing(path) as stream:
            yaml.safe_dump(self.model_dump(mode="json"), stream, sort_keys=False, allow_unicode=True, width=100)


def known_system(name: str) -> str:
    """The name, if it is a system's; otherwise a ValueError."""
    if name not in SYSTEMS:
        close = difflib.get_close_matches(name, SYSTEMS, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"expected a system, one of {', '.join(SYSTEMS)}; found {name!r}.{hint}")
    return name


def load_configuration(path: Path | str, overrides: Sequence[str] = ()) -> Configuration:
    """The configuration of a YAML file, changed by `key=value` overrides with dotted keys."""
    document = read_document(Path(path))
    return _checked(apply_overrides(document, overrides))


def _checked(document: Document) -> Configuration:
    try:
        return Configuration.model_validate(document.content)
    except ValidationError as error:
        raise ConfigError("\n".join(explain(error, document, Configuration))) from error


def check_unchanged(before: Configuration, now: Configuration, path: Path) -> None:
    """Refuse to resume a training as another experiment."""
    old, new = dict(flatten(before)), dict(flatten(now))
    free = set(FREE_KEYS)
    if now.training.schedule.kind == "cosine" and now.training.schedule.decay_updates is None:
        free.discard("training.max_updates")  # the whole curve depends on it
    free.update(key for values in (old, new) for key, value in values.items() if isinstance(value, Path))
    changed = [key for key in new if old[key] != new[key] and key not in free]
    if changed:
        lines = [f"  {key}: {old[key]!r} there, {new[key]!r} now" for key in changed]
        raise ConfigError(
            f"{path}: the training in this directory has another configuration:\n"
            + "\n".join(lines)
            + "\nChoose another output for a new training, or set these keys back to resume the old one."
        )


def flatten(model: BaseModel, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every key, dotted, with its value."""
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from flatten(value, f"{prefix}{name}.")
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
    return model.model_copy(update=changed)
