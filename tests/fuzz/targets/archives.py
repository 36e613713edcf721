"""Archives of corpora, as a server may send them, and of models, as a stranger may."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path
from tempfile import TemporaryDirectory

from fuzz.harness import Target
from support.archives import tar_of, zip_of
from trdec.corpora.download import unpack
from trdec.files import write_errors
from trdec.translation.model_directory import unpacked_model

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


def run_model_archive(data: bytes) -> None:
    """Unpack a model; nothing is left of it afterwards."""
    with TemporaryDirectory(prefix="trdec-fuzz-") as name:
        path = Path(name, "model.tar.gz")
        path.write_bytes(data)
        with unpacked_model(path) as folder:
            assert folder.is_dir()
            assert not any(found.is_symlink() for found in folder.rglob("*"))
        assert not folder.exists()


def archive_seeds() -> list[bytes]:
    """Each kind of archive, also uncompressed, where a changed byte reaches the names inside."""
    packed = tar_of(_FILES, {"link": "../outside"})
    plain = gzip.decompress(packed)
    return [packed, plain, bz2.compress(plain), lzma.compress(plain), zip_of(_FILES), gzip.compress(b"a cat\n" * 20)]


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

TARGETS = [
    Target("archives", run_unpack, archive_seeds, _TOKENS, weight=0.5),
    Target("model-archives", run_model_archive, archive_seeds, _TOKENS, weight=0.5),
]
