"""CCG supertags: a line of tags beside a line of words becomes a flat tree of tags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from trdec.errors import Place, TextFormatError, TreeFormatError
from trdec.files import Line, split_words
from trdec.trees.tree import ROOT, Entry, Nonterminal, Terminal


def from_tags(words: Sequence[str], tags: Sequence[str]) -> Nonterminal:
    """Each word under its tag: (ROOT (NP/N The) (N cat) (S[dcl]\\NP sleeps) (. .))."""
    return Nonterminal(ROOT, tuple(Nonterminal(tag, (Terminal(word),)) for word, tag in zip(words, tags, strict=True)))


def read_supertags(tag_lines: Iterable[Line], word_lines: Iterable[Line]) -> Iterator[Entry]:
    """An entry for each pair of lines, with an error where the numbers of tags and words differ."""
    for tag_line, word_line in zip_longest(tag_lines, word_lines):
        if tag_line is None or word_line is None:
            ended, other = ("text", "tags") if word_line is None else ("tags", "text")
            raise TextFormatError(
                f"{(tag_line or word_line).place}: the {ended} ended before the {other}. "
                "The two files must have a line for each sentence."
            )
        yield _entry(tag_line.place, split_words(tag_line.text), split_words(word_line.text))


def _entry(place: Place, tags: list[str], words: list[str]) -> Entry:
    if len(tags) == len(words) and words:
        return Entry(place, from_tags(words, tags))
    return Entry(
        place,
        None,
        TreeFormatError(
            f"{place}: expected a tag for each of {len(words)} words, found {len(tags)} tags. "
            "Tag the sentence again, or leave it out."
        ),
    )
