"""CoNLL-U files: comments, multiword ranges, empty nodes and several roots, as treebanks have them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from trdec.errors import HeadsError, Place, TreeFormatError
from trdec.files import Line
from trdec.trees.dependency import from_heads, is_projective
from trdec.trees.tree import Entry

_COLUMNS = 10
_SPACE = re.compile(r"[ \r\f\v]+")
_CHARACTER = re.compile(r".[\u0300-\u036f]*")


def read_conllu(lines: Iterable[Line]) -> Iterator[Entry]:
    """An entry for each sentence: a dependency tree over its syntactic words.

    Comments, ranges of multiword tokens (`3-4`) and empty nodes (`5.1`) are skipped. A sentence whose heads
    are all `_` was not parsed.
    """
    block: list[Line] = []
    for line in lines:
        if line.text.strip():
            if not line.text.startswith("#"):
                block.append(line)
        elif block:
            yield _entry(block)
            block = []
    if block:
        yield _entry(block)


def _entry(block: list[Line]) -> Entry:
    place = block[0].place
    try:
        words, heads = _columns(block)
    except TreeFormatError as error:
        return Entry(place, None, error)
    if heads is None:
        return Entry(place, None)
    try:
        return Entry(place, from_heads(words, heads), was_projective=is_projective(heads))
    except HeadsError as error:
        return Entry(place, None, HeadsError(f"{place}, the sentence that starts here: {error}"))


def _columns(block: list[Line]) -> tuple[list[str], list[int] | None]:
    """The forms and the heads of a sentence's words; no heads if the sentence was not parsed."""
    words: list[str] = []
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
        if "-" in number or "." in number:
            continue
        if number != str(len(words) + 1):
            raise TreeFormatError(
                f"{line.place}: expected word number {len(words) + 1}, found {number!r}. "
                "Words are numbered from 1 in each sentence, and an empty line ends the sentence."
            )
        # A form may contain spaces (10 000); our words may not, so each becomes a no-break space.
        words.append(_SPACE.sub("\u00a0", form.strip()) or "_")
        heads.append(head)
        places.append(line.place)
        if not head.isdecimal() and head != "_":
            raise _bad_head(line.place, head)
    if not words:
        raise TreeFormatError(f"{block[0].place}: expected a sentence, found no words in it")
    if all(head == "_" for head in heads):
        return words, None
    if "_" in heads:
        raise _bad_head(places[heads.index("_")], "_")
    return words, [int(head) for head in heads]


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
        f"{place}: expected a number in column 7 (HEAD), found {head!r}. "
        "Write the number of the head word, 0 for a root, or _ for every word of a sentence without a parse."
    )
