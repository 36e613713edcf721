"""Archives of corpora, as a server may send them."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path
from tempfile import TemporaryDirectory

from fuzz.harness import Target
from support.archives import tar_of, zip_of
from trdec.corpora.download import unpack
from trdec.files import write_errors

_FILES = {"data/train.en": b"a cat\n" * 20, "train.de": "Kätzchen\n".encode(), "ü": b""}


def run_unpack(data: bytes) -> None:
    """Unpack what arrived; nothing may appear outside its folder."""
    with TemporaryDirectory(prefix="trdec-fuzz-") as name:
        home = Path(name)
        (home / "archive.gz").write_bytes(data)
        (home / "folder").mkdir()
        with write_errors(home):
            unpack(home / "archive.gz", home / "folder")
        assert {path.name for path in home.iterdir()} == {"archive.gz", "folder"}


def archive_seeds() -> list[bytes]:
    """Each kind of archive, also uncompressed, where a changed byte reaches the names inside."""
    packed = tar_of(_FILES, {"link": "../outside"})
    plain = gzip.decompress(packed)
    return [packed, plain, bz2.compress(plain), zip_of(_FILES), gzip.compress(b"a cat\n" * 20)]


_TOKENS = (
    b"PK\x03\x04",
    b"PK\x01\x02",
    b"PK\x05\x06",
    b"\x1f\x8b",
    b"BZh9",
    b"ustar",
    b"../",
    b"/tmp/",
    b"11 path=..\n",
)

TARGETS = [Target("archives", run_unpack, archive_seeds, _TOKENS, weight=0.5)]
