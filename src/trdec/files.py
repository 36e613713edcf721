"""Files: lines that know their place, writing all or nothing, locks, checksums, and `~` in paths."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from trdec.errors import EncodingError, FileError, Place, TrdecError

STANDARD = "-"
"""The file name that means standard input or standard output."""

WHITESPACE = " \t\r\n\f\v"
"""What separates words. Other spaces, such as U+00A0, U+2028 or U+3000, are part of a word."""

_WORD = re.compile(f"[^{WHITESPACE}]+")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text, without its end, and its place."""

    place: Place
    text: str


def split_words(text: str) -> list[str]:
    """The words of a tokenised line, which ASCII whitespace separates (a no-break space does not)."""
    return _WORD.findall(text)


def is_blank(text: str) -> bool:
    """Whether a line has no words."""
    return not text.strip(WHITESPACE)


def read_lines(path: Path | str) -> Iterator[Line]:
    """The lines of a UTF-8 file, or of standard input for `-`, one at a time.

    Only a line feed (or both characters of a carriage return and line feed) ends a line.
    """
    if str(path) == STANDARD:
        try:
            yield from _decoded(sys.stdin.buffer, "<standard input>")
        except OSError as error:
            closed = "it is closed" if error.errno == errno.EBADF else _reason(error)
            raise FileError(
                f"standard input: cannot be read: {closed}. Name a file, or give text by a pipe."
            ) from error
        return
    try:
        with Path(path).open("rb") as stream:
            yield from _decoded(stream, str(path))
    except OSError as error:
        raise _unreadable(path, error) from error


def _decoded(stream: Iterable[bytes], name: str) -> Iterator[Line]:
    for number, raw in enumerate(stream, start=1):
        place = Place(name, number)
        if number == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise EncodingError(
                f"{place}: expected UTF-8, found the byte 0x{raw[error.start]:02x} at column {error.start + 1}. "
                "Convert the file, for example with: iconv -f latin1 -t utf-8"
            ) from error
        yield Line(place, text.removesuffix("\n").removesuffix("\r"))


_BLOCK = 1 << 20


def count_lines(path: Path) -> int:
    """How many lines a file has; the last one need not end in a line feed."""
    lines, last = 0, b"\n"
    try:
        with path.open("rb") as stream:
            while block := stream.read(_BLOCK):
                lines += block.count(b"\n")
                last = block[-1:]
    except OSError as error:
        raise _unreadable(path, error) from error
    return lines + (last != b"\n")


def checksum(path: Path) -> str:
    """The SHA-256 of a file's content."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(path, error) from error


def checksum_of_text(text: str) -> str:
    """The SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


@contextlib.contextmanager
def writing(path: Path | str) -> Iterator[TextIO]:
    """A UTF-8 stream to write to a file, or to standard output for `-`.

    A regular file appears, or replaces what was there, only when the block ends without an error.
    """
    name = "standard output" if str(path) == STANDARD else str(path)
    with write_errors(name):
        if str(path) == STANDARD:
            yield sys.stdout
            sys.stdout.flush()
        elif Path(path).exists() and not Path(path).is_file():  # a device or a pipe
            with Path(path).open("w", encoding="utf-8", newline="\n") as stream:
                yield stream
        else:
            with (
                replacing_file(Path(path)) as temporary,
                temporary.open("w", encoding="utf-8", newline="\n") as stream,
            ):
                yield stream


@contextlib.contextmanager
def replacing_file(path: Path, durable: bool = False) -> Iterator[Path]:
    """The name of an empty file to write to, which replaces `path` when the block ends without an error.

    A durable replacement is on disk before it gets its name.
    """
    temporary = _temporary_name(path)
    try:
        temporary.touch(exist_ok=False)
        mode = temporary.stat().st_mode
        yield temporary
        temporary.chmod(mode)  # some libraries make a private file of it
        if durable:
            synchronise(temporary)
        temporary.replace(path)
        if durable:
            synchronise(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def replacing_folder(path: Path, durable: bool = False) -> Iterator[Path]:
    """An empty folder to write to, which replaces `path` when the block ends without an error.

    A folder that was there is gone for a moment between two renames. A durable replacement is on disk before it gets
    its name.
    """
    temporary = _temporary_name(path)
    try:
        temporary.mkdir(parents=True)
        yield temporary
        if durable:
            for inner in (*temporary.rglob("*"), temporary):
                synchronise(inner)
        remove_folder(path)
        temporary.rename(path)
        if durable:
            synchronise(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def remove_folder(path: Path) -> None:
    """Delete a folder, or a file, that may not be there; at no moment is half of it there under its name."""
    if path.is_dir() and not path.is_symlink():
        hidden = _temporary_name(path)
        path.rename(hidden)
        shutil.rmtree(hidden, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def remove_leftovers(folder: Path, pattern: str = "*") -> None:
    """Delete what killed processes left of the files and folders of these names; none may be being written."""
    for path in folder.glob(f".{pattern}.{'[0-9a-f]' * 8}.tmp"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _temporary_name(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")


def synchronise(path: Path) -> None:
    """Wait until a file, or the list of a folder's files, is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def write_errors(path: Path | str, advice: str = "") -> Iterator[None]:
    """Turns the system's errors in the block into a FileError that names the file, and says what to do."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {_reason(error)}. {advice}".rstrip()) from error


@contextlib.contextmanager
def locked(path: Path, refusal: TrdecError | None = None) -> Iterator[None]:
    """Holds the lock of this file, which is made; if another process holds it, waits or raises the refusal.

    The system releases the lock when the process ends, however it ends.
    """
    with write_errors(path):
        stream = path.open("ab")  # NFS locks only what is open for writing
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | (fcntl.LOCK_NB if refusal else 0))
        except BlockingIOError as error:
            assert refusal is not None
            raise refusal from error
        except OSError as error:
            raise FileError(
                f"{path}: cannot be locked: {_reason(error)}. Choose an output on a file system with locks."
            ) from error
        yield


def _unreadable(path: Path | str, error: OSError) -> FileError:
    return FileError(f"{path}: cannot be read: {_reason(error)}. Check the name and its permissions.")


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def at_home(value: Any) -> Any:
    """A path with a leading `~` or `~name` expanded as in a shell; any other value as it is."""
    if not isinstance(value, Path):
        return value
    if "\0" in str(value):
        raise ValueError(f"expected a path, found {str(value)!r}: no file has the character NUL in its name.")
    try:
        os.fsencode(value)
        return value.expanduser()
    except UnicodeEncodeError as error:
        raise ValueError(f"expected a path, found {str(value)!r}: no file can have such a name.") from error
    except RuntimeError as error:
        raise ValueError(f"expected a path, found {str(value)!r}: there is no such user.") from error
