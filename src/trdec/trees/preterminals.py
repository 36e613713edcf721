"""Preterminals: every run of words becomes a `pre` node, the place where the word RNN writes."""

from __future__ import annotations

from collections.abc import Iterable

from trdec.trees.tree import PRE, Nonterminal, Terminal, Tree, fold, splice


def insert(tree: Nonterminal) -> Nonterminal:
    """The tree with words only under `pre` nodes.

    Runs, not words, become preterminals: (VP eat s (NP fish)) -> (VP (pre eat s) (NP (pre fish))).
    """

    def close(node: Nonterminal, children: list[Tree]) -> Tree:
        return node if node.label == PRE else Nonterminal(node.label, tuple(close_runs(children)))

    top = fold(tree, _itself, close)
    assert isinstance(top, Nonterminal)
    return top


def close_runs(children: Iterable[Tree]) -> list[Nonterminal]:
    """The children of a node with every run of words as a `pre` node."""
    closed: list[Nonterminal] = []
    run: list[Tree] = []
    for child in children:
        if isinstance(child, Terminal):
            run.append(child)
            continue
        if run:
            closed.append(Nonterminal(PRE, tuple(run)))
            run = []
        closed.append(child)
    if run:
        closed.append(Nonterminal(PRE, tuple(run)))
    return closed


def remove(tree: Nonterminal) -> Nonterminal:
    """The tree with the words of every `pre` node standing in its place: undoes `insert`."""
    top = splice(
        tree,
        lambda node, children: children if node.label == PRE else [Nonterminal(node.label, tuple(children))],
    )[0]
    assert isinstance(top, Nonterminal), "a tree is not a preterminal alone"
    return top


def _itself(leaf: Terminal) -> Tree:
    return leaf
