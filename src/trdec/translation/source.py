"""Lines of text as a model reads them, in batches of similar length."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trdec.data.codec import Codec
from trdec.data.corpus import parse_lines, records
from trdec.data.report import LeftOut
from trdec.data.side_trees import source_tree
from trdec.errors import TextFormatError, UsageError
from trdec.files import Line, count_lines
from trdec.systems import System
from trdec.trees.builders import flat
from trdec.trees.tree import Nonterminal

TOO_LONG = "held more pieces than any sentence the model was trained on"
UNKNOWN_CHARACTERS = "held characters or words that the model does not know"
UNUSABLE_PARSE = "had no parse that could be read and has the same words, and were given a flat tree"
CONTROL_CHARACTERS = "held control characters or lone surrogates, which were read as spaces"


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A line as words and as a model reads it, the end included; a line without words has no pieces."""

    pieces: NDArray[np.int32]  # S, or with trees S 3
    words: tuple[str, ...]
    remarks: tuple[str, ...]
    tree: Nonterminal | None = None
    """The tree over the words, if the model reads one."""

    def __len__(self) -> int:
        return len(self.pieces)


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """A line to translate, and the lines of its parse."""

    text: str
    parse: Sequence[Line]


def source_parses(system: System, file: Path | None) -> dict[str, Path]:
    """The file of the source's parses by its key in a corpus; UsageError if it is missing, or is not needed."""
    key = system.source_annotation
    if key is None and file is not None:
        found = (
            "no trees of the source" if system.source_trees is None else "trees that it builds from the source's words"
        )
        raise UsageError(f"this model reads {found}. Leave `source_trees` out.")
    if key is not None and file is None:
        raise UsageError(
            f"this model reads {system.source_trees} trees of the source, which cannot be built from the words. Give "
            "their parses as `source_trees`."
        )
    return {} if key is None or file is None else {key: file}


def parsed_lines(
    system: System, texts: Iterable[str], file: Path | None, sentences: int | None = None
) -> Iterator[str] | Iterator[ParsedLine]:
    """Each line with its parse, if the system reads parses.

    Where the number of sentences is not known, the file has one constituency tree per line.
    """
    if not source_parses(system, file) or file is None:
        return iter(texts)
    assert system.source_trees is not None
    found = records(system.source_trees, file, count_lines(file) if sentences is None else sentences)
    return _beside(texts, (parse_lines(file, record) for record in found), file)


def _beside(texts: Iterable[str], parses: Iterable[Sequence[Line]], file: Path) -> Iterator[ParsedLine]:
    for number, (text, parse) in enumerate(zip_longest(texts, parses)):
        if text is None or parse is None:
            ended, other = ("lines to translate", "trees") if text is None else ("trees", "lines to translate")
            raise TextFormatError(
                f"{file}: expected a tree for each line, found only {number} {ended}, but more {other}. "
                "Give the parses of these lines, in their order."
            )
        yield ParsedLine(text, parse)


def cleaned(text: str) -> str:
    """The line with spaces in place of control characters and lone surrogates, which nothing was trained on."""
    return "".join(" " if unicodedata.category(c) in ("Cc", "Cs") and c != "\t" else c for c in text)


def read_source(codec: Codec, line: str | ParsedLine, longest: int | None) -> Source:
    """The line's words, tree and pieces, with remarks for the user; `longest` is the most pieces training allowed."""
    text = line if isinstance(line, str) else line.text
    clean = cleaned(text)
    remarks = [CONTROL_CHARACTERS] if clean.strip() != text.strip() else []
    words = codec.source_side.split(clean)
    if not words:
        return Source(np.zeros(0, dtype=np.int32), (), tuple(remarks))
    if isinstance(line, str):
        tree = codec.built_tree(clean, words)
    else:
        found = source_tree(codec.system, codec.source_side, Line(line.parse[0].place, clean), words, line.parse)
        tree = flat(words) if isinstance(found, LeftOut) else found.tree
        remarks += [UNUSABLE_PARSE] if isinstance(found, LeftOut) else []
    pieces = codec.encode_source_words(words, tree)
    numbers = pieces if tree is None else pieces[pieces[:, 1] == 1, 0]  # of the text
    if longest is not None and len(numbers) - 1 > longest:
        remarks.append(TOO_LONG)
    if not numbers.all():  # 0 is the piece the model does not know
        remarks.append(UNKNOWN_CHARACTERS)
    return Source(pieces, tuple(words), tuple(remarks), tree)


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
