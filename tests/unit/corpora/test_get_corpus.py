"""A corpus is in its folder whole and checked, or not at all."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from support.archives import tar_of
from support.file_server import FileServer, serving
from trdec.corpora import catalogue
from trdec.corpora.catalogue import CORPORA, Archive, PublicCorpus, find
from trdec.corpora.download import RECORD, download, mirrored, with_checksum
from trdec.errors import DownloadError, FileError, UsageError

CONTENT = tar_of({"train.en": b"a cat\n", "train.de": b"eine Katze\n"})
CHECKSUM = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serving() as held:
        yield held


@pytest.fixture
def corpus(server: FileServer) -> PublicCorpus:
    archive = Archive(server.add("some.tgz", CONTENT), CHECKSUM)
    return PublicCorpus("some", "some corpus", (archive,), files=("train.en", "train.de"))


def _silent(_file: str, _done: int, _total: int | None) -> None:
    """Nobody is told."""


def test_a_corpus_is_there_with_a_record_of_where_it_is_from(
    server: FileServer, corpus: PublicCorpus, tmp_path: Path
) -> None:
    folder = tmp_path / "new" / "some"
    assert download(corpus, folder, _silent)
    assert sorted(path.name for path in folder.iterdir()) == ["train.de", "train.en", RECORD]
    assert json.loads((folder / RECORD).read_text())["archives"] == [
        {"url": f"{server.url}some.tgz", "sha256": CHECKSUM}
    ]
    assert [path.name for path in folder.parent.iterdir()] == ["some"]
    assert not download(corpus, folder, _silent)
    assert len(server.requests) == 1


def test_another_checksum_is_an_error_and_the_file_goes(
    server: FileServer, corpus: PublicCorpus, tmp_path: Path
) -> None:
    wrong = with_checksum(corpus, "0" * 64)
    with pytest.raises(DownloadError, match=rf"expected sha256 {'0' * 64}, found {CHECKSUM}"):
        download(wrong, tmp_path / "some", _silent)
    assert not (tmp_path / "some").exists()
    assert download(corpus, tmp_path / "some", _silent)
    assert len(server.requests) == 2


def test_without_a_checksum_that_is_said_with_the_one_that_was_found(
    corpus: PublicCorpus, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    unchecked = replace(corpus, archives=(replace(corpus.archives[0], sha256=None),))
    with caplog.at_level(logging.WARNING):
        download(unchecked, tmp_path / "some", _silent)
    assert f"sha256 is {CHECKSUM}" in caplog.text
    caplog.clear()
    download(corpus, tmp_path / "other", _silent)
    assert caplog.text == ""


def test_an_interrupted_corpus_is_gone_on_with(server: FileServer, corpus: PublicCorpus, tmp_path: Path) -> None:
    server.cuts = [50, 0]
    with pytest.raises(DownloadError, match="cut after 50"):
        download(corpus, tmp_path / "some", _silent)
    assert download(corpus, tmp_path / "some", _silent)
    assert server.requests[-1] == ("some.tgz", "bytes=50-")
    assert (tmp_path / "some" / "train.en").read_bytes() == b"a cat\n"


def test_a_bad_archive_leaves_nothing_and_can_be_mended(
    server: FileServer, corpus: PublicCorpus, tmp_path: Path
) -> None:
    unchecked = replace(corpus, archives=(replace(corpus.archives[0], sha256=None),))
    server.add("some.tgz", tar_of({"../outside": b"x"}))
    with pytest.raises(DownloadError, match="would write outside its folder"):
        download(unchecked, tmp_path / "some", _silent)
    assert not (tmp_path / "some").exists()
    assert not list(tmp_path.rglob("outside"))
    server.add("some.tgz", CONTENT, '"2"')
    assert download(unchecked, tmp_path / "some", _silent)


def test_an_archive_without_the_files_that_were_promised_is_an_error(
    server: FileServer, corpus: PublicCorpus, tmp_path: Path
) -> None:
    server.add("some.tgz", tar_of({"train.fr": b"un chat\n"}))
    unchecked = replace(corpus, archives=(replace(corpus.archives[0], sha256=None),))
    with pytest.raises(DownloadError, match=r"some: expected train.en in what was unpacked, found train.fr\. "):
        download(unchecked, tmp_path / "some", _silent)
    assert not (tmp_path / "some").exists()


def test_a_folder_with_something_else_is_left_alone(server: FileServer, corpus: PublicCorpus, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(DownloadError, match=rf"mine: already exists, and has no {RECORD}"):
        download(corpus, tmp_path / "mine", _silent)
    download(corpus, tmp_path / "some", _silent)
    other = mirrored(corpus, server.add("other.tgz", CONTENT))
    with pytest.raises(
        DownloadError, match=rf"some: holds .*some.tgz \(sha256 {CHECKSUM}\), which is not what was asked"
    ):
        download(other, tmp_path / "some", _silent)
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot be written: Not a directory"):
        download(corpus, tmp_path / "file" / "some", _silent)


def test_a_mirror_keeps_the_checksums(server: FileServer, corpus: PublicCorpus) -> None:
    assert mirrored(corpus, "http://b/c.tgz").archives == (Archive("http://b/c.tgz", CHECKSUM),)
    assert mirrored(corpus, "http://b/").archives == (Archive("http://b/some.tgz", CHECKSUM),)
    two = replace(corpus, archives=(*corpus.archives, Archive(f"{server.url}more.tgz")))
    assert [archive.url for archive in mirrored(two, "http://b/").archives] == [
        "http://b/some.tgz",
        "http://b/more.tgz",
    ]
    with pytest.raises(UsageError, match=r"some is 2 archives \(some.tgz, more.tgz\). As `url`, give a folder"):
        mirrored(two, "http://b/c.tgz")
    with pytest.raises(UsageError, match="`checksum` belongs to one archive, but some is 2"):
        with_checksum(two, CHECKSUM)
    with pytest.raises(UsageError, match="expected 64 hexadecimal digits as `checksum`, found 'abc'"):
        with_checksum(corpus, "abc")
    assert with_checksum(corpus, "AB" * 32).archives[0].sha256 == "ab" * 32


def test_the_list_of_corpora_is_sound() -> None:
    for name, corpus in CORPORA.items():
        assert name == corpus.name == find(name).name
        assert corpus.files
        assert corpus.licence
        assert corpus.citation
        names = [archive.name for archive in corpus.archives]
        assert len(set(names)) == len(names)
        for archive in corpus.archives:
            assert archive.url.startswith(("http://", "https://"))
            assert archive.sha256 is None or len(archive.sha256) == 64


def test_a_pair_of_languages_is_found_in_either_order() -> None:
    there, back = find("tatoeba-de-en"), find("tatoeba-en-de")
    assert there.archives == back.archives
    assert there.files == tuple(reversed(back.files)) == ("Tatoeba.de-en.de", "Tatoeba.de-en.en")


def test_an_unknown_corpus_is_answered_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"no corpus is called 'kfft'. There are kftt, .*tatoeba-XX-YY"):
        find("kfft")
    assert not catalogue.is_listed("kfft")


def test_an_address_that_names_no_file_still_has_a_name() -> None:
    assert [Archive(url).name for url in ("http://a/b.tgz?x=/y", "http://a/", "http://a/..")] == [
        "b.tgz", "archive", "archive",
    ]  # fmt: skip
