"""Small archives, good and bad."""

from __future__ import annotations

import io
import tarfile
import zipfile


def tar_of(
    files: dict[str, bytes],
    links: dict[str, str] | None = None,
    more_files: dict[str, bytes] | None = None,
    tar_format: int = tarfile.GNU_FORMAT,
) -> bytes:
    """A compressed tar file of files by name, then of symbolic links by name, then of more files."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz", format=tar_format) as tar:
        _add(tar, files)
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            tar.addfile(member)
        _add(tar, more_files or {})
    return stream.getvalue()


def _add(tar: tarfile.TarFile, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        member = tarfile.TarInfo(name)
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))


def zip_of(files: dict[str, bytes]) -> bytes:
    """A zip file of files by name."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as zipped:
        for name, content in files.items():
            zipped.writestr(name, content)
    return stream.getvalue()
