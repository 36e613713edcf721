"""The examples run, and say what their documents say they do."""

from __future__ import annotations

import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.model_directory import trained

Run = Callable[..., "subprocess.CompletedProcess[str]"]

EXAMPLES = Path(__file__).parent.parent.parent.parent / "examples"


def test_figure_1_is_the_papers_derivation(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "figure_1.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 18
    assert lines[0].split() == ["1", "ROOT", "0", "ROOT", "->", "S"]
    assert lines[12].split() == ["13", "pre", "11", "sh"]
    assert lines[-1].split() == ["18", "<end>", "0", "<eos>"]


def test_the_custom_builder_is_used_without_touching_the_package(trdec: Run) -> None:
    sentence = "It sleeps because it ate and drank .\n"
    result = trdec("trees", "build", "custom_builder:clauses", stdin=sentence, cwd=EXAMPLES)
    assert result.stdout == (
        "(ROOT (CLAUSE (NULL It sleeps)) (CLAUSE (NULL (NULL because it) ate)) (CLAUSE (NULL (NULL and drank) .)))\n"
    )


def test_the_custom_builder_is_twenty_lines() -> None:
    docstring, code = (EXAMPLES / "custom_builder.py").read_text(encoding="utf-8").split('"""\n', maxsplit=1)
    assert docstring.startswith('"""')
    assert len(code.strip().splitlines()) <= 20


def test_a_model_is_used_from_python() -> None:
    model = trained()
    source = (model.parent / "toy" / "train.vel").read_text(encoding="utf-8").splitlines()[0]
    target = (model.parent / "toy" / "train.en").read_text(encoding="utf-8").splitlines()[0]
    result = subprocess.run(
        [sys.executable, EXAMPLES / "translate_from_python.py", model],
        input=f"{source}\n\n",
        capture_output=True,
        text=True,
        check=True,
    )
    lines = result.stdout.splitlines()
    assert lines[0] == target
    assert lines[1].strip() == "ROOT"
    assert lines[-2].startswith("  score -")
    assert lines[-1] == ""  # an empty line has an empty translation, and neither tree nor score


def test_a_model_must_be_named() -> None:
    script = EXAMPLES / "translate_from_python.py"
    result = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "usage: python examples/translate_from_python.py MODEL < LINES\n"
