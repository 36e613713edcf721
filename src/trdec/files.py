"""Files: lines that know their place, writing all or nothing, locks, checksums, and `~` in paths.

A text is a file of lines, or part of each line of one: `pairs.tsv:2` is the second column of a table, `pairs.jsonl:de`
the field `de` of JSON objects. Any of them may be compressed with gzip, or with Zstandard if
the package `zstandard` is installed.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import fcntl
import gzip
import hashlib
import io
import json
import os
import re
import secrets
import shutil
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from trdec.errors import EncodingError, FileError, Place, TextFormatError, TrdecError, excerpt

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
    """The lines of a UTF-8 text, or of standard input for `-`, one at a time.

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
    file, part = text_file(path)
    with _reading(file) as stream:
        lines = _decoded(stream, str(path))
        if part is None:
            yield from lines
        else:
            take = _field if ".jsonl" in file.suffixes else _column
            yield from (Line(line.place, take(line, part)) for line in lines)


_PART = re.compile(r"(.+\.(?:tsv|jsonl)(?:\.gz|\.zst)?):([^:/]+)")


def text_file(path: Path | str) -> tuple[Path, str | None]:
    """The file that a text is in, and the column or field of it that is named after a colon, if one is."""
    found = _PART.fullmatch(str(path))
    return (Path(path), None) if found is None or Path(path).exists() else (Path(found[1]), found[2])


def _column(line: Line, number: str) -> str:
    cells = line.text.split("\t")
    if not (number.isascii() and number.isdigit() and len(number) < 10) or int(number) == 0:
        raise TextFormatError(f"{line.place}: expected the number of a column, such as :1, found :{number}.")
    if int(number) > len(cells):
        raise TextFormatError(f"{line.place}: expected {number} columns separated by tabs, found {len(cells)}.")
    return cells[int(number) - 1]


def _field(line: Line, name: str) -> str:
    found: object
    try:
        found = json.loads(line.text)
    except (ValueError, RecursionError) as error:
        raise TextFormatError(f"{line.place}: expected a JSON object, found {excerpt(line.text)}: {error}.") from error
    for part in (name,) if isinstance(found, dict) and name in found else name.split("."):
        if not isinstance(found, dict) or part not in found:
            some = [repr(name[:50]) for name in list(found)[:20]] if isinstance(found, dict) else ["no object"]
            fields = ", ".join(some)
            raise TextFormatError(f"{line.place}: expected the field {part!r}, found {fields or 'no field'}.")
        found = found[part]
    if not isinstance(found, str):
        raise TextFormatError(f"{line.place}: expected text in the field {name!r}, found {excerpt(json.dumps(found))}.")
    if any("\ud800" <= character <= "\udfff" for character in found):
        raise EncodingError(f"{line.place}: the field {name!r} has half of a surrogate pair, which is no character.")
    return re.sub(r"[\r\n]+", " ", found)


LONGEST_LINE = 1 << 24
"""Bytes of a line: more than a book, and what a file that has no lines cannot cost more than."""


def _decoded(stream: BinaryIO, name: str) -> Iterator[Line]:
    for number, raw in enumerate(iter(lambda: stream.readline(LONGEST_LINE + 1), b""), start=1):
        place = Place(name, number)
        if len(raw) > LONGEST_LINE:
            raise TextFormatError(
                f"{place}: expected at most {LONGEST_LINE:,} bytes in a line, found more. A text has one sentence "
                "on each line."
            )
        if number == 1:
            _check_format(raw, name)
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
_GZIP = b"\x1f\x8b"
_ZSTANDARD = b"(\xb5/\xfd"
_FORMATS = {
    _GZIP: ("gzip", "gzip -d"),
    b"BZh": ("bzip2", "bzip2 -d"),
    b"\xfd7zXZ": ("xz", "xz -d"),
    _ZSTANDARD: ("Zstandard", "zstd -d"),
    b"PK\x03\x04": ("zip", "unzip"),
}


def _check_format(start: bytes, name: str) -> None:
    """Raise an error that says what a text is, if its beginning shows that it is compressed or in UTF-16."""
    for magic, (kind, command) in _FORMATS.items():
        if start.startswith(magic):
            raise EncodingError(
                f"{name}: expected text, found a file compressed with {kind}. Unpack it first, with: {command}"
            )
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or start[:200].count(b"\0") > len(start[:200]) // 4:
        raise EncodingError(f"{name}: expected UTF-8, found UTF-16. Convert it with: iconv -f utf-16 -t utf-8")


@contextlib.contextmanager
def _reading(file: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked if it is compressed with gzip or Zstandard."""
    try:
        with file.open("rb") as packed:
            start = packed.peek(4)
            if start.startswith(_ZSTANDARD):
                with _unpacked_zstandard(packed, file) as stream:
                    yield stream
            elif start.startswith(_GZIP):
                with gzip.open(packed) as unpacked:
                    yield _bounded(iter(lambda: unpacked.read(_BLOCK), b""), file)
            else:
                yield packed
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FileError(f"{file}: the gzip file is damaged or incomplete: {error}. Copy or make it again.") from error
    except OSError as error:
        raise unreadable(file, error) from error


@contextlib.contextmanager
def _unpacked_zstandard(packed: BinaryIO, file: Path) -> Iterator[BinaryIO]:
    try:
        import zstandard
    except ImportError as error:
        raise FileError(
            f"{file}: this file is compressed with Zstandard, which needs the package zstandard. Install it with: "
            "pip install 'trdec[zstd]', or unpack the file with: zstd -d"
        ) from error
    try:
        yield _bounded(_zstandard_pieces(packed), file)
    except (zstandard.ZstdError, EOFError) as error:
        raise FileError(
            f"{file}: the Zstandard file is damaged or incomplete: {error}. Copy or make it again."
        ) from error


_ZSTANDARD_BLOCK = 1 << 12
"""Bytes that are unpacked at a time: what they become is at most some 30,000 times as long."""


def _zstandard_pieces(packed: BinaryIO) -> Iterator[bytes]:
    """What the frames of a file hold; the package's own stream does not notice that the last one is incomplete."""
    import zstandard

    block = packed.read(_ZSTANDARD_BLOCK)
    while block:
        frame = zstandard.ZstdDecompressor().decompressobj()
        while not frame.eof:
            if not block:
                raise EOFError("it ends too early")
            yield frame.decompress(block)
            block = frame.unused_data or packed.read(_ZSTANDARD_BLOCK)


LEAST_UNPACKED = 1 << 26
MOST_PACKED = 200
"""A file may unpack to 64 MiB, or to this many times its size; real text becomes three to twenty times as long."""


def _bounded(pieces: Iterator[bytes], file: Path) -> BinaryIO:
    """The unpacked pieces as a stream; FileError if they become more than any text does."""
    most = max(LEAST_UNPACKED, MOST_PACKED * file.stat().st_size)

    def counted() -> Iterator[bytes]:
        size = 0
        for piece in pieces:
            size += len(piece)
            if size > most:
                raise FileError(
                    f"{file}: expected text, found a file that unpacks to more than {MOST_PACKED} times its size. If "
                    "you trust it, unpack it first."
                )
            yield piece

    return cast(BinaryIO, io.BufferedReader(_Pieces(counted()), _BLOCK))


class _Pieces(io.RawIOBase):
    """Pieces of bytes as a stream."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            if (piece := next(self._pieces, None)) is None:
                return 0
            self._rest = memoryview(piece)
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def read_beginning(path: Path, size: int) -> bytes:
    """The first bytes of a text's file, unpacked; EncodingError if they show that it is no text."""
    with _reading(text_file(path)[0]) as stream:
        start = stream.read(size)
    _check_format(start, str(path))
    return start


def _reading_a_file(file: Path) -> contextlib.AbstractContextManager[BinaryIO]:
    """The same as `_reading`, of what can be read to its end and again: a device may have none, a pipe is read once."""
    if file.exists() and not file.is_file() and not file.is_dir():
        raise FileError(f"{file}: expected a file, found a device or a pipe. Save the text in a file first.")
    return _reading(file)


def count_lines(path: Path) -> int:
    """How many lines a text has; the last one need not end in a line feed."""
    lines, last = 0, b"\n"
    with _reading_a_file(text_file(path)[0]) as stream:
        while block := stream.read(_BLOCK):
            lines += block.count(b"\n")
            last = block[-1:]
    return lines + (last != b"\n")


def checksum(path: Path) -> str:
    """The SHA-256 of a file's content."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(path, error) from error


def text_checksum(path: Path) -> str:
    """The SHA-256 of a text's content, compressed or not, and which part of it is read."""
    file, part = text_file(path)
    digest = hashlib.sha256()
    with _reading_a_file(file) as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest() if part is None else f"{digest.hexdigest()}:{part}"


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


def unreadable(path: Path | str, error: OSError) -> FileError:
    """The error that a file cannot be read; of a missing one, its full path and the most similar name there is."""
    whole = "" if Path(path).is_absolute() else f" ({Path(path).absolute()})"
    advice = similar_name(Path(path)) if isinstance(error, FileNotFoundError) else ""
    return FileError(
        f"{path}: cannot be read: {_reason(error)}{whole}.{advice or ' Check the name and its permissions.'}"
    )


def similar_name(path: Path) -> str:
    """A sentence that suggests the existing path most similar to a missing one, with a space before it, or nothing."""
    there = path
    while not there.parent.is_dir():
        there = there.parent
    try:
        close = difflib.get_close_matches(there.name, [found.name for found in there.parent.iterdir()], n=1)
    except OSError:
        return ""
    if close:
        return f" Did you mean {str(there.with_name(close[0]))!r}?"
    return f" There is no folder {str(there)!r}." if there != path else ""


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
