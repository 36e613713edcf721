"""What the finished runs of an experiment found: scores, learning curves, sample translations."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from trdec.errors import TrainingError
from trdec.evaluation.comparison import Comparison, ComparisonOptions, compare
from trdec.evaluation.figures import save_figure, styles
from trdec.evaluation.scores import (
    Output,
    bleu_metric,
    bleu_tokeniser,
    read_output,
    read_references,
    read_texts,
    read_trees,
    tokenisation_warning,
    word_splitter,
)
from trdec.evaluation.word_accuracy import bleu_splitter, count_words
from trdec.experiment.plan import Plan, Run, Stage
from trdec.experiment.run import Records
from trdec.trees.tree import Nonterminal

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Result:
    """A finished run."""

    run: Run
    training: dict[str, Any]
    translating: dict[str, Any]
    output: Output
    loss: dict[str, Any] | None
    """The loss on dev by kind of action, if it was measured."""
    dev: float | None
    """BLEU on dev, where another text is scored."""
    tuning: dict[str, Any] | None
    """What was tried on dev to choose how to search, if anything was."""


@dataclass(frozen=True)
class SeedsTogether:
    """What all seeds of a system translated together."""

    run: Run
    output: Output
    dev: float | None


@dataclass(frozen=True)
class Results:
    """All finished runs of a plan."""

    plan: Plan
    results: tuple[Result, ...]
    comparison: Comparison
    pairs: int
    """Sentence pairs in the training files."""
    stage: Stage
    """The stage whose translations are scored: dev until the test text has been translated."""
    ensembles: tuple[SeedsTogether, ...]
    """Those that are finished."""
    ensembles_compared: Comparison | None
    """The comparison of these, if there are any."""

    @property
    def is_dev(self) -> bool:
        """Whether dev is the text that is scored."""
        return self.plan.text(self.stage) == self.plan.text("dev")

    def systems(self) -> list[str]:
        """The systems that have results, in the order of the experiment."""
        found = {result.run.system for result in self.results}
        return [row.name for row in self.plan.experiment.systems if row.name in found]

    def of(self, system: str) -> list[Result]:
        """A system's results, one per seed."""
        return [result for result in self.results if result.run.system == system]

    def mean(self, system: str, value: Callable[[Result], float]) -> float:
        """The mean of a figure over a system's seeds."""
        return fmean(value(result) for result in self.of(system))

    def tree_versions(self, system: str) -> int:
        """How often a sentence pair is among a system's examples: once for each tree."""
        return len(self.of(system)[0].run.tree_kinds)


def collect(plan: Plan, asked: Plan | None = None) -> Results:
    """The results of all finished runs.

    They are on dev as long as no run that was asked for has translated the test text. A plan that covers more than
    what was asked for comes with the smaller plan.
    """
    records = Records(plan)
    tested = plan.experiment.test is None or any(records.finished(run, "translate") for run in (asked or plan).runs)
    stage: Stage = "translate" if tested else "dev"
    _, target = plan.text(stage)
    references = read_references(target)
    results = [
        Result(
            run,
            training,
            translating,
            _output(run, stage, references, str(target)),
            records.finished(run, "score"),
            _dev(plan, records, run, stage),
            records.finished(run, "tune"),
        )
        for row in plan.experiment.systems
        for run in plan.runs
        if run.system == row.name
        and (training := records.finished(run, "train")) is not None
        and (translating := records.finished(run, stage)) is not None
    ]
    if not results:
        raise TrainingError(f"{plan.directory}: no run is finished yet, so there is nothing to report.")
    tokenise = bleu_tokeniser(references, plan.is_raw)
    if warning := tokenisation_warning(references, tokenise):
        _log.warning("WARNING: %s: %s", target, warning)
    options = ComparisonOptions(tokenise=tokenise, examples=plan.experiment.samples, ter=plan.experiment.ter)
    corpora = plan.runs[0].training.located_data.corpora
    training_text = [line for corpus in corpora for line in read_texts(corpus.target)]
    counts = count_words(training_text, bleu_splitter(tokenise))
    comparison = compare(references, [result.output for result in results], options, training_counts=counts)
    ensembles = tuple(
        SeedsTogether(run, _output(run, stage, references, str(target)), _dev(plan, records, run, stage))
        for run in plan.ensembles
        if records.finished(run, stage) is not None
    )
    compared = compare(references, [each.output for each in ensembles], options) if ensembles else None
    return Results(plan, tuple(results), comparison, len(training_text), stage, ensembles, compared)


def _output(run: Run, stage: Stage, references: list[str], reference_name: str) -> Output:
    read = read_output(run.system, run.translations(stage), references, reference_name)
    return Output(run.system, run.name, read.lines, str(run.seed), read_trees(run.trees(stage)))


def _dev(plan: Plan, records: Records, run: Run, stage: Stage) -> float | None:
    """BLEU on dev, if another text is scored at this stage and dev has been translated."""
    if stage == "dev" or records.finished(run, "dev") is None:
        return None
    _, target = plan.text("dev")
    references = read_references(target)
    output = read_output(run.system, run.translations("dev"), references, str(target))
    tokenise = bleu_tokeniser(references, plan.is_raw)
    return float(bleu_metric(tokenise, references).corpus_score(list(output.lines), None).score)


SHARED_KIND = "word"
"""The one kind of action that all systems share."""


def training_curves(results: Results) -> str:
    """Dev perplexity of subwords over updates: a line for each seed, a colour for each system."""

    from matplotlib.ticker import LogLocator, NullFormatter

    def draw(axes: Any) -> None:
        for style, system in zip(styles(), results.systems(), strict=False):
            for number, result in enumerate(results.of(system)):
                points = [(row["update"], row["perplexity"].get(SHARED_KIND)) for row in result.training["curve"]]
                known = [(update, value) for update, value in points if value is not None]
                label = system if number == 0 else None
                updates, values = [update for update, _ in known], [value for _, value in known]
                axes.plot(updates, values, label=label, **{**style, "linewidth": 1.3, "markersize": 4})
        axes.set(xlabel="updates", ylabel="dev perplexity of subwords", yscale="log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")  # 20, not a power of ten
        axes.yaxis.set_minor_formatter(NullFormatter())

    return save_figure("curves", "Dev perplexity of subwords over updates", draw)


SHORTEST_SAMPLE, LONGEST_SAMPLE = 5, 14
"""The lengths of references to choose: long enough for a tree, short enough for a page."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A line of the test text and each system's translation of it (its first seed)."""

    line: int
    source: str
    reference: str
    translations: tuple[tuple[str, str, Nonterminal | None], ...]
    """System, text, tree."""


def samples(results: Results) -> list[Sample]:
    """As many lines as the experiment asks for, spread over the test text."""
    source, target = results.plan.text(results.stage)
    sources, references = read_texts(source), read_references(target)
    split = word_splitter(results.comparison.word_tokeniser)
    chosen = spread_samples(
        [number for number, text in enumerate(references) if SHORTEST_SAMPLE <= len(split(text)) <= LONGEST_SAMPLE],
        results.plan.experiment.samples,
    )
    outputs = [results.of(system)[0].output for system in results.systems()]
    return [
        Sample(
            number + 1,
            sources[number],
            references[number],
            tuple((output.system, output.lines[number], (output.trees or ())[number]) for output in outputs),
        )
        for number in chosen
    ]


def spread_samples(numbers: Sequence[int], count: int) -> list[int]:
    """`count` of the numbers, evenly spread, or all of them if there are fewer."""
    if count >= len(numbers):
        return list(numbers)
    return [numbers[(2 * place + 1) * len(numbers) // (2 * count)] for place in range(count)]
