"""A parser that needs no model: each word hangs from the one before it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from trdec.corpora import parsers
from trdec.corpora.parsers import ParsedWord
from trdec.files import split_words


class ChainParser:
    """Chains of words as dependency trees; it may be slow, or fail after some batches."""

    format_name = "conllu"
    without_tree = parsers.WITHOUT_TREE
    identity = "chains 1"

    def __init__(self, seconds: float = 0, batches: int | None = None) -> None:
        self.seconds = seconds
        self.batches = batches
        self.parsed = 0

    def parse(self, sentences: Sequence[str]) -> list[str]:
        """The CoNLL-U entry of each sentence."""
        assert all(sentence.split() for sentence in sentences)
        if self.batches == 0:
            raise RuntimeError("the parser fails")
        self.batches = None if self.batches is None else self.batches - 1
        time.sleep(self.seconds)
        self.parsed += len(sentences)
        return [parsers.write_dependencies(sentence, chain(split_words(sentence))) for sentence in sentences]


def chain(words: Sequence[str]) -> list[ParsedWord]:
    """The words, each with the one before it as its head."""
    return [ParsedWord(word, "X", "", number, "dep" if number else "root") for number, word in enumerate(words)]
