"""Archives: unpacked without trusting them, and packed so that the same files give the same bytes."""

from __future__ import annotations

import bz2
import gzip
import io
import logging
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from trdec.errors import DownloadError, UsageError, excerpt
from trdec.files import replacing_file, write_errors

_BLOCK = 1 << 18
_GZIP = b"\x1f\x8b"
_LOG = logging.getLogger(__name__)

ARCHIVE_ENDINGS = (".tar.gz", ".tgz", ".zip")
"""How the name of an archive that is written ends."""


def is_archive_name(path: Path) -> bool:
    """Whether the name is that of an archive."""
    return path.name.endswith(ARCHIVE_ENDINGS)


def pack(folder: Path, archive: Path) -> None:
    """Write the files below a folder to an archive, in a folder with the archive's name."""
    name = archive.name
    for ending in ARCHIVE_ENDINGS:
        name = name.removesuffix(ending)
    if not name or not is_archive_name(archive):
        raise UsageError(f"{archive}: expected a name that ends in {', '.join(ARCHIVE_ENDINGS)}.")
    files = {f"{name}/{path.relative_to(folder).as_posix()}": path for path in folder.rglob("*") if path.is_file()}
    with write_errors(archive), replacing_file(archive) as temporary:
        if archive.name.endswith(".zip"):
            with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as zipped:
                for member, path in sorted(files.items()):
                    about = zipfile.ZipInfo(member)  # of the year 1980
                    about.compress_type, about.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                    zipped.writestr(about, path.read_bytes())
            return
        with (
            temporary.open("wb") as stream,
            gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
        ):
            for member, path in sorted(files.items()):
                content = path.read_bytes()
                header = tarfile.TarInfo(member)
                header.size, header.mode = len(content), 0o644
                tar.addfile(header, io.BytesIO(content))


class _Room:
    """What an archive may still write."""

    def __init__(self, archive: Path, most: int) -> None:
        self._archive = archive
        self._most = most
        self._written = 0

    def take(self, size: int) -> None:
        """Count bytes that come from the archive; DownloadError if there are more than there may be."""
        self._written += size
        if self._written > self._most:
            raise DownloadError(
                f"{self._archive.name}: expected at most {self._most:,} bytes in the archive, found more. "
                "Do not use this archive."
            )

    def write(self, content: IO[bytes] | gzip.GzipFile, path: Path) -> None:
        """Write a file of the archive, if there is room for it."""
        self.take(_LEAST_FILE)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as stream:
            while block := content.read(_BLOCK):
                self.take(len(block))
                stream.write(block)


_LEAST_FILE = 1 << 12
"""The bytes of disk that even an empty file takes."""


class _TarContent(io.RawIOBase):
    """The content of a tar file, unpacked; what it holds besides files, such as names of members, must be short.

    tarfile reads a name at once, whatever length the archive says it has; files are read in blocks.
    """

    def __init__(self, content: IO[bytes], room: _Room) -> None:
        self._content = content
        self._room = room
        self._furthest = 0

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _LONGEST_HEADER:
            raise tarfile.ReadError(f"a name or a note of {size:,} bytes in it is longer than any")
        self._reach(self._content.tell() + size)
        return self._content.read(size)

    def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_SET:  # the only one that tarfile uses
            self._reach(place)
        return self._content.seek(place, whence)

    def _reach(self, place: int) -> None:
        """Count what has to be unpacked to get to a place; tarfile goes back now and then."""
        self._room.take(max(0, place - self._furthest))
        self._furthest = max(self._furthest, place)

    def tell(self) -> int:
        return self._content.tell()

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True


_LONGEST_HEADER = 1 << 20


def unpack(archive: Path, folder: Path, times: int = 200) -> None:
    """Unpack a tar file (compressed or not), a zip file, or a single gzipped file into the folder.

    An archive that would become more than 64 MiB, and more than so many times its size, is refused.
    """
    most = max(LEAST_ROOM, times * archive.stat().st_size)
    try:
        if _is_tar(archive):
            # Once for the tar file, headers and all, and once for the files in it.
            _unpack_tar(archive, folder, _Room(archive, 2 * most), _Room(archive, most))
            return
        room = _Room(archive, most)
        if zipfile.is_zipfile(archive):
            _unpack_zip(archive, folder, room)
        elif _beginning(archive).startswith(_GZIP):
            with gzip.open(archive) as packed:
                room.write(packed, folder / archive.name.removesuffix(".gz"))
        else:
            raise DownloadError(
                f"{archive.name}: expected an archive (tar, tar.gz, zip or gz), found a file that begins with "
                f"{_beginning(archive)!r}. The server may have sent an error page: open the address in a browser."
            )
    except RuntimeError as error:  # zipfile: encrypted, or a method or version that it does not know
        raise DownloadError(
            f"{archive.name}: the archive cannot be unpacked: {error}. Give the `url` of a copy that is neither "
            "encrypted nor compressed by an unusual method."
        ) from error
    except _DAMAGE as error:
        raise _damaged(archive, error) from error
    except OSError as error:
        if error.errno is not None:  # the disk, not the archive
            raise
        raise _damaged(archive, error) from error


_DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    EOFError,
    zlib.error,
    gzip.BadGzipFile,
    lzma.LZMAError,
    struct.error,
    OverflowError,
    ValueError,  # a name that is not in its encoding
)


def _damaged(archive: Path, error: Exception) -> DownloadError:
    return DownloadError(
        f"{archive.name}: the archive is damaged: {error}. Download it again; if that does not help, give the "
        "`url` of a mirror."
    )


LEAST_ROOM = 1 << 26
"""The bytes that an archive may unpack to, however small it is."""

_OPENERS: dict[bytes, Callable[..., Any]] = {_GZIP: gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open, b"": open}
"""How a file is opened, by how it begins."""


def _unpacked(archive: Path) -> IO[bytes]:
    beginning = _beginning(archive)
    opener = next(opener for magic, opener in _OPENERS.items() if beginning.startswith(magic))
    return cast(IO[bytes], opener(archive, "rb"))


def _is_tar(archive: Path) -> bool:
    """Whether the file begins as a tar file does, when it is unpacked; nothing more of it is read."""
    try:
        with _unpacked(archive) as content:
            start = content.read(tarfile.BLOCKSIZE)
        if not start.strip(b"\0"):  # the end of a tar file without members
            return len(start) == tarfile.BLOCKSIZE
        tarfile.TarInfo.frombuf(start, tarfile.ENCODING, "surrogateescape")
    except (*_DAMAGE, OSError):
        return False
    return True


def _unpack_tar(archive: Path, folder: Path, read: _Room, written: _Room) -> None:
    # Not extractall: its safe filter is missing from the first releases of Python 3.11.
    skipped = 0
    with (
        _unpacked(archive) as content,
        tarfile.open(fileobj=cast(IO[bytes], _TarContent(content, read)), mode="r:") as tar,
    ):
        while (member := tar.next()) is not None:
            tar.members = []  # type: ignore[attr-defined]  # it keeps all of them
            path = _inside(archive, folder, member.name)
            file = tar.extractfile(member) if member.isreg() else None
            if file is not None:
                written.write(file, path)
            elif not member.isdir():  # a link or a device may point anywhere, and no text needs one
                skipped += 1
                if skipped == 1:
                    _LOG.warning("%s: %s is neither a file nor a folder, and was skipped.", archive.name, member.name)
        # tarfile accepts a file that is cut between two members; only reading to the end detects the cut.
        while tar.fileobj is not None and tar.fileobj.read(_BLOCK):
            pass
    if skipped > 1:
        _LOG.warning("%s: %d more such were skipped.", archive.name, skipped - 1)


def _unpack_zip(archive: Path, folder: Path, room: _Room) -> None:
    with zipfile.ZipFile(archive) as zipped:
        for member in zipped.infolist():
            path = _inside(archive, folder, member.filename)
            if not member.is_dir():
                with zipped.open(member) as content:
                    room.write(content, path)


def _inside(archive: Path, folder: Path, name: str) -> Path:
    """Where in the folder a member goes; DownloadError if it would be outside."""
    if not name or "\0" in name:
        raise DownloadError(
            f"{archive.name}: the archive holds a file called {excerpt(name)}, and no file can be called so. "
            "Do not use this archive, and tell its publisher."
        )
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name:
        raise DownloadError(
            f"{archive.name}: the archive would write outside its folder, to {name!r}. Nothing was kept. "
            "Do not use this archive, and tell its publisher."
        )
    return folder / path


def _beginning(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(20)
