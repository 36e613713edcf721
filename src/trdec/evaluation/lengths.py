"""The lengths of translations beside those of their references, all counted in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, pstdev
from typing import Any, Protocol

from trdec.errors import UsageError

BOUNDARIES = (10, 20, 30, 40)
"""The longest reference, in words, in each bucket but the last."""

PerBucket = tuple[float | None, ...]
"""A figure for each bucket; None for a bucket without sentences."""


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


def length_buckets(references: Sequence[int], boundaries: Sequence[int] = BOUNDARIES) -> tuple[Bucket, ...]:
    """Buckets of sentences by the length of their references; some may be empty."""
    if not boundaries or boundaries[0] < 1 or any(low >= high for low, high in pairwise(boundaries)):
        raise UsageError(
            "expected the longest lengths of buckets, ascending and at least 1 (such as 10,20,30,40), "
            f"found {','.join(map(str, boundaries)) or 'none'}."
        )
    # A reference without words belongs to the first bucket, so that every sentence belongs to one.
    edges = [-1, *boundaries]
    return tuple(
        Bucket(
            max(1, low + 1),
            high,
            tuple(
                number for number, length in enumerate(references) if low < length and (high is None or length <= high)
            ),
        )
        for low, high in zip(edges, [*boundaries, None], strict=True)
    )


def bucket_means(rows: Iterable[PerBucket]) -> PerBucket:
    """The mean of each bucket over the outputs that have sentences in it."""
    columns = ([value for value in column if value is not None] for column in zip(*rows, strict=True))
    return tuple(fmean(column) if column else None for column in columns)


def bucket_gains(pairs: Iterable[tuple[PerBucket, PerBucket]]) -> PerBucket:
    """What the second of each pair has more than the first, mean over the pairs."""
    return bucket_means(
        tuple(None if value is None or base is None else value - base for base, value in zip(*pair, strict=True))
        for pair in pairs
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

    @property
    def mean_absolute(self) -> float:
        """The mean difference in either direction: how many words a translation is away from its reference."""
        return fmean(map(abs, self._differences()))

    @property
    def exact(self) -> int:
        """Sentences with exactly as many words as their references."""
        return self.counts.get(0, 0)

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
        return {
            "mean": self.mean,
            "std": self.std,
            "mean_absolute": self.mean_absolute,
            "exact": self.exact,
            "counts": counts,
        }


def length_differences(outputs: Iterable[Sequence[int]], references: Sequence[int]) -> LengthDifferences:
    """The histogram over all outputs of a system, from the length of each sentence."""
    counts = Counter(
        length - expected for lengths in outputs for length, expected in zip(lengths, references, strict=True)
    )
    return LengthDifferences(dict(sorted(counts.items())))


@dataclass(frozen=True, slots=True)
class OverusedLength:
    """A length that more translations have than references."""

    length: int
    outputs: int
    """Translations of this length."""
    references: int
    """References of this length."""

    def to_json(self) -> dict[str, Any]:
        """The length and its counts as JSON has them."""
        return {"length": self.length, "outputs": self.outputs, "references": self.references}


@dataclass(frozen=True, slots=True)
class LengthCounts:
    """How many translations, and how many references, have how many words; references count once for each seed."""

    outputs: Mapping[int, int]
    references: Mapping[int, int]

    @property
    def sentences(self) -> int:
        """How many sentences were counted; those of several seeds count several times."""
        return sum(self.outputs.values())

    @property
    def ratio(self) -> float:
        """Words in all translations for each word in the references, which must have some."""
        return _words(self.outputs) / _words(self.references)

    @property
    def overused(self) -> OverusedLength | None:
        """The length that most exceeds its number of references; None if translations and references have the same."""
        excess = {length: count - self.references.get(length, 0) for length, count in self.outputs.items()}
        length = min(excess, key=lambda length: (-excess[length], length))
        if excess[length] <= 0:
            return None
        return OverusedLength(length, self.outputs[length], self.references.get(length, 0))

    def to_json(self) -> dict[str, Any]:
        """The counts and what follows from them, as JSON has them."""
        return {
            "ratio": self.ratio,
            "overused": self.overused.to_json() if self.overused else None,
            "outputs": {str(length): count for length, count in self.outputs.items()},
            "references": {str(length): count for length, count in self.references.items()},
        }


def count_lengths(outputs: Sequence[Sequence[int]], references: Sequence[int]) -> LengthCounts:
    """The lengths in all outputs of a system, and in the references as often as there are outputs."""
    written = Counter(length for lengths in outputs for length in lengths)
    expected = Counter(references)
    return LengthCounts(
        dict(sorted(written.items())),
        {length: count * len(outputs) for length, count in sorted(expected.items())},
    )


def _words(counts: Mapping[int, int]) -> int:
    return sum(length * count for length, count in counts.items())


class LengthRow(Protocol):
    """One system, by length."""

    @property
    def name(self) -> str:
        """The system's."""

    @property
    def buckets(self) -> PerBucket:
        """BLEU for each bucket, mean over the seeds."""

    @property
    def gains(self) -> PerBucket:
        """BLEU for each bucket minus that of the first system, mean over the pairs of equal seeds."""

    @property
    def histogram(self) -> LengthDifferences:
        """How many words more or fewer than the references."""

    @property
    def lengths(self) -> LengthCounts:
        """How many sentences have how many words."""


class ByLength(Protocol):
    """Systems by length: all that the paper's figures 4 and 5 show."""

    @property
    def systems(self) -> Sequence[LengthRow]:
        """The others are compared with the first."""

    @property
    def buckets(self) -> Sequence[Bucket]:
        """The sentences of each bucket."""

    @property
    def word_tokeniser(self) -> str:
        """The tokeniser that finds the words that are counted; none stands for white space."""
