"""From a raw sentence pair to words and trees, or to the reason why it is left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import NamedTuple

from trdec.data.configuration import FilterConfiguration
from trdec.data.corpus import Corpus, RawPair, Record
from trdec.data.report import LeftOut, Reason
from trdec.data.side import Side
from trdec.errors import MisalignedTreeError, Place
from trdec.systems import ANNOTATIONS, SUPERTAGS, Treebank
from trdec.text.lines import Line
from trdec.trees import supertags, treebank
from trdec.trees.entry import Entry
from trdec.trees.own_builder import builder_called

NOTHING = FilterConfiguration(max_source_length=None, max_target_length=None, max_ratio=None)
"""The filters that leave nothing out."""


class Words(NamedTuple):
    """A sentence pair as words."""

    source: list[str]
    target: list[str]


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the pairs of one corpus: what a system is trained on, or why it is not."""

    corpus: Corpus
    treebanks: tuple[Treebank, ...]
    source_side: Side
    target_side: Side
    filters: FilterConfiguration

    def words(self, pair: RawPair) -> Words | LeftOut:
        """The words of the pair, if it passes the filters."""
        found = Words(self.source_side.split(pair.source), self.target_side.split(pair.target))
        place = Place(str(self.corpus.target), pair.number + 1)
        if not found.source or not found.target:
            empty = self.corpus.target if found.source else self.corpus.source
            return LeftOut(Reason.EMPTY, f"{Place(str(empty), pair.number + 1)}: the line has no words.")
        filters = self.filters
        if filters.remove_duplicates and pair.repeated:
            return LeftOut(Reason.DUPLICATE, f"{place}: this pair stood in the files before.")
        source, target = len(self.source_side.pieces(found.source)), len(self.target_side.pieces(found.target))
        lengths = f"{place}: {source} source pieces, {target} target pieces"
        if filters.max_source_length is not None and source > filters.max_source_length:
            return LeftOut(Reason.SOURCE_LENGTH, f"{lengths}; max_source_length is {filters.max_source_length}.")
        if filters.max_target_length is not None and target > filters.max_target_length:
            return LeftOut(Reason.TARGET_LENGTH, f"{lengths}; max_target_length is {filters.max_target_length}.")
        if filters.max_ratio is not None and max(source, target) > filters.max_ratio * min(source, target):
            return LeftOut(Reason.RATIO, f"{lengths}; max_ratio is {filters.max_ratio:g}.")
        return found

    def trees(self, pair: RawPair, target: Sequence[str]) -> Iterator[Entry | LeftOut]:
        """For each treebank, the tree over the target words, in the text's spelling and transformed."""
        read: dict[str, Entry | LeftOut] = {}
        for source in self.treebanks:
            if source.kind not in read:
                read[source.kind] = self._entry(source.kind, pair, list(target))
            found = read[source.kind]
            if isinstance(found, LeftOut):
                yield found
            else:
                assert found.tree is not None
                yield Entry(found.place, source.transform(found.tree), was_projective=found.was_projective)

    def _entry(self, kind: str, pair: RawPair, target: list[str]) -> Entry | LeftOut:
        """The tree of this kind over the words, as the file or the builder has it."""
        if kind not in ANNOTATIONS:
            place = Place(str(self.corpus.target), pair.number + 1)
            # The sentence's number is the seed, so that its tree is the same whichever process builds it.
            return Entry(place, builder_called(kind)(target, Random(pair.number)))
        record = pair.annotations[list(self.corpus.annotations).index(kind)]
        path = self.corpus.annotations[kind]
        lines = _lines(path, record)
        if kind == SUPERTAGS:
            entries = supertags.read(lines, [Line(Place(str(self.corpus.target), pair.number + 1), " ".join(target))])
        else:
            entries = treebank.FORMATS[ANNOTATIONS[kind]](lines)
        entry = next(map(treebank.checked, entries), None)
        place = lines[0].place
        if entry is None:
            return LeftOut(Reason.UNREADABLE, f"{place}: expected a tree, found an empty line.")
        if entry.error is not None:
            return LeftOut(Reason.UNREADABLE, str(entry.error))
        if entry.tree is None:
            return LeftOut(Reason.NO_TREE, f"{place}: the parser found no tree.")
        try:
            return Entry(place, treebank.respell(entry.tree, target), was_projective=entry.was_projective)
        except MisalignedTreeError as error:
            return LeftOut(Reason.MISALIGNED, f"{place}: {error}")


def _lines(path: Path, record: Record) -> list[Line]:
    texts = record.text.split("\n")
    return [Line(Place(str(path), number), text) for number, text in enumerate(texts, start=record.line)]
