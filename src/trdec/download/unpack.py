"""Archives from strangers: unpacked to where they are told to, and nowhere else."""

from __future__ import annotations

import gzip
import logging
import shutil
import tarfile
import zipfile
import zlib
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import IO

from trdec.errors import DownloadError

_GZIP = b"\x1f\x8b"
_BLOCK = 1 << 18
_LOG = logging.getLogger(__name__)


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a tar file (compressed or not), a zip file, or one file that gzip compressed, into the folder."""
    try:
        if tarfile.is_tarfile(archive):
            _unpack_tar(archive, folder)
        elif zipfile.is_zipfile(archive):
            _unpack_zip(archive, folder)
        elif _beginning(archive).startswith(_GZIP):
            with gzip.open(archive) as packed:
                _write(packed, folder / archive.name.removesuffix(".gz"))
        else:
            raise DownloadError(
                f"{archive.name}: expected an archive (tar, tar.gz, zip or gz), found a file that begins with "
                f"{_beginning(archive)!r}. A server may send a page that says why; look at the address in a browser."
            )
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, gzip.BadGzipFile, LZMAError) as error:
        raise DownloadError(
            f"{archive.name}: the archive is damaged: {error}. Get it again; if that does not help, choose a mirror "
            "with --url."
        ) from error


def _unpack_tar(archive: Path, folder: Path) -> None:
    # Not tarfile's own way: its safe form is missing from the first releases of Python 3.11.
    with tarfile.open(archive) as tar:
        for member in tar:
            path = _inside(archive, folder, member.name)
            content = tar.extractfile(member) if member.isreg() else None
            if content is not None:
                _write(content, path)
            elif not member.isdir():  # a link or a device can lead anywhere, and no text needs one
                _LOG.warning("%s: %s is neither a file nor a folder, and was passed over.", archive.name, member.name)
        # tarfile takes a file that is cut between two members for a whole one; the compression knows better.
        while tar.fileobj is not None and tar.fileobj.read(_BLOCK):
            pass


def _unpack_zip(archive: Path, folder: Path) -> None:
    with zipfile.ZipFile(archive) as zipped:
        for member in zipped.infolist():
            path = _inside(archive, folder, member.filename)
            if not member.is_dir():
                with zipped.open(member) as content:
                    _write(content, path)


def _inside(archive: Path, folder: Path, name: str) -> Path:
    """Where in the folder a member goes; DownloadError if it would be elsewhere."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name:
        raise DownloadError(
            f"{archive.name}: the archive would write outside its folder, to {name!r}. Nothing was kept. "
            "Do not use this archive; tell whoever published it."
        )
    return folder / path


def _write(content: IO[bytes] | gzip.GzipFile, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        shutil.copyfileobj(content, stream)


def _beginning(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(20)
