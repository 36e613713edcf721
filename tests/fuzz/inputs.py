"""Input for targets: bytes as the lines of a file, and good examples that the project makes itself."""

from __future__ import annotations

import io
import sys
from functools import cache
from itertools import islice

from trdec.corpora.toy.generate import ToySentence, sentences
from trdec.files import Line, read_lines


def lines_of(data: bytes) -> list[Line]:
    """The lines of a file with this content, read as trdec reads files."""
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(data))
    try:
        return list(read_lines("-"))
    finally:
        sys.stdin = before


@cache
def toy_sentences(number: int = 30) -> list[ToySentence]:
    """Sentences of the toy language with all their annotation."""
    return list(islice(sentences(1), number))
