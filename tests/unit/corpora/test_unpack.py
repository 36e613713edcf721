"""Archives are unpacked to their folder and nowhere else."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import tarfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.archives import tar_of, zip_of
from trdec.corpora.download import unpack
from trdec.errors import DownloadError, TrdecError
from trdec.files import write_errors

FILES = {"a/train.en": b"a cat\n", "train.de": "Kätzchen\n".encode()}


def _unpacked(tmp_path: Path, name: str, content: bytes) -> dict[str, bytes]:
    (tmp_path / name).write_bytes(content)
    folder = tmp_path / "folder"
    folder.mkdir()
    unpack(tmp_path / name, folder)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_tar_zip_and_gzip_are_unpacked(tmp_path: Path) -> None:
    for number, (name, content, files) in enumerate(
        [
            ("some.tgz", tar_of(FILES), FILES),
            ("some.zip", zip_of(FILES), FILES),
            ("train.en.gz", gzip.compress(b"a cat\n"), {"train.en": b"a cat\n"}),
        ]
    ):
        (tmp_path / str(number)).mkdir()
        assert _unpacked(tmp_path / str(number), name, content) == files


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("some.tgz", tar_of({"ok": b"", "../outside": b"x"})),
        ("some.tgz", tar_of({"ok": b"", "a/../../outside": b"x"})),
        ("some.tgz", tar_of({"ok": b""}, {"../outside": "ok"})),
        ("some.zip", zip_of({"ok": b"", "../outside": b"x"})),
        ("some.zip", zip_of({"ok": b"", "..\\outside": b"x"})),
    ],
)
def test_a_path_that_leads_out_is_refused(name: str, content: bytes, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=rf"{name}: the archive would write outside its folder, to .*Nothing"):
        _unpacked(tmp_path, name, content)
    assert not list(tmp_path.rglob("outside"))


@pytest.mark.parametrize(("name", "pack"), [("some.tgz", tar_of), ("some.zip", zip_of)])
def test_an_absolute_path_is_refused(name: str, pack: Callable[[dict[str, bytes]], bytes], tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    with pytest.raises(DownloadError, match=rf"outside its folder, to '{outside}'. Nothing was kept"):
        _unpacked(tmp_path, name, pack({"ok": b"", str(outside): b"x"}))
    assert not outside.exists()


def test_a_link_is_skipped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "target").mkdir()
    archive = tar_of({"ok": b"text"}, {"link": "../target"}, {"link/file": b"x"})
    assert _unpacked(tmp_path, "some.tgz", archive) == {"ok": b"text", "link/file": b"x"}
    assert list((tmp_path / "target").iterdir()) == []
    assert "some.tgz: link is neither a file nor a folder" in caplog.text


def test_what_is_skipped_is_counted_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header = tarfile.TarInfo("x")
    header.type, header.size = b"Z", 1 << 40
    furthest = [0]
    seek = gzip.GzipFile.seek

    def watched(self: gzip.GzipFile, place: int, whence: int = 0) -> int:
        furthest.append(place)
        return seek(self, min(place, 1 << 20), whence)

    monkeypatch.setattr(gzip.GzipFile, "seek", watched)
    with pytest.raises(DownloadError, match="at most"):
        _unpacked(tmp_path, "x.tgz", gzip.compress(header.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 16)))
    assert max(furthest) < 1 << 20


def test_what_is_no_archive_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"x.tgz: expected an archive .* begins with b'<html>Not found'"):
        _unpacked(tmp_path, "x.tgz", b"<html>Not found")


@given(st.sampled_from([tar_of(FILES), gzip.compress(b"a cat\n" * 99)]), st.data())
def test_an_archive_cut_short_is_never_taken_for_a_whole_one(content: bytes, data: st.DataObject) -> None:
    cut = content[: data.draw(st.integers(0, len(content) - 1))]
    with TemporaryDirectory() as folder, pytest.raises(DownloadError, match=r"is damaged|expected an archive"):
        _unpacked(Path(folder), "x.gz", cut)


def _with(content: bytes, *changes: tuple[int, bytes]) -> bytes:
    """The archive with other bytes at some places."""
    changed = bytearray(content)
    for place, new in changes:
        changed[place : place + len(new)] = new
    return bytes(changed)


_TAR = gzip.decompress(tar_of(FILES))
_ZIP = zip_of({"train.en": b"a cat\n"})
_ENTRY = _ZIP.index(b"PK\x01\x02")  # of the list at the end, which says again what stands before each file


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("x.zip", _with(_ZIP, (6, b"\x01"), (_ENTRY + 8, b"\x01")), "encrypted"),
        ("x.zip", _with(_ZIP, (8, b"\x63"), (_ENTRY + 10, b"\x63")), "compression"),
        ("x.zip", _with(_ZIP, (_ENTRY + 6, b"\xff")), "version"),
        ("x.zip", _ZIP.replace(b"train.en", b"\0rain.en"), "called ''"),
        ("x.tgz", tar_of({"ok": b"", "é\0b": b"x"}, tar_format=tarfile.PAX_FORMAT), r"'é\\x00b'"),
    ],
)
def test_an_archive_that_cannot_be_unpacked_is_named_with_the_reason(
    name: str, content: bytes, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(DownloadError, match=rf"{name}: .*{reason}"):
        _unpacked(tmp_path, name, content)


@given(
    st.sampled_from(
        [_ZIP, tar_of(FILES), gzip.decompress(tar_of(FILES)), bz2.compress(gzip.decompress(tar_of(FILES)))]
    ),
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=4),
)
def test_a_damaged_archive_is_unpacked_or_refused(content: bytes, changes: list[tuple[int, int]]) -> None:
    damaged = _with(content, *((place % len(content), bytes([value])) for place, value in changes))
    with TemporaryDirectory() as folder, contextlib.suppress(TrdecError), write_errors(folder):
        _unpacked(Path(folder), "x", damaged)
