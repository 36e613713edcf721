"""The keys of an experiment, and the file they are read from."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_serializer,
    field_validator,
    model_serializer,
    model_validator,
)

from trdec.configuration.configuration import known_system
from trdec.configuration.document import Document, apply_overrides, explain, read_document
from trdec.configuration.reference import section
from trdec.errors import ConfigError, UsageError
from trdec.files import at_home, writing
from trdec.systems import SYSTEMS, System

EXPERIMENT_FILE = "experiment.yaml"

Seed = Annotated[int, Field(ge=0, lt=2**63)]


def _dotted(changes: Any, prefix: str = "") -> Any:
    """The changes with one dotted key per value: a mapping within them changes only the keys that it names."""
    if not isinstance(changes, dict):
        return changes
    found: dict[Any, Any] = {}
    for key, value in changes.items():
        name = f"{prefix}{key}"
        found |= _dotted(value, f"{name}.") if value and isinstance(value, dict) else {name: value}
    return found


Changes = Annotated[dict[str, Any], BeforeValidator(_dotted)]
"""Keys of a recipe, with dots, and their values."""


class _Configuration(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    _paths = field_validator("*", mode="after")(at_home)


class ToyConfiguration(_Configuration):
    """A corpus of the toy language, made in the experiment's own directory."""

    sentences: int = Field(
        default=10_000, ge=10, le=100_000_000, description="Training sentences; dev and test get a tenth each."
    )
    seed: int = Field(default=1, description="Another seed, another corpus.")


class TestConfiguration(_Configuration):
    """What is translated and scored; the paths are relative to the folder of the data."""

    source: Path = Field(description="Source sentences, one per line.")
    target: Path = Field(description="Their reference translations, one per line.")
    source_constituency: Path | None = Field(default=None, description="As in `data.dev` of a recipe.")
    source_dependency: Path | None = Field(default=None, description="As in `data.dev` of a recipe.")
    source_supertags: Path | None = Field(default=None, description="As in `data.dev` of a recipe.")


class DecodingConfiguration(_Configuration):
    """How every system translates. Where several values are given, each run takes those that are best on its dev."""

    beam_size: tuple[Annotated[int, Field(ge=1, le=10_000)], ...] = Field(
        default=(5,), description="Hypotheses pursued at once; or several numbers to choose from."
    )
    length_power: tuple[Annotated[float, Field(ge=0, le=10)], ...] = Field(
        default=(1.0,),
        description="Log-probabilities are divided by length to this power, whatever the system; or several powers to "
        "choose from.",
    )

    @field_validator("*", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        values = value if isinstance(value, list | tuple) else (value,)
        if not values:
            raise ValueError("expected a number, or several to choose from; found none.")
        return values

    @field_serializer("*")
    def _one_alone(self, values: tuple[float, ...]) -> Any:
        return values[0] if len(values) == 1 else values

    @property
    def is_tuned(self) -> bool:
        """Whether each run chooses on dev."""
        return len(self.beam_size) > 1 or len(self.length_power) > 1


class RowConfiguration(_Configuration):
    """One system of an experiment. A name alone is a system of ours; any other is given by the keys of a system."""

    name: str = Field(description="What the report calls it.")
    like: str | None = Field(default=None, description="A system of ours; the keys given here are changed in it.")
    trees: tuple[str, ...] | None = Field(default=None, description="As in `system.trees` of a recipe.")
    transforms: tuple[str, ...] | None = Field(default=None, description="As in `system.transforms`.")
    target: str | None = Field(default=None, description="As in `system.target`.")
    encoder: str | None = Field(default=None, description="As in `system.encoder`.")
    decoder: str | None = Field(default=None, description="As in `system.decoder`.")
    source_trees: str | None = Field(default=None, description="As in `system.source_trees`.")
    source_transforms: tuple[str, ...] | None = Field(default=None, description="As in `system.source_transforms`.")
    changes: Changes = Field(default={}, description="Keys of the recipe to change for it alone, with dots.")

    @model_validator(mode="before")
    @classmethod
    def _name_alone(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @field_validator("trees", "transforms", "source_transforms", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _a_system(self) -> Self:
        if self.model_fields_set == {"name"}:
            known_system(self.name)
        elif self.name in SYSTEMS:
            raise ValueError(f"name: expected a new name, found {self.name!r}, which is a system of ours.")
        else:
            _check_name(self.name)
            try:
                _ = self.system
            except ValidationError as error:
                raise ValueError("; ".join(explain(error, Document(self.name, {}, {}), System))) from error
        return self

    @model_serializer
    def _what_was_given(self) -> str | dict[str, Any]:
        given = {key: getattr(self, key) for key in type(self).model_fields if key in self.model_fields_set}
        return self.name if set(given) == {"name"} else given

    @property
    def system(self) -> System:
        """The system that the row stands for."""
        if self.model_fields_set == {"name"}:
            return known_system(self.name)
        row = known_system(self.like).model_dump() if self.like else {}
        given = {key: getattr(self, key) for key in System.model_fields if getattr(self, key) is not None}
        return System.model_validate(row | given)


class ScaleConfiguration(_Configuration):
    """The same experiment at another size: what is given here replaces what the experiment says."""

    systems: tuple[RowConfiguration, ...] | None = Field(default=None, description="Other systems.")
    seeds: tuple[Seed, ...] | None = Field(default=None, description="Other seeds.")
    beam_size: int | None = Field(default=None, ge=1, le=10_000, description="Another beam.")
    changes: Changes = Field(default={}, description="Further changes to the recipe.")


class ExperimentConfiguration(_Configuration):
    """Systems times seeds on one corpus."""

    title: str = Field(description="The heading of the report.")
    output: Path = Field(description="The experiment's directory; created if missing, resumed if it exists.")
    recipe: Path = Field(description="The training configuration that all runs share, relative to this file.")
    folder: Path | None = Field(default=None, description="Where the data are, in place of what the recipe says.")
    toy: ToyConfiguration | None = Field(default=None, description="Make a toy corpus and use it as the folder.")
    systems: Annotated[tuple[RowConfiguration, ...], Field(min_length=1)] = Field(
        default=tuple(RowConfiguration(name=name) for name in SYSTEMS),
        description="Names of systems, or systems of your own as these keys; the others are compared with the first. "
        "Without it, all eight systems of the paper.",
    )
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1)] = Field(
        default=(1,), description="Each system is trained once with each."
    )
    changes: Changes = Field(
        default={}, description="Keys of the recipe to change for all runs, with dots: training.max_updates."
    )
    test: TestConfiguration | None = Field(
        default=None, description="What is scored in the end; without it, the recipe's dev."
    )
    decoding: DecodingConfiguration = Field(default=DecodingConfiguration(), description="How systems translate.")
    memory: float = Field(
        default=2.0, gt=0, description="On a cluster: GB of memory that a stage takes, as workers offer them."
    )
    ensembles: bool = Field(
        default=False,
        description="Also let the models of all seeds of a system translate together.",
    )
    ter: bool = Field(
        default=True, description="Whether the report has TER, which may take hours where Chinese is written."
    )
    samples: int = Field(default=3, ge=0, description="Translations shown with their trees; 0 keeps all text out.")
    published: dict[str, float] = Field(default={}, description="Scores to show beside ours, by system.")
    scales: dict[str, ScaleConfiguration] = Field(default={}, description="Other sizes, by name.")

    @field_validator("systems")
    @classmethod
    def _distinct_systems(cls, rows: tuple[RowConfiguration, ...]) -> tuple[RowConfiguration, ...]:
        _distinct(tuple(row.name for row in rows), "system")
        return rows

    @field_validator("seeds")
    @classmethod
    def _distinct_seeds(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        return _distinct(seeds, "seed")

    @field_validator("scales")
    @classmethod
    def _names_of_scales(cls, scales: dict[str, ScaleConfiguration]) -> dict[str, ScaleConfiguration]:
        for name in scales:
            _check_name(name)  # it becomes part of a folder's name
        return scales

    def at_scale(self, name: str | None) -> ExperimentConfiguration:
        """The experiment at one of its scales, in a directory of its own."""
        if name is None:
            return self
        if name not in self.scales:
            known = ", ".join(self.scales) or "none"
            raise UsageError(f"the experiment has no `scale` {name!r}. It has: {known}.")
        scale = self.scales[name]
        if not self.output.name:
            raise UsageError(
                f"at a scale, the experiment's directory is named for it; expected an `output` with a name to add it "
                f"to, such as experiments/mine, found {str(self.output)!r}."
            )
        decoding = self.decoding.model_dump() | ({"beam_size": scale.beam_size} if scale.beam_size else {})
        content = self.model_dump() | {
            "output": self.output.with_name(f"{self.output.name}-{name}"),
            "systems": scale.systems or self.systems,
            "seeds": scale.seeds or self.seeds,
            "changes": self.changes | scale.changes,
            "decoding": decoding,
            "scales": {},
        }
        return ExperimentConfiguration.model_validate(content)

    def save(self, path: Path) -> None:
        """Write every key with its value."""
        with writing(path) as stream:
            yaml.safe_dump(self.model_dump(mode="json"), stream, sort_keys=False, allow_unicode=True, width=100)


def load_experiment(path: Path, overrides: Sequence[str] = (), scale: str | None = None) -> ExperimentConfiguration:
    """The experiment of a YAML file, changed by `key=value` overrides; its recipe is found beside the file."""
    document = read_document(path)
    document = apply_overrides(
        replace(document, content=_with_nested_changes(document.content)), overrides, ExperimentConfiguration
    )
    try:
        experiment = ExperimentConfiguration.model_validate(document.content)
        at_scale = experiment.at_scale(scale)
    except ValidationError as error:
        if {"data", "system"} & document.content.keys() and "recipe" not in document.content:
            raise ConfigError(
                f"{path}: expected an experiment, found a training configuration (it has the keys "
                f"{', '.join(document.content)}). Run it with: trdec train {path}, or name it as the `recipe` of an "
                "experiment."
            ) from error
        raise ConfigError("\n".join(explain(error, document, ExperimentConfiguration))) from error
    return at_scale.model_copy(update={"recipe": path.parent / at_scale.recipe})


def _with_nested_changes(content: dict[str, Any]) -> dict[str, Any]:
    """The content with mappings for dotted keys in its changes: an override finds a key however the file writes it."""
    scales = content.get("scales")
    found = content | ({"changes": _nested(content["changes"])} if "changes" in content else {})
    if isinstance(scales, dict):
        found["scales"] = {
            name: scale | {"changes": _nested(scale["changes"])}
            if isinstance(scale, dict) and "changes" in scale
            else scale
            for name, scale in scales.items()
        }
    return found


def _nested(changes: Any) -> Any:
    """The inverse of `_dotted`."""
    if not isinstance(changes, dict):
        return changes
    found: dict[str, Any] = {}
    for key, value in _dotted(changes).items():
        *outer, last = key.split(".")
        mapping: Any = found
        for part in outer:
            mapping = mapping.setdefault(part, {}) if isinstance(mapping, dict) else None
        if isinstance(mapping, dict):
            mapping[last] = value
        else:  # a key that has a value and keys: the recipe will refuse it
            found[key] = value
    return found


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[\w.+-]+", name):
        raise ValueError(f"name: expected letters, digits, '-' and '_', found {name!r}.")


def _distinct(values: tuple[Any, ...], what: str) -> tuple[Any, ...]:
    twice = next((value for value in values if values.count(value) > 1), None)
    if twice is not None:
        raise ValueError(f"the {what} {twice} is given twice.")
    return values


_REFERENCE_HEAD = """\
# Experiments

`trdec experiment FILE.yaml [key=value ...]` answers the paper's question, *which tree helps?*, for a corpus: it trains
every system with every seed, translates, scores, and writes a report.

```
trdec experiment configs/experiments/toy.yaml --jobs 2           # eight systems, two seeds, a report
trdec experiment configs/experiments/or-en.yaml --scale small    # another size that the file describes
trdec experiment configs/experiments/or-en.yaml --dry-run        # the commands, and how long they would take
```

An experiment is a training recipe (see [the configuration](configuration.md)), a list of systems, a list of seeds and
what changes in the recipe for all of them:

```yaml
title: Which tree helps on my corpus?
output: experiments/mine
recipe: my-recipe.yaml            # as for `trdec train`; relative to this file
systems:
  - seq2seq                       # a system of ours, by its name
  - trdec-binary
  - {name: wrapped, like: trdec-binary, transforms: wrap-words}      # one of ours with a key changed
  - {name: mine, trees: my_module:my_trees, changes: {model.readout: paper}}
seeds: [1, 2, 3]
changes: {batches.batch_type: sentences, batches.batch_size: 32}
```

* **Side by side.** `--jobs N` runs N trainings at a time, one thread each (2 by default, 1 on a single core).
* **On many machines.** `--dask SCHEDULER` runs stages on the workers of a Dask cluster: see [scaling](scaling.md).
* **Changes.** `changes.training.max_updates=20` changes that key of the recipe and leaves the others as they are,
  whether the file has it with dots or within `training: {...}`.
* **Scales.** `--scale NAME` takes the changes that the file lists under `scales`, and writes to `OUTPUT-NAME`, so that
  sizes do not mix.
* **Resumable.** Run the same command again, also after `kill -9`: finished runs are skipped, unfinished ones resume
  from their last checkpoint, and the report is the same as if nothing had happened. What follows
  a training is done again only if its text, its search or the weights changed. A training whose data or configuration
  changed would be another experiment and is refused: choose another `output`, or remove the run's folder.
* **Tune on dev.** With a `test` text, dev is translated as each run ends, and the test text once all runs have ended.
  `--report` writes the report on what is finished so far: on dev, until the test text has been translated.
* **Search, too.** With `decoding: {beam_size: [5, 20], length_power: [1, 1.5, 2]}` each run takes the values that are
  best on its dev, as `trdec tune` finds them; the report says which. A single value is used as it is.
* **Ensembles.** With `ensembles: true`, all seeds of a system also translate together, once their trainings have
  ended, with the search of the first seed's model; the report compares the ensembles with each other.
* **Failures.** A run that fails does not stop the others; it is listed at the end and in the report, and the command
  ends with 1. One whose loss on dev could not be divided into tree and words is listed, too, but translates all the
  same.
* **Fair.** All systems get the same updates, batches, sizes and rates. Count batches in sentences, as the files in
  `configs/experiments` do (but `paper-or-en.yaml`), without `training.early_stopping`, and every system sees the same
  number of sentence pairs.
  `trdec-binary` has each pair twice among its examples, once a tree version; the budget is in updates, so it sees as
  many pairs as the others and each tree half as often. The report says what each system was given.
* **The report** (`report.md`, `report.html`, `report.json` in the output): BLEU, chrF++ and TER with deviations over
  seeds and significance against the first system, gains by length and the histogram of lengths (the paper's figures 4
  and 5), how often systems write each length, the accuracy of rare and frequent words, training curves, how much of the
  loss on dev is tree and how much is words, size and speed, sample translations with their trees, and every command
  and version. [Evaluation](evaluation.md) explains how scores are computed.
* **Piece by piece.** Beside its report an experiment leaves `counts.json`: what BLEU counts in each sentence, and
  nothing of the text. `trdec table ONE/counts.json ANOTHER/counts.json` makes one table of runs that were made on
  several machines or days, with the same tests as if all had been in one experiment.
* **Today these, tomorrow those.** After `systems=[ccg]` or `seeds=[4]`, the report and `counts.json` also cover the
  systems and seeds that the same output was asked for before, where their runs are finished and were trained as the
  experiment trains now. The first system stays the first, unless `systems` names all of them. To leave a run out,
  remove its folder. Runs that only the old `counts.json` has are kept as `counts-1.json`, and the command names them.

This page is generated: `python -m trdec.experiment.configuration > docs/experiments.md`.
"""


def experiment_reference() -> str:
    """The whole page."""
    return "\n".join([_REFERENCE_HEAD, *section(ExperimentConfiguration, "", "The keys of an experiment")])


if __name__ == "__main__":
    sys.stdout.write(experiment_reference())
