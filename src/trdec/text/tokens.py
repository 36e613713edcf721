"""Raw text to tokens and back, by the Moses rules of a language."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any


class Tokeniser:
    """Tokens of raw text, and raw text of tokens, in one language ('en', 'de', ...)."""

    def __init__(self, language: str) -> None:
        self.language = language

    # sacremoses is slow to import and to set up: only who tokenises waits for it.
    @cached_property
    def _tokeniser(self) -> Any:
        from sacremoses import MosesTokenizer

        return MosesTokenizer(lang=self.language)

    @cached_property
    def _detokeniser(self) -> Any:
        from sacremoses import MosesDetokenizer

        return MosesDetokenizer(lang=self.language)

    def split(self, text: str) -> list[str]:
        """The tokens of a raw line: "The cat's fish." -> The cat 's fish ."""
        return list(self._tokeniser.tokenize(text, escape=False))

    def join(self, tokens: Sequence[str]) -> str:
        """The raw line that the tokens make."""
        return str(self._detokeniser.detokenize(list(tokens), unescape=False))
