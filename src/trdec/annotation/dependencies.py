"""What a dependency parser says of a sentence, as a CoNLL-U entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WITHOUT_TREE = "\t".join(["1", *"_" * 9]) + "\n\n"
"""The entry of a sentence without a tree. CoNLL-U has no entry without a word, so it has one that says nothing."""


@dataclass(frozen=True, slots=True)
class ParsedWord:
    """A word, its tags, the number of its head (from 1, 0 for a root) and its relation to it."""

    form: str
    upos: str
    xpos: str
    head: int
    relation: str


def write(text: str, words: Sequence[ParsedWord]) -> str:
    """The sentence as CoNLL-U, with the empty line that ends it."""
    rows = [
        (str(number), word.form, "_", word.upos, word.xpos, "_", str(word.head), word.relation, "_", "_")
        for number, word in enumerate(words, start=1)
    ]
    lines = ["\t".join(field or "_" for field in row) for row in rows]
    return "\n".join([f"# text = {text}", *lines, "", ""])
