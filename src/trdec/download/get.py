"""A corpus in a folder: all of it, or nothing."""

from __future__ import annotations

import json
import logging
import re
import shutil
from dataclasses import replace
from pathlib import Path

from trdec.download.corpora import Archive, PublicCorpus
from trdec.download.fetch import Progress, fetch, sha256
from trdec.download.unpack import unpack
from trdec.errors import DownloadError, FileError, UsageError

RECORD = "trdec-download.json"
"""In a corpus's folder: where its files came from, and their checksums."""

_LOG = logging.getLogger(__name__)


def mirrored(corpus: PublicCorpus, url: str) -> PublicCorpus:
    """The corpus from another address: of its one archive, or of a folder (ending in /) that holds several."""
    if url.endswith("/"):
        archives = tuple(replace(archive, url=f"{url}{archive.name}") for archive in corpus.archives)
    elif len(corpus.archives) == 1:
        archives = (replace(corpus.archives[0], url=url),)
    else:
        names = ", ".join(archive.name for archive in corpus.archives)
        raise UsageError(
            f"{corpus.name} is {len(corpus.archives)} archives ({names}). Give --url a folder that holds them all, "
            "ending in /."
        )
    return replace(corpus, archives=archives)


def with_checksum(corpus: PublicCorpus, checksum: str) -> PublicCorpus:
    """The corpus with the checksum that its archive must have."""
    if not re.fullmatch(r"[0-9a-fA-F]{64}", checksum):
        raise UsageError(f"expected 64 hexadecimal digits as --sha256, found {checksum!r}.")
    if len(corpus.archives) != 1:
        raise UsageError(f"--sha256 is of one archive, but {corpus.name} is {len(corpus.archives)}. Leave it out.")
    return replace(corpus, archives=(replace(corpus.archives[0], sha256=checksum.lower()),))


def get(corpus: PublicCorpus, folder: Path, progress: Progress) -> bool:
    """Download and unpack a corpus; False if it was there already. The folder appears only when all is well."""
    if folder.exists():
        _check_record(corpus, folder)
        return False
    work = folder.with_name(f"{folder.name}.unfinished")
    unpacked = work / "unpacked"
    try:
        work.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(unpacked, ignore_errors=True)
        unpacked.mkdir()
        record = []
        for archive in corpus.archives:
            path = work / archive.name
            fetch(archive.url, path, progress)
            found = _checked(archive, path)
            try:
                unpack(path, unpacked)
            except DownloadError:
                path.unlink()  # or it would be found, and be as bad, the next time
                raise
            record.append({"url": archive.url, "sha256": found})
        missing = [name for name in corpus.files if not (unpacked / name).is_file()]
        if missing:
            raise DownloadError(
                f"{corpus.name}: expected {missing[0]} in what was unpacked, found {_some_files(unpacked)}. "
                f"The archive is not the one that trdec knows; it is in {work}."
            )
        content = {"corpus": corpus.name, "licence": corpus.licence, "citation": corpus.citation, "archives": record}
        (unpacked / RECORD).write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        unpacked.rename(folder)
        shutil.rmtree(work)
    except OSError as error:
        raise FileError(f"{folder}: cannot be written: {error.strerror or error}.") from error
    return True


def _checked(archive: Archive, path: Path) -> str:
    """The checksum of an archive; a file with another than the one expected is thrown away."""
    found = sha256(path)
    if archive.sha256 is None:
        _LOG.warning(
            "%s: trdec knows no checksum of this file, so nothing was checked. What came has sha256 %s: "
            "compare it with others', and ask for it with --sha256 from now on.",
            archive.url,
            found,
        )
    elif found != archive.sha256:
        path.unlink()
        raise DownloadError(
            f"{archive.url}: expected sha256 {archive.sha256}, found {found}. The file was thrown away. "
            "Run the command again, choose a mirror with --url, or, if its makers changed it, give the new --sha256."
        )
    return found


def _check_record(corpus: PublicCorpus, folder: Path) -> None:
    """Raise DownloadError unless the folder holds this corpus."""
    try:
        content = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        there = [(archive["url"], archive["sha256"]) for archive in content["archives"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DownloadError(
            f"{folder}: is there already, and has no {RECORD} that would say it holds {corpus.name}. "
            "Choose another --output, or remove it."
        ) from error
    wanted = [(archive.url, archive.sha256) for archive in corpus.archives]
    same = len(there) == len(wanted) and all(
        found[0] == asked[0] and asked[1] in (None, found[1]) for found, asked in zip(there, wanted, strict=True)
    )
    if not same:
        raise DownloadError(
            f"{folder}: holds {', '.join(f'{url} (sha256 {found})' for url, found in there)}, which is not what was "
            "asked for. Choose another --output, or remove it."
        )


def _some_files(folder: Path) -> str:
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    return ", ".join(files[:5]) + (" ..." if len(files) > 5 else "") or "nothing"
