"""How long an experiment takes: a few updates and a few sentences of every system, and what they amount to."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from trdec.configuration.configuration import flatten
from trdec.configuration.document import override_of
from trdec.configuration.recipe import recipe_for
from trdec.configuration.sections import CorpusConfiguration, DataConfiguration
from trdec.data.make import learn_side
from trdec.errors import TrainingError
from trdec.experiment.plan import Plan, Run, Stage, shell_command, trdec_command
from trdec.files import is_blank, read_lines
from trdec.systems import ANNOTATIONS, CONSTITUENCY, DEPENDENCY, source_key
from trdec.training.observers import JsonLines
from trdec.trees import brackets, treebank

TRIAL_LINES, TRIAL_UPDATES, TRIAL_SENTENCES = 400, 6, 20
"""Lines of each training file that are tried, updates, and test sentences to translate."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds that one run of a system takes on one core."""

    system: str
    training: float
    translating: float
    """Dev and the text that is scored, and what is tried on dev to choose how to search."""

    @property
    def seconds(self) -> float:
        """The sum of both."""
        return self.training + self.translating


def estimates(plan: Plan, jobs: int) -> Iterator[Estimate]:
    """For each system, how long one run takes when `jobs` run at a time."""
    first = {run.system: run for run in reversed(plan.runs)}
    systems = dict.fromkeys(run.system for run in plan.runs)
    with tempfile.TemporaryDirectory(prefix="trdec-pieces-") as name, ThreadPoolExecutor(jobs) as pool:
        learnt = _Pieces(Path(name))
        keys = {system: learnt.keys(first[system].training.located_data) for system in systems}
        yield from pool.map(lambda system: _try(plan, first[system], keys[system]), systems)


class _Pieces:
    """Subwords learnt from whole training texts, once for all systems that share them.

    A few lines have too few words for as many pieces as the run will have; with fewer pieces its sentences would be
    longer, and training them slower.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._learnt: dict[str, Path] = {}

    def keys(self, data: DataConfiguration) -> list[str]:
        """Keys that name the learnt models, for each side that has none of its own."""
        sides = [side for side in ("source", "target") if getattr(data, f"{side}_subwords").model is None]
        return [override_of(f"data.{side}_subwords.model", self._model(data, side)) for side in sides]

    def _model(self, data: DataConfiguration, side: str) -> Path:
        texts = [getattr(corpus, side) for corpus in data.corpora]
        chosen = [getattr(data, f"{side}_{part}") for part in ("subwords", "tokeniser", "language")]
        known = repr((texts, chosen))
        if known not in self._learnt:
            path = self._learnt[known] = self._folder / f"{len(self._learnt)}.spm.model"
            learn_side(data, side, texts).subwords.save(path)
        return self._learnt[known]


def total_seconds(plan: Plan, by_system: dict[str, Estimate], jobs: int) -> float:
    """The time until the last run ends, if each core takes the next run as soon as it is free.

    An ensemble translates as long as its members do one after another.
    """
    cores = [0.0] * jobs
    for run in plan.schedule:
        cores[cores.index(min(cores))] += by_system[run.system].seconds
    for run in plan.ensembles:
        cores[cores.index(min(cores))] += len(run.members) * by_system[run.system].translating
    return max(cores)


def _try(plan: Plan, run: Run, pieces: Iterable[str]) -> Estimate:
    with tempfile.TemporaryDirectory(prefix="trdec-estimate-") as name:
        folder = Path(name)
        files = _shortened(run, folder)
        model = folder / "model"
        values = dict(flatten(run.training))  # the recipe is that of the whole corpus, not of a few lines
        sizes = [override_of(setting.key, values[setting.key]) for setting in recipe_for(TRIAL_LINES)]
        sizes += [f"training.{key}={TRIAL_UPDATES}" for key in ("max_updates", "validate_every", "log_every")]
        _trdec(*run.commands["train"], *files, override_of("output", model), *sizes, *pieces, "training.plot=false")
        row = next(row for row in JsonLines(model / "log.jsonl").rows() if row["event"] == "train")
        return Estimate(
            run.system,
            run.training.training.max_updates * row["seconds"] / TRIAL_UPDATES,
            _translating_seconds(plan, run, model, round(row["actions"] / row["sentences"])),
        )


def _translating_seconds(plan: Plan, run: Run, model: Path, actions: int) -> float:
    """Seconds of all stages that translate, if a translation has this many actions.

    The number is fixed because an untrained model would never end; start-up is measured separately. Tuning searches
    once with each beam, which takes as long as the beam is wide.
    """
    source, _ = plan.text("translate")
    parses, kind = plan.source_parses(run, "translate"), run.training.system.source_trees
    beams = run.decoding.beam_size
    limits = {"max_ratio": 0, "max_extra": actions, "beam_size": max(beams)}

    def seconds(sentences: int) -> float:
        part, trees = model.with_name(f"first-{sentences}"), model.with_name(f"trees-{sentences}")
        _write_lines(part, (line.text for line in islice(read_lines(source), sentences)))
        options = {"input": part, "allow": run.training.system.foreign_code, **limits}
        if parses is not None and kind is not None:
            _write_lines(trees, _first(kind, parses, sentences))
            options["source_trees"] = trees
        began = time.monotonic()
        _trdec(*trdec_command("translate", model, **options))
        return time.monotonic() - began

    start = seconds(1)
    each = max(0.0, seconds(1 + TRIAL_SENTENCES) - start) / TRIAL_SENTENCES
    searches: dict[Stage, float] = {"tune": sum(beams) / max(beams), "dev": 1, "translate": 1}
    return sum(
        start + each * times * sum(1 for _ in read_lines(plan.text(stage)[0]))
        for stage, times in searches.items()
        if stage in run.commands
    )


def _shortened(run: Run, folder: Path) -> list[str]:
    """Keys that replace a run's corpora by their first sentences, which are written to the folder."""
    data, keys = run.training.located_data, []
    for split, corpus in (("train", data.train), ("dev", data.dev)):
        files = {}
        for name, lines in _beginnings(corpus):
            path = folder / f"{split}.{name}"
            _write_lines(path, lines)
            files[name] = str(path)
        keys.append(override_of(f"data.{split}", files))
    return [*keys, "data.further=[]"]


def _beginnings(corpus: CorpusConfiguration) -> Iterator[tuple[str, Iterable[str]]]:
    for name in ("source", "target"):
        yield name, _first(name, getattr(corpus, name), TRIAL_LINES)
    for kind in ANNOTATIONS:
        for name in (kind, source_key(kind)):
            if (path := getattr(corpus, name)) is not None:
                yield name, _first(kind, path, TRIAL_LINES)


def _first(kind: str, path: Path, sentences: int) -> Iterable[str]:
    """The lines of the first sentences of a text, or of a file of trees of this kind."""
    if kind == CONSTITUENCY:
        entries = islice(treebank.read("penn", path, None), sentences)
        return (brackets.NO_TREE if entry.tree is None else brackets.write(entry.tree) for entry in entries)
    if kind == DEPENDENCY:
        return _first_blocks(path, sentences)
    return (line.text for line in islice(read_lines(path), sentences))


def _first_blocks(conllu: Path, sentences: int) -> Iterator[str]:
    found = 0
    for line in read_lines(conllu):
        yield line.text
        found += is_blank(line.text)  # a blank line ends a sentence
        if found == sentences:
            return


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _trdec(*arguments: str) -> None:
    command = [sys.executable, "-m", "trdec.cli.main", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        last = "\n".join(result.stderr.splitlines()[-3:])
        raise TrainingError(f"{shell_command(arguments)}\nended with status {result.returncode}:\n{last}")
