"""A parser's words found in the raw text that it read, character by character."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trdec.errors import MisalignedTreeError
from trdec.tokenisers import SPACES, WORD_START, normalise

SPELLINGS = {
    "-LRB-": ("(",),
    "-RRB-": (")",),
    "-LSB-": ("[",),
    "-RSB-": ("]",),
    "-LCB-": ("{",),
    "-RCB-": ("}",),
    "``": ('"', "“", "”", "„", "«", "»", "''"),
    "''": ('"', "”", "“", "»", "«"),
    '"': ("“", "”", "„", "«", "»", "''", "``"),
    "`": ("'", "‘", "’"),
    "'": ("’", "‘"),
    "...": ("…",),
    "--": ("–", "—"),
}
"""What parsers write, and the characters of text that may stand for it."""

_SHOWN = 20


def align(leaves: Sequence[str], text: str) -> list[str]:
    """Each word as the text spells it, with the space before it, as the unicode tokeniser writes words.

    MisalignedTreeError if the words do not make up the text.
    """
    text = normalise(text)
    found: list[str] = []
    place = 0
    for number, leaf in enumerate(leaves, start=1):
        start = place
        while place < len(text) and text[place] in SPACES:
            place += 1
        gap = text[start:place]
        spelling = next((each for each in _spellings(leaf) if _matches(text, place, each)), None)
        if spelling is None:
            rest = text[place : place + _SHOWN] or "nothing"
            raise MisalignedTreeError(
                f"word {number} of the tree is {leaf!r}, where the text has {rest!r}. Parse this text itself."
            )
        word = text[place : place + len(spelling)]
        place += len(spelling)
        mark = WORD_START if not start or " " in gap else gap
        found.append(mark + word.replace(" ", WORD_START))
    if rest := text[place:].strip(SPACES):
        raise MisalignedTreeError(
            f"the tree ends after {len(leaves)} words, where the text continues with {rest[:_SHOWN]!r}. "
            "Parse this text itself."
        )
    return found


def _spellings(leaf: str) -> Iterator[str]:
    composed = normalise(leaf) or leaf
    yield composed
    yield from SPELLINGS.get(leaf, ())
    unescaped = composed.replace("\\/", "/").replace("\\*", "*")
    for escape in ("-LRB-", "-RRB-", "-LSB-", "-RSB-", "-LCB-", "-RCB-"):
        unescaped = unescaped.replace(escape, SPELLINGS[escape][0])
    yield unescaped
    # Spaces inside a word are no-break spaces in trees.
    yield unescaped.replace("\u00a0", " ")


def _matches(text: str, place: int, spelling: str) -> bool:
    there = text[place : place + len(spelling)]
    return bool(spelling) and (there == spelling or _plain(there) == _plain(spelling))


def _plain(text: str) -> str:
    """The text without what parsers change one character for another: case, and the form of apostrophes."""
    return text.replace("’", "'").replace("‘", "'").casefold()
