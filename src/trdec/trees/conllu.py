"""CoNLL-U files: comments, multiword ranges, empty nodes and several roots, as treebanks have them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from trdec.errors import HeadsError, Place, TreeFormatError, TreeShapeError, excerpt
from trdec.files import WHITESPACE, Line, is_blank, split_words
from trdec.trees.dependency import from_heads, is_projective, to_heads
from trdec.trees.tree import Entry, Nonterminal, words

_COLUMNS = 10
_SPACE = re.compile(f"[{WHITESPACE}]+")
_CHARACTER = re.compile(r".[\u0300-\u036f]*")
_NO_WORD = re.compile(r"[1-9][0-9]*-[1-9][0-9]*|[0-9]+\.[1-9][0-9]*")  # a multiword token, an empty node
_HEAD = re.compile("[0-9]{1,9}")

WITHOUT_TREE = "\t".join(["1", *"_" * (_COLUMNS - 1)]) + "\n\n"
"""What is written for a sentence without a tree: CoNLL-U has no empty sentence, so it is one unspecified word."""


def read_conllu(lines: Iterable[Line]) -> Iterator[Entry]:
    """An entry for each sentence: a dependency tree over its syntactic words.

    Comments, ranges of multiword tokens (`3-4`) and empty nodes (`5.1`) are skipped. A sentence whose heads
    are all `_` was not parsed.
    """
    block: list[Line] = []
    for line in lines:
        if is_blank(line.text):
            if block:
                yield _entry(block)
                block = []
        elif not line.text.startswith("#"):
            block.append(line)
    if block:
        yield _entry(block)


def write_conllu(tree: Nonterminal) -> str:
    """The dependency tree as a sentence, with the empty line that ends it: `read_conllu` gives the same tree.

    The tree holds no relations: each word is `dep` of its head, or `root`. TreeShapeError if the tree has no heads.
    """
    try:
        heads = to_heads(tree)
    except TreeShapeError as error:
        raise TreeShapeError(f"only a dependency tree can be written as CoNLL-U: {error}") from error
    rows = []
    for number, (word, head) in enumerate(zip(words(tree), heads, strict=True), start=1):
        if split_words(word) != [word]:
            raise TreeShapeError(f"expected a word without whitespace, found {excerpt(word)}: it is no form of CoNLL-U")
        rows.append(f"{number}\t{word}\t_\t_\t_\t_\t{head}\t{'dep' if head else 'root'}\t_\t_\n")
    return "".join(rows) + "\n"


def _entry(block: list[Line]) -> Entry:
    place = block[0].place
    try:
        forms, heads = _columns(block)
    except TreeFormatError as error:
        return Entry(place, None, error)
    if heads is None:
        return Entry(place, None)
    try:
        return Entry(place, from_heads(forms, heads), was_projective=is_projective(heads))
    except HeadsError as error:
        return Entry(place, None, HeadsError(f"{place}, the sentence that starts here: {error}"))


def _columns(block: list[Line]) -> tuple[list[str], list[int] | None]:
    """The forms and the heads of a sentence's words; no heads if the sentence was not parsed."""
    forms: list[str] = []
    heads: list[str] = []
    places: list[Place] = []
    for line in block:
        fields = line.text.split("\t")
        if len(fields) != _COLUMNS:
            raise TreeFormatError(
                f"{line.place}: expected {_COLUMNS} columns separated by tabs, found {len(fields)}. "
                "Each line of a CoNLL-U sentence is a word; an empty line ends the sentence."
            )
        number, form, head = fields[0], fields[1], fields[6]
        if _NO_WORD.fullmatch(number):
            continue
        if number != str(len(forms) + 1):
            raise TreeFormatError(
                f"{line.place}: expected word number {len(forms) + 1}, found {excerpt(number)}. "
                "Words are numbered from 1 in each sentence, and an empty line ends the sentence."
            )
        # A form may contain spaces (10 000); our words may not, so each becomes a no-break space.
        forms.append(_SPACE.sub("\u00a0", form.strip(WHITESPACE)) or "_")
        heads.append(head)
        places.append(line.place)
        if head != "_" and not _HEAD.fullmatch(head):
            raise _bad_head(line.place, head)
    if not forms:
        raise TreeFormatError(f"{block[0].place}: expected a sentence, found no words in it")
    if all(head == "_" for head in heads):
        return forms, None
    if "_" in heads:
        raise _bad_head(places[heads.index("_")], "_")
    return forms, [int(head) for head in heads]


def surface_words(lines: Iterable[Line]) -> list[str]:
    """The words of one sentence as the text spells them: `zu` and `dem`, of the token `zum`, are `zu` and `m`."""
    found: list[str] = []
    ranges: list[tuple[int, int, str]] = []
    for line in lines:
        if line.text.startswith("#") or not line.text.strip():
            continue
        number, form = line.text.split("\t")[:2]
        form = _SPACE.sub("\u00a0", form.strip())
        if "-" in number:
            first, last = number.split("-")
            ranges.append((int(first) - 1, int(last), form))
        elif "." not in number:
            found.append(form)
    for start, end, form in ranges:
        found[start:end] = _shares(form, found[start:end])
    return found


def _shares(surface: str, words: list[str]) -> list[str]:
    """The token's characters divided among its words, as they are spelt if these make it up."""
    characters = _CHARACTER.findall(surface)
    if "".join(words) == surface or len(characters) < len(words):
        return words
    shares: list[str] = []
    for later, word in reversed(list(enumerate(reversed(words)))):
        size = min(len(word), len(characters) - later) if later else len(characters)
        shares.append("".join(characters[:size]))
        del characters[:size]
    return shares


def _bad_head(place: Place, head: str) -> TreeFormatError:
    return TreeFormatError(
        f"{place}: expected a number in column 7 (HEAD), found {excerpt(head)}. "
        "Write the number of the head word, 0 for a root, or _ for every word of a sentence without a parse."
    )
