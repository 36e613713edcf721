"""Scores without text: what BLEU counts in each sentence is all that BLEU and its paired tests need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sacrebleu.metrics.bleu import BLEU

from trdec.evaluation.lengths import (
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
from trdec.evaluation.scores import Output, bleu_metric
from trdec.evaluation.significance import pair_seeds

NUMBERS = 10
"""Of each sentence: the words of the translation and of the reference; of its n-grams with n from 1 to 4, how many the
reference has, and how many there are.
"""


def count_sentences(lines: Sequence[str], references: Sequence[str], tokenise: str = "none") -> tuple[str, ...]:
    """What BLEU counts in each line, as numbers with spaces between them."""
    metric = bleu_metric(tokenise, references)
    return tuple(" ".join(map(str, counts)) for counts in metric._extract_corpus_statistics(list(lines), None))


class CountedBLEU(BLEU):
    """sacreBLEU's BLEU of lines that hold what it counts in each sentence instead of the sentence."""

    def __init__(self, tokenise: str = "none") -> None:
        # The text was split into words where it was counted: the tokeniser, which may not be installed here, is a name.
        super().__init__(tokenize="none", force=True)
        self.tokenizer_signature = tokenise
        self.num_refs = 1

    def _extract_corpus_statistics(self, hypotheses: Sequence[str], references: Any) -> list[list[int]]:  # noqa: ARG002
        return [[int(number) for number in line.split()] for line in hypotheses]

    def of(self, lines: Sequence[str]) -> float:
        """The score of the whole text."""
        return float(self._aggregate_and_compute(self._extract_corpus_statistics(lines, None)).score)


@dataclass(frozen=True, slots=True)
class CountedRow:
    """One system by length (lengths.LengthRow)."""

    name: str
    buckets: PerBucket
    gains: PerBucket
    histogram: LengthDifferences
    lengths: LengthCounts


@dataclass(frozen=True, slots=True)
class CountedByLength:
    """Systems by length (lengths.ByLength)."""

    systems: tuple[CountedRow, ...]
    buckets: tuple[Bucket, ...]
    word_tokeniser: str


def counted_by_length(systems: Mapping[str, Sequence[Output]], tokenise: str) -> CountedByLength:
    """Systems, each with its seeds, by length; the lines of an output are what BLEU counts in each sentence."""
    metric = CountedBLEU(tokenise)
    first = next(iter(systems.values()))
    expected = reference_lengths(first[0].lines)
    buckets = length_buckets(expected)
    bleu = {id(output): _bucket_bleu(metric, output, buckets) for seeds in systems.values() for output in seeds}
    rows = []
    for name, seeds in systems.items():
        written = [_column(output.lines, 0) for output in seeds]
        pairs = [(output, output) for output in first] if seeds is first else pair_seeds(first, seeds)
        rows.append(
            CountedRow(
                name=name,
                buckets=bucket_means(bleu[id(output)] for output in seeds),
                gains=bucket_gains((bleu[id(theirs)], bleu[id(ours)]) for theirs, ours in pairs),
                histogram=length_differences(written, expected),
                lengths=count_lengths(written, expected),
            )
        )
    return CountedByLength(tuple(rows), buckets, tokenise)


def reference_lengths(lines: Sequence[str]) -> list[int]:
    """The words of each reference."""
    return _column(lines, 1)


def _column(lines: Sequence[str], place: int) -> list[int]:
    return [int(line.split()[place]) for line in lines]


def _bucket_bleu(metric: CountedBLEU, output: Output, buckets: Iterable[Bucket]) -> PerBucket:
    return tuple(
        metric.of([output.lines[number] for number in bucket.sentences]) if bucket.sentences else None
        for bucket in buckets
    )
