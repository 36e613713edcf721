"""A file from a web server, gone on with where an earlier attempt ended."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from trdec.errors import DownloadError, FileError, UsageError

ATTEMPTS = 5
"""How often a connection that was cut is made again, as long as each brought something."""

SECONDS = 60
"""How long a server may be silent."""

_BLOCK = 1 << 18

Progress = Callable[[str, int, int | None], None]
"""Told the file, how many bytes of it are there, and how many there will be if that is known."""


@dataclass(frozen=True, slots=True)
class _Origin:
    """Which version of which file a part is of; a part of another is of no use."""

    url: str
    version: str | None  # as the server calls it; without one nothing can be gone on with
    length: int | None


def fetch(url: str, path: Path, progress: Progress) -> None:
    """Download a file to a path, unless it is there. DownloadError if it cannot be had; what came of it is kept."""
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{url}: expected an address that begins with https:// or http://.")
    note = path.with_name(f"{path.name}.json")
    try:
        for _ in range(ATTEMPTS):
            before = _size(path)
            if _attempt(url, path, note, lambda done, total: progress(path.name, done, total)):
                return
            if _size(path) == before:
                break
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error.strerror or error}.") from error
    origin = _origin(note, url)
    whole = f" of {origin.length}" if origin is not None and origin.length is not None else ""
    raise DownloadError(
        f"{url}: the connection was cut after {_size(path)}{whole} bytes. Run the command again: it goes on from there "
        "if the server can, and from the beginning if not."
    )


def sha256(path: Path) -> str:
    """The checksum of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _attempt(url: str, path: Path, note: Path, progress: Callable[[int, int | None], None]) -> bool:
    """Add to the file what one connection brings; tell whether it is whole now."""
    origin, start = _origin(note, url), _size(path)
    if origin is not None and start and start == origin.length:
        return True
    request = Request(url, headers={"User-Agent": "trdec"})
    if start and origin is not None and origin.version is not None:
        # The server sends the rest only if its file is still the one that the part is of, and all of it if not.
        request.add_header("Range", f"bytes={start}-")
        request.add_header("If-Range", origin.version)
    try:
        response = urlopen(request, timeout=SECONDS)
    except (HTTPException, OSError) as error:
        if isinstance(error, HTTPError) and error.code == 416:  # there is no such rest: begin again
            path.unlink()
            return False
        raise DownloadError(
            f"{url}: {_reason(error)}. Check the address and the network; a mirror is named with --url."
        ) from error
    with response:
        goes_on = response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {start}-")
        start = start if goes_on else 0
        length = response.headers.get("Content-Length")
        total = start + int(length) if length is not None else None
        if not goes_on:
            path.unlink(missing_ok=True)  # before the note says otherwise: a kill must not leave the two at odds
            note.write_text(json.dumps(asdict(_Origin(url, _version(response.headers), total))), encoding="utf-8")
        with path.open("ab") as stream:
            return _receive(response, stream, start, total, progress)


def _receive(
    response: Any, stream: IO[bytes], done: int, total: int | None, progress: Callable[[int, int | None], None]
) -> bool:
    while True:
        progress(done, total)
        try:
            block = response.read(_BLOCK)
        except (HTTPException, OSError):  # what came before is kept
            return False
        if not block:
            return total is None or done == total
        stream.write(block)
        done += len(block)


def _version(headers: Any) -> str | None:
    """The validator that If-Range takes: an entity tag, but not a weak one, or the time of the last change."""
    tag: str | None = headers.get("ETag")
    changed: str | None = headers.get("Last-Modified")
    return tag if tag and not tag.startswith("W/") else changed


def _origin(note: Path, url: str) -> _Origin | None:
    """What the part is of; nothing if that is not known, or is another address."""
    try:
        found = _Origin(**json.loads(note.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):  # a note cut short by a kill: the part is of no use then
        return None
    return found if found.url == url else None


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _reason(error: Exception) -> str:
    if isinstance(error, HTTPError):
        return f"the server answers {error.code} {error.reason}"
    if isinstance(error, URLError):
        return f"cannot be reached: {error.reason}"
    return f"cannot be reached: {error!r}"
