"""What one side of a corpus is, before anything is known of how to read it."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from trdec.data.inspection import check_is_text
from trdec.detection import SAMPLE, looks_raw, main_script, script_of
from trdec.files import count_lines, read_lines
from trdec.tokenisers import WORD_START, Tokeniser, UnicodeTokeniser

COUNTED = 20_000
"""Lines whose words are counted; more text has words enough for any number of subwords."""


@dataclass(frozen=True, slots=True)
class Survey:
    """A text's number of lines, whether it is raw, its script, and its first lines."""

    lines: int
    raw: bool
    script: str | None
    first: Sequence[str]

    def subwords(self, size: int, raw: bool) -> int:
        """The number of subwords to learn if this size is wanted, from raw text or from words between spaces.

        A small text does not have as many.
        """
        if self.lines > COUNTED:
            return size
        split = (UnicodeTokeniser() if raw else Tokeniser()).split
        words = {word for line in self.first for word in split(line)}
        parts = {part for word in words for part in parts_of(word)}
        characters = {character for word in words for character in word}
        # Each part becomes a piece in the end; each character, ▁ and three marks have one at the start.
        return min(size, max(len(parts), len(characters) + 4))


_JAPANESE = {"Hiragana": "Han", "Katakana": "Han"}


def parts_of(word: str) -> list[str]:
    """The parts of a word that no piece of sentencepiece crosses: letters of one script, or signs between them.

    The scripts of Japanese count as one, and a mark belongs to the letter before it.
    """
    parts: list[str] = []
    before: str | None = None
    bare = word.removeprefix(WORD_START)
    for character in bare:
        is_mark = unicodedata.category(character).startswith("M")
        script = script_of(character)
        script = before if is_mark else _JAPANESE.get(script or "", script)
        if parts and script == before:
            parts[-1] += character
        else:
            parts.append(character)
        before = script
    return [word.removesuffix(bare) + "".join(parts[:1]), *parts[1:]]


def survey(path: Path) -> Survey:
    """What a text looks like."""
    check_is_text(path)
    lines = [line.text for line in islice(read_lines(path), COUNTED)]
    return Survey(count_lines(path), looks_raw(lines[:SAMPLE]), main_script(lines[:SAMPLE]), lines)
