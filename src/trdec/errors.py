"""Every exception that trdec raises for something its user can fix.

    TrdecError
    ├── UsageError              arguments that are invalid or do not go together
    ├── FileError               a file cannot be read or written
    │   └── EncodingError       a line is not UTF-8
    ├── TextFormatError         a line of text is empty or does not match its parallel file
    ├── TreeFormatError         brackets, CoNLL-U or supertags that cannot be read
    │   ├── HeadsError          dependency heads that do not form a tree
    │   └── MisalignedTreeError a tree whose leaves are not the sentence's words
    ├── TreeShapeError          a tree of a shape that an operation cannot handle
    ├── SubwordError            a subword model that cannot be loaded or trained
    ├── AnnotationError         a parser that is missing, or parsing that cannot be resumed
    ├── DownloadError           a corpus that cannot be downloaded, or is not the expected one
    ├── UnknownRuleError        a tree needs a rule the grammar does not have
    ├── UnknownActionError      an action or its number is not in the table
    ├── NoExamplesError         a corpus with no usable examples
    ├── StoredDataError         prepared data or a codec that is missing, damaged or from another version
    ├── WorkerError             a worker process that died
    ├── ConfigError             a configuration that cannot be used, or differs from the one training started with
    ├── CheckpointError         a checkpoint or a file of weights that is damaged or another model's
    ├── TrainingError           training that cannot continue
    │   ├── TrainingInterrupted training stopped by a signal, which can be resumed
    │   └── LostRankError       training on several processes of which one failed, died or does not answer
    ├── ModelError              a model directory that is missing, incomplete, damaged or from another version
    │   └── UntrustedCodeError  a model that names code from outside trdec, which its user did not allow
    ├── OutOfMemoryError        a task that needs more memory than there is
    ├── SearchError             a sentence with no derivation that meets the demands
    └── IllegalActionError      an action that the open symbol does not allow

A message says what was expected, what was found, where, and what to do.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass


class TrdecError(Exception):
    """Something the user can fix: the command line prints it without a traceback."""


class UsageError(TrdecError):
    """Arguments that are invalid or do not go together."""


class FileError(TrdecError):
    """A file that cannot be read or written."""


class EncodingError(FileError):
    """A line that is not UTF-8."""


class TextFormatError(TrdecError):
    """A line of text that is empty or does not match its parallel file."""


class TreeFormatError(TrdecError):
    """Brackets, CoNLL-U or supertags that cannot be read as a tree."""


class HeadsError(TreeFormatError):
    """Dependency heads that do not form a tree."""


class MisalignedTreeError(TreeFormatError):
    """A tree whose leaves are not the words of its sentence."""


class TreeShapeError(TrdecError):
    """A tree of a shape that an operation cannot handle."""


class SubwordError(TrdecError):
    """A subword model that cannot be loaded or trained."""


class AnnotationError(TrdecError):
    """A parser or its model that is missing, or parsing that cannot be resumed."""


class DownloadError(TrdecError):
    """A corpus that cannot be downloaded or unpacked, or is not the expected one."""


class UnknownRuleError(TrdecError):
    """A tree that needs a rule the grammar does not have."""


class UnknownActionError(TrdecError):
    """An action, or the number of one, that is not in the table."""


class NoExamplesError(TrdecError):
    """A corpus with no usable examples to train or validate on."""


class StoredDataError(TrdecError):
    """Prepared data or a codec that is missing, damaged or from another version."""


class WorkerError(TrdecError):
    """A worker process that died before its work was done."""


class ConfigError(TrdecError):
    """A configuration that cannot be used, or differs from the one that training started with."""


class CheckpointError(TrdecError):
    """A checkpoint or a file of weights that is damaged or another model's."""


class TrainingError(TrdecError):
    """Training that cannot continue."""


class TrainingInterrupted(TrainingError):
    """Training that was stopped by a signal, wrote a checkpoint, and can be resumed."""

    def __init__(self, message: str, signal_number: int) -> None:
        super().__init__(message)
        self.signal_number = signal_number


class LostRankError(TrainingError):
    """Training on several processes of which one failed, died or does not answer."""


class ModelError(TrdecError):
    """A model directory that is missing, incomplete, damaged or from another version."""


class UntrustedCodeError(ModelError):
    """A model that names code from outside trdec, which its user did not allow."""


class OutOfMemoryError(TrdecError):
    """A task that needs more memory than the computer or its device has."""


class SearchError(TrdecError):
    """A sentence with no derivation that meets the demands on it."""

    def __init__(self, number: int) -> None:
        self._number = number
        super().__init__(
            f"line {number + 1}: no translation meets the demands. Allow more actions (`max_ratio`, `max_extra`), or "
            "demand something else."
        )

    def __reduce__(self) -> tuple[type[SearchError], tuple[int]]:
        return SearchError, (self._number,)


class IllegalActionError(TrdecError):
    """An action that the open symbol does not allow."""


def excerpt(text: str, longest: int = 60) -> str:
    """The text in quotes as a message shows it: escaped, and cut if it is long."""
    return repr(text) if len(text) <= longest else f"{text[:longest]!r} and {len(text) - longest} more characters"


@dataclass(frozen=True, slots=True)
class Place:
    """A place in an input, as errors name it: ``dev.trees, line 112``."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}"


_NO_THREAD = "can't start new thread"  # for want of memory for its stack, or of processes that the user may have
_NO_MEMORY = re.compile(
    rf"out of memory|not enough memory|allocate memory|size calculation overflowed|{_NO_THREAD}", re.IGNORECASE
)
_ASKED = re.compile(r"tried to allocate ([\d.]+ ?\w+)", re.IGNORECASE)


@contextlib.contextmanager
def memory_errors(advice: str) -> Iterator[None]:
    """Turns a lack of memory in the block, of the computer or of its device, into an OutOfMemoryError with advice."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:  # torch's own error is a RuntimeError
        if not isinstance(error, MemoryError) and not _NO_MEMORY.search(str(error)):
            raise
        asked = _ASKED.search(str(error))
        amount = f" for another {asked[1]}" if asked else ""
        if _NO_THREAD in str(error):
            amount = " for another thread, or too many are running"
        raise OutOfMemoryError(f"there is not enough memory{amount}. {advice}") from error
