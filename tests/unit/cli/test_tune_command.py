"""`trdec tune` as a person runs it."""

from __future__ import annotations

import errno
import json
import re
import shutil
from pathlib import Path

import pytest

from support.commands import run
from support.model_directory import trained
from trdec.cli.translate import translate_command
from trdec.cli.tune import tune_command
from trdec.configuration import load_saved_configuration
from trdec.files import locked


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained(), tmp_path / "model"))


@pytest.fixture
def text(tmp_path: Path) -> tuple[str, ...]:
    """Options that name a text of five pairs."""
    for side, name in (("source", "train.vel"), ("target", "train.en")):
        lines = (trained().parent / "toy" / name).read_text(encoding="utf-8").splitlines()[:5]
        (tmp_path / side).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return ("--source", str(tmp_path / "source"), "--target", str(tmp_path / "target"))


def test_the_best_of_what_was_tried_is_what_the_model_uses(model: Path, text: tuple[str, ...], tmp_path: Path) -> None:
    tries = ("--beam-size", 1, "--beam-size", 3, "--length-power", 0.5, "--length-power", 2)
    found = run(tune_command, model, *text, *tries, "--json", "-o", tmp_path / "trials.json")
    assert found.returncode == 0, found.stderr
    content = json.loads((tmp_path / "trials.json").read_text())
    settings = [(trial["beam_size"], trial["length_power"]) for trial in content["trials"]]
    assert settings == [(1, 0.5), (1, 2.0), (3, 0.5), (3, 2.0)]
    assert content["chosen"]["bleu"]["score"] == max(trial["bleu"]["score"] for trial in content["trials"])
    own = load_saved_configuration(model).search
    assert (own.beam_size, own.length_power) == (content["chosen"]["beam_size"], content["chosen"]["length_power"])
    assert f"beam {own.beam_size} and length power {own.length_power:g}" in found.stderr
    plain = run(translate_command, model, tmp_path / "source", "--format", "json", "--no-attention")
    said = run(
        translate_command,
        model,
        tmp_path / "source",
        *("--format", "json", "--no-attention", "--beam-size", own.beam_size, "--length-power", own.length_power),
    )
    assert plain.stdout == said.stdout


def test_with_keep_the_model_stays_as_it_is(model: Path, text: tuple[str, ...]) -> None:
    before = (model / "config.yaml").read_bytes()
    found = run(tune_command, model, *text, "--beam-size", 2, "--length-power", 0, "--keep")
    assert found.returncode == 0, found.stderr
    header, row, signature = found.stdout.splitlines()
    assert header.split() == ["beam", "power", "BLEU", "length", "seconds"]
    assert row.split()[:2] == ["2", "0"]
    assert row.split()[-1] == "best"
    assert "tok:none" in signature
    assert (model / "config.yaml").read_bytes() == before


def test_two_processes_choose_what_one_chooses(model: Path, text: tuple[str, ...]) -> None:
    one, two = (
        json.loads(run(tune_command, model, *text, "--beam-size", 2, "--keep", "--json", "--jobs", jobs).stdout)
        for jobs in (1, 2)
    )
    for trial in (*one["trials"], *two["trials"], one["chosen"], two["chosen"]):
        del trial["seconds"]
    assert one == two


def test_the_model_s_own_dev_is_the_text_if_none_is_given(model: Path) -> None:
    dev = load_saved_configuration(model).located_data.dev
    named = ("--source", dev.source, "--target", dev.target)
    tries = ("--beam-size", 1, "--length-power", 1, "--keep")
    own, said = (run(tune_command, model, *options, *tries) for options in ((), named))
    assert own.returncode == 0, own.stderr
    assert own.stdout.split()[5:9] == said.stdout.split()[5:9]


def test_what_cannot_be_tuned_is_explained(model: Path, text: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "model.tar.gz").write_bytes(b"")
    (tmp_path / "short").write_text("one line\n")
    configuration = load_saved_configuration(model)
    moved = shutil.copytree(model, tmp_path / "moved")
    away = configuration.data.model_copy(
        update={"dev": configuration.data.dev.model_copy(update={"source": Path("gone.vel")})}
    )
    configuration.model_copy(update={"data": away}).save(moved / "config.yaml")
    (moved / "manifest.json").unlink()
    for arguments, message in (
        ((tmp_path / "model.tar.gz", *text), "expected a model directory, found a file"),
        ((tmp_path / "none", *text), "expected a model directory, found nothing"),
        ((model, *text[:2]), "Give both --source and --target"),
        ((model, text[0], text[1], "--target", tmp_path / "short"), "found 5 in .* and 1 in"),
        ((model, *text, "--length-power", 11), "expected a --length-power from 0 to 10, found 11"),
        ((model, *text, "--beam-size", 5, "--beam-size", 10_001), "from 1 to 10,000.*beam_size 10001"),
        ((moved,), r"gone\.vel: the dev text .* --source and --target"),
    ):
        found = run(tune_command, *arguments)
        assert found.returncode == 1
        assert re.search(message, found.stderr), found.stderr


def test_what_would_lose_a_long_search_is_noticed_before(
    model: Path, text: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[object] = []
    monkeypatch.setattr("trdec.training.tuning.trials", lambda *given: searched.append(given) or [])
    found = run(tune_command, model, *text, "--output", tmp_path / "none" / "table")
    assert found.returncode == 1
    assert "none" in found.stderr
    with locked(model / ".lock"):
        found = run(tune_command, model, *text)
    assert found.returncode == 1
    assert re.search("a training is running.*when it has ended", found.stderr)
    assert not searched


def test_an_error_of_the_search_is_not_the_output_s(
    model: Path, text: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def search(*_: object) -> list[object]:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("trdec.training.tuning.trials", search)
    found = run(tune_command, model, *text, "--output", tmp_path / "table")
    assert found.returncode == 1
    assert re.search(rf"{re.escape(str(model))}: dev could not be translated: Too many open files", found.stderr)
    assert "written" not in found.stderr
    assert not (tmp_path / "table").exists()
