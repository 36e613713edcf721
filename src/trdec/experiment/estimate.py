"""How long an experiment will take, judged by a few real updates and translations of each system."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from trdec.data.configuration import CorpusConfiguration
from trdec.errors import TrainingError
from trdec.experiment.plan import Plan, Run
from trdec.text.lines import read_lines
from trdec.training.log import JsonLines
from trdec.trees import brackets, treebank

LINES = 400
"""Of each training file, as much as is tried out."""

UPDATES = 6
SENTENCES = 20
"""Of the test text, as much as is translated on trial."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds that one run of a system takes on one core."""

    system: str
    training: float
    translating: float

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.training + self.translating


def estimates(plan: Plan, jobs: int) -> Iterator[Estimate]:
    """For each system, how long one run takes while as many run side by side as will."""
    first = {run.system: run for run in reversed(plan.runs)}
    systems = dict.fromkeys(run.system for run in plan.runs)
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(lambda system: _try(plan, first[system]), systems)


def total_seconds(plan: Plan, by_system: dict[str, Estimate], jobs: int) -> float:
    """The time until the last run ends, if each core takes the next run as soon as it is free."""
    cores = [0.0] * jobs
    for run in plan.schedule:
        cores[cores.index(min(cores))] += by_system[run.system].seconds
    return max(cores)


def _try(plan: Plan, run: Run) -> Estimate:
    with tempfile.TemporaryDirectory(prefix="trdec-estimate-") as name:
        folder = Path(name)
        files = _shortened(run, folder)
        model = folder / "model"
        sizes = [f"training.{key}={UPDATES}" for key in ("max_updates", "validate_every", "log_every")]
        subwords = [f"data.{side}_subwords.size=300" for side in ("source", "target")]
        _trdec(*run.commands["train"], *files, f"output={model}", *sizes, *subwords, "training.plot=false")
        row = next(row for row in JsonLines(model / "log.jsonl").rows() if row["event"] == "train")
        return Estimate(
            run.system,
            run.training.training.max_updates * row["seconds"] / UPDATES,
            _translating(plan, run, model, round(row["actions"] / row["sentences"])),
        )


def _translating(plan: Plan, run: Run, model: Path, actions: int) -> float:
    """Seconds to translate the test text, where a translation has so many actions.

    Their number is given, since an untrained model would never end; starting up is measured apart.
    """
    source, _ = plan.test
    limits = ["--max-ratio", "0", "--max-extra", str(actions), "--beam-size", str(run.decoding.beam_size)]

    def seconds(sentences: int) -> float:
        part = model.with_name(f"first-{sentences}")
        _write(part, (line.text for line in islice(read_lines(source), sentences)))
        began = time.monotonic()
        _trdec("translate", str(model), "--input", str(part), *limits)
        return time.monotonic() - began

    start = seconds(1)
    lines = sum(1 for _ in read_lines(source))
    return start + max(0.0, seconds(1 + SENTENCES) - start) * lines / SENTENCES


def _shortened(run: Run, folder: Path) -> list[str]:
    """The keys that name the first sentences of a run's corpora, which are written to a folder."""
    data, keys = run.training.located_data, []
    for split, corpus in (("train", data.train), ("dev", data.dev)):
        for name, lines in _beginnings(corpus):
            path = folder / f"{split}.{name}"
            _write(path, lines)
            keys.append(f"data.{split}.{name}={json.dumps(str(path))}")
    return keys


def _beginnings(corpus: CorpusConfiguration) -> Iterator[tuple[str, Iterable[str]]]:
    for name in ("source", "target", "supertags"):
        if (path := getattr(corpus, name)) is not None:
            yield name, (line.text for line in islice(read_lines(path), LINES))
    if corpus.constituency is not None:
        entries = islice(treebank.read("penn", corpus.constituency, None), LINES)
        trees = (brackets.NO_TREE if entry.tree is None else brackets.write(entry.tree) for entry in entries)
        yield "constituency", trees
    if corpus.dependency is not None:
        yield "dependency", _first_sentences(corpus.dependency)


def _first_sentences(conllu: Path) -> Iterator[str]:
    sentences = 0
    for line in read_lines(conllu):
        yield line.text
        sentences += not line.text.strip()  # a blank line ends a sentence
        if sentences == LINES:
            return


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _trdec(*arguments: str) -> None:
    command = [sys.executable, "-m", "trdec.cli.main", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        last = "\n".join(result.stderr.splitlines()[-3:])
        raise TrainingError(f"trdec {' '.join(arguments)}\nended with status {result.returncode}:\n{last}")
