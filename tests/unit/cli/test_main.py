"""What a person sees when something goes wrong that no command foresaw."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.running import Run
from trdec.cli import main as command_line
from trdec.errors import OutOfMemoryError, memory_errors

TRDEC = f"{sys.executable} -m trdec.cli.main"


def _shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, check=False, encoding="utf-8", timeout=100
    )


@pytest.mark.parametrize(
    ("command", "status", "message"),
    [
        (f"{TRDEC} trees build flat <&-", 1, "FileError: standard input: cannot be read: it is closed."),
        (f"echo a b | {TRDEC} trees build flat >&-", 1, "FileError: standard output: cannot be written"),
        (f"echo a b | {TRDEC} trees build flat >/dev/full", 1, "standard output: cannot be written: No space left"),
        (f"echo a b | {TRDEC} trees build flat 2>&- >/dev/null", 0, ""),
        (f"{TRDEC} data list >&-", 1, "FileError: standard output: cannot be written"),
        (f"yes 'a b' | {TRDEC} trees build flat | head -1 >/dev/null; exit ${{PIPESTATUS[1]}}", 141, ""),
    ],
)
def test_streams_that_are_closed_or_full_give_a_message_and_a_status(
    command: str, status: int, message: str, tmp_path: Path
) -> None:
    result = _shell(command, tmp_path)
    assert result.returncode == status, result.stderr
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert bool(result.stderr) == bool(message)


def test_a_file_name_that_is_not_utf_8_is_printed(trdec: Run) -> None:
    result = trdec("trees", "build", "flat", b"no\xfffile".decode("utf-8", "surrogateescape"))
    assert result.returncode == 1
    assert r"FileError: no\udcfffile: cannot be read: No such file" in result.stderr


def test_an_unforeseen_error_is_one_line_with_the_path_of_a_full_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def wrong() -> None:
        raise KeyError("what nobody\nthought of")

    monkeypatch.setattr(command_line, "app", wrong)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["trdec", "trees", "a b"])
    with pytest.raises(SystemExit) as ended:
        command_line.main()
    assert ended.value.code == 70
    (line,) = capsys.readouterr().err.splitlines()
    (report,) = tmp_path.iterdir()
    assert str(report) in line
    assert "KeyError" in line
    text = report.read_text(encoding="utf-8")
    for fact in ("command: trdec trees 'a b'", "torch: ", "python: ", "Traceback", "in wrong", "thought of"):
        assert fact in text


def test_a_report_that_cannot_be_written_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def wrong() -> None:
        raise KeyError("unforeseen")

    monkeypatch.setattr(command_line, "app", wrong)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(SystemExit):
        command_line.main()
    assert "Traceback" in capsys.readouterr().err


def test_too_little_memory_anywhere_is_a_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def large() -> None:
        bytearray(1 << 60)

    monkeypatch.setattr(command_line, "app", large)
    with pytest.raises(SystemExit) as ended:
        command_line.main()
    assert ended.value.code == 1
    assert capsys.readouterr().err.startswith("OutOfMemoryError: there is not enough memory.")


def test_the_amount_that_was_missing_is_named() -> None:
    message = "DefaultCPUAllocator: not enough memory: you tried to allocate 4096 bytes."
    expected = r"not enough memory for another 4096 bytes\. Try less\."
    with pytest.raises(OutOfMemoryError, match=expected), memory_errors("Try less."):
        raise RuntimeError(message)


def test_no_memory_for_the_stack_of_a_thread_is_too_little_memory() -> None:
    expected = r"not enough memory for another thread.*Try less\."
    with pytest.raises(OutOfMemoryError, match=expected), memory_errors("Try less."):
        raise RuntimeError("can't start new thread")  # what Python says where `ulimit -v` is low


@pytest.mark.parametrize(
    "arguments",
    [
        ("toy", "--output", "toy", "--sentences", 10**30),
        ("prepare", "x.yaml", "--workers", 10**30),
        ("train", "x.yaml", "--workers", 10**30),
        ("experiment", "x.yaml", "--jobs", 10**30),
        ("translate", "model", "--threads", 10**30),
        ("score", "model", "--source", "a", "--target", "b", "--threads", 10**30),
        ("data", "parse", "text", "--output", "trees", "--batch", 10**30),
        ("compare", "a", "b", "c", "--samples", 10**30),
        ("compare", "a", "b", "c", "--trials", 10**30),
    ],
)
def test_numbers_beyond_all_use_are_refused_as_usage(
    arguments: tuple[object, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["trdec", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        command_line.main()
    assert ended.value.code == 2
    assert str(arguments[-2]) in capsys.readouterr().err
