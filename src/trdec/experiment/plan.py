"""What an experiment will do: its runs, their commands, and what results depend on."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from trdec.configuration import Configuration, load_configuration
from trdec.configuration.document import override_of
from trdec.configuration.sections import CorpusConfiguration
from trdec.data.manifest import WEIGHTS
from trdec.errors import ConfigError, FileError
from trdec.experiment.configuration import (
    DecodingConfiguration,
    ExperimentConfiguration,
    RowConfiguration,
    TestConfiguration,
)
from trdec.extensions import extension_file
from trdec.files import similar_name, text_file
from trdec.systems import ANNOTATIONS, system_or_keys

Stage = Literal["train", "tune", "dev", "score", "translate"]
"""`tune` chooses how to search, on dev, if decoding has several values. `translate` is of the text that is scored in
the end; `dev` is of dev, where that is another text. `score` divides the loss on dev by kind of action.
"""

ON_DEV: tuple[Stage, ...] = ("tune", "dev", "score")
"""The stages that read dev, whatever is scored in the end."""


@dataclass(frozen=True)
class Run:
    """One system trained with one seed, and its translations of the test text; or an ensemble of such runs."""

    system: str
    """The name it has in the experiment."""
    seed: int
    directory: Path
    training: Configuration
    decoding: DecodingConfiguration
    commands: dict[Stage, tuple[str, ...]]
    """The arguments of `trdec` for each stage, in their order."""
    members: tuple[Run, ...] = ()
    """Of an ensemble: the runs whose models translate together. The seed, the training and the search are those of the
    first; an ensemble has no model of its own.
    """

    @property
    def name(self) -> str:
        """`trdec-binary, seed 2`, or `trdec-binary, seeds 1, 2, 3 together`."""
        if self.members:
            return f"{self.system}, seeds {', '.join(str(member.seed) for member in self.members)} together"
        return f"{self.system}, seed {self.seed}"

    @property
    def models(self) -> tuple[Path, ...]:
        """The directories of the models that translate: one, or those of all members."""
        return tuple(model for member in self.members for model in member.models) or (self.directory / "model",)

    @property
    def tree_kinds(self) -> tuple[str, ...]:
        """The kinds of trees it learns; with several, each sentence is trained on once in each."""
        return self.training.system.trees

    def result(self, stage: Stage) -> Path:
        """The file that a finished stage leaves behind."""
        files = {"train": self.directory / "model" / WEIGHTS, "tune": self.trials, "score": self.loss}
        return files.get(stage) or self.translations(stage)

    def translations(self, stage: Stage = "translate") -> Path:
        """A stage's translations, one per line; complete only if the stage has its record."""
        return self.directory / {"translate": "translations.txt", "dev": "dev.txt"}[stage]

    def trees(self, stage: Stage = "translate") -> Path:
        """Their trees, one per line."""
        return self.directory / {"translate": "trees.txt", "dev": "dev.trees.txt"}[stage]

    @property
    def trials(self) -> Path:
        """What was tried on dev to choose how to search, as JSON."""
        return self.members[0].trials if self.members else self.directory / "trials.json"

    @property
    def loss(self) -> Path:
        """How much of the loss on dev is tree and how much is words, as JSON."""
        return self.directory / "loss.json"

    def depends_on(self, stage: Stage) -> dict[str, Any]:
        """The settings, besides the data, on which the result of a stage depends."""
        if stage == "train":
            return {"training": self.training.model_dump(mode="json", exclude={"output", "folder", "search"})}
        return {} if stage == "score" else {"decoding": self.decoding.model_dump(mode="json")}


@dataclass(frozen=True)
class Plan:
    """All runs of an experiment, seed by seed, so that early results can be compared."""

    experiment: ExperimentConfiguration
    runs: tuple[Run, ...]
    ensembles: tuple[Run, ...] = ()
    """For each system, all its seeds together; none unless they are asked for."""

    @property
    def directory(self) -> Path:
        """Where everything is written."""
        return self.experiment.output

    @property
    def schedule(self) -> tuple[Run, ...]:
        """The order in which runs start: the longest of each seed first, so that none runs alone at the end."""
        seeds = self.experiment.seeds

        def place(run: Run) -> tuple[int, bool]:
            return seeds.index(run.seed), run.training.system.target != "derivation"

        return tuple(sorted(self.runs, key=place))

    @property
    def folder(self) -> Path:
        """Where the data are."""
        return self.runs[0].training.folder

    def text(self, stage: Stage) -> tuple[Path, Path]:
        """The source that a stage reads, and the reference that its translations are scored against."""
        dev = self.runs[0].training.data.dev
        text = dev if stage in ON_DEV else self.experiment.test or dev
        return self.folder / text.source, self.folder / text.target

    def source_parses(self, run: Run, stage: Stage) -> Path | None:
        """The parses of the source that a stage reads, if the run's system reads such."""
        test = None if stage in ON_DEV else self.experiment.test
        return _source_parses(run.training, test or run.training.located_data.dev)

    @property
    def is_raw(self) -> bool:
        """Whether the systems write raw text, not words separated by whitespace."""
        return self.runs[0].training.data.target_tokeniser != "none"

    def files(self, run: Run, stage: Stage = "translate") -> tuple[Path, ...]:
        """The files that the result of a run's stage depends on."""
        data = run.training.located_data
        own = run.training.system.source_annotation
        kinds = [*(kind for kind in ANNOTATIONS if kind in run.tree_kinds), *([own] if own else [])]
        named = (*data.corpora, data.dev)
        corpora = [getattr(corpus, name) for corpus in named for name in ("source", "target", *kinds)]
        models = [data.source_subwords.model, data.target_subwords.model]
        parent = run.training.training.start_from
        if parent is not None:
            models.append(parent / WEIGHTS if parent.is_dir() else parent)  # an archive is one file
        code = [extension_file(name) for name in run.training.system.foreign_code]
        text = () if stage == "train" else (*self.text(stage), self.source_parses(run, stage))
        return tuple(dict.fromkeys(path for path in (*corpora, *models, *code, *text) if path is not None))

    def check_files(self) -> None:
        """Check that every file exists, before hours are spent."""
        needed = ((path, run) for run in reversed(self.runs) for path in self.files(run))
        missing = {path: run for path, run in needed if not text_file(path)[0].is_file()}
        if missing:
            lines = [
                f"  {path} (needed by {run.system}).{similar_name(text_file(path)[0])}"
                for path, run in reversed(missing.items())
            ]
            raise FileError(
                "files of the experiment are missing:\n"
                + "\n".join(lines)
                + f"\nSet the key folder to where they are (now {self.folder}), or leave systems out."
            )


def make_plan(experiment: ExperimentConfiguration) -> Plan:
    """The plan of an experiment; every run's configuration is checked."""
    folder = experiment.output / "toy" if experiment.toy else experiment.folder
    runs = [_run(experiment, row, seed, folder) for seed in experiment.seeds for row in experiment.systems]
    together = experiment.systems if experiment.ensembles and len(experiment.seeds) > 1 else ()
    return Plan(
        experiment,
        tuple(runs),
        tuple(ensemble_of(experiment, tuple(run for run in runs if run.system == row.name)) for row in together),
    )


def _run(experiment: ExperimentConfiguration, row: RowConfiguration, seed: int, folder: Path | None) -> Run:
    directory = experiment.output / "runs" / f"{row.name}-{seed}"
    values: dict[str, Any] = {"system": system_or_keys(row.system), **experiment.changes, **row.changes}
    values |= {"folder": folder} if folder else {}
    values |= {"seed": seed, "output": directory / "model"}
    overrides = [override_of(key, value) for key, value in values.items()]
    toy = experiment.toy.sentences if experiment.toy else None  # its corpus may not have been made yet
    training = load_configuration(experiment.recipe, overrides, toy)
    dev = training.located_data.dev
    run = Run(row.name, seed, directory, training, experiment.decoding, {})
    commands: dict[Stage, tuple[str, ...]] = {"train": trdec_command("train", experiment.recipe, *overrides)}
    if run.decoding.is_tuned:
        commands["tune"] = _tuning(run, dev)
    parses = [_parses(training, kind) for kind in dict.fromkeys(training.system.trees) if kind in ANNOTATIONS]
    if len(parses) < 2:  # `trdec score` takes the parses of one kind
        commands["score"] = trdec_command(
            "score",
            directory / "model",
            summary=True,
            source=dev.source,
            target=dev.target,
            **({"annotation": parses[0]} if parses else {}),
            **_source_trees(_source_parses(training, dev)),
            format="json",
            output=directory / "loss.json",
            allow=training.system.foreign_code,
        )
    commands |= _translating_stages(experiment, run)
    return replace(run, commands={stage: commands[stage] for stage in get_args(Stage) if stage in commands})


def ensemble_of(experiment: ExperimentConfiguration, members: tuple[Run, ...]) -> Run:
    """The ensemble of runs of one system."""
    directory = experiment.output / "ensembles" / members[0].system
    ensemble = replace(members[0], directory=directory, commands={}, members=members)
    return replace(ensemble, commands=_translating_stages(experiment, ensemble))


def _translating_stages(experiment: ExperimentConfiguration, run: Run) -> dict[Stage, tuple[str, ...]]:
    """The commands that translate dev, where another text is scored, and what is scored."""
    training, test = run.training, experiment.test
    dev = training.located_data.dev
    commands: dict[Stage, tuple[str, ...]] = {}
    if test is not None:
        commands["dev"] = _translating(run, "dev", dev.source, _source_parses(training, dev))
    scored = dev.source if test is None else training.folder / test.source
    commands["translate"] = _translating(run, "translate", scored, _source_parses(training, test or dev))
    return commands


def _parses(training: Configuration, kind: str) -> Path:
    """Dev's trees of this kind, which the system learns."""
    corpora = {"data.train": training.located_data.train, "data.dev": training.located_data.dev}
    for name, corpus in corpora.items():
        if getattr(corpus, kind) is None:
            raise ConfigError(
                f"a system learns {kind} trees, but {name} names no file of them. "
                f"Give it as {name}.{kind} of the recipe, or leave the system out."
            )
    found: Path = getattr(corpora["data.dev"], kind)
    return found


def _source_parses(training: Configuration, text: CorpusConfiguration | TestConfiguration) -> Path | None:
    """The parses of a text's source, if the system reads such.

    Dev's paths are complete here; those of a test text are relative to the data's folder.
    """
    key = training.system.source_annotation
    if key is None:
        return None
    path: Path | None = getattr(text, key)
    if path is None:
        of, name = ("data.dev", "recipe") if isinstance(text, CorpusConfiguration) else ("test", "experiment")
        raise ConfigError(
            f"a system reads {training.system.source_trees} trees of the source, but {of} names no file of them. "
            f"Give it as {of}.{key} of the {name}, or leave the system out."
        )
    return path if isinstance(text, CorpusConfiguration) else training.folder / path


def _source_trees(path: Path | None) -> dict[str, Path]:
    return {} if path is None else {"source_trees": path}


def _tuning(run: Run, dev: CorpusConfiguration) -> tuple[str, ...]:
    return trdec_command(
        "tune",
        run.directory / "model",
        source=dev.source,
        target=dev.target,
        beam_size=run.decoding.beam_size,
        length_power=run.decoding.length_power,
        json=True,
        output=run.trials,
        **_source_trees(_source_parses(run.training, dev)),
        allow=run.training.system.foreign_code,
    )


def _translating(run: Run, stage: Stage, source: Path, parses: Path | None) -> tuple[str, ...]:
    chosen = {} if run.decoding.is_tuned else run.decoding.model_dump()  # a tuned model has its own values
    first, *others = run.models
    return trdec_command(
        "translate",
        first,
        **({"with": tuple(others)} if others else {}),
        input=source,
        **chosen,
        output=run.translations(stage),
        trees=run.trees(stage),
        **_source_trees(parses),
        allow=run.training.system.foreign_code,
    )


def trdec_command(verb: str, *arguments: object, **options: object) -> tuple[str, ...]:
    """The arguments of `trdec` for a verb, with the options that the command line derives from these names."""
    # A path that begins with a hyphen would be taken for an option.
    words = [verb, *(f"./{word}" if word.startswith("-") else word for word in map(str, arguments))]
    for name, given in options.items():
        for value in given if isinstance(given, tuple) else (given,):  # several values repeat the option
            words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return tuple(words)


def shell_command(arguments: Iterable[str]) -> str:
    """The `trdec` command of these arguments, as a shell reads it."""
    return shlex.join(["trdec", *arguments])
