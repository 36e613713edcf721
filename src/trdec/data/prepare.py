"""What a preparation was made from, so that it is made again when that changed and only then.

Files count by their content, not by name, size or time: a corpus may be moved, copied or checked out anew
without being prepared again, and no edit goes unseen. Reading a file for that takes a small part of the
time that preparing it takes.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trdec.configuration.sections import DataConfiguration, FilterConfiguration, SubwordConfiguration
from trdec.data.codec import Codec
from trdec.data.corpus import NO_FILTERS, Corpus, RawPair, Reader, count_lines, inspect
from trdec.data.report import Report, SplitReport
from trdec.data.store import AGAIN, Prepared, PreparedWriter, read_description, write_description
from trdec.data.workers import CountUnits, Encode, ordered_map, shards
from trdec.errors import FileError, NoExamplesError, StoredDataError, SubwordError
from trdec.extensions import extension_file
from trdec.files import read_lines
from trdec.systems import System
from trdec.text import Side, Subwords, word_splitter


def inputs(configuration: DataConfiguration, system: System, corpora: tuple[Corpus, ...]) -> dict[str, Any]:
    """Everything that prepared data depends on, by name."""
    found: dict[str, Any] = {
        **system.model_dump(mode="json"),
        "source_language": configuration.source_language,
        "target_language": configuration.target_language,
        "source_subwords": _subwords(configuration.source_subwords),
        "target_subwords": _subwords(configuration.target_subwords),
        "filters": configuration.filters.model_dump(mode="json"),
        "min_rule_count": configuration.min_rule_count,
    }
    for name in system.extensions:
        # What the extension's own file imports is not looked into.
        if file := extension_file(name):
            found[name] = inspect(file).digest
    for corpus in corpora:
        for role, facts in corpus.inspect().items():
            found[f"{corpus.name}.{role}"] = facts.digest
    return found


def fingerprint_of_inputs(found: Mapping[str, Any]) -> str:
    """One short name for all the inputs."""
    return blake2b(json.dumps(found, sort_keys=True).encode(), digest_size=16).hexdigest()


def changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The names of the inputs that are not the same."""
    return sorted(name for name in {*old, *new} if old.get(name) != new.get(name))


def _subwords(configuration: SubwordConfiguration) -> dict[str, Any]:
    if configuration.model is not None:
        return {"model": inspect(configuration.model).digest}
    return {"kind": configuration.kind, "size": configuration.size}


log = logging.getLogger(__name__)

PREPARATION_FORMAT = "trdec preparation"
REPORT_FORMAT = "trdec preparation report"
PREPARATION_VERSION = 1

PREPARATION_DESCRIPTION = "preparation.json"
REPORT = "report.json"

SUBWORD_SENTENCES = 1_000_000
"""Subwords are learnt from at most so many training sentences, evenly spread."""

PreparationProgress = Callable[[str, int, int], None]
"""Told what is being done, how many sentences are done, and how many there are."""


@dataclass(frozen=True, slots=True)
class Preparation:
    """Prepared corpora, the codec that made them, and what was left out."""

    train: Prepared
    dev: Prepared
    codec: Codec
    report: Report

    @classmethod
    def open(cls, directory: Path | str) -> Preparation:
        """The preparation in a directory."""
        directory = Path(directory)
        read_description(directory / PREPARATION_DESCRIPTION, PREPARATION_FORMAT, PREPARATION_VERSION)
        found = read_description(directory / REPORT, REPORT_FORMAT, PREPARATION_VERSION)
        try:
            report = Report.from_json(found)
        except (KeyError, TypeError) as error:
            raise StoredDataError(f"{directory / REPORT}: lacks or mistakes {error}. {AGAIN}") from error
        return cls(
            Prepared.open(directory / "train"),
            Prepared.open(directory / "dev"),
            Codec.load(directory / "codec"),
            report,
        )


def prepare(
    configuration: DataConfiguration,
    system: System,
    directory: Path,
    workers: int = 1,
    progress: PreparationProgress | None = None,
) -> Preparation:
    """The preparation in the directory, made (again) if there is none or if anything it depends on changed.

    The result is the same, byte for byte, for any number of workers.
    """
    train, dev, inputs = _inputs(configuration, system)
    with _locked(directory.parent):
        ready = _reusable(directory, inputs)
        if ready is not None:
            log.info("%s: nothing changed, used again", directory)
            return ready
        unfinished = directory.parent / f".{directory.name}.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)  # what a killed run left
        try:
            unfinished.mkdir()
            _Maker(configuration, system, train, dev, workers, progress or _silent).make(unfinished)
            content = {"fingerprint": fingerprint_of_inputs(inputs), "inputs": inputs}
            write_description(unfinished / PREPARATION_DESCRIPTION, PREPARATION_FORMAT, PREPARATION_VERSION, content)
            _replace(unfinished, directory)
        except OSError as error:
            raise FileError(f"{directory}: cannot be written: {error.strerror}.") from error
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        return Preparation.open(directory)


def changed_inputs(configuration: DataConfiguration, system: System, directory: Path) -> list[str]:
    """What is not as it was when the preparation in the directory was made; nothing if there is none to ask."""
    try:
        found = read_description(directory / PREPARATION_DESCRIPTION, PREPARATION_FORMAT, PREPARATION_VERSION)
    except StoredDataError:  # missing or damaged: it will be made again
        return []
    _, _, inputs = _inputs(configuration, system)
    if found.get("fingerprint") == fingerprint_of_inputs(inputs):
        return []
    return changed(found.get("inputs", {}), inputs)


def _inputs(configuration: DataConfiguration, system: System) -> tuple[Corpus, Corpus, dict[str, Any]]:
    """Train, dev, and all that their preparation depends on."""
    train = Corpus("train", configuration.train, system.trees)
    dev = Corpus("dev", configuration.dev, system.trees)
    return train, dev, inputs(configuration, system, (train, dev))


class _Maker:
    """One run of preparing: subwords, then rules or marks, then examples."""

    def __init__(
        self,
        configuration: DataConfiguration,
        system: System,
        train: Corpus,
        dev: Corpus,
        workers: int,
        progress: PreparationProgress,
    ) -> None:
        self._configuration = configuration
        self._system = system
        self._train = train
        self._dev = dev
        self._workers = workers
        self._progress = progress

    def make(self, directory: Path) -> None:
        configuration = self._configuration
        source = self._side("source", self._train.source, configuration.source_subwords, configuration.source_language)
        target = self._side("target", self._train.target, configuration.target_subwords, configuration.target_language)
        repeated = self._train.repeated()
        train_reader = self._reader(self._train, source, target, configuration.filters)
        codec = self._codec(train_reader, repeated)
        codec.save(directory / "codec")
        train = self._encode(train_reader, codec, repeated, directory / "train")
        if train.examples == 0:
            raise NoExamplesError(
                "expected something to train on, found nothing: " + "; ".join(line.strip() for line in train.lines())
            )
        dev_reader = self._reader(self._dev, source, target, NO_FILTERS)
        dev = self._encode(dev_reader, codec, self._dev.repeated(), directory / "dev")
        if dev.examples == 0:
            raise NoExamplesError(
                "expected something in dev, found nothing: " + "; ".join(line.strip() for line in dev.lines())
            )
        report = Report(train, dev, codec.source_size, dict(Counter(codec.table.kinds)))
        write_description(directory / REPORT, REPORT_FORMAT, PREPARATION_VERSION, report.to_json())

    def _side(self, name: str, text: Path, subwords: SubwordConfiguration, language: str | None) -> Side:
        if subwords.model is not None:
            return Side(Subwords.load(subwords.model), language)
        total = count_lines(text)
        every = -(-total // SUBWORD_SENTENCES) or 1
        split = word_splitter(language)

        def sentences() -> Iterator[str]:
            for number, line in enumerate(read_lines(text)):
                if number % every == 0:
                    self._progress(f"learning {name} subwords", number + 1, total)
                    if words := split(line.text):
                        yield " ".join(words)

        try:
            return Side(Subwords.train(sentences(), subwords.kind, subwords.size), language)
        except SubwordError as error:
            raise SubwordError(f"{text}: {error} (data.{name}_subwords.size)") from error

    def _reader(self, corpus: Corpus, source: Side, target: Side, filters: FilterConfiguration) -> Reader:
        return Reader(corpus, self._system, source, target, filters)

    def _codec(self, reader: Reader, repeated: NDArray[np.bool_]) -> Codec:
        family = self._system.target_class
        counts: Counter[Any] = Counter()
        pairs = self._shards("counting rules", self._train, repeated)
        for counted in ordered_map(CountUnits(reader, family), pairs, self._workers):
            counts.update(counted)
        vocabulary = reader.target_side.subwords.pieces
        target = family.from_counts(counts, vocabulary, self._configuration.min_rule_count)
        return Codec(self._system, reader.source_side, reader.target_side, target)

    def _encode(self, reader: Reader, codec: Codec, repeated: NDArray[np.bool_], directory: Path) -> SplitReport:
        report = SplitReport()
        pairs = self._shards(f"encoding {reader.corpus.name}", reader.corpus, repeated)
        with PreparedWriter(directory) as writer:
            for examples, counted in ordered_map(Encode(reader, codec), pairs, self._workers):
                writer.append(examples)
                report.add(counted)
        return report

    def _shards(self, task: str, corpus: Corpus, repeated: NDArray[np.bool_]) -> Iterator[list[RawPair]]:
        done, total = 0, count_lines(corpus.source)
        for shard in shards(corpus.pairs(repeated)):
            yield shard
            done += len(shard)
            self._progress(task, done, total)


def _reusable(directory: Path, inputs: dict[str, Any]) -> Preparation | None:
    """What is in the directory, if it was made from the same inputs and is whole."""
    if not directory.exists():
        return None
    if not directory.is_dir() or (any(directory.iterdir()) and not (directory / PREPARATION_DESCRIPTION).exists()):
        raise StoredDataError(
            f"{directory}: expected prepared data or nothing, found something else, which is left alone. "
            "Move it away, or choose another output."
        )
    try:
        found = read_description(directory / PREPARATION_DESCRIPTION, PREPARATION_FORMAT, PREPARATION_VERSION)
        if found.get("fingerprint") != fingerprint_of_inputs(inputs):
            names = ", ".join(changed(found.get("inputs", {}), inputs))
            log.warning("%s: made again, because of changes in %s", directory, names)
            return None
        return Preparation.open(directory)
    except StoredDataError as error:
        log.warning("%s: made again: %s", directory, error)
        return None


def _replace(new: Path, directory: Path) -> None:
    """Put the new directory in the old one's place; between the two renames there is none."""
    old = directory.parent / f".{directory.name}.old"
    shutil.rmtree(old, ignore_errors=True)
    if directory.exists():
        directory.rename(old)
    new.rename(directory)
    shutil.rmtree(old, ignore_errors=True)


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Whoever prepares in the same place at the same time waits, and then finds it done."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(directory, os.O_RDONLY)
    except OSError as error:
        raise FileError(f"{directory}: cannot be written: {error.strerror}.") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _silent(_task: str, _done: int, _total: int) -> None:
    """Nobody is told."""
