"""Treebanks: trees read from files of any format, checked, and brought into the spelling of a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from trdec.errors import MisalignedTreeError, TextFormatError, TrdecError, TreeFormatError, UsageError
from trdec.files import Line, read_lines, split_words
from trdec.trees import brackets, conllu, constituency, supertags
from trdec.trees.transforms import rooted
from trdec.trees.tree import PRE, Entry, Nonterminal, Terminal, Tree, fold, preorder, words


def _plain(lines: Iterable[Line]) -> Iterator[Entry]:
    return (replace(entry, tree=rooted(entry.tree)) if entry.tree else entry for entry in brackets.read(lines))


FORMATS: dict[str, Callable[[Iterable[Line]], Iterator[Entry]]] = {
    "penn": constituency.read,
    "brackets": _plain,
    "conllu": conllu.read,
}
"""Formats that hold words and tree together; supertags (`ccg`) stand beside a file of words."""

CCG = "ccg"

SYMBOLS_NOT_LABELS = ("pre+", "<end>")
"""Names that derivations give to what is open: a tree cannot have them for labels."""


def read(format_name: str, path: Path | str, text: Path | str | None = None) -> Iterator[Entry]:
    """An entry for each sentence of the file, spelt as in the text where that is given."""
    if format_name == CCG:
        if text is None:
            raise UsageError("supertags stand beside a file of words: give it with --text FILE")
        return map(checked, supertags.read(read_lines(path), read_lines(text)))
    entries = map(checked, FORMATS[format_name](read_lines(path)))
    return entries if text is None else _beside(entries, read_lines(text))


def misused_label(node: Nonterminal) -> bool:
    """Whether the node's label means something else in a derivation; only words may stand under `pre`."""
    misused = node.label == PRE and not all(isinstance(child, Terminal) for child in node.children)
    return misused or node.label in SYMBOLS_NOT_LABELS


def checked(entry: Entry) -> Entry:
    """The entry, or its error if a label of its tree means something else in a derivation."""
    if entry.tree is None:
        return entry
    for node in preorder(entry.tree):
        if isinstance(node, Nonterminal) and misused_label(node):
            return replace(
                entry,
                tree=None,
                error=TreeFormatError(
                    f"{entry.place}: the label {node.label!r} is kept for preterminals and what else is open in a "
                    "derivation; only words may stand under 'pre'. Rename the label."
                ),
            )
    return entry


def _beside(entries: Iterable[Entry], lines: Iterable[Line]) -> Iterator[Entry]:
    for entry, line in zip_longest(entries, lines):
        if entry is None or line is None:
            mismatch = "trees go on where the text has" if line is None else "text goes on where the trees have"
            raise TextFormatError(
                f"{(entry or line).place}: the {mismatch} ended. "
                "The two files must hold the same sentences in the same order."
            )
        if entry.tree is None:
            yield entry
            continue
        try:
            yield replace(entry, tree=respell(entry.tree, split_words(line.text)))
        except MisalignedTreeError as error:
            yield replace(entry, tree=None, error=MisalignedTreeError(f"{entry.place}: {error} ({line.place})"))


def respell(tree: Nonterminal, sentence: list[str]) -> Nonterminal:
    """The tree with the sentence's words for its leaves, which parsers escape or change."""
    leaves = words(tree)
    if len(leaves) != len(sentence):
        raise MisalignedTreeError(
            f"the tree has {len(leaves)} words, its sentence has {len(sentence)}: "
            f"{_first_difference(leaves, sentence)}. Parse the same tokens that the text has."
        )
    if leaves == sentence:
        return tree
    spelling = iter(sentence)

    def spell(_leaf: Terminal) -> Tree:
        return Terminal(next(spelling))

    def rebuild(node: Nonterminal, children: list[Tree]) -> Tree:
        return Nonterminal(node.label, tuple(children))

    top = fold(tree, spell, rebuild)
    assert isinstance(top, Nonterminal)
    return top


def good_trees(entries: Iterable[Entry], on_error: Callable[[TrdecError], None] | None = None) -> Iterator[Nonterminal]:
    """The trees there are; an error is raised, or handed to `on_error` and its sentence left out."""
    for entry in entries:
        if entry.error is not None:
            if on_error is None:
                raise entry.error
            on_error(entry.error)
        elif entry.tree is not None:
            yield entry.tree


def _first_difference(leaves: list[str], sentence: list[str]) -> str:
    for position, (leaf, word) in enumerate(zip_longest(leaves, sentence), start=1):
        if leaf != word:
            return f"at word {position} they have {leaf or 'nothing'!r} and {word or 'nothing'!r}"
    raise AssertionError("they are of different lengths, so they differ")
