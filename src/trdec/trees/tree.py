"""Target trees: terminals that hold words, nonterminals that hold children.

Trees are values: they can be compared, hashed and pickled, and transforms make new trees, never change one. A tree
may be as deep as its sentence is long, so nothing here recurses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from trdec.errors import Place, TrdecError

ROOT = "ROOT"
"""The label at the top of every tree that a target accepts."""

NULL = "NULL"
"""The label of a node that only groups its children (the paper's null tag)."""

PRE = "pre"
"""The label of a preterminal: a node whose children are all terminals."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """A leaf: one word, or one subword once the tree is segmented."""

    word: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Nonterminal:
    """A node over a span of words: (S (NP The cat) (VP eats (NP fish)))."""

    label: str
    children: tuple[Tree, ...]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Nonterminal):
            return NotImplemented
        return self is other or _flatten(self) == _flatten(other)

    def __hash__(self) -> int:
        return hash(_flatten(self))

    def __repr__(self) -> str:
        parts: list[str] = []
        stack: list[Tree | str] = [self]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                parts.append(item)
            elif isinstance(item, Terminal):
                parts.append(f" {item.word}")
            else:
                parts.append(f" ({item.label}")
                stack.append(")")
                stack.extend(reversed(item.children))
        return "".join(parts).lstrip()

    def __reduce__(self) -> tuple[Callable[..., Nonterminal], tuple[tuple[str | int, ...]]]:
        return _unflatten, (_flatten(self),)


Tree = Terminal | Nonterminal

Folded = TypeVar("Folded")


def preorder(tree: Tree) -> Iterator[Tree]:
    """Every node, a parent before its children, left before right."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, Nonterminal):
            stack.extend(reversed(node.children))


def words(tree: Tree) -> list[str]:
    """The words at the leaves, left to right."""
    return [node.word for node in preorder(tree) if isinstance(node, Terminal)]


def labels(tree: Tree) -> Iterator[str]:
    """The label of every nonterminal, top-down and left to right."""
    return (node.label for node in preorder(tree) if isinstance(node, Nonterminal))


def depth(tree: Tree) -> int:
    """The number of edges from the top to the deepest leaf."""
    deepest = 0
    stack = [(tree, 0)]
    while stack:
        node, level = stack.pop()
        deepest = max(deepest, level)
        if isinstance(node, Nonterminal):
            stack.extend((child, level + 1) for child in node.children)
    return deepest


def fold(
    tree: Tree,
    terminal: Callable[[Terminal], Folded],
    nonterminal: Callable[[Nonterminal, list[Folded]], Folded],
) -> Folded:
    """The result of `nonterminal` for the top node, given the results of its children, bottom-up."""
    if isinstance(tree, Terminal):
        return terminal(tree)
    # One entry per open node: the node, its children still to visit, the results of those visited.
    stack: list[tuple[Nonterminal, Iterator[Tree], list[Folded]]] = [(tree, iter(tree.children), [])]
    while True:
        node, remaining, done = stack[-1]
        for child in remaining:
            if isinstance(child, Terminal):
                done.append(terminal(child))
            else:
                stack.append((child, iter(child.children), []))
                break
        else:
            stack.pop()
            result = nonterminal(node, done)
            if not stack:
                return result
            stack[-1][2].append(result)


def splice(tree: Nonterminal, children_of: Callable[[Nonterminal, list[Tree]], Iterable[Tree]]) -> list[Tree]:
    """The trees that replace the top node when `children_of` replaces every node by trees, bottom-up."""

    def replace(node: Nonterminal, done: list[list[Tree]]) -> list[Tree]:
        return list(children_of(node, [child for children in done for child in children]))

    return fold(tree, lambda leaf: [leaf], replace)


def _flatten(tree: Tree) -> tuple[str | int, ...]:
    """The tree as (label, number of children) and (word, -1) pairs, in preorder."""
    flat: list[str | int] = []
    for node in preorder(tree):
        if isinstance(node, Terminal):
            flat += (node.word, -1)
        else:
            flat += (node.label, len(node.children))
    return tuple(flat)


def _unflatten(flat: tuple[str | int, ...]) -> Nonterminal:
    """The tree that `_flatten` wrote: reading backwards, children are ready when their parent comes."""
    stack: list[Tree] = []
    for position in range(len(flat) - 2, -1, -2):
        name, arity = str(flat[position]), int(flat[position + 1])
        if arity < 0:
            stack.append(Terminal(name))
        else:
            children = tuple(stack.pop() for _ in range(arity))
            stack.append(Nonterminal(name, children))
    top = stack.pop()
    assert isinstance(top, Nonterminal)
    return top


@dataclass(frozen=True, slots=True)
class Entry:
    """What a treebank file holds for one sentence.

    Without a tree or an error, the parser found no tree. Errors are stored, not raised, so that reading can
    continue with the next sentence; a caller that wants to stop raises them. Where running text spells words otherwise
    than the tree (`zum` for `zu` and `dem`), `as_written` is the tree over what it spells.
    """

    place: Place
    tree: Nonterminal | None
    error: TrdecError | None = None
    was_projective: bool = True
    as_written: Nonterminal | None = None
