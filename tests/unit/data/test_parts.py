"""A corpus is encoded part by part; a preparation that was killed goes on after the last whole part."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.toy_corpora import configuration, files
from trdec.data import make
from trdec.data.prepare import prepare
from trdec.errors import TrdecError
from trdec.systems import SYSTEMS

PART = 200
"""The toy corpus of 600 pairs has three parts of this size."""


def contents(directory: Path) -> dict[str, bytes]:
    """Every file below the directory but locks, byte for byte."""
    found = (path for path in directory.rglob("*") if path.is_file() and not path.name.endswith(".lock"))
    return {str(path.relative_to(directory)): path.read_bytes() for path in found}


def kill_in_the_last_part(toy: Path, output: Path, system: str) -> Path:
    """What a preparation leaves that is killed while it encodes the third of three parts."""
    script = f"""
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from support.toy_corpora import configuration
from trdec.data import make
from trdec.data.prepare import prepare
from trdec.systems import SYSTEMS

make.PART = {PART}
def kill(task, done, total):
    if task == "encoding train" and done == total:
        os.kill(os.getpid(), signal.SIGKILL)

prepare(configuration(Path({str(toy)!r})), SYSTEMS[{system!r}], Path({str(output)!r}), progress=kill)
"""
    killed = subprocess.run([sys.executable, "-c", script], check=False)
    assert killed.returncode == -signal.SIGKILL
    return output / ".data.unfinished"


@pytest.fixture
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make, "PART", PART)


@pytest.mark.usefixtures("_small_parts")
@pytest.mark.parametrize("system", ["trdec-con", "trdec-binary", "lin"])
def test_a_corpus_in_parts_is_the_same_as_in_one(
    system: str, toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = configuration(toy, min_rule_count=3)  # some rules are left out, with the trees that need them
    in_parts = prepare(data, SYSTEMS[system], tmp_path / "parts")
    monkeypatch.setattr(make, "PART", 10**6)
    whole = prepare(data, SYSTEMS[system], tmp_path / "whole")
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    assert in_parts.report == whole.report
    if system == "trdec-con":
        assert 0 < len(whole.train) < 600


@pytest.mark.usefixtures("_small_parts")
@pytest.mark.parametrize("system", ["trdec-dep", "seq2seq"])
def test_a_killed_preparation_goes_on_after_the_last_whole_part(system: str, toy: Path, tmp_path: Path) -> None:
    unfinished = kill_in_the_last_part(toy, tmp_path / "killed", system)
    assert {path.name for path in unfinished.glob("train*")} == {"train.00000", "train.00001"}
    told: list[tuple[str, int]] = []
    prepare(
        configuration(toy),
        SYSTEMS[system],
        tmp_path / "killed",
        progress=lambda task, done, _: told.append((task, done)),
    )
    prepare(configuration(toy), SYSTEMS[system], tmp_path / "never-killed")
    assert contents(tmp_path / "killed") == contents(tmp_path / "never-killed")
    assert [done for task, done in told if task == "encoding train"] == [600]
    assert not [task for task, _ in told if task.startswith("learning")]
    assert not unfinished.exists()


@pytest.mark.usefixtures("_small_parts")
@pytest.mark.parametrize("damaged", ["train.00000/actions.npy", "train.00001/part.json", "train.00001/lines.npy"])
def test_a_damaged_part_is_made_again(
    damaged: str, toy: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    unfinished = kill_in_the_last_part(toy, tmp_path / "killed", "trdec-con")
    path = unfinished / damaged
    path.write_bytes(path.read_bytes()[:-20])
    prepare(configuration(toy), SYSTEMS["trdec-con"], tmp_path / "killed")
    prepare(configuration(toy), SYSTEMS["trdec-con"], tmp_path / "never-killed")
    assert contents(tmp_path / "killed") == contents(tmp_path / "never-killed")
    assert f"{unfinished / Path(damaged).parent}: made again" in caplog.text


@pytest.mark.usefixtures("_small_parts")
def test_parts_that_were_made_from_something_else_are_not_used(toy: Path, tmp_path: Path) -> None:
    kill_in_the_last_part(toy, tmp_path / "killed", "trdec-con")
    made = prepare(configuration(toy), SYSTEMS["trdec-con-null"], tmp_path / "killed")
    assert made.codec.system == SYSTEMS["trdec-con-null"]
    assert contents(tmp_path / "killed") != {}
    assert "NP" not in json.dumps([str(action) for action in made.codec.table.actions])


def test_an_error_in_the_input_leaves_no_parts(toy: Path, tmp_path: Path) -> None:
    (tmp_path / "train.en.con").write_text("(S x)\n")
    data = configuration(toy, train=files(toy, "train").model_copy(update={"constituency": tmp_path / "train.en.con"}))
    with pytest.raises(TrdecError, match=r"600 sentences, .*train.en.con has 1"):
        prepare(data, SYSTEMS["trdec-con"], tmp_path / "model")
    assert not (tmp_path / "model" / ".data.unfinished").exists()
