"""What an experiment will do: its runs, the commands of each, and what their results depend on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from trdec.config import Configuration, load_configuration
from trdec.errors import FileError
from trdec.experiment.configuration import DecodingConfiguration, ExperimentConfiguration
from trdec.systems import ANNOTATIONS, SYSTEMS
from trdec.trees.own_builder import is_own, own_file

Stage = Literal["train", "translate"]
STAGES: tuple[Stage, ...] = ("train", "translate")


@dataclass(frozen=True)
class Run:
    """One system trained with one seed, and its translations of the test text."""

    system: str
    """The name it has in the experiment: a system, or a variant of one."""
    seed: int
    directory: Path
    training: Configuration
    decoding: DecodingConfiguration
    commands: dict[Stage, tuple[str, ...]]
    """The arguments of `trdec` for each stage."""

    @property
    def name(self) -> str:
        """`trdec-binary, seed 2`."""
        return f"{self.system}, seed {self.seed}"

    @property
    def tree_kinds(self) -> tuple[str, ...]:
        """The kinds of trees it learns; with several, each sentence is trained on once in each."""
        own = tuple(treebank.kind for treebank in SYSTEMS[self.training.system].treebanks)
        return self.training.data.trees or own

    def result(self, stage: Stage) -> Path:
        """The file that a finished stage leaves behind."""
        return self.directory / "model" / "model.safetensors" if stage == "train" else self.translations

    @property
    def translations(self) -> Path:
        """The translations, one a line; whole only if the record of the stage says so."""
        return self.directory / "translations.txt"

    @property
    def trees(self) -> Path:
        """Their trees, one a line."""
        return self.directory / "trees.txt"

    def depends_on(self, stage: Stage) -> dict[str, Any]:
        """What a finished stage is worth only as long as it stays the same, beside the data."""
        if stage == "train":
            return {"training": self.training.model_dump(mode="json", exclude={"output", "folder"})}
        return {"decoding": self.decoding.model_dump(mode="json")}


@dataclass(frozen=True)
class Plan:
    """All runs of an experiment; seeds are worked through one after another, so that early results compare."""

    experiment: ExperimentConfiguration
    runs: tuple[Run, ...]

    @property
    def directory(self) -> Path:
        """Where everything is written."""
        return self.experiment.output

    @property
    def schedule(self) -> tuple[Run, ...]:
        """The order in which runs are begun: of each seed the longest first, so that none runs alone at the end."""
        seeds = self.experiment.seeds

        def place(run: Run) -> tuple[int, bool]:
            return seeds.index(run.seed), SYSTEMS[run.training.system].decoder != "tree"

        return tuple(sorted(self.runs, key=place))

    @property
    def folder(self) -> Path:
        """Where the data are."""
        return self.runs[0].training.folder

    @cached_property
    def test(self) -> tuple[Path, Path]:
        """The source that is translated, and the reference it is scored against."""
        test = self.experiment.test or self.runs[0].training.data.dev
        return self.folder / test.source, self.folder / test.target

    @property
    def tokenise(self) -> str:
        """sacreBLEU's tokeniser: none for text that is tokenised already."""
        return "none" if self.runs[0].training.data.target_language is None else "13a"

    def files(self, run: Run) -> tuple[Path, ...]:
        """The files that a run's results depend on."""
        data = run.training.located_data
        kinds = set(run.tree_kinds) & set(ANNOTATIONS)
        corpora = [getattr(corpus, name) for corpus in (data.train, data.dev) for name in ("source", "target", *kinds)]
        models = [data.source_subwords.model, data.target_subwords.model]
        own = [own_file(kind) for kind in run.tree_kinds if is_own(kind)]
        return tuple(dict.fromkeys(path for path in (*corpora, *models, *own, *self.test) if path is not None))

    def check_files(self) -> None:
        """See that every file is there, before hours are spent."""
        missing = {path: run for run in reversed(self.runs) for path in self.files(run) if not path.is_file()}
        if missing:
            lines = [f"  {path} (needed by {run.system})" for path, run in reversed(missing.items())]
            raise FileError(
                "files of the experiment are missing:\n"
                + "\n".join(lines)
                + f"\nName the folder they are in with folder=..., now {self.folder}, or leave systems out."
            )


def make_plan(experiment: ExperimentConfiguration) -> Plan:
    """The plan of an experiment; every run's configuration is checked."""
    folder = experiment.output / "toy" if experiment.toy else experiment.folder
    runs = [_run(experiment, system, seed, folder) for seed in experiment.seeds for system in experiment.systems]
    return Plan(experiment, tuple(runs))


def _run(experiment: ExperimentConfiguration, system: str, seed: int, folder: Path | None) -> Run:
    directory = experiment.output / "runs" / f"{system}-{seed}"
    variant = experiment.variant(system)
    changes = experiment.changes | variant.changes
    overrides = [f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in changes.items()]
    overrides += [f"folder={folder}"] if folder else []
    overrides += [f"system={variant.system}", f"seed={seed}", f"output={directory / 'model'}"]
    training = load_configuration(experiment.recipe, overrides)
    source = training.folder / (experiment.test or training.data.dev).source
    decoding = experiment.decoding
    options = ["--beam-size", str(decoding.beam_size), "--length-power", str(decoding.length_power)]
    outputs = ["--output", str(directory / "translations.txt"), "--trees", str(directory / "trees.txt")]
    translate = ("translate", str(directory / "model"), "--input", str(source), *options, *outputs)
    commands: dict[Stage, tuple[str, ...]] = {
        "train": ("train", str(experiment.recipe), *overrides),
        "translate": translate,
    }
    return Run(system, seed, directory, training, decoding, commands)
