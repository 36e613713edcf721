"""Text as words, words as pieces, and back."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import sentencepiece

from trdec.errors import SubwordError
from trdec.files import split_words


class Tokeniser:
    """Tokens of raw text, and raw text of tokens, in one language ('en', 'de', ...)."""

    def __init__(self, language: str) -> None:
        self.language = language

    # sacremoses is slow to import and to set up, so this is done on first use.
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
        """The raw line of these tokens."""
        return str(self._detokeniser.detokenize(list(tokens), unescape=False))


UNKNOWN = "<unk>"
"""The piece for everything that has no piece of its own."""

SubwordKind = Literal["bpe", "unigram"]

LONGEST_LINE = 2**30
"""Bytes of a line to learn from; sentencepiece silently skips longer lines, by default from 4192 bytes on."""


class Subwords:
    """Words as the pieces of a sentencepiece model.

    Words are split one at a time. This gives the same pieces as splitting the whole line, because pieces never cross
    whitespace.
    """

    def __init__(self, model: bytes) -> None:
        self.model = model
        self._processor = sentencepiece.SentencePieceProcessor()
        try:
            self._processor.LoadFromSerializedProto(model)
        except (RuntimeError, OSError) as error:
            raise SubwordError("not a sentencepiece model. Expected a file that sentencepiece trained.") from error
        self.split = lru_cache(maxsize=100_000)(self._split)

    @classmethod
    def load(cls, path: Path | str) -> Subwords:
        """The model in a file."""
        try:
            model = Path(path).read_bytes()
        except OSError as error:
            raise SubwordError(f"{path}: cannot be read: {error.strerror}. Check the name of the model.") from error
        try:
            return cls(model)
        except SubwordError as error:
            raise SubwordError(f"{path}: {error}") from error

    @classmethod
    def train(cls, lines: Iterable[str], kind: SubwordKind, size: int) -> Subwords:
        """A model of `size` pieces learnt from the lines; every character in them gets a piece."""
        buffer = io.BytesIO()
        failed: list[Exception] = []

        def given() -> Iterator[str]:
            try:
                yield from lines
            except Exception as error:
                failed.append(error)
                raise

        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=given(),
                model_writer=buffer,
                model_type=kind,
                vocab_size=size,
                character_coverage=1.0,
                num_threads=1,  # the same model on every machine
                max_sentence_length=LONGEST_LINE,
                minloglevel=2,
            )
        except (RuntimeError, OSError) as error:
            if failed:  # reading the lines, not learning from them
                raise failed[0] from None
            raise SubwordError(
                f"cannot learn {size} {kind} pieces from this text: {error}. "
                "Choose a smaller size for a small text, a larger one for a text with many different characters."
            ) from error
        return cls(buffer.getvalue())

    def save(self, path: Path) -> None:
        """Write the model to a file that `load` reads."""
        path.write_bytes(self.model)

    def _split(self, word: str) -> tuple[str, ...]:
        pieces = self._processor.encode(word, out_type=str)
        # A word of characters that normalisation removes is still a word: it must not vanish from its tree.
        return tuple(pieces) or (UNKNOWN,)

    def split_text(self, text: str) -> list[str]:
        """The pieces of a whole line."""
        return list(self._processor.encode(text, out_type=str))

    def join(self, pieces: Sequence[str]) -> str:
        """The text that the pieces spell."""
        return str(self._processor.decode(list(pieces)))

    @property
    def pieces(self) -> tuple[str, ...]:
        """All pieces except the markers of beginning and end, UNKNOWN first."""
        processor = self._processor
        numbers = range(processor.get_piece_size())
        return (
            UNKNOWN,
            *(processor.id_to_piece(number) for number in numbers if not self._is_marker(number)),
        )

    def scores(self) -> dict[str, float]:
        """How good each piece is, unknown ones left out: a log-probability, or minus its rank among BPE's merges."""
        processor = self._processor
        numbers = ((number, processor.id_to_piece(number)) for number in range(processor.get_piece_size()))
        return {piece: processor.get_score(number) for number, piece in numbers if not self._is_marker(number)}

    @property
    def kind(self) -> SubwordKind:
        """How words are split: by merging pairs, or along the most probable path."""
        # The file says so too, but sentencepiece gives no access to it. Only ranks are all whole numbers.
        return "bpe" if all(score.is_integer() for score in self.scores().values()) else "unigram"

    def _is_marker(self, number: int) -> bool:
        return bool(self._processor.is_control(number) or self._processor.is_unknown(number))


def word_splitter(language: str | None) -> Callable[[str], list[str]]:
    """The function that splits a line into words: a language's tokeniser, or whitespace for tokenised text."""
    return split_words if language is None else Tokeniser(language).split


class Side:
    """One side of a corpus: text as words and words as pieces; it can be pickled for worker processes."""

    def __init__(self, subwords: Subwords, language: str | None) -> None:
        self.subwords = subwords
        self.language = language
        self.split = word_splitter(language)
        self.join: Callable[[Sequence[str]], str] = " ".join if language is None else Tokeniser(language).join

    def pieces(self, words: Sequence[str]) -> list[str]:
        """The pieces of the words, in one list."""
        return [piece for word in words for piece in self.subwords.split(word)]

    def __reduce__(self) -> tuple[Callable[..., Side], tuple[bytes, str | None]]:
        return _from_model, (self.subwords.model, self.language)


def _from_model(model: bytes, language: str | None) -> Side:
    return Side(Subwords(model), language)
