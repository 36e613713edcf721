"""Public corpora downloaded, checked and unpacked; an interrupted download is resumed."""

from __future__ import annotations

import json
import logging
import re
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from trdec.archives import unpack
from trdec.corpora.catalogue import Archive, PublicCorpus
from trdec.errors import DownloadError, UsageError, excerpt
from trdec.files import checksum, remove_leftovers, replacing_folder, write_errors

ATTEMPTS = 5
"""How often an interrupted connection is opened again, as long as each brings something."""

SECONDS = 60
"""How long to wait for a silent server."""

_BLOCK = 1 << 18

DownloadProgress = Callable[[str, int, int | None], None]
"""Receives the file, how many of its bytes are there, and how many there will be, if known."""

RECORD = "trdec-download.json"
"""The file in a corpus's folder that records where its archives came from, and their checksums."""

_LOG = logging.getLogger(__name__)


def download(corpus: PublicCorpus, folder: Path, progress: DownloadProgress) -> bool:
    """Download and unpack a corpus; False if it was there already. The folder appears only when complete."""
    if folder.exists():
        _check_record(corpus, folder)
        return False
    work = folder.with_name(f"{folder.name}.unfinished")
    with write_errors(folder):
        work.mkdir(parents=True, exist_ok=True)
        remove_leftovers(folder.parent, folder.name)
        with replacing_folder(folder) as unpacked:
            record = []
            for archive in corpus.archives:
                path = work / archive.name
                fetch(archive.url, path, progress)
                found = _checked(archive, path)
                try:
                    unpack(path, unpacked)
                except DownloadError:
                    path.unlink()  # so that the next attempt downloads it again
                    raise
                record.append({"url": archive.url, "sha256": found})
            missing = [name for name in corpus.files if not (unpacked / name).is_file()]
            if missing:
                raise DownloadError(
                    f"{corpus.name}: expected {missing[0]} in what was unpacked, found {_some_files(unpacked)}. "
                    f"The archive is not the expected one; it is in {work}."
                )
            about = {"corpus": corpus.name, "licence": corpus.licence, "citation": corpus.citation, "archives": record}
            (unpacked / RECORD).write_text(json.dumps(about, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        shutil.rmtree(work)
    return True


def mirrored(corpus: PublicCorpus, url: str) -> PublicCorpus:
    """The corpus from another address: that of its one archive, or a folder (ending in /) that holds several."""
    if url.endswith("/"):
        archives = tuple(replace(archive, url=f"{url}{archive.name}") for archive in corpus.archives)
    elif len(corpus.archives) == 1:
        archives = (replace(corpus.archives[0], url=url),)
    else:
        names = ", ".join(archive.name for archive in corpus.archives)
        raise UsageError(
            f"{corpus.name} is {len(corpus.archives)} archives ({names}). As `url`, give a folder that holds them "
            "all, ending in /."
        )
    return replace(corpus, archives=archives)


def with_checksum(corpus: PublicCorpus, checksum: str) -> PublicCorpus:
    """The corpus with the checksum that its archive must have."""
    if not re.fullmatch(r"[0-9a-fA-F]{64}", checksum):
        raise UsageError(f"expected 64 hexadecimal digits as `checksum`, found {checksum!r}.")
    if len(corpus.archives) != 1:
        raise UsageError(
            f"a `checksum` belongs to one archive, but {corpus.name} is {len(corpus.archives)}. Leave it out."
        )
    return replace(corpus, archives=(replace(corpus.archives[0], sha256=checksum.lower()),))


def require_checksums(corpus: PublicCorpus) -> None:
    """Refuse a corpus of which an archive could not be checked."""
    unknown = [archive.url for archive in corpus.archives if archive.sha256 is None]
    if unknown:
        raise UsageError(
            f"{corpus.name}: no checksum of {unknown[0]} is known, so what arrives could not be checked. Give the one "
            "it must have as `checksum`, or ask with `unverified` to download it all the same."
        )


def _checked(archive: Archive, path: Path) -> str:
    """The checksum of an archive; a file with an unexpected checksum is deleted."""
    found = checksum(path)
    if archive.sha256 is None:
        _LOG.warning(
            "%s: no checksum of this file is known, so nothing was checked. Its sha256 is %s: "
            "compare it with another copy, and give it as `checksum` from now on.",
            archive.url,
            found,
        )
    elif found != archive.sha256:
        path.unlink()
        raise DownloadError(
            f"{archive.url}: expected sha256 {archive.sha256}, found {found}. The file was deleted. "
            "Try again, give the `url` of a mirror, or, if its publisher changed it, give the new `checksum`."
        )
    return found


def _check_record(corpus: PublicCorpus, folder: Path) -> None:
    """Raise DownloadError unless the folder holds this corpus."""
    try:
        content = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        there = [(archive["url"], archive["sha256"]) for archive in content["archives"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DownloadError(
            f"{folder}: already exists, and has no {RECORD} to show that it holds {corpus.name}. "
            "Choose another `folder`, or remove it."
        ) from error
    wanted = [(archive.url, archive.sha256) for archive in corpus.archives]
    same = len(there) == len(wanted) and all(
        found[0] == asked[0] and asked[1] in (None, found[1]) for found, asked in zip(there, wanted, strict=True)
    )
    if not same:
        raise DownloadError(
            f"{folder}: holds {', '.join(f'{url} (sha256 {found})' for url, found in there)}, which is not what was "
            "asked for. Choose another `folder`, or remove it."
        )


def _some_files(folder: Path) -> str:
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    return ", ".join(files[:5]) + (" ..." if len(files) > 5 else "") or "nothing"


@dataclass(frozen=True, slots=True)
class _Origin:
    """The file, and the version of it, that a partial download belongs to."""

    url: str
    version: str | None  # as the server calls it; without one the download cannot be resumed
    length: int | None


def fetch(url: str, path: Path, progress: DownloadProgress) -> None:
    """Download a file to a path, unless it is there; after a DownloadError, what arrived is kept."""
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{url}: expected an address that begins with https:// or http://.")
    note = path.with_name(f"{path.name}.json")
    with write_errors(path):
        for _ in range(ATTEMPTS):
            before = _size(path)
            if _attempt(url, path, note, lambda done, total: progress(path.name, done, total)):
                return
            if _size(path) == before:
                break
    origin = _origin(note, url)
    whole = f" of {origin.length}" if origin is not None and origin.length is not None else ""
    raise DownloadError(
        f"{url}: the connection was cut after {_size(path)}{whole} bytes. Try again: the download resumes there "
        "if the server can, and starts over if not."
    )


def _attempt(url: str, path: Path, note: Path, progress: Callable[[int, int | None], None]) -> bool:
    """Append what one connection brings to the file; return whether the file is complete."""
    origin, start = _origin(note, url), _size(path)
    if origin is not None and start and start == origin.length:
        return True
    request = Request(url, headers={"User-Agent": "trdec"})
    if start and origin is not None and origin.version is not None:
        # The server sends the rest if its file is still the same version, and the whole file if not.
        request.add_header("Range", f"bytes={start}-")
        request.add_header("If-Range", origin.version)
    try:
        response = urlopen(request, timeout=SECONDS)
    except (HTTPException, OSError) as error:
        if isinstance(error, HTTPError) and error.code == 416:  # there is no such rest: start over
            path.unlink()
            return False
        raise DownloadError(
            f"{url}: {_reason(error)}. Check the address and the network, or give the `url` of a mirror."
        ) from error
    with response:
        resumes = response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {start}-")
        start = start if resumes else 0
        length = response.headers.get("Content-Length")
        if length is not None and not re.fullmatch("[0-9]{1,18}", length):
            raise DownloadError(
                f"{url}: expected a number of bytes as the server's Content-Length, found {excerpt(length)}. "
                "Try again later, or give the `url` of a mirror."
            )
        total = start + int(length) if length is not None else None
        if not resumes:
            path.unlink(missing_ok=True)  # before the note changes: a kill must not leave the two inconsistent
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
    """The validator for If-Range: a strong entity tag, or the time of the last change."""
    tag: str | None = headers.get("ETag")
    changed: str | None = headers.get("Last-Modified")
    return tag if tag and not tag.startswith("W/") else changed


def _origin(note: Path, url: str) -> _Origin | None:
    """What a partial download belongs to; nothing if that is unknown or another address."""
    try:
        found = _Origin(**json.loads(note.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):  # a kill cut the note short: the part is useless
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
