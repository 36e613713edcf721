"""Words as pieces, and back."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import sentencepiece

from trdec.errors import SubwordError
from trdec.tokenisers import WORD_START, Tokeniser

UNKNOWN = "<unk>"
"""The piece for everything that has no piece of its own."""

SubwordKind = Literal["bpe", "unigram"]

_AS_WRITTEN = {"add_dummy_prefix": False, "remove_extra_whitespaces": False}
"""sentencepiece's options for words that carry their spaces."""

_LONGEST_LINE = 2**30
"""Bytes of a line to learn from; sentencepiece silently skips longer lines, by default from 4192 bytes on."""


class Subwords:
    """Words as the pieces of a sentencepiece model.

    Words are split one at a time. This gives the same pieces as splitting the whole line, because pieces never cross
    whitespace, or any border between the words that a model was learnt from.
    """

    def __init__(self, model: bytes) -> None:
        self.model = model
        self._processor = sentencepiece.SentencePieceProcessor()
        try:
            self._processor.LoadFromSerializedProto(model)
        except (RuntimeError, OSError) as error:
            raise SubwordError("not a sentencepiece model. Expected a file that sentencepiece trained.") from error
        numbers = range(self._processor.get_piece_size())
        try:
            for number in numbers:
                self._processor.id_to_piece(number)
        except UnicodeDecodeError as error:
            raise SubwordError(f"expected pieces in UTF-8, found {error.object!r}. The model is damaged.") from error
        if any(map(self._processor.is_byte, numbers)):
            raise SubwordError(
                "expected pieces of characters, found pieces of bytes, which spell no text by themselves. Train the "
                "model without byte_fallback."
            )
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
        """A model of `size` pieces learnt from the lines; every character in them gets a piece, and stays as it is."""
        return cls._trained(lines, kind, size)

    @classmethod
    def train_on_words(cls, counts: Mapping[str, int], kind: SubwordKind, size: int) -> Subwords:
        """A model learnt from words that carry their spaces, and how often each occurs; no piece crosses a word's end.

        Characters stay as they are, so that pieces spell exactly the words they were split from.
        """
        rows = (f"{word}\t{count}" for word, count in counts.items())
        return cls._trained(rows, kind, size, input_format="tsv", **_AS_WRITTEN)

    @classmethod
    def _trained(cls, lines: Iterable[str], kind: SubwordKind, size: int, **options: Any) -> Subwords:
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
                normalization_rule_name="identity",
                num_threads=1,  # the same model on every machine
                max_sentence_length=_LONGEST_LINE,
                minloglevel=2,
                **options,
            )
        except (RuntimeError, OSError) as error:
            if failed:  # reading the lines, not learning from them
                raise failed[0] from None
            raise SubwordError(f"cannot learn {size} {kind} pieces from this text: {_reason(str(error))}") from error
        return cls(buffer.getvalue())

    def for_words_of(self, tokeniser: Tokeniser) -> Subwords:
        """The same model for a tokeniser's words: it marks where they begin, unless they carry their spaces."""
        if not tokeniser.marks_spaces and self.split("a")[0].startswith(WORD_START):
            return self
        processor = sentencepiece.SentencePieceProcessor()
        processor.LoadFromSerializedProto(self.model)
        processor.override_normalizer_spec(**(_AS_WRITTEN if tokeniser.marks_spaces else {"add_dummy_prefix": True}))
        return Subwords(processor.serialized_model_proto())

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


def _reason(message: str) -> str:
    """What sentencepiece's message says to someone who has not read its code."""
    if found := re.search(r"required_chars\. \d+ vs (\d+)", message):
        return f"it has so many different characters that it needs at least {found[1]}. Choose a larger size."
    if found := re.search(r"value <= (\d+)", message):
        return f"it is so small that it has at most {found[1]}. Choose a smaller size."
    said = re.sub(r"^.*\.cc\(\d+\) (\[.*?\] )?", "", message, flags=re.DOTALL).strip().rstrip(".")
    return (
        f"{said or 'it has no words'}. "
        "Choose a smaller size for a small text, a larger one for a text with many different characters."
    )


class Side:
    """One side of a corpus: text as words and words as pieces; it can be pickled for worker processes."""

    def __init__(self, subwords: Subwords, tokeniser: Tokeniser) -> None:
        self.subwords = subwords
        self.tokeniser = tokeniser
        self.split = tokeniser.split
        self.join = tokeniser.join

    def pieces(self, words: Sequence[str]) -> list[str]:
        """The pieces of the words, in one list."""
        return [piece for word in words for piece in self.subwords.split(word)]

    def text_of(self, pieces: Sequence[str]) -> str:
        """The line that the pieces spell."""
        return self.join(self.tokeniser.words_of("".join(pieces)))

    def __reduce__(self) -> tuple[Callable[..., Side], tuple[bytes, Tokeniser]]:
        return _from_model, (self.subwords.model, self.tokeniser)


def _from_model(model: bytes, tokeniser: Tokeniser) -> Side:
    return Side(Subwords(model), tokeniser)
