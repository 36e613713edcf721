"""Balanced trees with three children a node."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from trdec.trees.tree import NULL, Nonterminal, Terminal, Tree


def ternary(words: Sequence[str]) -> Tree:
    """The sentence split in three as even parts as can be, larger ones first, and its thirds again."""
    if len(words) == 1:
        return Terminal(words[0])
    parts = min(3, len(words))
    size, larger = divmod(len(words), parts)
    ends = [size * part + min(part, larger) for part in range(parts + 1)]
    return Nonterminal(NULL, tuple(ternary(words[start:end]) for start, end in pairwise(ends)))
