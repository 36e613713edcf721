"""Binary trees split at random places: what is left of a binary tree when balance is taken away."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from trdec.trees.tree import NULL, Nonterminal, Terminal, Tree


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
