"""Sentence pairs and their trees, read from the files of a corpus.

`Corpus` only reads, so that one process can read for many; `Reader` parses what it read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trdec.configuration.sections import CorpusConfiguration, FilterConfiguration
from trdec.data.report import LeftOut, Reason
from trdec.data.side_trees import SideTrees, source_tree
from trdec.errors import Place, TextFormatError, UsageError
from trdec.files import Line, checksum_of_text, count_lines, is_blank, read_lines, text_checksum
from trdec.systems import ANNOTATIONS, CONSTITUENCY, DEPENDENCY, System, source_key
from trdec.text import Side
from trdec.trees.tree import Entry, Nonterminal


@dataclass(frozen=True, slots=True)
class Record:
    """The part of an annotation file that belongs to one sentence, one or more lines, and where it starts."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class RawPair:
    """A sentence pair as it is in the files; sentences are numbered from 0."""

    number: int
    source: str
    target: str
    annotations: tuple[Record, ...]
    repeated: bool


class Corpus:
    """The files of a corpus that trees of these kinds need, over its target and perhaps over its source."""

    def __init__(
        self, name: str, files: CorpusConfiguration, kinds: Iterable[str], source_kind: str | None = None
    ) -> None:
        self.name = name
        self.source = files.source
        self.target = files.target
        self.annotations: dict[str, Path] = {}
        for kind in kinds:
            if kind in ANNOTATIONS:
                path: Path | None = getattr(files, kind)
                if path is None:
                    raise UsageError(
                        f"the system learns {kind} trees, but data.{name} names no file of them. "
                        f"Give it as data.{name}.{kind}, or choose another system."
                    )
                self.annotations[kind] = path
        if source_kind in ANNOTATIONS:
            role = source_key(source_kind)
            path = getattr(files, role)
            if path is None:
                raise UsageError(
                    f"the system reads {source_kind} trees of the source, but data.{name} names no file of them. "
                    f"Give it as data.{name}.{role}, or choose other source_trees."
                )
            self.annotations[role] = path

    def checksums(self) -> dict[str, str]:
        """The checksum of each file by its role; TextFormatError if source and target differ in length."""
        _same_number(self.source, count_lines(self.source), self.target, count_lines(self.target), "lines")
        return {role: text_checksum(path) for role, path in self.files.items()}

    @property
    def files(self) -> dict[str, Path]:
        """Every file by its role."""
        return {"source": self.source, "target": self.target, **self.annotations}

    def pairs(self, repeated: NDArray[np.bool_] | None = None) -> Iterator[RawPair]:
        """Every pair in order; TextFormatError where a file has more or fewer sentences than another."""
        sentences = count_lines(self.source)
        sources = (line.text for line in read_lines(self.source))
        targets = (line.text for line in read_lines(self.target))
        annotations = [records(_kind(role), path, sentences) for role, path in self.annotations.items()]
        rows: Iterator[tuple[Any, ...]] = zip_longest(sources, targets, *annotations)
        for number, row in enumerate(rows):
            if None in row:
                self._refuse(number, row, [sources, targets, *annotations])
            is_repeated = repeated is not None and bool(repeated[number])
            yield RawPair(number, row[0], row[1], row[2:], is_repeated)

    def _refuse(self, number: int, row: Sequence[object], columns: Sequence[Iterator[object]]) -> None:
        """Raise an error that names the first file with another number of sentences than the source."""
        paths = [self.source, self.target, *self.annotations.values()]
        counts = [
            number + (cell is not None) + sum(1 for _ in column) for cell, column in zip(row, columns, strict=True)
        ]
        for path, count in zip(paths[1:], counts[1:], strict=True):
            _same_number(self.source, counts[0], path, count, "sentences")

    def repeated(self) -> NDArray[np.bool_]:
        """For each pair, whether it repeats an earlier one; this takes some twenty bytes per pair."""
        lines = zip(read_lines(self.source), read_lines(self.target), strict=False)
        return repeats(np.fromiter((_digest(source.text, target.text) for source, target in lines), dtype=np.uint64))


def repeats(numbers: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """For each number, whether it occurs before."""
    # np.unique of all would do, but takes twice the memory: few of them occur twice, and only those need their places.
    ordered = np.sort(numbers)
    several = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    del ordered
    repeated = np.zeros(len(numbers), dtype=bool)
    if several.size:
        for begin in range(0, len(numbers), _BLOCK):
            block = numbers[begin : begin + _BLOCK]
            places = np.minimum(np.searchsorted(several, block), len(several) - 1)
            repeated[begin : begin + _BLOCK] = several[places] == block
        occurring = np.flatnonzero(repeated)
        repeated[occurring[np.unique(numbers[occurring], return_index=True)[1]]] = False
    return repeated


_BLOCK = 1 << 20


def _kind(role: str) -> str:
    """The kind of tree in the file of this role."""
    return next(kind for kind in ANNOTATIONS if role in (kind, source_key(kind)))


def records(kind: str, path: Path, sentences: int) -> Iterator[Record]:
    """The record of each sentence in an annotation file."""
    if kind == DEPENDENCY:
        return _blocks(read_lines(path))
    # Usually there is one tree per line, and then a blank line belongs to a sentence too.
    if kind == CONSTITUENCY and count_lines(path) != sentences:
        return _balanced(read_lines(path))
    return (Record(line.place.line, line.text) for line in read_lines(path))


def _blocks(lines: Iterable[Line]) -> Iterator[Record]:
    """The runs of lines between blank lines, except runs of comments only."""
    block: list[str] = []
    start = 0
    for line in lines:
        if not is_blank(line.text):
            start = start if block else line.place.line
            block.append(line.text)
            continue
        if any(not text.startswith("#") for text in block):
            yield Record(start, "\n".join(block))
        block = []
    if any(not text.startswith("#") for text in block):
        yield Record(start, "\n".join(block))


def _balanced(lines: Iterable[Line]) -> Iterator[Record]:
    """The runs of lines up to where brackets balance; a bracket in the first column always starts a new run."""
    block: list[str] = []
    start = depth = 0
    for line in lines:
        if block and (depth <= 0 or line.text.startswith("(")):
            yield Record(start, "\n".join(block))
            block, depth = [], 0
        if block or not is_blank(line.text):
            start = start if block else line.place.line
            block.append(line.text)
            depth += line.text.count("(") - line.text.count(")")
    if block:
        yield Record(start, "\n".join(block))


def _same_number(first: Path, first_count: int, second: Path, second_count: int, what: str) -> None:
    if first_count != second_count:
        raise TextFormatError(
            f"{first} has {first_count} {what}, {second} has {second_count}. "
            "The files of a corpus must hold the same sentences in the same order."
        )


def _digest(source: str, target: str) -> int:
    return int(checksum_of_text(f"{source}\n{target}")[:16], 16)


NO_FILTERS = FilterConfiguration(max_source_length=None, max_target_length=None, max_ratio=None)
"""Filters that keep every pair."""


class Words(NamedTuple):
    """A sentence pair as words."""

    source: list[str]
    target: list[str]


@dataclass(frozen=True, slots=True)
class Reader:
    """Turns the raw pairs of one corpus into words and trees, or says why a pair is left out."""

    corpus: Corpus
    system: System
    source_side: Side
    target_side: Side
    filters: FilterConfiguration
    first: int = 0
    """The number of its first sentence among those of all corpora."""

    def words(self, pair: RawPair) -> Words | LeftOut:
        """The words of the pair, if it passes the filters."""
        found = Words(self.source_side.split(pair.source), self.target_side.split(pair.target))
        place = Place(str(self.corpus.target), pair.number + 1)
        if not found.source or not found.target:
            empty = self.corpus.target if found.source else self.corpus.source
            return LeftOut(Reason.EMPTY, f"{Place(str(empty), pair.number + 1)}: the line has no words.")
        filters = self.filters
        if filters.remove_duplicates and pair.repeated:
            return LeftOut(Reason.DUPLICATE, f"{place}: this pair repeats an earlier one.")
        source, target = len(self.source_side.pieces(found.source)), len(self.target_side.pieces(found.target))
        if filters.max_source_length is not None and source > filters.max_source_length:
            return LeftOut(
                Reason.SOURCE_LENGTH,
                f"{Place(str(self.corpus.source), pair.number + 1)}: the source has {source} pieces; "
                f"max_source_length is {filters.max_source_length}.",
            )
        if filters.max_target_length is not None and target > filters.max_target_length:
            return LeftOut(
                Reason.TARGET_LENGTH,
                f"{place}: the target has {target} pieces; max_target_length is {filters.max_target_length}.",
            )
        if filters.max_ratio is not None and max(source, target) > filters.max_ratio * min(source, target):
            lengths = f"{source} source pieces, {target} target pieces"
            return LeftOut(Reason.RATIO, f"{place}: {lengths}; max_ratio is {filters.max_ratio:g}.")
        return found

    def trees(self, pair: RawPair, target: Sequence[str]) -> Iterator[Entry | LeftOut]:
        """For each kind of tree, the tree over the target words, in the text's spelling and transformed."""
        line = Line(Place(str(self.corpus.target), pair.number + 1), pair.target)
        for kind in self.system.trees:
            # The sentence's number is the seed, so that its tree is the same whichever process builds it.
            yield self.target_trees.tree(kind, line, target, self._parse(pair, kind), Random(pair.number))

    def source_tree(self, pair: RawPair, source: Sequence[str]) -> Nonterminal | LeftOut | None:
        """The tree over the source words, in the text's spelling and transformed; None if sources have none."""
        kind = self.system.source_trees
        if kind is None:
            return None
        line = Line(Place(str(self.corpus.source), pair.number + 1), pair.source)
        found = source_tree(self.system, self.source_side, line, source, self._parse(pair, source_key(kind)))
        return found if isinstance(found, LeftOut) else found.tree

    @property
    def target_trees(self) -> SideTrees:
        """What finds trees over the target."""
        return SideTrees(self.target_side, self.system.transforms)

    def _parse(self, pair: RawPair, role: str) -> Sequence[Line]:
        """The lines of the pair's parse in the file of this role; none if trees are built."""
        path = self.corpus.annotations.get(role)
        return () if path is None else parse_lines(path, pair.annotations[list(self.corpus.annotations).index(role)])


def parse_lines(path: Path, record: Record) -> list[Line]:
    """The lines of a record, each with its place."""
    texts = record.text.split("\n")
    return [Line(Place(str(path), number), text) for number, text in enumerate(texts, start=record.line)]
