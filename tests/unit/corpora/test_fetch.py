"""A download survives what networks do, and never mixes two versions of a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.file_server import FileServer, serving
from trdec.corpora.download import ATTEMPTS, fetch
from trdec.errors import DownloadError, FileError, UsageError

CONTENT = bytes(range(256)) * 40


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serving() as held:
        yield held


def _silent(_file: str, _done: int, _total: int | None) -> None:
    """Nobody is told."""


def test_a_cut_connection_is_made_again_for_the_rest(server: FileServer, tmp_path: Path) -> None:
    url = server.add("file", CONTENT)
    server.cuts = [1000, 2000]
    told: list[tuple[str, int, int | None]] = []
    fetch(url, tmp_path / "file", lambda *state: told.append(state))
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.requests == [("file", None), ("file", "bytes=1000-"), ("file", "bytes=3000-")]
    assert told[0] == ("file", 0, len(CONTENT))
    assert told[-1] == ("file", len(CONTENT), len(CONTENT))


@given(cuts=st.lists(st.integers(1, 3000), max_size=2 * ATTEMPTS), knows_ranges=st.booleans(), tagged=st.booleans())
@settings(max_examples=30)
def test_however_often_it_is_cut_the_file_is_whole_in_the_end(
    cuts: list[int], knows_ranges: bool, tagged: bool
) -> None:
    with serving() as server, TemporaryDirectory() as folder:
        url = server.add("file", CONTENT, '"1"' if tagged else None)
        server.knows_ranges, server.cuts = knows_ranges, list(cuts)
        path = Path(folder) / "file"
        for _ in range(len(cuts) + 1):
            try:
                fetch(url, path, _silent)
                break
            except DownloadError as error:
                assert "the connection was cut after" in str(error)
        assert path.read_bytes() == CONTENT
        before = len(server.requests)
        fetch(url, path, _silent)
        assert len(server.requests) == before  # what is there is not asked for again


def test_a_server_that_always_cuts_is_given_up(server: FileServer, tmp_path: Path) -> None:
    url = server.add("file", CONTENT)
    server.cuts = [100] * (ATTEMPTS + 1)
    with pytest.raises(DownloadError, match=rf"cut after {100 * ATTEMPTS} of {len(CONTENT)} bytes"):
        fetch(url, tmp_path / "file", _silent)
    server.cuts = []
    fetch(url, tmp_path / "file", _silent)
    assert server.requests[-1] == ("file", f"bytes={100 * ATTEMPTS}-")
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_file_that_changed_meanwhile_is_begun_again(server: FileServer, tmp_path: Path) -> None:
    url = server.add("file", b"old " * 1000)
    server.cuts = [100, 0]
    with pytest.raises(DownloadError, match="cut"):
        fetch(url, tmp_path / "file", _silent)
    server.add("file", CONTENT, '"2"')
    fetch(url, tmp_path / "file", _silent)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_part_of_another_address_is_not_gone_on_with(server: FileServer, tmp_path: Path) -> None:
    server.cuts = [100, 0]
    with pytest.raises(DownloadError, match="cut"):
        fetch(server.add("a/file", b"another" * 1000), tmp_path / "file", _silent)
    fetch(server.add("b/file", CONTENT), tmp_path / "file", _silent)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.requests[-1] == ("b/file", None)


def test_a_weak_tag_promises_too_little_to_go_on_with(server: FileServer, tmp_path: Path) -> None:
    url = server.add("file", CONTENT, 'W/"1"')
    server.cuts = [100]
    fetch(url, tmp_path / "file", _silent)
    assert server.requests == [("file", None), ("file", None)]
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_part_longer_than_the_file_is_begun_again(server: FileServer, tmp_path: Path) -> None:
    url = server.add("file", CONTENT)
    server.cuts = [100, 0]
    with pytest.raises(DownloadError, match="cut"):
        fetch(url, tmp_path / "file", _silent)
    (tmp_path / "file").write_bytes(b"x" * (len(CONTENT) + 5))
    fetch(url, tmp_path / "file", _silent)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_what_cannot_be_had_is_said(server: FileServer, tmp_path: Path) -> None:
    with pytest.raises(
        DownloadError, match=r"none: the server answers 404 Not Found. Check the address and the network"
    ):
        fetch(f"{server.url}none", tmp_path / "file", _silent)
    with pytest.raises(DownloadError, match=r"cannot be reached: .*refused"):
        fetch("http://127.0.0.1:9/file", tmp_path / "file", _silent)
    with pytest.raises(UsageError, match=r"kftt.tgz: expected an address that begins with https:// or http://"):
        fetch("kftt.tgz", tmp_path / "file", _silent)
    with pytest.raises(FileError, match=r"nowhere/file: cannot be written: No such file or directory"):
        fetch(server.add("file", CONTENT), tmp_path / "nowhere" / "file", _silent)


@pytest.mark.parametrize("length", ["many", "-5", "12, 12", "1" * 5000, "١٢"])
def test_a_length_that_is_no_number_is_an_error(server: FileServer, tmp_path: Path, length: str) -> None:
    url, server.length = server.add("file", CONTENT), length.encode().decode("latin1")
    with pytest.raises(DownloadError, match=r"/file: .*Content-Length") as caught:
        fetch(url, tmp_path / "file", _silent)
    assert len(str(caught.value)) < 400
    server.length = None
    fetch(url, tmp_path / "file", _silent)
    assert (tmp_path / "file").read_bytes() == CONTENT
