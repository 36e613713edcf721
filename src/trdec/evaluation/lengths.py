"""The lengths of translations beside those of their references."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Any

from trdec.evaluation.scores import SplitWords
from trdec.files import split_words


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


def length_differences(
    outputs: Iterable[Sequence[str]], references: Sequence[str], split: SplitWords = split_words
) -> LengthDifferences:
    """The histogram over all outputs of a system."""
    expected = [len(split(reference)) for reference in references]
    counts = Counter(
        len(split(line)) - length for lines in outputs for line, length in zip(lines, expected, strict=True)
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


def count_lengths(
    outputs: Sequence[Sequence[str]], references: Sequence[str], split: SplitWords = split_words
) -> LengthCounts:
    """The lengths in all outputs of a system, and in the references as often as there are outputs."""
    written = Counter(len(split(line)) for lines in outputs for line in lines)
    expected = Counter(len(split(reference)) for reference in references)
    return LengthCounts(
        dict(sorted(written.items())),
        {length: count * len(outputs) for length, count in sorted(expected.items())},
    )


def _words(counts: Mapping[int, int]) -> int:
    return sum(length * count for length, count in counts.items())
