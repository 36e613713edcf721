"""Trees built from the words alone: balanced, branching, ternary, random, phrase, flat, or a function of your own."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from trdec.trees.transforms import rooted
from trdec.trees.tree import NULL, ROOT, Nonterminal, Terminal, Tree


def version_1(words: Sequence[str]) -> Tree:
    """Algorithm 1: the sentence split in half, and its halves again, down to single words."""
    return balanced([Terminal(word) for word in words])


def version_2(words: Sequence[str]) -> Tree:
    """Algorithm 2: consecutive words paired first, then algorithm 1 over the pairs."""
    nodes: list[Tree] = [
        Nonterminal(NULL, (Terminal(first), Terminal(second)))
        for first, second in zip(words[::2], words[1::2], strict=False)
    ]
    if len(words) % 2 == 1:
        nodes.append(Terminal(words[-1]))
    return balanced(nodes)


def balanced(nodes: Sequence[Tree]) -> Tree:
    """Algorithm 1 over any nodes: the left half of an odd number is the larger."""
    # Recursion is safe here: halving a list of n goes log2(n) deep.
    if len(nodes) == 1:
        return nodes[0]
    middle = (len(nodes) + 1) // 2
    return Nonterminal(NULL, (balanced(nodes[:middle]), balanced(nodes[middle:])))


def right_branching(words: Sequence[str]) -> Tree:
    """Each word beside everything after it: (NULL a (NULL b (NULL c d)))."""
    tree: Tree = Terminal(words[-1])
    for word in reversed(words[:-1]):
        tree = Nonterminal(NULL, (Terminal(word), tree))
    return tree


def left_branching(words: Sequence[str]) -> Tree:
    """Each word beside everything before it: (NULL (NULL (NULL a b) c) d)."""
    tree: Tree = Terminal(words[0])
    for word in words[1:]:
        tree = Nonterminal(NULL, (tree, Terminal(word)))
    return tree


def flat(words: Sequence[str]) -> Nonterminal:
    """All words side by side: (ROOT The cat eats fish .)."""
    return Nonterminal(ROOT, tuple(Terminal(word) for word in words))


def phrase(words: Sequence[str]) -> Tree:
    """Algorithm 1 of the paper inside each punctuation-delimited phrase, then over the phrases."""
    return balanced([version_1(part) for part in phrases(words)])


def phrases(words: Sequence[str]) -> list[list[str]]:
    """The sentence cut after closing and before opening punctuation: [After that ,] [he slept .]."""
    parts: list[list[str]] = [[]]
    for word in words:
        opens = _is_opening(word)
        # Punctuation never stands alone: it joins the punctuation before it, as in [he slept . ''].
        after_phrase = bool(parts[-1]) and _is_punctuation(parts[-1][-1]) and not _is_opening(parts[-1][-1])
        if parts[-1] and (opens or (after_phrase and not _is_punctuation(word))):
            parts.append([])
        parts[-1].append(word)
    return parts


def _is_punctuation(word: str) -> bool:
    return all(unicodedata.category(character)[0] in "PS" for character in word) and not word.isalnum()


def _is_opening(word: str) -> bool:
    return word in ("``", "-LRB-", "-LSB-", "-LCB-") or unicodedata.category(word[0]) in ("Ps", "Pi")


def random_binary(words: Sequence[str], generator: Random) -> Tree:
    """The sentence split at a place drawn uniformly, and its parts again, down to single words."""
    # Spans are split top-down, then nodes made bottom-up: the depth may be the sentence's length.
    spans = [(0, len(words))]
    splits: list[int] = []
    for start, end in spans:  # grows while it is read: parents before children
        split = generator.randrange(start + 1, end) if end - start > 1 else start
        splits.append(split)
        if end - start > 1:
            spans += ((start, split), (split, end))
    nodes: dict[tuple[int, int], Tree] = {}
    for (start, end), split in zip(reversed(spans), reversed(splits), strict=True):
        if end - start == 1:
            nodes[start, end] = Terminal(words[start])
        else:
            nodes[start, end] = Nonterminal(NULL, (nodes.pop((start, split)), nodes.pop((split, end))))
    return nodes[0, len(words)]


def ternary(words: Sequence[str]) -> Tree:
    """The sentence split in three parts as even as possible, larger ones first, and its thirds again."""
    if len(words) == 1:
        return Terminal(words[0])
    parts = min(3, len(words))
    size, larger = divmod(len(words), parts)
    ends = [size * part + min(part, larger) for part in range(parts + 1)]
    return Nonterminal(NULL, tuple(ternary(words[start:end]) for start, end in pairwise(ends)))


@dataclass(frozen=True, slots=True)
class Builder:
    """A kind of tree and how to make one from a sentence's words (at least one) and a random generator."""

    description: str
    shape: Callable[[Sequence[str], Random], Tree]
    is_random: bool = True

    def __call__(self, words: Sequence[str], generator: Random) -> Nonterminal:
        """The tree over the words, under ROOT."""
        return rooted(self.shape(words, generator))


def from_words(description: str, shape: Callable[[Sequence[str]], Tree]) -> Builder:
    """A builder that ignores the random generator."""
    return Builder(description, lambda words, _generator: shape(words), is_random=False)


BUILDERS: dict[str, Builder] = {
    "binary-1": from_words("balanced, split in halves (the paper's algorithm 1)", version_1),
    "binary-2": from_words("balanced over pairs of words (the paper's algorithm 2)", version_2),
    "right-branching": from_words("each word beside all after it", right_branching),
    "left-branching": from_words("each word beside all before it", left_branching),
    "ternary": from_words("balanced, split in thirds", ternary),
    "random-binary": Builder("split in two at random places", random_binary),
    "phrase": from_words("balanced inside punctuation-delimited phrases, then over the phrases", phrase),
    "flat": from_words("no structure", flat),
}
