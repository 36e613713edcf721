"""A sentence as a tree with no structure: what seq2seq generates."""

from __future__ import annotations

from collections.abc import Sequence

from trdec.trees.tree import ROOT, Nonterminal, Terminal


def flat(words: Sequence[str]) -> Nonterminal:
    """All words side by side: (ROOT The cat eats fish .)."""
    return Nonterminal(ROOT, tuple(Terminal(word) for word in words))
