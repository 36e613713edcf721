"""How well a system writes rare and frequent words: F1 of words by how often the training text has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trdec.evaluation.scores import SPACED, SplitWords, bleu_metric, word_splitter
from trdec.evaluation.trees import Agreement
from trdec.files import split_words


@dataclass(frozen=True, slots=True)
class FrequencyGroup:
    """Words that occur from `fewest` to `most` times in the training text; the last group has no most."""

    fewest: int
    most: int | None

    @property
    def label(self) -> str:
        """The group as tables and figures name it: 0, 3-4, or 1000+."""
        if self.most is None:
            return f"{self.fewest}+"
        return str(self.fewest) if self.fewest == self.most else f"{self.fewest}-{self.most}"

    def __contains__(self, count: int) -> bool:
        return self.fewest <= count and (self.most is None or count <= self.most)

    def to_json(self) -> dict[str, Any]:
        """The group as JSON has it."""
        return {"fewest": self.fewest, "most": self.most}


FREQUENCY_GROUPS = tuple(
    FrequencyGroup(fewest, most)
    for fewest, most in ((0, 0), (1, 1), (2, 2), (3, 4), (5, 9), (10, 99), (100, 999), (1000, None))
)
"""The groups that are compared: every word belongs to one of them."""


@dataclass(frozen=True, slots=True)
class WordAccuracy:
    """Words that a system wrote, that the references have, and that both have, for each of the groups."""

    groups: tuple[Agreement, ...]

    @property
    def total(self) -> Agreement:
        """All words, whatever their frequency."""
        return Agreement(
            matched=sum(group.matched for group in self.groups),
            found=sum(group.found for group in self.groups),
            expected=sum(group.expected for group in self.groups),
        )

    def to_json(self) -> dict[str, Any]:
        """The groups and their total as JSON has them."""
        return {"groups": [group.to_json() for group in self.groups], "total": self.total.to_json()}


def bleu_splitter(tokenise: str = "none") -> SplitWords:
    """Splits lines into words as BLEU with this tokeniser does; tokenised text is split at ASCII whitespace."""
    if tokenise not in SPACED:
        return word_splitter(tokenise)
    tokeniser = bleu_metric(tokenise).tokenizer
    return lambda line: split_words(tokeniser(line))


def count_words(lines: Iterable[str], split: SplitWords = split_words) -> Counter[str]:
    """How often each word occurs in a text."""
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(split(line))
    return counts


def word_accuracy(
    outputs: Iterable[Sequence[str]],
    references: Sequence[str],
    training_counts: Mapping[str, int],
    split: SplitWords = split_words,
) -> WordAccuracy:
    """The accuracy of a system's outputs, counted over all of them.

    As in compare-mt, a word of the output matches if the reference of that sentence has it, wherever it stands, and
    at most as often as the reference has it.
    """
    expected = [Counter(split(reference)) for reference in references]
    sums: dict[str, Counter[str]] = {name: Counter() for name in ("matched", "found", "expected")}
    for lines in outputs:
        for line, wanted in zip(lines, expected, strict=True):
            written = Counter(split(line))
            sums["matched"].update(written & wanted)
            sums["found"].update(written)
            sums["expected"].update(wanted)
    return WordAccuracy(
        tuple(
            Agreement(**{name: _sum_in(group, counts, training_counts) for name, counts in sums.items()})
            for group in FREQUENCY_GROUPS
        )
    )


def _sum_in(group: FrequencyGroup, counts: Counter[str], training_counts: Mapping[str, int]) -> int:
    return sum(count for word, count in counts.items() if training_counts.get(word, 0) in group)
