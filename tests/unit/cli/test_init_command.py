"""`trdec init` writes a configuration that trains, with settings fit for the corpus."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from support.commands import Result, run
from support.raw_lines import RAW_LINES
from trdec.cli.init import init_command
from trdec.cli.train import train_command
from trdec.configuration import Configuration, load_configuration
from trdec.configuration.recipe import recipe_for, write_recipe
from trdec.configuration.sections import SubwordConfiguration
from trdec.data.survey import survey
from trdec.text import Subwords
from trdec.tokenisers import UnicodeTokeniser

SOURCE = ["Ein Hund schläft.", "Eine Katze sieht den Hund!", "Der Hund, der schläft, ist alt."]
TARGET = ["A dog sleeps.", "A cat sees the dog!", "The dog that sleeps is old."]


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The flags for a corpus of raw text in the current directory."""
    monkeypatch.chdir(tmp_path)
    for name, lines in (("de", SOURCE), ("en", TARGET)):
        Path(f"train.{name}").write_text("".join(f"{line}\n" for line in lines * 5), encoding="utf-8")
        Path(f"dev.{name}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return ["--source", "train.de", "--target", "train.en", "--dev-source", "dev.de", "--dev-target", "dev.en"]


def fails(result: Result, *facts: str) -> None:
    assert result.returncode == 1
    assert all(fact in result.stderr for fact in facts), result.stderr


def test_the_written_file_trains(corpus: list[str]) -> None:
    done = run(init_command, "new/mine.yaml", *corpus, "--source-language", "de", "--target-language", "en")
    assert done.stdout == "new/mine.yaml\n"
    assert "source: 15 lines, raw, Latin script" in done.stderr
    found = load_configuration("new/mine.yaml")
    assert (found.data.tokeniser, found.data.source_language, found.output) == ("unicode", "de", Path("models/mine"))
    small = ["model.hidden_size=8", "model.embedding_size=8", "training.max_updates=2", "training.plot=false"]
    trained = run(train_command, "new/mine.yaml", *small)
    assert trained.stdout == "models/mine/model.safetensors\n"


def test_on_a_terminal_it_asks_for_what_is_missing(corpus: list[str]) -> None:
    """The answers are typed into a real terminal; a mistaken file name is an error that names it."""
    for answers, status in (
        (["dev.de", "dev.en", "de", ""], 0),
        (["dev.dee", "dev.en", "de", ""], 1),
    ):
        ours, its = pty.openpty()
        command = [sys.executable, "-m", "trdec.cli.main", "init", "asked.yaml", *corpus[:4], "--force"]
        process = subprocess.Popen(command, stdin=its, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        os.close(its)
        os.write(ours, "".join(f"{answer}\n" for answer in answers).encode())
        stdout, stderr = process.communicate(timeout=120)
        os.close(ours)
        assert process.returncode == status, stderr
        assert "File for --dev-source" in stderr
        if status:
            assert "dev.dee" in stderr
        else:
            assert "Code of the target language" in stderr
            assert stdout == "asked.yaml\n"
            found = load_configuration("asked.yaml").data
            assert (found.dev.source, found.source_language, found.target_language) == (Path("dev.de"), "de", None)


def test_tokenised_text_and_a_parsers_trees_are_recognised(corpus: list[str]) -> None:
    for name in ("train.de", "train.en"):
        Path(name).write_text("a dog sleeps .\nthe cat , too .\n")
    fails(run(init_command, "m.yaml", *corpus, "--system", "trdec-con"), "--trees, --dev-trees", "constituency")
    run(init_command, "m.yaml", *corpus, "--system", "trdec-con", "--trees", "a.con", "--dev-trees", "b.con")
    found = load_configuration("m.yaml")
    assert found.data.tokeniser == "none"
    assert found.data.train.constituency == Path("a.con")
    assert found.data.dev.constituency == Path("b.con")


def test_mistakes_are_noticed_before_anything_is_written(corpus: list[str]) -> None:
    fails(run(init_command, "m.yaml", *corpus[:4]), "--dev-source, --dev-target")
    fails(run(init_command, "m.yaml", *corpus, "--source-language", "german"), "--source-language", "'de'")
    fails(run(init_command, "m.yaml", *corpus, "--system", "trdec-bin"), "'trdec-binary'")
    fails(run(init_command, "m.yaml", *corpus[:2], "--target", "dev.en", *corpus[4:]), "15 lines", "3")
    assert not Path("m.yaml").exists()


def test_a_file_is_replaced_only_on_request(corpus: list[str]) -> None:
    Path("m.yaml").write_text("mine")
    fails(run(init_command, "m.yaml", *corpus), "m.yaml: already exists", "--force")
    assert Path("m.yaml").read_text() == "mine"
    assert run(init_command, "m.yaml", *corpus, "--force").returncode == 0
    assert load_configuration("m.yaml").system.trees == ("binary-1", "binary-2")


@pytest.mark.parametrize("pairs", [1, 4_999, 5_000, 50_000, 50_001, 200_000, 10_000_000])
def test_a_recipe_is_a_configuration_with_a_reason_for_every_key(pairs: int, tmp_path: Path) -> None:
    settings = recipe_for(pairs)
    assert all(setting.reason for setting in settings)
    path = tmp_path / "mine.yaml"
    start = "system: seq2seq\noutput: x\n"
    data = write_recipe(settings, []).replace(
        "data:\n", "data:\n  train: {source: a, target: b}\n  dev: {source: a, target: b}\n"
    )
    path.write_text(start + data)
    found: object = load_configuration(path)
    assert isinstance(found, Configuration)
    for setting in settings:
        value: object = found
        for part in setting.key.split("."):
            value = getattr(value, part)
        assert value == setting.value


@pytest.mark.parametrize(
    "lines",
    [["a"], ["a b", "b a"], SOURCE, ["猫。", "犬！"], [*RAW_LINES.values()], [f"a{n} b-{n} cд{n}" for n in range(99)]],
    ids=range(6),
)
def test_however_small_a_text_is_it_has_the_subwords_that_are_asked_for(lines: list[str], tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    found = survey(path)
    for raw in (True, False):
        _learn(lines, raw, found.subwords(SubwordConfiguration().size, raw))


def _learn(lines: list[str], raw: bool, size: int) -> None:
    if raw:
        words = [word for line in lines for word in UnicodeTokeniser().split(line)]
        Subwords.train_on_words({word: words.count(word) for word in words}, "bpe", size)
    else:
        Subwords.train(lines, "bpe", size)
