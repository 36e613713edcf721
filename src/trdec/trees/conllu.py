"""CoNLL-U files: comments, multiword ranges, empty nodes and several roots, as treebanks have them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

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

    Comments and empty nodes (`5.1`) are skipped; multiword tokens (`3-4`) say how the words are written. A sentence
    whose heads are all `_` was not parsed.
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
        tree = from_heads(forms, heads)
        tokens = list(_multiword_tokens(block))
        written = _as_written(forms, heads, tokens) if tokens else None
        return Entry(place, tree, was_projective=is_projective(heads), as_written=written)
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


def _multiword_tokens(block: list[Line]) -> Iterator[tuple[int, int, str]]:
    """The words of each multiword token, from the first to before the last, and how it is written."""
    for line in block:
        number, form = line.text.split("\t")[:2]
        if "-" in number:
            first, last = number.split("-")
            yield int(first) - 1, int(last), _SPACE.sub("\u00a0", form.strip(WHITESPACE))


def _as_written(forms: list[str], heads: list[int], tokens: Iterable[tuple[int, int, str]]) -> Nonterminal:
    """The tree over words as the text spells them: `zu` and `dem`, of the token `zum`, are `zu` and `m`.

    A word that has no letter of its token, like the second `a` of `à`, is left out; its dependents hang from its head.
    """
    spelling = list(forms)
    for start, end, token in tokens:
        spelling[start:end] = _shares(token, spelling[start:end])
    kept = [word for word, letters in enumerate(spelling, start=1) if letters]
    place = {0: 0, **{word: number for number, word in enumerate(kept, start=1)}}

    def head_of(word: int) -> int:
        head = heads[word - 1]
        while head not in place:
            head = heads[head - 1]
        return place[head]

    return from_heads([spelling[word - 1] for word in kept], [head_of(word) for word in kept])


def _shares(token: str, words: Sequence[str]) -> Sequence[str]:
    """The token's characters divided among its words, as they are spelt if these make it up."""
    characters = _CHARACTER.findall(token)
    if "".join(words) == token or token in ("", "_"):
        return words
    shares: list[str] = []
    for later, word in reversed(list(enumerate(reversed(words)))):
        size = max(1, min(len(word), len(characters) - later)) if later else len(characters)
        shares.append("".join(characters[:size]))
        del characters[:size]
    return shares


def _bad_head(place: Place, head: str) -> TreeFormatError:
    return TreeFormatError(
        f"{place}: expected a number in column 7 (HEAD), found {excerpt(head)}. "
        "Write the number of the head word, 0 for a root, or _ for every word of a sentence without a parse."
    )
