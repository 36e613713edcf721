"""`trdec tokenise` and `trdec detokenise`."""

from __future__ import annotations

import subprocess
import sys

from support.raw_lines import RAW_LINES
from support.running import Run


def test_detokenising_undoes_tokenising(trdec: Run) -> None:
    text = "".join(f"{line}\n" for line in RAW_LINES.values())
    words = trdec("tokenise", stdin=text)
    assert words.stdout.splitlines()[0].startswith("▁Ó ▁lọ ▁sí ▁ọjà ▁pẹ̀lú")
    assert trdec("detokenise", stdin=words.stdout).stdout == text


def test_other_tokenisers_can_be_chosen(trdec: Run) -> None:
    found = trdec("tokenise", "--tokeniser", "sacremoses", "--language", "en", stdin="The cat's.\n")
    assert found.stdout == "The cat 's .\n"
    back = trdec("detokenise", "--tokeniser", "sacremoses", "--language", "en", stdin=found.stdout)
    assert back.stdout == "The cat's.\n"


def test_an_unknown_language_is_refused(trdec: Run) -> None:
    found = trdec("tokenise", "--language", "german", stdin="a\n")
    assert found.returncode == 1
    assert "--language" in found.stderr
    assert "'de'" in found.stderr


def test_each_line_is_written_as_soon_as_it_is_read() -> None:
    command = [sys.executable, "-m", "trdec.cli.main", "tokenise"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"Ja, gut.\n")
        process.stdin.flush()
        assert process.stdout.readline().decode() == "▁Ja , ▁gut .\n"
        process.stdin.close()
