"""Demands on the translations of lines: their prefixes, their trees, their numbers of words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TypeVar

from torch import Tensor

from trdec.data.codec import Codec
from trdec.errors import Place, UsageError
from trdec.search.constraints import ExactWords, Prefix, Skeleton
from trdec.search.frontiers import WORDS, Effects
from trdec.search.limits import MAX_EXTRA, MAX_RATIO
from trdec.search.state import Constraint
from trdec.targets.actions import ApplyRule, EmitWord
from trdec.tokenisers import SPACES, WORD_START
from trdec.translation.source import Source
from trdec.trees.grammar import rules_of
from trdec.trees.transforms import rooted
from trdec.trees.tree import Entry, Nonterminal
from trdec.trees.treebank import checked

LineItem = TypeVar("LineItem")

MAX_WORDS = MAX_EXTRA
"""The most words of a translation that may be demanded."""

SURROGATE = re.compile("[\\ud800-\\udfff]")

_SPACE = re.compile(f"[{WORD_START}{SPACES}]")


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
        if self.skeletons is not None:
            written = [_as_written(number, tree) for number, tree in enumerate(self.skeletons, start=1)]
            object.__setattr__(self, "skeletons", written)
        if self.skeletons is not None and (self.words is not None or ratio is not None):
            raise UsageError("a tree without words and a number of words cannot be demanded together. Choose one.")

    def at(self, numbers: Sequence[int]) -> Demands:
        """The demands on the lines with these numbers."""
        return replace(
            self,
            prefixes=_lines(self.prefixes, numbers, "prefixes"),
            skeletons=_lines(self.skeletons, numbers, "skeletons"),
        )

    def check_count(self, lines: int) -> None:
        """Refuse demands for another number of lines than this."""
        for items, what in ((self.prefixes, "prefixes"), (self.skeletons, "skeletons")):
            if items is not None and len(items) != lines:
                raise UsageError(
                    f"expected as many {what} as lines to translate ({lines}), found {len(items)}. Give one per line, "
                    "in their order."
                )

    def constraints(self, codec: Codec, effects: Effects, sources: Sequence[Source]) -> list[Constraint]:
        """The constraints on search for these sources, for each of which there is a demand."""
        found: list[Constraint] = []
        begins = effects.gains[:, WORDS] > 0  # A
        side = codec.target_side
        counts = self._counts(codec, sources)
        if self.prefixes is not None:
            prefixes = [[side.subwords.split(word) for word in side.split(line)] for line in self.prefixes]
            _check_prefixes(codec, begins, self.prefixes, prefixes, counts)
            found.append(Prefix.of(codec.table, prefixes, _continues(codec, begins)))
        if self.skeletons is not None:
            rules = [[] if tree is None else [ApplyRule(rule) for rule in rules_of(tree)] for tree in self.skeletons]
            found.append(Skeleton.of(codec.table, rules))
        if counts is not None:
            exact = ExactWords.of_raw if side.tokeniser.marks_spaces else ExactWords.of
            found.append(exact(codec.table, begins, counts))
        return found

    def _counts(self, codec: Codec, sources: Sequence[Source]) -> list[int] | None:
        """The number of words demanded for each source; None if none is."""
        if self.words is not None:
            return [self.words] * len(sources)
        if self.word_ratio is None:
            return None
        count = codec.source_side.tokeniser.count
        return [max(1, round(self.word_ratio * count(source.words))) for source in sources]


def _check_prefixes(
    codec: Codec,
    begins: Tensor,
    lines: Sequence[str],
    prefixes: Sequence[Sequence[Sequence[str]]],
    counts: Sequence[int] | None,
) -> None:
    """Refuse prefixes that no translation can begin with."""
    begin: list[bool] = begins.tolist()
    for number, (line, words) in enumerate(zip(lines, prefixes, strict=True)):
        actions = [codec.table.number(EmitWord(piece)) for word in words for piece in word]
        if codec.unknown_action in actions:
            piece = [piece for word in words for piece in word][actions.index(codec.unknown_action)]
            raise UsageError(
                f"the prefix {line!r}: expected text that the model can write, found {piece!r}, which it never saw."
            )
        first = sum(begin[action] for action in actions)
        if counts is not None and first > counts[number]:
            raise UsageError(
                f"the prefix {line!r}: expected at most {counts[number]} words, as demanded, found {first}."
            )


def _as_written(number: int, tree: Nonterminal | None) -> Nonterminal | None:
    """The skeleton under a ROOT, as the trees that models write are; an error if it has a reserved label."""
    entry = checked(Entry(Place("skeletons", number), None if tree is None else rooted(tree)))
    if entry.error is not None:
        raise entry.error
    return entry.tree


def _continues(codec: Codec, begins: Tensor) -> Callable[[str, str], bool]:
    """Whether a piece continues the last word of the text before it."""
    tokeniser = codec.target_side.tokeniser
    if not tokeniser.marks_spaces:
        first = {str(codec.table.actions[number]) for number in begins.nonzero().squeeze(1).tolist()}
        return lambda _text, piece: piece not in first

    def within_word(text: str, piece: str) -> bool:
        """Whether the tokeniser finds no border between the two; it looks no further back than the last space."""
        last = _SPACE.split(text)[-1]
        words = tokeniser.words_of(last + piece)
        return not _SPACE.match(piece) and len(last) not in accumulate(map(len, words))

    return within_word


def _lines(items: Sequence[LineItem] | None, numbers: Sequence[int], what: str) -> list[LineItem] | None:
    if items is None:
        return None
    for number in numbers:
        if number >= len(items):
            raise UsageError(f"there are only {len(items)} {what} for at least {number + 1} lines. Give one per line.")
    return [items[number] for number in numbers]
