"""Functions from tree to tree: what is done to a parser's or builder's tree before a target writes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, groupby

from trdec.tokenisers import words_of_pieces
from trdec.trees.tree import NULL, PRE, ROOT, Nonterminal, Terminal, Tree, fold, splice

INTERMEDIATE = "|"
"""How the label of a node made by `binarise` ends."""


def rooted(tree: Tree) -> Nonterminal:
    """The tree under a ROOT node of its own, unless its top is one already."""
    if isinstance(tree, Nonterminal) and tree.label == ROOT:
        return tree
    return Nonterminal(ROOT, (tree,))


def null_labels(tree: Nonterminal) -> Nonterminal:
    """The same shape with NULL for every label below the top."""

    def relabel(node: Nonterminal, children: list[Tree]) -> Tree:
        return Nonterminal(node.label if node is tree or node.label == PRE else NULL, tuple(children))

    return _nonterminal(fold(tree, _itself, relabel))


def strip_tags(tree: Nonterminal) -> Nonterminal:
    """The tree without part-of-speech nodes: (NP (DT the) (NN cat)) -> (NP the cat).

    A tag is a node over exactly one word; the top is never one.
    """

    def strip(node: Nonterminal, children: list[Tree]) -> list[Tree]:
        is_tag = len(node.children) == 1 and isinstance(node.children[0], Terminal) and node is not tree
        return children if is_tag else [Nonterminal(node.label, tuple(children))]

    return _nonterminal(splice(tree, strip)[0])


def wrap_words(tree: Nonterminal) -> Nonterminal:
    """The tree with every word in a NULL node of its own, as the paper's released code made binary trees."""

    def is_word(child: Tree) -> bool:
        return isinstance(child, Terminal) or child.label == PRE

    def wrap(node: Nonterminal, children: list[Tree]) -> Tree:
        if node.label == PRE:
            return node
        return Nonterminal(
            node.label, tuple(Nonterminal(NULL, (child,)) if is_word(child) else child for child in children)
        )

    return _nonterminal(fold(tree, _itself, wrap))


def bare_leaves(tree: Nonterminal) -> Nonterminal:
    """The dependency tree as the paper's released code made it: each word a preterminal of its own, and no
    node for a word without dependents: (NULL (NULL the) cat) -> (NULL (pre the) (pre cat)).
    """

    def unwrap(node: Nonterminal, children: list[Tree]) -> Tree:
        if node is not tree and len(node.children) == 1 and isinstance(node.children[0], Terminal):
            return Nonterminal(PRE, node.children)
        return Nonterminal(
            node.label,
            tuple(Nonterminal(PRE, (child,)) if isinstance(child, Terminal) else child for child in children),
        )

    return _nonterminal(fold(tree, _itself, unwrap))


def segment(tree: Nonterminal, split: Callable[[str], Sequence[str]]) -> Nonterminal:
    """The tree with every word replaced by its subwords, side by side: (VP eats) -> (VP ▁eat s)."""

    def spread(node: Nonterminal, children: list[list[Tree]]) -> list[Tree]:
        return [Nonterminal(node.label, tuple(chain.from_iterable(children)))]

    def cut(leaf: Terminal) -> list[Tree]:
        return [Terminal(piece) for piece in split(leaf.word)]

    return _nonterminal(fold(tree, cut, spread)[0])


def desegment(tree: Nonterminal, words_of: Callable[[str], Sequence[str]] = words_of_pieces) -> Nonterminal:
    """The tree with side-by-side subwords joined to words again: undoes `segment`.

    `words_of` gives the words that subwords spell together; by default each starts with WORD_START. A subword that
    starts no word but comes first in its node (a model may write that) is a word of its own. A node whose subwords
    have no letters (a model may write that too) has no words, and is left out.
    """

    def join(node: Nonterminal, children: list[Tree]) -> Tree:
        joined: list[Tree] = []
        for is_word, run in groupby(children, lambda child: isinstance(child, Terminal)):
            if not is_word:
                joined.extend(child for child in run if isinstance(child, Nonterminal) and child.children)
                continue
            text = "".join(child.word for child in run if isinstance(child, Terminal))
            joined.extend(map(Terminal, words_of(text)))
        return Nonterminal(node.label, tuple(joined))

    return _nonterminal(fold(tree, _itself, join))


def binarise(tree: Nonterminal) -> Nonterminal:
    """The tree with at most two symbols in any rule, branching to the right through intermediate labels.

    (NP a (X b) (Y c) d) -> (NP a (NP| (X b) (NP| (Y c) d))): a run of words counts as one symbol, as it does
    in a rule. A large treebank's grammar stays small this way.
    """

    def split(node: Nonterminal, children: list[Tree]) -> Tree:
        units = [
            unit
            for is_word, run in groupby(children, lambda child: isinstance(child, Terminal))
            for unit in ([tuple(run)] if is_word else [(child,) for child in run])
        ]
        if len(units) <= 2:
            return Nonterminal(node.label, tuple(children))
        label = node.label + INTERMEDIATE
        rest: tuple[Tree, ...] = units[-1]
        for unit in reversed(units[1:-1]):
            rest = (Nonterminal(label, unit + rest),)
        return Nonterminal(node.label, units[0] + rest)

    return _nonterminal(fold(tree, _itself, split))


def unbinarise(tree: Nonterminal) -> Nonterminal:
    """The tree with the children of intermediate nodes in their place: undoes `binarise`."""

    def dissolve(node: Nonterminal, children: list[Tree]) -> list[Tree]:
        if node is not tree and node.label.endswith(INTERMEDIATE):
            return children
        return [Nonterminal(node.label, tuple(children))]

    return _nonterminal(splice(tree, dissolve)[0])


def limit_depth(tree: Nonterminal, limit: int) -> Nonterminal:
    """The tree with no word more than `limit` edges below the top: deeper nodes give way to their children."""
    if limit < 1:
        raise ValueError(f"a tree is at least 1 deep, so the limit cannot be {limit}")

    # A node at the limit or below would have its words beyond it, so it is dissolved. Levels go down the
    # tree and new nodes come up it: one walk down notes the level of each node, in the order in which they come up.
    levels: list[int] = []
    stack: list[tuple[Tree, int]] = [(tree, 0)]
    while stack:
        node, level = stack.pop()
        if isinstance(node, Nonterminal):
            levels.append(level)
            stack.extend((child, level + 1) for child in node.children)
    # Popping visits parent, then children right to left: reversed, that is children left to right, then
    # parent, the order in which `splice` rebuilds.
    bottom_up = reversed(levels)

    def dissolve(node: Nonterminal, children: list[Tree]) -> list[Tree]:
        return children if next(bottom_up) >= limit else [Nonterminal(node.label, tuple(children))]

    return _nonterminal(splice(tree, dissolve)[0])


def _itself(leaf: Terminal) -> Tree:
    return leaf


def _nonterminal(tree: Tree) -> Nonterminal:
    assert isinstance(tree, Nonterminal)
    return tree


Transform = Callable[[Nonterminal], Nonterminal]

TRANSFORMS: dict[str, Transform] = {
    "strip-tags": strip_tags,
    "null-labels": null_labels,
    "wrap-words": wrap_words,
    "bare-leaves": bare_leaves,
    "binarise": binarise,
}
"""Transforms by the name that configurations and the command line know them by."""
