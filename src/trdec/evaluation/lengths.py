"""The paper's two analyses by length: BLEU by the reference's length, and how much longer translations are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, pstdev
from typing import Any

from trdec.errors import UsageError
from trdec.evaluation.scores import bleu_metric
from trdec.text.lines import split_words

BOUNDARIES = (10, 20, 30, 40)
"""The greatest length of each bucket but the last."""


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
    """Buckets that part the sentences by the length of their references in words; some may be empty."""
    if not boundaries or boundaries[0] < 1 or any(low >= high for low, high in pairwise(boundaries)):
        raise UsageError(
            "expected the greatest lengths of buckets, from small to large and at least 1 (such as 10,20,30,40), "
            f"found {','.join(map(str, boundaries)) or 'none'}."
        )
    lengths = [len(split_words(reference)) for reference in references]
    # A reference without words stands in the first bucket, so that every sentence stands in one.
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
