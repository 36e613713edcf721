"""Constituency trees as parsers and treebanks write them, cleaned up: plain labels, no traces, one ROOT."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from trdec.errors import TreeFormatError
from trdec.files import Line
from trdec.trees import brackets
from trdec.trees.transforms import rooted
from trdec.trees.tree import ROOT, Entry, Nonterminal, Terminal, Tree, fold, splice

TRACE = "-NONE-"
"""The tag of a leaf that stands for no word."""

_TOPS = ("", "TOP", "S1", "VROOT", ROOT)
_SQUARE_AND_CURLY = {"-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_FUNCTION = re.compile(r"[-=]")


def read_penn(lines: Iterable[Line]) -> Iterator[Entry]:
    """An entry for each tree of a file of Penn-style brackets, cleaned up."""
    for entry in brackets.read_brackets(lines):
        if entry.tree is None:
            yield entry
            continue
        tree = clean(entry.tree)
        if tree is None:
            yield replace(
                entry,
                tree=None,
                error=TreeFormatError(
                    f"{entry.place}: the tree has no words, only traces. "
                    f"Write {brackets.NO_TREE} for a sentence without a tree."
                ),
            )
        else:
            yield replace(entry, tree=tree)


def clean(tree: Nonterminal) -> Nonterminal | None:
    """The tree with plain labels (NP-SBJ-1 -> NP), without traces, under one ROOT; None if it was all traces."""

    def tidy(node: Nonterminal, children: list[Tree]) -> list[Tree]:
        if node.label == TRACE or not children:
            return []
        return [Nonterminal(plain_label(node.label), tuple(children))]

    tops = splice(tree, tidy)
    if not tops:
        return None
    top = fold(tops[0], _spell, lambda node, children: Nonterminal(node.label, tuple(children)))
    assert isinstance(top, Nonterminal)
    # ( (S ...)) and (TOP (S ...)) say the same as (ROOT (S ...)).
    return Nonterminal(ROOT, top.children) if top.label in _TOPS else rooted(top)


def plain_label(label: str) -> str:
    """The category alone: NP-SBJ-1 and NP=2 are NP; -LRB- and -NONE- are themselves."""
    return label if label.startswith("-") else _FUNCTION.split(label, maxsplit=1)[0] or label


def _spell(leaf: Terminal) -> Tree:
    return Terminal(_SQUARE_AND_CURLY[leaf.word]) if leaf.word in _SQUARE_AND_CURLY else leaf
