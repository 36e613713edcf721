"""Trees that branch to one side only: as deep as the sentence is long."""

from __future__ import annotations

from collections.abc import Sequence

from trdec.trees.tree import NULL, Nonterminal, Terminal, Tree


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
