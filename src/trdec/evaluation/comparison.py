"""Systems compared with the first of them: scores, significance, lengths, and the sentences that differ most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, pstdev, stdev
from typing import Any

from trdec.errors import UsageError
from trdec.evaluation.scores import Output, Scores, bleu_metric, check_aligned, score_texts, sentence_scores
from trdec.evaluation.significance import SEED, PairedTests, Significance, pair_seeds
from trdec.evaluation.trees import TreeScores, score_trees
from trdec.files import split_words
from trdec.trees.tree import Nonterminal

BOUNDARIES = (10, 20, 30, 40)
"""The longest reference, in words, in each bucket but the last."""


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
    """The names of its outputs, one per seed."""
    scores: tuple[Scores, ...]
    """The scores of each output."""
    difference: float
    """Mean BLEU minus that of the first system: 0 for the first itself."""
    paired: Significance | None
    """Tests against the first system; None for the first itself, or if they were not asked for."""
    buckets: PerBucket
    """BLEU for each bucket, mean over the seeds."""
    gains: PerBucket
    """The same minus that of the first system: 0 for the first itself."""
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
    """Systems in the order in which they were first named; the others are compared with the first."""

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
    """The systems of the outputs, compared; outputs of the same system are its seeds.

    A single system has only its scores, buckets and lengths.
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


@dataclass(frozen=True, slots=True)
class Bucket:
    """The sentences whose references have from `shortest` to `longest` words; the last bucket has no longest."""

    shortest: int
    longest: int | None
    sentences: tuple[int, ...]
    """Their numbers, from 0."""

    @property
    def label(self) -> str:
        """The bucket as tables and figures name it: 11-20, or 41+."""
        return f"{self.shortest}+" if self.longest is None else f"{self.shortest}-{self.longest}"

    def to_json(self) -> dict[str, Any]:
        """The bucket as JSON has it."""
        return {"shortest": self.shortest, "longest": self.longest, "sentences": len(self.sentences)}


def length_buckets(references: Sequence[str], boundaries: Sequence[int] = BOUNDARIES) -> tuple[Bucket, ...]:
    """Buckets of sentences by the length of their references in words; some may be empty."""
    if not boundaries or boundaries[0] < 1 or any(low >= high for low, high in pairwise(boundaries)):
        raise UsageError(
            "expected the longest lengths of buckets, ascending and at least 1 (such as 10,20,30,40), "
            f"found {','.join(map(str, boundaries)) or 'none'}."
        )
    lengths = [len(split_words(reference)) for reference in references]
    # A reference without words belongs to the first bucket, so that every sentence belongs to one.
    edges = [-1, *boundaries]
    return tuple(
        Bucket(
            max(1, low + 1),
            high,
            tuple(number for number, length in enumerate(lengths) if low < length and (high is None or length <= high)),
        )
        for low, high in zip(edges, [*boundaries, None], strict=True)
    )


def bucket_bleu(
    hypotheses: Sequence[str], references: Sequence[str], buckets: Iterable[Bucket], tokenise: str = "none"
) -> tuple[float | None, ...]:
    """Corpus BLEU of each bucket's sentences; None for a bucket without sentences."""
    bleu = bleu_metric(tokenise)
    return tuple(
        bleu.corpus_score(
            [hypotheses[number] for number in bucket.sentences], [[references[number] for number in bucket.sentences]]
        ).score
        if bucket.sentences
        else None
        for bucket in buckets
    )


@dataclass(frozen=True, slots=True)
class LengthDifferences:
    """How many sentences have how many words more (or fewer, below 0) than their references."""

    counts: Mapping[int, int]

    @property
    def sentences(self) -> int:
        """How many sentences were counted; those of several seeds count several times."""
        return sum(self.counts.values())

    @property
    def mean(self) -> float:
        """The mean difference."""
        return fmean(self._differences())

    @property
    def std(self) -> float:
        """The standard deviation of the differences: how spread out they are."""
        return pstdev(self._differences())

    def share(self, low: int | None, high: int | None) -> float:
        """The share of sentences whose difference is from low to high, both included; None is no limit."""
        inside = (
            count
            for difference, count in self.counts.items()
            if (low is None or difference >= low) and (high is None or difference <= high)
        )
        return sum(inside) / self.sentences

    def _differences(self) -> list[int]:
        return [difference for difference, count in self.counts.items() for _ in range(count)]

    def to_json(self) -> dict[str, Any]:
        """The histogram as JSON has it."""
        counts = {str(difference): count for difference, count in self.counts.items()}
        return {"mean": self.mean, "std": self.std, "counts": counts}


def length_differences(outputs: Iterable[Sequence[str]], references: Sequence[str]) -> LengthDifferences:
    """The histogram over all outputs of a system."""
    expected = [len(split_words(reference)) for reference in references]
    counts = Counter(
        len(split_words(line)) - length for lines in outputs for line, length in zip(lines, expected, strict=True)
    )
    return LengthDifferences(dict(sorted(counts.items())))


@dataclass(frozen=True, slots=True)
class Difference:
    """A sentence on which the systems differ."""

    index: int
    """The number of its line, from 1."""
    spread: float
    """The best sentence chrF++ minus the worst."""
    reference: str
    texts: tuple[str, ...]
    """What each system wrote, its first seed."""
    scores: tuple[float, ...]
    """Sentence chrF++ of each."""

    def to_json(self) -> dict[str, Any]:
        """The sentence as JSON has it."""
        translations = [{"text": text, "chrf": score} for text, score in zip(self.texts, self.scores, strict=True)]
        return {
            "line": self.index,
            "spread": self.spread,
            "reference": self.reference,
            "translations": translations,
        }


def most_different(references: Sequence[str], systems: Sequence[Sequence[str]], number: int) -> tuple[Difference, ...]:
    """The sentences with the widest spread of sentence chrF++; equal scores are no difference."""
    if not number:
        return ()
    scores = list(zip(*(sentence_scores(lines, references) for lines in systems), strict=True))
    spreads = [max(row) - min(row) for row in scores]
    found = sorted((index for index, spread in enumerate(spreads) if spread > 0), key=lambda index: -spreads[index])
    return tuple(
        Difference(
            index + 1, spreads[index], references[index], tuple(lines[index] for lines in systems), scores[index]
        )
        for index in found[:number]
    )


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
