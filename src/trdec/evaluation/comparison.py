"""Several systems on one test set: their scores, and how each differs from the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from trdec.errors import UsageError
from trdec.evaluation.differences import Difference, most_different
from trdec.evaluation.lengths import (
    BOUNDARIES,
    Bucket,
    LengthDifferences,
    bucket_bleu,
    length_buckets,
    length_differences,
)
from trdec.evaluation.outputs import Output, check_aligned
from trdec.evaluation.scores import Scores, score_texts
from trdec.evaluation.significance import SEED, PairedTests, Significance, pair_seeds
from trdec.evaluation.tree_scores import TreeScores, score_trees
from trdec.trees.tree import Nonterminal

PerBucket = tuple[float | None, ...]
"""A figure for each bucket; None for a bucket without sentences."""


@dataclass(frozen=True, slots=True)
class ComparisonOptions:
    """How systems are compared."""

    tokenise: str = "none"
    significance: bool = True
    samples: int = 1000
    trials: int = 10_000
    seed: int = SEED
    boundaries: tuple[int, ...] = BOUNDARIES
    examples: int = 10
    """How many sentences to show on which the systems differ most."""


@dataclass(frozen=True, slots=True)
class SystemRow:
    """One system: the scores of its outputs, and how it differs from the first system."""

    name: str
    outputs: tuple[str, ...]
    """The names of its outputs, one a seed."""
    scores: tuple[Scores, ...]
    """The scores of each output."""
    difference: float
    """Mean BLEU less that of the first system: 0 for the first itself."""
    paired: Significance | None
    """Tests against the first system; None for the first itself, or if they were not asked for."""
    buckets: PerBucket
    """BLEU for each bucket, mean over the seeds."""
    gains: PerBucket
    """The same less that of the first system: 0 for the first itself."""
    histogram: LengthDifferences
    trees: TreeScores | None
    """Figures over the trees of all its outputs, if these have trees."""

    @property
    def mean(self) -> float:
        """Mean BLEU over the seeds."""
        return fmean(scores.bleu.score for scores in self.scores)

    @property
    def std(self) -> float | None:
        """The sample standard deviation of BLEU; None for one seed."""
        return _std([scores.bleu.score for scores in self.scores])

    @property
    def chrf_mean(self) -> float:
        """Mean chrF++ over the seeds."""
        return fmean(scores.chrf.score for scores in self.scores)

    @property
    def chrf_std(self) -> float | None:
        """The sample standard deviation of chrF++; None for one seed."""
        return _std([scores.chrf.score for scores in self.scores])

    @property
    def length_ratio(self) -> float:
        """Mean length ratio over the seeds."""
        return fmean(scores.length_ratio for scores in self.scores)

    def to_json(self) -> dict[str, Any]:
        """The row as JSON has it."""
        outputs = zip(self.outputs, self.scores, strict=True)
        return {
            "name": self.name,
            "outputs": [{"name": name, **scores.to_json()} for name, scores in outputs],
            "bleu": {"mean": self.mean, "std": self.std},
            "chrf": {"mean": self.chrf_mean, "std": self.chrf_std},
            "length_ratio": self.length_ratio,
            "difference": self.difference,
            "paired": self.paired.to_json() if self.paired else None,
            "buckets": list(self.buckets),
            "gains": list(self.gains),
            "length_differences": self.histogram.to_json(),
            "trees": self.trees.to_json() if self.trees else None,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """Systems in the order in which they were first named; the first is what the others are held against."""

    sentences: int
    systems: tuple[SystemRow, ...]
    buckets: tuple[Bucket, ...]
    different: tuple[Difference, ...]
    """The sentences on which systems differ most, the most different first."""
    options: ComparisonOptions

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON has it: plain dictionaries, lists, strings and numbers."""
        options = self.options
        return {
            "sentences": self.sentences,
            "tokenise": options.tokenise,
            "tests": {"samples": options.samples, "trials": options.trials, "seed": options.seed}
            if options.significance
            else None,
            "buckets": [bucket.to_json() for bucket in self.buckets],
            "systems": [row.to_json() for row in self.systems],
            "different": [difference.to_json() for difference in self.different],
        }


def compare(
    references: Sequence[str],
    outputs: Sequence[Output],
    options: ComparisonOptions = ComparisonOptions(),  # noqa: B008  (frozen)
    reference_trees: Sequence[Nonterminal | None] | None = None,
) -> Comparison:
    """The systems of the outputs, compared; outputs that name the same system are its seeds.

    One system by itself is compared with nothing: it has its scores, buckets and lengths.
    """
    by_system: dict[str, list[Output]] = {}
    for output in outputs:
        check_aligned(output.name, len(output.lines), "the references", len(references))
        by_system.setdefault(output.system, []).append(output)
    if not by_system:
        raise UsageError("expected the outputs of at least one system, found none.")
    buckets = length_buckets(references, options.boundaries)
    first = next(iter(by_system.values()))
    tests = PairedTests(references, options.tokenise, options.samples, options.trials, options.seed)
    systems: list[SystemRow] = []
    for name, seeds in by_system.items():
        scores = tuple(score_texts(seed.lines, references, options.tokenise) for seed in seeds)
        bleu = _means([bucket_bleu(seed.lines, references, buckets, options.tokenise) for seed in seeds])
        base = systems[0] if systems else None
        paired = None
        if base is not None and options.significance:
            paired = Significance(tuple(tests.test(*pair) for pair in pair_seeds(first, seeds)))
        systems.append(
            SystemRow(
                name=name,
                outputs=tuple(seed.name for seed in seeds),
                scores=scores,
                difference=fmean(score.bleu.score for score in scores) - base.mean if base else 0.0,
                paired=paired,
                buckets=bleu,
                gains=_less(bleu, base.buckets if base else bleu),
                histogram=length_differences([seed.lines for seed in seeds], references),
                trees=_tree_scores(seeds, reference_trees),
            )
        )
    different = most_different(references, [seeds[0].lines for seeds in by_system.values()], options.examples)
    return Comparison(len(references), tuple(systems), buckets, different, options)


def _tree_scores(seeds: Sequence[Output], reference_trees: Sequence[Nonterminal | None] | None) -> TreeScores | None:
    with_trees = [seed for seed in seeds if seed.trees is not None]
    if not with_trees:
        return None
    return score_trees(
        [tree for seed in with_trees for tree in seed.trees or ()],
        [line for seed in with_trees for line in seed.lines],
        None if reference_trees is None else [*reference_trees] * len(with_trees),
    )


def _std(values: Sequence[float]) -> float | None:
    return stdev(values) if len(values) > 1 else None


def _means(rows: Sequence[PerBucket]) -> PerBucket:
    columns = ([value for value in column if value is not None] for column in zip(*rows, strict=True))
    return tuple(fmean(column) if column else None for column in columns)


def _less(values: PerBucket, base: PerBucket) -> PerBucket:
    pairs = zip(values, base, strict=True)
    return tuple(None if value is None or other is None else value - other for value, other in pairs)
