"""Prepared examples as arrays on disk, mapped into memory rather than read."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trdec.errors import StoredDataError
from trdec.files import writing

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
    except ValueError as error:
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
CORPUS_VERSION = 1

CORPUS_DESCRIPTION = "prepared.json"

ARRAYS: dict[str, tuple[type[np.integer[Any]], tuple[int, ...]]] = {
    "source": (np.int32, ()),  # the pieces of all examples, one after the other
    "source_offsets": (np.int64, ()),  # where each example's pieces begin, and where the last one's end
    "steps": (np.int32, (3,)),  # action, symbol, parent
    "step_offsets": (np.int64, ()),
    "sentences": (np.int64, ()),
    "treebanks": (np.int16, ()),
}
"""By file name, the type of each array and its shape after the first axis."""


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """A source sentence and the steps that write one of its translation's trees."""

    source: NDArray[np.int32]  # S
    steps: NDArray[np.int32]  # T 3   action, symbol, parent
    sentence: int
    treebank: int


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Concatenated examples, few enough for memory: what a worker returns."""

    source: NDArray[np.int32]
    source_lengths: NDArray[np.int64]
    steps: NDArray[np.int32]  # T 3
    step_lengths: NDArray[np.int64]
    sentences: NDArray[np.int64]
    treebanks: NDArray[np.int16]

    @classmethod
    def of(cls, examples: list[Example]) -> Examples:
        """The examples, concatenated."""
        empty = np.zeros(0, dtype=np.int32)
        return cls(
            np.concatenate([empty, *(example.source for example in examples)]),
            np.array([len(example.source) for example in examples], dtype=np.int64),
            np.concatenate([empty.reshape(0, 3), *(example.steps for example in examples)]),
            np.array([len(example.steps) for example in examples], dtype=np.int64),
            np.array([example.sentence for example in examples], dtype=np.int64),
            np.array([example.treebank for example in examples], dtype=np.int16),
        )


class Prepared:
    """A prepared corpus: examples by number."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._source = arrays["source"]
        self._steps = arrays["steps"]
        self._source_offsets = arrays["source_offsets"]
        self._step_offsets = arrays["step_offsets"]
        self.sentences: NDArray[np.int64] = arrays["sentences"]
        self.treebanks: NDArray[np.int16] = arrays["treebanks"]

    @classmethod
    def open(cls, directory: Path | str) -> Prepared:
        """The corpus in a directory that `PreparedWriter` wrote."""
        directory = Path(directory)
        description = read_description(directory / CORPUS_DESCRIPTION, CORPUS_FORMAT, CORPUS_VERSION)
        arrays = {name: _map(directory / f"{name}.npy", name, description) for name in ARRAYS}
        for lengths, flat in (("source_offsets", "source"), ("step_offsets", "steps")):
            if arrays[lengths][0] != 0 or arrays[lengths][-1] != len(arrays[flat]):
                raise StoredDataError(
                    f"{directory / lengths}.npy: expected offsets from 0 to {len(arrays[flat])}, "
                    f"found {arrays[lengths][0]} to {arrays[lengths][-1]}. {PREPARE_AGAIN}"
                )
        return cls(arrays)

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, number: int) -> Example:
        if not 0 <= number < len(self):
            raise IndexError(f"expected the number of an example, from 0 to {len(self) - 1}, found {number}")
        source = slice(self._source_offsets[number], self._source_offsets[number + 1])
        steps = slice(self._step_offsets[number], self._step_offsets[number + 1])
        return Example(
            np.asarray(self._source[source]),
            np.asarray(self._steps[steps]),
            int(self.sentences[number]),
            int(self.treebanks[number]),
        )

    @property
    def source_lengths(self) -> NDArray[np.int64]:
        """The number of source pieces of each example, including the end."""
        return np.diff(self._source_offsets)

    @property
    def step_lengths(self) -> NDArray[np.int64]:
        """The number of steps of each example."""
        return np.diff(self._step_offsets)


class PreparedWriter:
    """Writes a corpus into a new directory, some examples at a time, and its description last."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True)
        self._directory = directory
        self._columns = {name: _Column(directory / f"{name}.npy", *ARRAYS[name]) for name in ARRAYS}
        for offsets in ("source_offsets", "step_offsets"):
            self._columns[offsets].append(np.zeros(1, dtype=np.int64))

    def __enter__(self) -> Self:
        return self

    def append(self, examples: Examples) -> None:
        """Append examples."""
        columns = self._columns
        for lengths, flat, offsets in (
            (examples.source_lengths, "source", "source_offsets"),
            (examples.step_lengths, "steps", "step_offsets"),
        ):
            columns[offsets].append(columns[flat].rows + np.cumsum(lengths))
        columns["source"].append(examples.source)
        columns["steps"].append(examples.steps)
        columns["sentences"].append(examples.sentences)
        columns["treebanks"].append(examples.treebanks)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for column in self._columns.values():
            column.close()
        if error is None:
            lengths = {name: column.rows for name, column in self._columns.items()}
            write_description(self._directory / CORPUS_DESCRIPTION, CORPUS_FORMAT, CORPUS_VERSION, {"lengths": lengths})


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


def _map(path: Path, name: str, description: dict[str, Any]) -> NDArray[Any]:
    kind, rest = ARRAYS[name]
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError as error:
        raise StoredDataError(f"{path}: is missing. {PREPARE_AGAIN}") from error
    except (OSError, ValueError, EOFError) as error:
        raise StoredDataError(f"{path}: is damaged: {error}. {PREPARE_AGAIN}") from error
    expected = (description.get("lengths", {}).get(name), *rest)
    if array.shape != expected or array.dtype != np.dtype(kind):
        raise StoredDataError(
            f"{path}: expected {np.dtype(kind)} of shape {expected}, "
            f"found {array.dtype} of shape {array.shape}. {PREPARE_AGAIN}"
        )
    return np.asarray(array)  # the same memory, without memmap's slower indexing
