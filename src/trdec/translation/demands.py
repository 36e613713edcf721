"""Demands on the translations of lines: their prefixes, their trees, their numbers of words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from trdec.data.codec import Codec
from trdec.errors import UsageError
from trdec.search.constraints import ExactWords, Prefix, Skeleton
from trdec.search.frontiers import WORDS, Effects
from trdec.search.limits import MAX_EXTRA, MAX_RATIO
from trdec.search.state import Constraint
from trdec.targets.actions import ApplyRule
from trdec.translation.source import Source
from trdec.trees.grammar import rules_of
from trdec.trees.tree import Nonterminal

LineItem = TypeVar("LineItem")

MAX_WORDS = MAX_EXTRA
"""The most words of a translation that may be demanded."""

SURROGATE = re.compile("[\\ud800-\\udfff]")


@dataclass(frozen=True, slots=True)
class Demands:
    """For each line: the prefix of its translation, its tree without the words, its number of words.

    An empty prefix, and None for a tree, demand nothing. The number of words is given or is a ratio to the source's.
    """

    prefixes: Sequence[str] | None = None
    skeletons: Sequence[Nonterminal | None] | None = None
    words: int | None = None
    word_ratio: float | None = None

    def __post_init__(self) -> None:
        if self.words is not None and self.word_ratio is not None:
            raise UsageError("the number of words is demanded twice, as a number and as a ratio. Choose one.")
        ratio = self.word_ratio
        if (self.words is not None and not 1 <= self.words <= MAX_WORDS) or (
            ratio is not None and not 0 < ratio <= MAX_RATIO
        ):
            raise UsageError(
                f"expected a number of words from 1 to {MAX_WORDS:,}, or a ratio above 0 and up to {MAX_RATIO:g}, "
                f"found {self.words if ratio is None else ratio}."
            )
        for number, prefix in enumerate(self.prefixes or (), start=1):
            if not prefix.isascii() and (wrong := SURROGATE.search(prefix)):
                raise UsageError(
                    f"prefix {number}: expected Unicode text, found the lone surrogate {wrong[0]!r} at character "
                    f"{wrong.start() + 1}."
                )
        if self.skeletons is not None and (self.words is not None or ratio is not None):
            raise UsageError("a tree without words and a number of words cannot be demanded together. Choose one.")

    def at(self, numbers: Sequence[int]) -> Demands:
        """The demands on the lines with these numbers."""
        return replace(
            self,
            prefixes=_lines(self.prefixes, numbers, "prefixes"),
            skeletons=_lines(self.skeletons, numbers, "skeletons"),
        )

    def constraints(self, codec: Codec, effects: Effects, sources: Sequence[Source]) -> list[Constraint]:
        """The constraints on search for these sources, for each of which there is a demand."""
        found: list[Constraint] = []
        begins = effects.gains[:, WORDS] > 0  # A
        if self.prefixes is not None:
            side = codec.target_side
            found.append(Prefix.of(codec.table, begins, [side.pieces(side.split(line)) for line in self.prefixes]))
        if self.skeletons is not None:
            rules = [[] if tree is None else [ApplyRule(rule) for rule in rules_of(tree)] for tree in self.skeletons]
            known = frozenset(codec.table.actions)
            if missing := next((rule for shape in rules for rule in shape if rule not in known), None):
                raise UsageError(
                    f"the model has no rule {missing}, which the skeleton needs. Take a shape from the trees it writes."
                )
            found.append(Skeleton.of(codec.table, rules))
        if self.words is not None:
            found.append(ExactWords.of(codec.table, begins, [self.words] * len(sources)))
        if self.word_ratio is not None:
            count = codec.source_side.tokeniser.count
            counts = [max(1, round(self.word_ratio * count(source.words))) for source in sources]
            found.append(ExactWords.of(codec.table, begins, counts))
        return found


def _lines(items: Sequence[LineItem] | None, numbers: Sequence[int], what: str) -> list[LineItem] | None:
    if items is None:
        return None
    for number in numbers:
        if number >= len(items):
            raise UsageError(f"there are only {len(items)} {what} for at least {number + 1} lines. Give one per line.")
    return [items[number] for number in numbers]
