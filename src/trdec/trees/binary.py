"""Balanced binary trees, made without any linguistics (paper, appendix A.1)."""

from __future__ import annotations

from collections.abc import Sequence

from trdec.trees.tree import NULL, Nonterminal, Terminal, Tree


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
    """Algorithm 1 over any nodes: of an odd number, the left half gets the one in the middle."""
    # Recursion is safe here: halving a list of n goes log2(n) deep.
    if len(nodes) == 1:
        return nodes[0]
    middle = (len(nodes) + 1) // 2
    return Nonterminal(NULL, (balanced(nodes[:middle]), balanced(nodes[middle:])))
