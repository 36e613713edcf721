"""Files: lines that know their place, writing all or nothing, paths as people write them."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from trdec.errors import EncodingError, FileError, Place

STANDARD = "-"
"""The file name that means standard input or standard output."""

_WORD = re.compile(r"[^ \t\r\n\f\v]+")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text, without its end, and its place."""

    place: Place
    text: str


def split_words(text: str) -> list[str]:
    """The words of a tokenised line: what ASCII white space parts (a no-break space does not)."""
    return _WORD.findall(text)


def read_lines(path: Path | str) -> Iterator[Line]:
    """The lines of a UTF-8 file, or of standard input for `-`, one at a time.

    Only a line feed (or both characters of a carriage return and line feed) ends a line.
    """
    if str(path) == STANDARD:
        yield from _decoded(sys.stdin.buffer, "<standard input>")
        return
    try:
        with Path(path).open("rb") as stream:
            yield from _decoded(stream, str(path))
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {_reason(error)}. Check the name and its permissions.") from error


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


@contextlib.contextmanager
def writing(path: Path | str) -> Iterator[TextIO]:
    """A UTF-8 stream to write to a file, or to standard output for `-`.

    A regular file appears, or replaces what was there, only when the block ends without an error.
    """
    try:
        if str(path) == STANDARD:
            yield sys.stdout
            sys.stdout.flush()
        elif Path(path).exists() and not Path(path).is_file():  # a device or a pipe
            with Path(path).open("w", encoding="utf-8", newline="\n") as stream:
                yield stream
        else:
            with _replacing(Path(path)) as stream:
                yield stream
    except BrokenPipeError:
        raise
    except OSError as error:
        name = "standard output" if str(path) == STANDARD else str(path)
        raise FileError(f"{name}: cannot be written: {_reason(error)}.") from error


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[TextIO]:
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as stream:  # noqa: PTH123  (a descriptor, not a path)
            yield stream
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)  # mkstemp's files are private; this one is a user's ordinary file
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def at_home(value: Any) -> Any:
    """A path whose leading `~` or `~name` is that user's folder, as a shell would have it; all else as it is."""
    if not isinstance(value, Path):
        return value
    try:
        return value.expanduser()
    except RuntimeError as error:
        raise ValueError(f"expected a path, found {str(value)!r}: no user of that name has a folder here.") from error
