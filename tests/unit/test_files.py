"""Files are written whole or not at all, locked by one process at a time, and known by their content."""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import zstandard

from trdec.errors import FileError, TextFormatError, TrainingError
from trdec.files import (
    checksum,
    checksum_of_text,
    count_lines,
    locked,
    read_lines,
    remove_folder,
    remove_leftovers,
    replacing_file,
    replacing_folder,
    text_checksum,
    writing,
)


def test_a_file_is_replaced_only_when_the_block_ends_well(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(KeyError), writing(path) as stream:
        stream.write("new")
        raise KeyError
    with pytest.raises(KeyError), replacing_file(path) as temporary:
        temporary.write_text("new")
        raise KeyError
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]
    with writing(path) as stream:
        stream.write("new")
        stream.flush()
        assert path.read_text() == "old"
    assert [path.read_text() for path in tmp_path.iterdir()] == ["new"]


@pytest.mark.parametrize("durable", [False, True])
def test_a_folder_is_replaced_only_when_the_block_ends_well(tmp_path: Path, durable: bool) -> None:
    path = tmp_path / "folder"
    for content, fails in (("old", False), ("new", True), ("new", False)):
        try:
            with replacing_folder(path, durable) as temporary:
                (temporary / "inner").mkdir()
                (temporary / "inner" / content).write_text(content)
                if fails:
                    raise KeyError
        except KeyError:
            content = "old"
        assert [str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if file.is_file()] == [
            f"folder/inner/{content}"
        ]
    remove_folder(path)
    remove_folder(path)
    assert not list(tmp_path.iterdir())


def test_written_files_have_ordinary_permissions(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    with replacing_file(tmp_path / "private") as temporary:
        temporary.chmod(0o600)
    assert (tmp_path / "private").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_what_a_killed_process_leaves_is_hidden_and_can_be_removed(tmp_path: Path) -> None:
    script = """
import os, signal, sys
from collections.abc import Callable
from pathlib import Path
from trdec.files import replacing_file, replacing_folder
folder = Path(sys.argv[1])
with replacing_file(folder / "file") as file, replacing_folder(folder / "folder") as inner:
    file.write_text("half")
    (inner / "half").touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    killed = subprocess.run([sys.executable, "-c", script, tmp_path], check=False)
    assert killed.returncode == -signal.SIGKILL
    (tmp_path / ".mine.tmp").touch()
    assert len(list(tmp_path.iterdir())) == 3
    assert all(path.name.startswith(".") for path in tmp_path.iterdir())
    remove_leftovers(tmp_path, "file")
    assert len(list(tmp_path.iterdir())) == 2
    remove_leftovers(tmp_path)
    remove_leftovers(tmp_path / "nowhere")
    assert [path.name for path in tmp_path.iterdir()] == [".mine.tmp"]


def test_a_lock_is_held_by_one_process_and_released_when_it_is_killed(tmp_path: Path) -> None:
    script = """
import sys, time
from collections.abc import Callable
from pathlib import Path
from trdec.files import locked
with locked(Path(sys.argv[1])):
    print("locked", flush=True)
    time.sleep(60)
"""
    path = tmp_path / "lock"
    holder = subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"locked\n"
    with pytest.raises(TrainingError, match="busy"), locked(path, TrainingError("busy")):
        pass
    os.kill(holder.pid, signal.SIGKILL)
    with locked(path):  # waits
        assert holder.wait() == -signal.SIGKILL
    holder.stdout.close()
    with locked(path, TrainingError("busy")):
        pass


def test_checksums_are_sha256_and_lines_are_counted(tmp_path: Path) -> None:
    for text, lines in (("", 0), ("a", 1), ("a\n", 1), ("a\nß\r\n\nb", 4)):
        (tmp_path / "file").write_bytes(text.encode())
        assert checksum(tmp_path / "file") == checksum_of_text(text) == hashlib.sha256(text.encode()).hexdigest()
        assert count_lines(tmp_path / "file") == lines
    for read in (checksum, count_lines):
        with pytest.raises(FileError, match="missing: cannot be read: No such file"):
            read(tmp_path / "missing")


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(FileError, match=r"nowhere/file: cannot be written: No such file"),
        writing(tmp_path / "nowhere" / "file"),
    ):
        pass
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match=r"file/lock: cannot be written"), locked(tmp_path / "file" / "lock"):
        pass


def test_a_missing_file_is_named_in_full_with_the_most_similar_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "train.de").touch()
    monkeypatch.chdir(tmp_path)
    for missing, similar in (("corpus/trian.de", "corpus/train.de"), ("corpsu/train.de", "corpus")):
        with pytest.raises(FileError, match=rf"^{missing}: .*\({tmp_path}/{missing}\)\. Did you mean '{similar}'\?$"):
            next(read_lines(Path(missing)))
    with pytest.raises(FileError, match="There is no folder 'elsewhere'"):
        next(read_lines("elsewhere/train.de"))


ZSTANDARD = zstandard.ZstdCompressor()

TABLE = "ein Hund\ta dog\neine Katze\ta cat\n"
OBJECTS = """\
{"id": 1, "translation": {"de": "ein Hund", "en": "a dog"}, "a.b": "x\\ny"}
{"id": 2, "translation": {"de": "eine Katze", "en": "a cat"}, "a.b": "z"}
"""


@pytest.mark.parametrize("packed", ["", ".gz", ".zst"])
@pytest.mark.parametrize(
    ("name", "content", "part", "expected"),
    [
        ("text", "a\nb\n", "", ["a", "b"]),
        ("pairs.tsv", TABLE, ":1", ["ein Hund", "eine Katze"]),
        ("pairs.tsv", TABLE, ":2", ["a dog", "a cat"]),
        ("pairs.jsonl", OBJECTS, ":translation.en", ["a dog", "a cat"]),
        ("pairs.jsonl", OBJECTS, ":a.b", ["x y", "z"]),
    ],
)
def test_a_text_is_a_file_or_part_of_one_compressed_or_not(
    name: str, content: str, part: str, expected: list[str], packed: str, tmp_path: Path
) -> None:
    file = tmp_path / f"{name}{packed}"
    pack = {"": bytes, ".gz": gzip.compress, ".zst": ZSTANDARD.compress}[packed]
    file.write_bytes(pack(content.encode()))
    path = Path(f"{file}{part}")
    assert [(line.place.line, line.text) for line in read_lines(path)] == list(enumerate(expected, start=1))
    assert count_lines(path) == 2
    assert text_checksum(path) == checksum_of_text(content) + part


@pytest.mark.parametrize(
    ("path", "content", "message"),
    [
        ("a.tsv:2", "x\ty\nx\n", "a.tsv:2, line 2: expected 2 columns separated by tabs, found 1"),
        ("a.tsv:de", "x\ty\n", "a.tsv:de, line 1: expected the number of a column"),
        ("a.tsv:0", "x\ty\n", "a.tsv:0, line 1: expected the number of a column"),
        ("a.jsonl:de", '{"en": "x"}\n', "a.jsonl:de, line 1: expected the field 'de', found 'en'"),
        ("a.jsonl:de", '{"de": "x"}\n{"de": 3}\n', "a.jsonl:de, line 2: expected text in the field 'de', found '3'"),
        ("a.jsonl:de", '{"de": "x"}\n\n', "a.jsonl:de, line 2: expected a JSON object"),
        ("a.jsonl:de", '["x"]\n', "a.jsonl:de, line 1: expected the field 'de', found no object"),
        ("a.jsonl:de", '{"de": "\\ud800"}\n', "a.jsonl:de, line 1: the field 'de' has half of a surrogate pair"),
        ("a.zst", ZSTANDARD.compress(b"a cat" * 50)[:-5], "a.zst: the Zstandard file is damaged or incomplete"),
        ("a.gz", gzip.compress(b"a cat" * 50, mtime=0)[:-9], "a.gz: the gzip file is damaged or incomplete"),
        ("a.txt", "a cat\n".encode("utf-16"), "a.txt: expected UTF-8, found UTF-16"),
        ("a.txt", lzma.compress(b"a cat\n"), "a.txt: expected text, found a file compressed with xz"),
    ],
)
def test_what_is_wrong_with_a_text_is_said_with_file_and_line(
    path: str, content: str | bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / path.split(":")[0]).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises((TextFormatError, FileError), match=re.escape(message)):
        list(read_lines(tmp_path / path))


def test_a_file_whose_name_has_a_colon_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "a.tsv:1").write_text("x\ty\n")
    assert [line.text for line in read_lines(tmp_path / "a.tsv:1")] == ["x\ty"]


def test_frames_of_a_zstandard_file_are_one_text(tmp_path: Path) -> None:
    (tmp_path / "a.zst").write_bytes(ZSTANDARD.compress(b"a\nb") + ZSTANDARD.compress(b"c\n" * 100_000))
    assert [line.text for line in read_lines(tmp_path / "a.zst")] == ["a", "bc", *["c"] * 99_999]


def _read_all(path: Path) -> None:
    for _ in read_lines(path):
        pass


@pytest.mark.parametrize("pack", [partial(gzip.compress, compresslevel=9), ZSTANDARD.compress])
@pytest.mark.parametrize("unit", [b"a", b"(" * 1000 + b"\n"])
def test_a_bomb_is_not_unpacked(pack: Callable[[bytes], bytes], unit: bytes, tmp_path: Path) -> None:
    (tmp_path / "bomb").write_bytes(pack(unit * ((80 << 20) // len(unit))))
    assert (tmp_path / "bomb").stat().st_size < 300_000
    for read in (count_lines, text_checksum, _read_all):
        with pytest.raises((FileError, TextFormatError), match=r"bomb.*: expected (text|at most 16,777,216 bytes)"):
            read(tmp_path / "bomb")


@pytest.mark.parametrize("pack", [gzip.compress, ZSTANDARD.compress])
def test_a_short_text_may_repeat_itself_as_often_as_it_likes(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(pack(b"a cat\n" * 1_000_000))
    assert count_lines(tmp_path / "a") == 1_000_000


def test_what_never_ends_is_no_line() -> None:
    with pytest.raises(TextFormatError, match="line 1: expected at most 16,777,216 bytes in a line, found more"):
        list(read_lines(Path("/dev/zero")))


@pytest.mark.parametrize(
    ("path", "content", "message"),
    [
        (f"a.tsv:{'9' * 200}", "a\tb\n", "expected the number of a column"),
        ("a.jsonl:de", json.dumps({str(number): "" for number in range(10_000)}), "found '0', '1',"),
        ("a.jsonl:de", json.dumps({"x" * 10_000: ""}), "found 'x"),
    ],
)
def test_messages_about_great_things_are_short(path: str, content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / path.split(":")[0]).write_text(content)
    with pytest.raises(TextFormatError, match=re.escape(message)) as caught:
        list(read_lines(tmp_path / path))
    assert len(str(caught.value)) < 1000


def test_without_its_package_a_zstandard_file_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.zst").write_bytes(ZSTANDARD.compress(b"a\n"))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(FileError, match=r"a\.zst: .*trdec\[zstd\].*zstd -d"):
        list(read_lines(tmp_path / "a.zst"))


@pytest.mark.parametrize("read", [count_lines, text_checksum])
def test_what_may_have_no_end_is_refused_before_it_is_opened(read: Callable[[Path], object], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(FileError, match=f"{path}: expected a file, found a device or a pipe"):
            read(path)
