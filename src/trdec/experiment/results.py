"""What came of the runs: the translations, compared, and what is remembered of training and translating."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from trdec.evaluation.comparison import Comparison, ComparisonOptions, compare
from trdec.evaluation.outputs import Output, read_output, read_references, read_texts, read_trees
from trdec.experiment.plan import Plan, Run
from trdec.experiment.records import Records


@dataclass(frozen=True)
class Result:
    """A run that is finished."""

    run: Run
    training: dict[str, Any]
    translating: dict[str, Any]
    output: Output


@dataclass(frozen=True)
class Results:
    """All finished runs of a plan."""

    plan: Plan
    results: tuple[Result, ...]
    comparison: Comparison
    pairs: int
    """Sentence pairs in the training files."""

    def systems(self) -> list[str]:
        """The systems that have results, in the order of the experiment."""
        found = {result.run.system for result in self.results}
        return [system for system in self.plan.experiment.systems if system in found]

    def of(self, system: str) -> list[Result]:
        """A system's results, one a seed."""
        return [result for result in self.results if result.run.system == system]

    def mean(self, system: str, value: Callable[[Result], float]) -> float:
        """The mean of a figure over a system's seeds."""
        return fmean(value(result) for result in self.of(system))

    def tree_versions(self, system: str) -> int:
        """How often a sentence pair stands among a system's examples: once for each tree."""
        return len(self.of(system)[0].run.tree_kinds)


def collect(plan: Plan) -> Results:
    """The results that are there."""
    records = Records(plan)
    _, target = plan.test
    references = read_references(target)
    results = [
        Result(run, training, translating, _output(run, references, str(target)))
        for system in plan.experiment.systems
        for run in plan.runs
        if run.system == system
        and (training := records.finished(run, "train")) is not None
        and (translating := records.finished(run, "translate")) is not None
    ]
    options = ComparisonOptions(tokenise=plan.tokenise, examples=plan.experiment.samples)
    comparison = compare(references, [result.output for result in results], options)
    pairs = len(read_texts(plan.runs[0].training.located_data.train.target))
    return Results(plan, tuple(results), comparison, pairs)


def _output(run: Run, references: list[str], reference_name: str) -> Output:
    read = read_output(run.system, run.translations, references, reference_name)
    return Output(run.system, run.name, read.lines, str(run.seed), read_trees(run.trees))
