"""Making a preparation: subwords, then trees and their rules or marks, then examples in the codec's numbers."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trdec.configuration.sections import DataConfiguration, SubwordConfiguration
from trdec.data.codec import Codec
from trdec.data.corpus import NO_FILTERS, Corpus, Reader
from trdec.data.inspection import inspect
from trdec.data.parts import EncodedShard, EncodeShard, Part
from trdec.data.report import Report, SplitReport
from trdec.data.store import ARRAYS, PreparedWriter, with_source_trees
from trdec.data.workers import ShardWorkers, shards
from trdec.errors import NoExamplesError, StoredDataError, SubwordError
from trdec.files import count_lines, read_lines
from trdec.systems import System
from trdec.text import Side, Subwords
from trdec.tokenisers import Tokeniser, chosen_tokeniser

if TYPE_CHECKING:
    from trdec.progress import Progress

_log = logging.getLogger(__name__)

PART = 1_000_000
"""Sentence pairs per part: what a kill can cost."""

SUBWORD_SENTENCES = 1_000_000
"""Subwords are learnt from at most this many training sentences, evenly spread."""


def side_tokeniser(configuration: DataConfiguration, side: str) -> Tokeniser:
    """The tokeniser of the source or of the target."""
    return chosen_tokeniser(getattr(configuration, f"{side}_tokeniser"), getattr(configuration, f"{side}_language"))


def silent(_task: str, _done: int, _total: int | None) -> None:
    """The progress that is not shown."""


def learn_side(configuration: DataConfiguration, name: str, texts: Sequence[Path], progress: Progress = silent) -> Side:
    """The tokeniser of the source or of the target, with the subwords that are named, or learnt from the texts."""
    tokeniser = side_tokeniser(configuration, name)
    subwords: SubwordConfiguration = getattr(configuration, f"{name}_subwords")
    if subwords.model is not None:
        return Side(Subwords.load(subwords.model).for_words_of(tokeniser), tokeniser)
    total = sum(map(count_lines, texts))
    every = -(-total // SUBWORD_SENTENCES) or 1
    learning = f"learning {name} subwords"

    def sentences() -> Iterator[list[str]]:
        for number, line in enumerate(chain.from_iterable(map(read_lines, texts))):
            if number % every == 0:
                progress(f"reading {name} sentences", number + 1, total)
                if words := tokeniser.split(line.text):
                    yield words
        progress(learning, 0, 1)

    try:
        if tokeniser.marks_spaces:
            counts = Counter(word for words in sentences() for word in words)
            learnt = Subwords.train_on_words(counts, subwords.kind, subwords.size)
        else:
            lines = (" ".join(words) for words in sentences())
            learnt = Subwords.train(lines, subwords.kind, subwords.size)
    except SubwordError as error:
        raise SubwordError(f"{', '.join(map(str, texts))}: {error} (data.{name}_subwords.size)") from error
    progress(learning, 1, 1)
    return Side(learnt, tokeniser)


class Maker:
    """Makes a preparation: subwords, then rules or marks, then examples."""

    def __init__(
        self,
        configuration: DataConfiguration,
        system: System,
        train: Sequence[Corpus],
        dev: Corpus,
        workers: ShardWorkers,
        progress: Progress,
    ) -> None:
        self._configuration = configuration
        self._system = system
        self._train = train
        self._dev = dev
        self._workers = workers
        self._progress = progress
        lengths = [count_lines(corpus.source) for corpus in train]
        self.first_sentences = [sum(lengths[:place]) for place in range(len(lengths))]

    def make(self, codec_folder: Path, directory: Path, unfinished: Path) -> Report:
        """Write the codec into one empty folder and the examples into another; a third keeps what a kill would lose."""
        configuration = self._configuration
        source = self._kept_side("source", [corpus.source for corpus in self._train], unfinished)
        target = self._kept_side("target", [corpus.target for corpus in self._train], unfinished)
        readers = [
            Reader(corpus, self._system, source, target, configuration.filters, first)
            for corpus, first in zip(self._train, self.first_sentences, strict=True)
        ]
        parts = [part for reader in readers for part in self._parts(reader, unfinished)]
        codec = self._codec(readers[0], parts)
        codec.save(codec_folder)
        train = self._number(parts, codec, directory / "train")
        dev_reader = Reader(self._dev, self._system, source, target, NO_FILTERS)
        dev = self._number(list(self._parts(dev_reader, unfinished)), codec, directory / "dev")
        for name, split in (("training", train), ("dev", dev)):
            if split.examples == 0:
                raise NoExamplesError(
                    f"expected {name} examples, found none: " + "; ".join(line.strip() for line in split.lines())
                )
        inspection = inspect(configuration, readers[0], codec, train)
        for warning in inspection.warnings:
            _log.warning("WARNING: %s", warning)
        return Report(train, dev, codec.source_size, dict(Counter(codec.table.kinds)), inspection)

    def _kept_side(self, name: str, texts: Sequence[Path], unfinished: Path) -> Side:
        """The tokeniser and the subwords of a side; subwords that were learnt before a kill are not learnt again."""
        kept = unfinished / f"{name}.spm.model"
        if kept.exists():
            return Side(Subwords.load(kept), side_tokeniser(self._configuration, name))
        side = learn_side(self._configuration, name, texts, self._progress)
        side.subwords.save(kept)
        return side

    def _parts(self, reader: Reader, unfinished: Path) -> Iterator[Part]:
        """The parts of a corpus, each encoded unless it was before a kill."""
        corpus, total, task = reader.corpus, count_lines(reader.corpus.source), f"encoding {reader.corpus.name}"
        pairs = corpus.pairs(corpus.repeated())
        for number, begin in enumerate(range(0, total, PART)):
            folder = unfinished / f"{corpus.name}.{number:05}"
            own = islice(pairs, PART)
            if (part := _opened(folder, reader)) is None:
                encoded = self._workers.map(EncodeShard(reader), shards(own))
                Part.write(folder, self._told(encoded, task, begin, total), reader)
                part = Part(folder, reader)
            else:
                _log.info("%s: encoded before, used again", folder)
                deque(own, maxlen=0)
            yield part
        deque(pairs, maxlen=0)  # notices files of different lengths, also where nothing was encoded

    def _told(self, encoded: Iterable[EncodedShard], task: str, done: int, total: int) -> Iterator[EncodedShard]:
        """The same shards, with their progress told; `done` pairs came before them."""
        for shard in encoded:
            yield shard
            done += shard.report.pairs
            self._progress(task, done, total)

    def _codec(self, reader: Reader, parts: Iterable[Part]) -> Codec:
        counts: Counter[Any] = Counter()
        marks: Counter[str] = Counter()
        for part in parts:
            counts.update(part.counts())
            marks.update(part.source_marks())
        vocabulary = reader.target_side.subwords.pieces
        target = self._system.target_class.from_counts(counts, vocabulary, self._configuration.min_rule_count)
        source_marks = sorted(marks, key=lambda mark: (-marks[mark], mark))
        return Codec(self._system, reader.source_side, reader.target_side, target, source_marks)

    def _number(self, parts: Sequence[Part], codec: Codec, directory: Path) -> SplitReport:
        """Write the parts as one corpus, in the codec's numbers."""
        report, total, task = SplitReport(), sum(map(len, parts)), f"writing {directory.name}"
        with PreparedWriter(directory, ARRAYS if codec.source_form is None else with_source_trees(ARRAYS)) as writer:
            for examples, counted in chain.from_iterable(part.numbered(codec) for part in parts):
                writer.append(examples)
                report.add(counted)
                self._progress(task, report.examples, total)
        self._progress(task, total, total)  # with the trees that were left out
        return report


def _opened(folder: Path, reader: Reader) -> Part | None:
    """The part in a folder; None if there is none that can be used."""
    if not folder.exists():
        return None
    try:
        return Part(folder, reader)
    except StoredDataError as error:
        _log.warning("%s: made again: %s", folder, error)
        return None
