"""Lines of text as a model reads them, in batches of similar length."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trdec.data.codec import Codec

TOO_LONG = "held more pieces than any sentence the model was trained on"
UNKNOWN_CHARACTERS = "held characters or words that the model does not know"
CONTROL_CHARACTERS = "held control characters or lone surrogates, which were read as spaces"


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A line as words and as piece numbers, the end included; a line without words has no pieces."""

    pieces: NDArray[np.int32]  # S
    words: tuple[str, ...]
    remarks: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.pieces)


def read_source(codec: Codec, text: str, longest: int | None) -> Source:
    """The line's words and pieces, with remarks for the user; `longest` is the most pieces that training allowed."""
    clean = "".join(" " if unicodedata.category(c) in ("Cc", "Cs") and c != "\t" else c for c in text)
    remarks = [CONTROL_CHARACTERS] if clean.strip() != text.strip() else []
    words = codec.source_side.split(clean)
    if not words:
        return Source(np.zeros(0, dtype=np.int32), (), tuple(remarks))
    pieces = codec.encode_source_words(words)
    if longest is not None and len(pieces) - 1 > longest:
        remarks.append(TOO_LONG)
    if not pieces.all():  # 0 is the piece the model does not know
        remarks.append(UNKNOWN_CHARACTERS)
    return Source(pieces, tuple(words), tuple(remarks))


def batches(sources: Sequence[Source], most_sentences: int, most_places: int) -> Iterator[list[int]]:
    """The numbers of the sources in each batch, of similar length, longest first; those without words are left out.

    A batch has at most `most_sentences` sentences and `most_places` places, padding included; a sentence longer
    than that is a batch by itself.
    """
    longest_first = sorted((n for n, source in enumerate(sources) if len(source)), key=lambda n: -len(sources[n]))
    batch: list[int] = []
    for number in longest_first:
        if batch and (len(batch) == most_sentences or (len(batch) + 1) * len(sources[batch[0]]) > most_places):
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
