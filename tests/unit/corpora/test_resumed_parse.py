"""A parse that was interrupted ends with the same file as one that was not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.chain_parser import ChainParser
from trdec.corpora.parse import annotate, check_files, discard, note, resumable, unfinished
from trdec.corpora.parsers import ParserChoice
from trdec.errors import AnnotationError, EncodingError, FileError, UsageError
from trdec.files import split_words
from trdec.trees import treebank
from trdec.trees.tree import words

CHOICE = ParserChoice("chain", "dependency")
LINES = st.lists(st.text(alphabet="ab \t\u00a0\u2028é(#_", max_size=12), max_size=12)


def _parse(
    source: Path, output: Path, parser: ChainParser | None = None, batch: int = 3, text: Path | None = None
) -> int:
    return annotate(parser or ChainParser(), CHOICE, source, output, text, batch, lambda *_: None)


@given(lines=LINES)
@settings(max_examples=25)
def test_each_line_has_one_entry_with_its_words(lines: list[str]) -> None:
    with TemporaryDirectory() as folder:
        source, output, text = (Path(folder) / name for name in ("source", "output", "text"))
        source.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="")
        assert _parse(source, output, text=text) == len(lines)
        for line, entry in zip(lines, treebank.read("conllu", output, source), strict=True):
            assert entry.error is None
            assert (words(entry.tree) if entry.tree else []) == (split_words(line) if line.split() else [])
        assert text.read_text(encoding="utf-8").count("\n") == len(lines)


@given(
    lines=LINES,
    interruptions=st.lists(st.tuples(st.integers(0, 3), st.binary(max_size=30)), max_size=3),
    batch=st.integers(1, 4),
)
@settings(max_examples=25)
def test_interruptions_do_not_show(lines: list[str], interruptions: list[tuple[int, bytes]], batch: int) -> None:
    with TemporaryDirectory() as folder:
        source, output, whole = (Path(folder) / name for name in ("source", "output", "whole"))
        source.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="")
        _parse(source, whole, batch=batch)
        for batches, half_written in interruptions:
            if output.exists():
                break
            try:
                _parse(source, output, ChainParser(batches=batches), batch)
            except RuntimeError:
                with unfinished(output).open("ab") as stream:
                    stream.write(half_written)  # a kill in the middle of a batch
        if not output.exists():
            _parse(source, output, batch=batch)
        assert output.read_bytes() == whole.read_bytes()
        assert sorted(path.name for path in Path(folder).iterdir()) == ["output", "source", "whole"]


def test_what_is_done_is_not_parsed_again_and_told_first(tmp_path: Path) -> None:
    source, output = tmp_path / "source", tmp_path / "output"
    source.write_text("".join(f"line {number}\n" for number in range(10)))
    with pytest.raises(RuntimeError):
        _parse(source, output, ChainParser(batches=2))
    parser, told = ChainParser(), list[tuple[str, int, int | None]]()
    annotate(parser, CHOICE, source, output, None, 3, lambda *progress: told.append(progress))
    assert parser.parsed == 4
    assert told == [("parsing", done, 10) for done in (6, 9, 10)]


SLOW = """
import sys
from pathlib import Path
from trdec.corpora.parse import annotate
from trdec.corpora.parsers import ParserChoice
from support.chain_parser import ChainParser
annotate(ChainParser(0.02), ParserChoice("chain", "dependency"), Path(sys.argv[1]), Path(sys.argv[2]), None, 3,
         lambda *_: None)
"""


def test_a_kill_loses_at_most_a_batch(tmp_path: Path) -> None:
    source, output, whole = tmp_path / "source", tmp_path / "output", tmp_path / "whole"
    source.write_text("".join(f"This is line {number} .\n" for number in range(600)))
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-c", SLOW, str(source), str(output)]
    kills = 0
    while kills < 3:
        process = subprocess.Popen(command, env=environment)
        before = _noted(output)
        deadline = time.monotonic() + 60
        while _noted(output) < before + 9 and time.monotonic() < deadline:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert not output.exists()
        kills += 1
    done = _noted(output)
    assert 27 <= done < 600
    parser = ChainParser()
    _parse(source, output, parser)
    assert parser.parsed == 600 - done
    _parse(source, whole)
    assert output.read_bytes() == whole.read_bytes()


def _noted(output: Path) -> int:
    return json.loads(note(output).read_text())["sentences"] if note(output).exists() else 0


def _interrupted(tmp_path: Path) -> tuple[Path, Path]:
    source, output = tmp_path / "source", tmp_path / "output"
    source.write_text("a\nb\nc\nd e\nf")
    with pytest.raises(RuntimeError):
        _parse(source, output, ChainParser(batches=1))
    return source, output


@pytest.mark.parametrize("changed", ["a\nX\nc\nd e\nf", "a\nb\n", "", "\na\nb\nc\nd e\nf", "a\nb\nc more\n"])
def test_a_changed_input_is_noticed(changed: str, tmp_path: Path) -> None:
    source, output = _interrupted(tmp_path)
    source.write_text(changed)
    with pytest.raises(AnnotationError, match=r"3 sentences, .* no longer the first 3 .*`restart`"):
        _parse(source, output)
    assert unfinished(output).exists()
    discard(output)
    assert [path.name for path in tmp_path.iterdir()] == ["source"]
    assert _parse(source, output) == len(changed.splitlines())


def test_sentences_may_be_added_after_those_that_are_done(tmp_path: Path) -> None:
    source, output = _interrupted(tmp_path)
    source.write_text("a\nb\nc\nother\nlines\nnow\n")
    assert _parse(source, output) == 6


def test_other_settings_are_noticed(tmp_path: Path) -> None:
    source, output = _interrupted(tmp_path)
    with pytest.raises(AnnotationError, match=r"unfinished: was begun with batch 3, not 4"):
        _parse(source, output, batch=4)
    parser = ChainParser()
    parser.identity = "chains 2"
    with pytest.raises(AnnotationError, match="was begun with parser 'chains 1', not 'chains 2'"):
        _parse(source, output, parser)


def test_damaged_work_is_noticed(tmp_path: Path) -> None:
    source, output = _interrupted(tmp_path)
    whole = unfinished(output).read_bytes()
    unfinished(output).write_bytes(whole[:-1])
    with pytest.raises(AnnotationError, match=rf"expected at least {len(whole)} bytes, found {len(whole) - 1}"):
        _parse(source, output)
    note(output).write_text("{")
    with pytest.raises(AnnotationError, match=r"output.unfinished.json: cannot be read: .*`restart`"):
        _parse(source, output)


def test_two_processes_cannot_write_one_file(tmp_path: Path) -> None:
    source, output = _interrupted(tmp_path)
    with resumable(output, {}), pytest.raises(AnnotationError, match="another process is parsing to this file"):
        _parse(source, output)


def test_a_line_that_is_not_text_keeps_what_was_done_before_it(tmp_path: Path) -> None:
    source, output = tmp_path / "source", tmp_path / "output"
    source.write_bytes(b"a\nb\nc\nd \xff\n")
    with pytest.raises(EncodingError, match="source, line 4: expected UTF-8"):
        _parse(source, output)
    source.write_bytes(b"a\nb\nc\nd e\n")
    parser = ChainParser()
    assert _parse(source, output, parser) == 4
    assert parser.parsed == 1


def test_files_are_checked_before_anything_is_done(tmp_path: Path) -> None:
    source, output = tmp_path / "source", tmp_path / "output"
    with pytest.raises(FileError, match="source: cannot be read: No such file"):
        check_files(source, output, None, restart=False)
    source.write_text("a\n")
    check_files(source, output, None, restart=False)
    for names in ((Path("-"), output), (source, Path("-"))):
        with pytest.raises(UsageError, match="not '-'"):
            check_files(*names, None, restart=False)
    with pytest.raises(UsageError, match="source: is the input itself"):
        check_files(source, source, None, restart=True)
    output.write_text("")
    with pytest.raises(UsageError, match=r"output: already exists. .*`output`.*`restart`"):
        check_files(source, output, None, restart=False)
    check_files(source, output, None, restart=True)
    with pytest.raises(UsageError, match=r"source: is the input itself. Choose another `text_output`"):
        check_files(source, output, source, restart=True)
    with pytest.raises(UsageError, match=r"output: is to hold the trees"):
        check_files(source, output, output, restart=True)
    (tmp_path / "text").write_text("mine")
    with pytest.raises(UsageError, match=r"text: already exists. .*`text_output`.*`restart`"):
        check_files(source, tmp_path / "new", tmp_path / "text", restart=False)
    table = tmp_path / "pairs.tsv"
    table.write_text("a\tb\n")
    check_files(tmp_path / "pairs.tsv:2", output, None, restart=True)
    with pytest.raises(UsageError, match="is the input itself"):
        check_files(tmp_path / "pairs.tsv:2", table, None, restart=True)
    with pytest.raises(FileError, match=r"nowhere/output.unfinished: cannot be written: No such file"):
        _parse(source, tmp_path / "nowhere" / "output")
