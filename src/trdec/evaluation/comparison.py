"""Systems compared with the first of them: scores, significance, lengths, and the sentences that differ most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from trdec.errors import UsageError
from trdec.evaluation.lengths import (
    BOUNDARIES,
    Bucket,
    LengthCounts,
    LengthDifferences,
    PerBucket,
    bucket_gains,
    bucket_means,
    count_lengths,
    length_buckets,
    length_differences,
)
from trdec.evaluation.scores import (
    Output,
    Scores,
    bleu_metric,
    check_aligned,
    score_texts,
    sentence_scores,
    ter_metric,
    word_splitter,
    word_tokeniser,
)
from trdec.evaluation.significance import SEED, PairedTests, Significance, pair_seeds, without_partner
from trdec.evaluation.trees import TreeScores, score_trees
from trdec.evaluation.word_accuracy import FREQUENCY_GROUPS, WordAccuracy, bleu_splitter, word_accuracy
from trdec.trees.tree import Nonterminal


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
    ter: bool = True
    """Whether TER is computed, which takes longer than everything else: up to tens of milliseconds per sentence, and in
    Chinese, where every character is a word, up to seconds.
    """


@dataclass(frozen=True, slots=True)
class SystemRow:
    """One system: the scores of its outputs, and how it differs from the first system."""

    name: str
    outputs: tuple[str, ...]
    """The names of its outputs, one per seed."""
    scores: tuple[Scores, ...]
    """The scores of each output."""
    difference: float
    """BLEU minus that of the first system, mean over the pairs of outputs with equal seeds: 0 for the first itself."""
    unpaired: tuple[str, ...]
    """The names of outputs, its own or the first system's, whose seed the other does not have."""
    paired: Significance | None
    """Tests of BLEU against the first system; None for the first itself, or if they were not asked for."""
    paired_ter: Significance | None
    """The same of TER."""
    buckets: PerBucket
    """BLEU for each bucket, mean over the seeds."""
    gains: PerBucket
    """BLEU for each bucket minus that of the first system, mean over the same pairs: 0 for the first itself."""
    histogram: LengthDifferences
    lengths: LengthCounts
    words: WordAccuracy | None
    """How well it writes rare and frequent words, if the training text is known."""
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
    def ter_mean(self) -> float | None:
        """Mean TER over the seeds; None if it was not computed."""
        found = self._ter()
        return fmean(found) if found else None

    @property
    def ter_std(self) -> float | None:
        """The sample standard deviation of TER; None for one seed, or if it was not computed."""
        return _std(self._ter())

    def _ter(self) -> list[float]:
        return [scores.ter.score for scores in self.scores if scores.ter is not None]

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
            "ter": None if self.ter_mean is None else {"mean": self.ter_mean, "std": self.ter_std},
            "length_ratio": self.length_ratio,
            "difference": self.difference,
            "unpaired": list(self.unpaired),
            "paired": self.paired.to_json() if self.paired else None,
            "paired_ter": self.paired_ter.to_json() if self.paired_ter else None,
            "buckets": list(self.buckets),
            "gains": list(self.gains),
            "length_differences": self.histogram.to_json(),
            "lengths": self.lengths.to_json(),
            "words": self.words.to_json() if self.words else None,
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
    word_tokeniser: str
    """The tokeniser that finds the words of which lengths are counted; none stands for white space."""

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON has it: plain dictionaries, lists, strings and numbers."""
        options = self.options
        return {
            "sentences": self.sentences,
            "tokenise": options.tokenise,
            "word_tokeniser": self.word_tokeniser,
            "tests": {"samples": options.samples, "trials": options.trials, "seed": options.seed}
            if options.significance
            else None,
            "buckets": [bucket.to_json() for bucket in self.buckets],
            "frequencies": [group.to_json() for group in FREQUENCY_GROUPS] if self.systems[0].words else None,
            "systems": [row.to_json() for row in self.systems],
            "different": [difference.to_json() for difference in self.different],
        }


def compare(
    references: Sequence[str],
    outputs: Sequence[Output],
    options: ComparisonOptions = ComparisonOptions(),  # noqa: B008  (frozen)
    reference_trees: Sequence[Nonterminal | None] | None = None,
    training_counts: Mapping[str, int] | None = None,
) -> Comparison:
    """The systems of the outputs, compared; outputs of the same system are its seeds.

    A single system has no gains and no tests. `training_counts` says how often each word occurs in the training text.
    """
    by_system: dict[str, list[Output]] = {}
    for output in outputs:
        check_aligned(output.name, len(output.lines), "the references", len(references))
        by_system.setdefault(output.system, []).append(output)
    if not by_system:
        raise UsageError("expected the outputs of at least one system, found none.")
    words_by = word_tokeniser(references, options.tokenise)
    split_lengths = word_splitter(words_by)
    expected = [len(split_lengths(line)) for line in references]
    buckets = length_buckets(expected, options.boundaries)
    first = next(iter(by_system.values()))
    numbers = (options.samples, options.trials, options.seed)
    tests = PairedTests(bleu_metric(options.tokenise, references), *numbers)
    ter = ter_metric(references, options.tokenise) if options.ter else None
    ter_tests = PairedTests(ter, *numbers) if ter else None
    split = bleu_splitter(options.tokenise)
    systems: list[SystemRow] = []
    scores: dict[int, Scores] = {}  # of each output, by its identity
    in_buckets: dict[int, PerBucket] = {}
    for name, seeds in by_system.items():
        lines = [seed.lines for seed in seeds]
        written = [[len(split_lengths(line)) for line in seed.lines] for seed in seeds]
        for seed in seeds:
            scores[id(seed)] = score_texts(seed.lines, references, options.tokenise, options.ter)
            in_buckets[id(seed)] = bucket_bleu(seed.lines, references, buckets, options.tokenise)
        pairs = [(seed, seed) for seed in first] if seeds is first else pair_seeds(first, seeds)
        unpaired = without_partner([*first, *seeds], pairs)
        paired = paired_ter = None
        if seeds is not first and options.significance:
            paired = tests.test_pairs(pairs, unpaired)
            paired_ter = ter_tests.test_pairs(pairs, unpaired) if ter_tests else None
        systems.append(
            SystemRow(
                name=name,
                outputs=tuple(seed.name for seed in seeds),
                scores=tuple(scores[id(seed)] for seed in seeds),
                difference=fmean(scores[id(ours)].bleu.score - scores[id(theirs)].bleu.score for theirs, ours in pairs),
                unpaired=tuple(output.name for output in unpaired),
                paired=paired,
                paired_ter=paired_ter,
                buckets=bucket_means([in_buckets[id(seed)] for seed in seeds]),
                gains=bucket_gains((in_buckets[id(theirs)], in_buckets[id(ours)]) for theirs, ours in pairs),
                histogram=length_differences(written, expected),
                lengths=count_lengths(written, expected),
                words=None if training_counts is None else word_accuracy(lines, references, training_counts, split),
                trees=_tree_scores(seeds, reference_trees),
            )
        )
    different = most_different(references, [seeds[0].lines for seeds in by_system.values()], options.examples)
    return Comparison(len(references), tuple(systems), buckets, different, options, words_by)


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
