"""One language's side of a corpus: its text as words, its words as pieces, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trdec.text.lines import split_words
from trdec.text.subwords import Subwords
from trdec.text.tokens import Tokeniser


def word_splitter(language: str | None) -> Callable[[str], list[str]]:
    """How a line becomes words: by a language's rules, or at white space where the text is tokenised already."""
    return split_words if language is None else Tokeniser(language).split


class Side:
    """Text as words and words as pieces, in one language; it pickles, so that worker processes can have it."""

    def __init__(self, subwords: Subwords, language: str | None) -> None:
        self.subwords = subwords
        self.language = language
        self.split = word_splitter(language)
        self.join: Callable[[Sequence[str]], str] = " ".join if language is None else Tokeniser(language).join

    def pieces(self, words: Sequence[str]) -> list[str]:
        """The words' pieces in a row."""
        return [piece for word in words for piece in self.subwords.split(word)]

    def __reduce__(self) -> tuple[Callable[..., Side], tuple[bytes, str | None]]:
        return _from_model, (self.subwords.model, self.language)


def _from_model(model: bytes, language: str | None) -> Side:
    return Side(Subwords(model), language)
