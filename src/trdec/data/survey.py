"""What one side of a corpus is, before anything is known of how to read it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from trdec.data.inspection import check_is_text
from trdec.detection import SAMPLE, looks_raw, main_script
from trdec.files import count_lines, read_lines
from trdec.tokenisers import Tokeniser, UnicodeTokeniser

COUNTED = 20_000
"""Lines whose words are counted; more text has words enough for any number of subwords."""


@dataclass(frozen=True, slots=True)
class Survey:
    """A text's number of lines, whether it is raw, its script, and how many subwords it has at least and at most."""

    lines: int
    raw: bool
    script: str | None
    characters: int
    words: int

    def subwords(self, size: int) -> int:
        """The number of subwords to learn if this size is wanted; a small text does not have as many."""
        if self.lines > COUNTED:
            return size
        # Each word becomes a piece in the end; each character, ▁ and three marks have one at the start.
        return min(size, max(self.words, self.characters + 4))


def survey(path: Path) -> Survey:
    """What a text looks like."""
    check_is_text(path)
    lines = [line.text for line in islice(read_lines(path), COUNTED)]
    raw = looks_raw(lines[:SAMPLE])
    split = (UnicodeTokeniser() if raw else Tokeniser()).split
    words = {word for line in lines for word in split(line)}
    characters = {character for word in words for character in word}
    return Survey(count_lines(path), raw, main_script(lines[:SAMPLE]), len(characters), len(words))
