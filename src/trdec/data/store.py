"""Prepared examples as arrays on disk, mapped into memory rather than read."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trdec.errors import StoredDataError
from trdec.files import checksum, writing

PREPARE_AGAIN = "Prepare the data again with: trdec prepare"
"""What to do about prepared data that cannot be used."""


def write_description(path: Path, format_name: str, version: int, content: Mapping[str, Any]) -> None:
    """Write the content, with the name and version of its format, as JSON."""
    with writing(path) as stream:
        described = {"format": format_name, "version": version, **content}
        stream.write(json.dumps(described, ensure_ascii=False, indent=2) + "\n")


def read_description(path: Path, format_name: str, *versions: int) -> dict[str, Any]:
    """The content that `write_description` wrote; StoredDataError for another format or version than these."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StoredDataError(f"{path}: cannot be read: {error.strerror}. {PREPARE_AGAIN}") from error
    except (ValueError, RecursionError) as error:
        raise StoredDataError(f"{path}: expected JSON, found something else: {error}. {PREPARE_AGAIN}") from error
    if not isinstance(found, dict) or found.get("format") != format_name:
        raise StoredDataError(
            f"{path}: expected the description of a {format_name}, found something else. {PREPARE_AGAIN}"
        )
    if found.get("version") not in versions:
        raise StoredDataError(
            f"{path}: expected version {' or '.join(map(str, versions))} of the {format_name} format, "
            f"found version {found.get('version')}. {PREPARE_AGAIN}"
        )
    return found


CORPUS_FORMAT = "trdec prepared corpus"
CORPUS_VERSION, CORPUS_VERSION_WITH_TREES = 4, 5
"""Sources with trees have their own version, so that nothing takes their places for pieces."""

CORPUS_DESCRIPTION = "prepared.json"

CHECKED_TOGETHER = 1 << 20
"""Numbers of an array that are looked at together, so that checking takes little memory."""

ARRAYS: dict[str, tuple[type[np.integer[Any]], tuple[int, ...]]] = {
    "source": (np.int32, ()),  # the pieces of all sources, one after the other; with trees, the places, 3 each
    "source_offsets": (np.int64, ()),  # where each source begins, and where the last one ends
    "sentences": (np.int64, ()),  # which sentence of the corpus each source is
    "actions": (np.int32, ()),  # the actions of all examples, one after the other
    "action_offsets": (np.int64, ()),
    "sources": (np.int64, ()),  # which source each example has: those of one sentence share theirs
    "treebanks": (np.int16, ()),
}
"""By file name, the type of each array and its shape after the first axis."""

OF_SOURCES = ("source_offsets", "sentences")
"""The arrays with a row for each source; those of neither pieces nor actions have one for each example."""

PLACE_SHAPE = (3,)
"""The shape of a place of a source with a tree: its number, whether it is text, its parent."""
Arrays = Mapping[str, tuple[type[np.integer[Any]], tuple[int, ...]]]


def with_source_trees(kinds: Arrays) -> Arrays:
    """The same arrays, but of examples whose sources have trees."""
    return {**kinds, "source": (np.int32, PLACE_SHAPE)}


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """A source sentence and the actions that write one of its translation's trees."""

    source: NDArray[np.int32]  # S, or with trees S 3   number, whether it is text, parent
    actions: NDArray[np.int32]  # T
    sentence: int
    treebank: int
    line: int = 0
    """Where its tree is: a line of the treebank's file."""
    was_projective: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Concatenated examples, few enough for memory: what a worker returns. Those of one sentence share its source."""

    source: NDArray[np.int32]  # S, or with trees S 3
    source_lengths: NDArray[np.int64]
    sentences: NDArray[np.int64]
    actions: NDArray[np.int32]  # T
    action_lengths: NDArray[np.int64]
    sources: NDArray[np.int64]
    treebanks: NDArray[np.int16]
    lines: NDArray[np.int64]
    projective: NDArray[np.int8]

    @classmethod
    def of(cls, examples: list[Example]) -> Examples:
        """The examples, concatenated."""
        empty = np.zeros(0, dtype=np.int32)
        all_sentences = np.array([example.sentence for example in examples], dtype=np.int64)
        is_first = np.diff(all_sentences, prepend=all_sentences[:1] - 1) != 0  # n   of its sentence
        first = [example for example, begins in zip(examples, is_first, strict=True) if begins]
        return cls(
            np.concatenate([example.source for example in first]) if first else empty,
            np.array([len(example.source) for example in first], dtype=np.int64),
            all_sentences[is_first],
            np.concatenate([empty, *(example.actions for example in examples)]),
            np.array([len(example.actions) for example in examples], dtype=np.int64),
            np.cumsum(is_first) - 1,
            np.array([example.treebank for example in examples], dtype=np.int16),
            np.array([example.line for example in examples], dtype=np.int64),
            np.array([example.was_projective for example in examples], dtype=np.int8),
        )

    def select(self, kept: NDArray[np.bool_]) -> Examples:
        """The examples that are kept, and the sources that they have."""
        used = np.zeros(len(self.sentences), dtype=bool)  # n
        used[self.sources[kept]] = True
        return Examples(
            self.source[np.repeat(used, self.source_lengths)],
            self.source_lengths[used],
            self.sentences[used],
            self.actions[np.repeat(kept, self.action_lengths)],
            self.action_lengths[kept],
            (np.cumsum(used) - 1)[self.sources[kept]],
            self.treebanks[kept],
            self.lines[kept],
            self.projective[kept],
        )


def open_arrays(directory: Path, kinds: Arrays) -> dict[str, NDArray[Any]]:
    """The arrays of these kinds in a directory that `PreparedWriter` wrote, checked."""
    path = directory / CORPUS_DESCRIPTION
    description = read_description(path, CORPUS_FORMAT, CORPUS_VERSION, CORPUS_VERSION_WITH_TREES)
    if description["version"] == CORPUS_VERSION_WITH_TREES:
        kinds = with_source_trees(kinds)
    for key in ("lengths", "sha256"):
        if not isinstance(description.get(key), dict):
            raise StoredDataError(f"{path}: {key!r} is missing or invalid. {PREPARE_AGAIN}")
    arrays = {name: _map(directory / f"{name}.npy", kinds[name], description["lengths"].get(name)) for name in kinds}
    for offsets, flat in (("source_offsets", "source"), ("action_offsets", "actions")):
        _check_offsets(directory / f"{offsets}.npy", arrays[offsets], len(arrays[flat]))
    for names, what in (
        (OF_SOURCES, "sources"),
        (arrays.keys() - {"source", "actions", *OF_SOURCES}, "examples"),
    ):
        if len({len(arrays[name]) - name.endswith("_offsets") for name in names}) != 1:
            raise StoredDataError(f"{path}: the arrays differ in their number of {what}. {PREPARE_AGAIN}")
    for name in kinds:
        _check_checksum(directory / f"{name}.npy", description["sha256"].get(name))
    sources = arrays["sources"]
    if len(sources) and (sources.min() < 0 or sources.max() >= len(arrays["sentences"])):
        raise StoredDataError(f"{directory / 'sources.npy'}: a source is out of range. {PREPARE_AGAIN}")
    return arrays


class Prepared:
    """A prepared corpus: examples by number."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._source = arrays["source"]
        self._actions = arrays["actions"]
        self._source_offsets = arrays["source_offsets"]
        self._action_offsets = arrays["action_offsets"]
        self._sentences: NDArray[np.int64] = arrays["sentences"]
        self._sources: NDArray[np.int64] = arrays["sources"]
        self.treebanks: NDArray[np.int16] = arrays["treebanks"]

    @classmethod
    def open(cls, directory: Path | str) -> Prepared:
        """The corpus in a directory that `PreparedWriter` wrote."""
        return cls(open_arrays(Path(directory), ARRAYS))

    def check_numbers(self, directory: Path, source_size: int, num_actions: int) -> None:
        """Raise StoredDataError if a number is none of a codec with so many source pieces and actions."""
        for values, size, name, what in (
            (self._source, source_size, "source", "a piece"),
            (self._actions, num_actions, "actions", "an action"),
        ):
            for begin in range(0, len(values), CHECKED_TOGETHER):
                some = values[begin : begin + CHECKED_TOGETHER]
                numbers = some if some.ndim == 1 else some[:, 0]
                if numbers.min() < 0 or numbers.max() >= size:
                    raise StoredDataError(f"{directory / name}.npy: {what} is out of range. {PREPARE_AGAIN}")
        if self._source.ndim > 1:
            for offsets in _parts(self._source_offsets):
                if not _are_sources(self._source[offsets[0] : offsets[-1]], offsets - offsets[0]):
                    raise StoredDataError(f"{directory / 'source.npy'}: a place is not one of a tree. {PREPARE_AGAIN}")

    def __len__(self) -> int:
        return len(self._sources)

    def __getitem__(self, number: int) -> Example:
        if not 0 <= number < len(self):
            raise IndexError(f"expected the number of an example, from 0 to {len(self) - 1}, found {number}")
        source = self._sources[number]
        pieces = slice(self._source_offsets[source], self._source_offsets[source + 1])
        actions = slice(self._action_offsets[number], self._action_offsets[number + 1])
        return Example(
            np.asarray(self._source[pieces]),
            np.asarray(self._actions[actions]),
            int(self._sentences[source]),
            int(self.treebanks[number]),
        )

    @property
    def sentences(self) -> NDArray[np.int64]:
        """Which sentence of the corpus each example is of."""
        return self._sentences[self._sources]

    @property
    def source_lengths(self) -> NDArray[np.int64]:
        """The number of source pieces of each example, including the end."""
        return np.diff(self._source_offsets)[self._sources]

    @property
    def step_lengths(self) -> NDArray[np.int64]:
        """The number of steps of each example: one for each action."""
        return np.diff(self._action_offsets)


def _parts(offsets: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """The offsets of some examples at a time, so few that `CHECKED_TOGETHER` rows are hardly exceeded."""
    examples = len(offsets) - 1
    starts = range(0, examples, max(1, examples * CHECKED_TOGETHER // max(1, int(offsets[-1]))))
    for first, end in zip(starts, [*starts[1:], examples], strict=True):
        yield offsets[first : end + 1]


def _are_sources(rows: NDArray[np.int32], offsets: NDArray[np.int64]) -> bool:
    """Whether rows S 3 are sources with trees: all have text, and every parent is a later place that is not text."""
    _, is_text, parents = rows.T  # S each
    begins, lengths = np.repeat(offsets[:-1], np.diff(offsets)), np.repeat(np.diff(offsets), np.diff(offsets))  # S
    later = (parents > np.arange(1, len(rows) + 1) - begins) & (parents <= lengths)
    if not (((is_text == 0) | (is_text == 1)).all() and ((parents == 0) | later).all()):
        return False
    above = parents > 0
    texts = np.diff(np.concatenate([[0], np.cumsum(is_text)])[offsets])
    return bool((texts > 0).all() and not is_text[(begins + parents - 1)[above]].any())


class PreparedWriter:
    """Writes a corpus into a new directory, some examples at a time, and its description last."""

    def __init__(self, directory: Path, kinds: Arrays = ARRAYS) -> None:
        """A writer of arrays of these kinds."""
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._version = CORPUS_VERSION_WITH_TREES if kinds["source"][1] else CORPUS_VERSION
        self._columns = {name: _Column(directory / f"{name}.npy", *kinds[name]) for name in kinds}
        for offsets in ("source_offsets", "action_offsets"):
            self._columns[offsets].append(np.zeros(1, dtype=np.int64))

    def __enter__(self) -> Self:
        return self

    def append(self, examples: Examples) -> None:
        """Append examples."""
        columns = self._columns
        columns["sources"].append(columns["sentences"].rows + examples.sources)
        for lengths, flat, offsets in (
            (examples.source_lengths, "source", "source_offsets"),
            (examples.action_lengths, "actions", "action_offsets"),
        ):
            columns[offsets].append(columns[flat].rows + np.cumsum(lengths))
        for name in columns.keys() - {"sources", "source_offsets", "action_offsets"}:
            columns[name].append(getattr(examples, name))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for column in self._columns.values():
            column.close()
        if error is None:
            lengths = {name: column.rows for name, column in self._columns.items()}
            digests = {name: checksum(self._directory / f"{name}.npy") for name in self._columns}
            content = {"lengths": lengths, "sha256": digests}
            write_description(self._directory / CORPUS_DESCRIPTION, CORPUS_FORMAT, self._version, content)


class _Column:
    """A .npy file that grows; its header, which holds the length, is rewritten on closing."""

    def __init__(self, path: Path, kind: type[np.integer[Any]], rest: tuple[int, ...]) -> None:
        self.rows = 0
        self._kind = np.dtype(kind)
        self._rest = rest
        self._stream = path.open("wb")
        self._stream.write(self._header())

    def append(self, array: NDArray[Any]) -> None:
        self._stream.write(np.ascontiguousarray(array, dtype=self._kind).tobytes())
        self.rows += len(array)

    def close(self) -> None:
        with self._stream as stream:
            stream.seek(0)
            stream.write(self._header())

    def _header(self) -> bytes:
        buffer = io.BytesIO()
        shape = (self.rows, *self._rest)
        # numpy leaves room for the first axis to grow, so that the header's length does not depend on it.
        np.lib.format.write_array_header_1_0(
            buffer, {"descr": np.lib.format.dtype_to_descr(self._kind), "fortran_order": False, "shape": shape}
        )
        return buffer.getvalue()


def _check_offsets(path: Path, offsets: NDArray[np.int64], end: int) -> None:
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != end or (np.diff(offsets) < 0).any():
        shown = f"{offsets[0]} to {offsets[-1]}" if len(offsets) else "none"
        raise StoredDataError(
            f"{path}: expected offsets that rise from 0 to {end}, found {shown}, or some that fall. {PREPARE_AGAIN}"
        )


def _check_checksum(path: Path, digest: object) -> None:
    if checksum(path) != digest:
        raise StoredDataError(f"{path}: is damaged: its checksum is not the one recorded. {PREPARE_AGAIN}")


def _map(path: Path, described: tuple[type[np.integer[Any]], tuple[int, ...]], length: object) -> NDArray[Any]:
    kind, rest = described
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError as error:
        raise StoredDataError(f"{path}: is missing. {PREPARE_AGAIN}") from error
    except Exception as error:  # a header that is damaged makes numpy raise whatever Python's tokeniser raises
        raise StoredDataError(f"{path}: is damaged: {error}. {PREPARE_AGAIN}") from error
    expected = (length, *rest)
    if array.shape != expected or array.dtype != np.dtype(kind):
        raise StoredDataError(
            f"{path}: expected {np.dtype(kind)} of shape {expected}, "
            f"found {array.dtype} of shape {array.shape}. {PREPARE_AGAIN}"
        )
    return np.asarray(array)  # the same memory, without memmap's slower indexing
