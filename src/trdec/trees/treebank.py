"""Treebanks: trees read from files of any format, checked, and respelled as a text has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from trdec.errors import MisalignedTreeError, TextFormatError, TrdecError, TreeFormatError, UsageError
from trdec.files import Line, read_lines, split_words
from trdec.tokenisers import SPACES, WORD_START
from trdec.trees import brackets, conllu, constituency, json_trees, supertags
from trdec.trees.alignment import align
from trdec.trees.transforms import rooted
from trdec.trees.tree import PRE, Entry, Nonterminal, Terminal, Tree, fold, preorder, words


def _plain(lines: Iterable[Line]) -> Iterator[Entry]:
    return (replace(entry, tree=rooted(entry.tree)) if entry.tree else entry for entry in brackets.read_brackets(lines))


FORMATS: dict[str, Callable[[Iterable[Line]], Iterator[Entry]]] = {
    "penn": constituency.read_penn,
    "brackets": _plain,
    "conllu": conllu.read_conllu,
    "json": json_trees.read_json_trees,
}
"""Formats that hold words and trees together; supertags (`ccg`) need a file of words as well."""

CCG = "ccg"


@dataclass(frozen=True, slots=True)
class TreeWriter:
    """How a file of trees is written: the text of each tree, with its line ends, and that of a missing one."""

    write: Callable[[Nonterminal], str]
    without_tree: str


WRITERS = {
    "brackets": TreeWriter(lambda tree: f"{brackets.write(tree)}\n", f"{brackets.NO_TREE}\n"),
    "conllu": TreeWriter(conllu.write_conllu, conllu.WITHOUT_TREE),
    "json": TreeWriter(lambda tree: f"{json_trees.write_json_tree(tree)}\n", f"{json_trees.NO_JSON_TREE}\n"),
}
"""Formats that trees are written in; `read` reads them back, from CoNLL-U what dependency trees there are."""

SYMBOLS_NOT_LABELS = ("pre+", "<end>")
"""Names of open symbols in derivations: a tree cannot have them as labels."""


def read(format_name: str, path: Path | str, text: Path | str | None = None) -> Iterator[Entry]:
    """An entry for each sentence of the file, with the spelling of the text if one is given."""
    if format_name == CCG:
        if text is None:
            raise UsageError("supertags need the file of their words. Give it as `text`.")
        return map(checked, supertags.read_supertags(read_lines(path), read_lines(text)))
    entries = map(checked, FORMATS[format_name](read_lines(path)))
    return entries if text is None else _beside(entries, read_lines(text))


def misused_label(node: Nonterminal) -> bool:
    """Whether the node's label is reserved for derivations; only words may stand under `pre`."""
    misused = node.label == PRE and not all(isinstance(child, Terminal) for child in node.children)
    return misused or node.label in SYMBOLS_NOT_LABELS


def checked(entry: Entry) -> Entry:
    """The entry, with an error in place of a tree that has a reserved label."""
    if entry.tree is None:
        return entry
    for node in preorder(entry.tree):
        if isinstance(node, Nonterminal) and misused_label(node):
            return replace(
                entry,
                tree=None,
                error=TreeFormatError(
                    f"{entry.place}: the label {node.label!r} is reserved for preterminals and other open symbols "
                    "of a derivation; only words may stand under 'pre'. Rename the label."
                ),
            )
    return entry


def _beside(entries: Iterable[Entry], lines: Iterable[Line]) -> Iterator[Entry]:
    for entry, line in zip_longest(entries, lines):
        if entry is None or line is None:
            ended, other = ("text", "trees") if line is None else ("trees", "text")
            raise TextFormatError(
                f"{(entry or line).place}: the {ended} ended before the {other}. "
                "The two files must hold the same sentences in the same order."
            )
        if entry.tree is None:
            yield entry
            continue
        try:
            yield replace(entry, tree=_spelt(entry, entry.tree, line.text), as_written=None)
        except MisalignedTreeError as error:
            yield replace(entry, tree=None, error=MisalignedTreeError(f"{entry.place}: {error} ({line.place})"))


def _spelt(entry: Entry, tree: Nonterminal, text: str) -> Nonterminal:
    """The entry's tree over its own words as raw text spells them, or over the words of tokenised text.

    Raw text is tried first: it may happen to have as many words between spaces as the tree.
    """
    sentence = split_words(text)
    if words(tree) == sentence:
        return tree
    written = entry.as_written or tree
    try:
        found = align(words(written), text)
    except MisalignedTreeError:
        return respell(tree, sentence)
    return respell(written, [word.lstrip(WORD_START + SPACES).replace(WORD_START, "\u00a0") for word in found])


def respell(tree: Nonterminal, sentence: list[str]) -> Nonterminal:
    """The tree with the sentence's words as its leaves, which parsers may have escaped or changed."""
    leaves = words(tree)
    if len(leaves) != len(sentence):
        raise MisalignedTreeError(
            f"the tree has {len(leaves)} words, its sentence has {len(sentence)}: "
            f"{_first_difference(leaves, sentence)}. Parse the text with its own tokens."
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
    """The trees; an error is raised, or passed to `on_error` and its sentence skipped."""
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
            return f"word {position} is {leaf or 'nothing'!r} in one and {word or 'nothing'!r} in the other"
    raise AssertionError("they are of different lengths, so they differ")
