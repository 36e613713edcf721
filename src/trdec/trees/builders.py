"""Every kind of tree that needs nothing but the words, each one row of one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from trdec.trees.binary import version_1, version_2
from trdec.trees.branching import left_branching, right_branching
from trdec.trees.flat import flat
from trdec.trees.phrase import phrase
from trdec.trees.random_binary import random_binary
from trdec.trees.ternary import ternary
from trdec.trees.transform import rooted
from trdec.trees.tree import Nonterminal, Tree


@dataclass(frozen=True, slots=True)
class Builder:
    """A kind of tree and how to make one from a sentence's words (at least one) and a random generator."""

    description: str
    shape: Callable[[Sequence[str], Random], Tree]

    def __call__(self, words: Sequence[str], generator: Random) -> Nonterminal:
        """The tree over the words, under ROOT."""
        return rooted(self.shape(words, generator))


def from_words(description: str, shape: Callable[[Sequence[str]], Tree]) -> Builder:
    """A builder that leaves nothing to chance."""
    return Builder(description, lambda words, _generator: shape(words))


BUILDERS: dict[str, Builder] = {
    "binary-1": from_words("balanced, split in halves (the paper's algorithm 1)", version_1),
    "binary-2": from_words("balanced over pairs of words (the paper's algorithm 2)", version_2),
    "right-branching": from_words("each word beside all after it", right_branching),
    "left-branching": from_words("each word beside all before it", left_branching),
    "ternary": from_words("balanced, split in thirds", ternary),
    "random-binary": Builder("split in two at random places (--seed)", random_binary),
    "phrase": from_words("balanced inside punctuation-delimited phrases, then over the phrases", phrase),
    "flat": from_words("no structure", flat),
}
