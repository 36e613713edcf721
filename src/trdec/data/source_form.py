"""A source with its tree as places in a row: a tree for encoders that read trees, a sequence with brackets for others.

A place is a piece, the end, or something that tells of the tree. Its parent is 1 + the place of the node above it, or
0 if there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from trdec.targets.actions import EOS, Action, EmitMark, EmitWord
from trdec.targets.sequence import LinTarget
from trdec.tokenisers import WORD_START
from trdec.trees.tree import Nonterminal, Terminal, Tree, fold

SOURCE_END = "<eos>"
"""The end of the source, which a model reads as its last piece, in drawings and JSON."""

LONGEST_NAME = 24
"""The most characters of a phrase that the name of its place shows."""


class SourcePlace(NamedTuple):
    """What stands at a place, written as a target's actions are, and the place's parent."""

    action: Action
    parent: int


class SourceForm(Protocol):
    """How a tree over pieces becomes places, and places become the tree."""

    def write(self, tree: Nonterminal) -> list[SourcePlace]:
        """The places of the tree."""

    def read(self, places: Sequence[SourcePlace]) -> Nonterminal:
        """The tree that `write` made places of."""

    def names(self, tree: Nonterminal) -> list[str]:
        """What drawings call each place."""


class BracketedSource:
    """A sequence: the brackets that LIN writes, among the pieces, then the end."""

    @staticmethod
    def write(tree: Nonterminal) -> list[SourcePlace]:
        """Brackets and pieces; none has a parent."""
        return [SourcePlace(action, 0) for action in LinTarget.linearise(tree)]

    @staticmethod
    def read(places: Sequence[SourcePlace]) -> Nonterminal:
        """The tree in brackets."""
        return LinTarget.read(place.action for place in places)

    @staticmethod
    def names(tree: Nonterminal) -> list[str]:
        """Brackets and pieces as they are written."""
        return [SOURCE_END if action == EOS else str(action) for action in LinTarget.linearise(tree)]


class TreeSource:
    """A tree: the pieces, then the end, which has no parent, then the nodes in postorder; the last is the root."""

    @staticmethod
    def write(tree: Nonterminal) -> list[SourcePlace]:
        """Each piece and each node with the node above it."""
        pieces: list[str] = []
        marks: list[str] = []
        above: dict[int, int] = {}  # pieces are numbered from 0 up, nodes from -1 down

        def piece(leaf: Terminal) -> int:
            pieces.append(leaf.word)
            return len(pieces) - 1

        def node(of: Nonterminal, children: list[int]) -> int:
            marks.append(of.label)
            number = -len(marks)
            above.update(dict.fromkeys(children, number))
            return number

        fold(tree, piece, node)
        end = len(pieces)
        parents = {item: end + 1 - number for item, number in above.items()}
        return [
            *(SourcePlace(EmitWord(word), parents[number]) for number, word in enumerate(pieces)),
            SourcePlace(EOS, 0),
            *(SourcePlace(EmitMark(mark), parents.get(-number, 0)) for number, mark in enumerate(marks, start=1)),
        ]

    @staticmethod
    def read(places: Sequence[SourcePlace]) -> Nonterminal:
        """The tree whose last node is the root; children are ordered by their first piece."""
        below: list[list[tuple[int, Tree]]] = [[] for _ in places]
        tree: Tree | None = None
        for number, (action, parent) in enumerate(places):
            if action == EOS:
                continue
            if isinstance(action, EmitMark):
                children = sorted(below[number], key=lambda item: item[0])
                first, tree = children[0][0], Nonterminal(action.mark, tuple(child for _, child in children))
            else:
                assert isinstance(action, EmitWord)
                first, tree = number, Terminal(action.word)
            if parent:
                below[parent - 1].append((first, tree))
        assert isinstance(tree, Nonterminal)
        return tree

    @staticmethod
    def names(tree: Nonterminal) -> list[str]:
        """Pieces as they are, nodes by their label and their words: `(NP The cat)`."""
        pieces: list[str] = []
        found: list[str] = []

        def piece(leaf: Terminal) -> tuple[int, int]:
            pieces.append(leaf.word)
            return len(pieces) - 1, len(pieces)

        def node(of: Nonterminal, spans: list[tuple[int, int]]) -> tuple[int, int]:
            begin, end = spans[0][0], spans[-1][1]
            text = "".join(pieces[begin:end]).replace(WORD_START, " ").strip()
            half = LONGEST_NAME // 2
            shown = text if len(text) <= LONGEST_NAME else f"{text[:half].rstrip()} … {text[-half:].lstrip()}"
            found.append(f"({of.label} {shown})")
            return begin, end

        fold(tree, piece, node)
        return [*pieces, SOURCE_END, *found]


def source_form(reads_trees: bool) -> SourceForm:
    """The form for an encoder that reads trees, or for one that reads sequences."""
    return TreeSource() if reads_trees else BracketedSource()
