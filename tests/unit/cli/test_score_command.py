"""`trdec score` as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commands import run
from support.model_directory import trained
from trdec.cli.score import score_command
from trdec.cli.translate import translate_command


def test_a_translation_has_the_score_it_was_given_when_it_was_made(tmp_path: Path) -> None:
    model = trained()
    lines = (model.parent / "toy" / "train.vel").read_text(encoding="utf-8").splitlines()[:3]
    (tmp_path / "source").write_text("".join(f"{line}\n" for line in lines))
    made = run(
        translate_command,
        model,
        tmp_path / "source",
        "-o",
        tmp_path / "json",
        "--trees",
        tmp_path / "trees",
        "--format",
        "json",
    )
    assert made.returncode == 0, made.stderr
    translations = [json.loads(line) for line in (tmp_path / "json").read_text().splitlines()]
    (tmp_path / "target").write_text("".join(f"{translation['text']}\n" for translation in translations))
    files = ("--source", tmp_path / "source", "--target", tmp_path / "target")
    scored = run(score_command, model, *files, "--trees", tmp_path / "trees")
    assert scored.returncode == 0, scored.stderr
    for line, translation in zip(scored.stdout.splitlines(), translations, strict=True):
        total, *kinds = line.split("\t")
        assert float(total) == pytest.approx(translation["log_prob"], abs=1e-3)
        assert [kind.split()[0] for kind in kinds] == ["rule", "word", "eop", "eos"]
    # The same from the parses it was trained on, with everything in JSON.
    parses = (model.parent / "toy" / "train.en.con").read_text(encoding="utf-8").splitlines()[:3]
    (tmp_path / "parses").write_text("".join(f"{line}\n" for line in parses))
    again = run(score_command, model, *files, "--annotation", tmp_path / "parses", "--format", "json")
    for line, translation in zip(again.stdout.splitlines(), translations, strict=True):
        content = json.loads(line)
        assert content["log_prob"] == pytest.approx(translation["log_prob"], abs=1e-3)
        assert content["tree"] == translation["tree"]
        assert sum(kind["log_prob"] for kind in content["kinds"].values()) == pytest.approx(content["log_prob"])


def test_the_summary_says_how_much_of_the_loss_is_tree_and_how_much_is_words(tmp_path: Path) -> None:
    model = trained()
    toy = model.parent / "toy"
    unwritable = {"source": "Finise", "target": "The fish", "parses": "(ROOT (QQ The fish))"}
    for side, name in (("source", "train.vel"), ("target", "train.en"), ("parses", "train.en.con")):
        lines = (toy / name).read_text(encoding="utf-8").splitlines()[:3]
        (tmp_path / side).write_text("".join(f"{line}\n" for line in (*lines, unwritable[side])))
    files = ("--source", tmp_path / "source", "--target", tmp_path / "target", "--annotation", tmp_path / "parses")
    each = [json.loads(line) for line in run(score_command, model, *files, "--format", "json").stdout.splitlines()]
    result = run(score_command, model, *files, "--summary", "--format", "json")
    assert "ROOT -> QQ is not in the grammar" in result.stderr
    content = json.loads(result.stdout)
    assert (content["sentences"], content["left_out"]) == (3, 1)
    kinds = content["kinds"]
    assert list(kinds) == ["rule", "word", "eop", "eos"]
    assert sum(kind["share"] for kind in kinds.values()) == pytest.approx(1)
    assert content["tree"]["share"] + content["words"]["share"] == pytest.approx(1)
    assert content["words"] == kinds["word"]
    assert content["total"]["nats"] == pytest.approx(-sum(line["log_prob"] for line in each[:3]))
    assert content["total"]["nats_per_sentence"] == pytest.approx(content["total"]["nats"] / 3)
    for kind, loss in kinds.items():
        assert loss["actions"] == sum(line["kinds"][kind]["count"] for line in each[:3])
        assert loss["nats"] == pytest.approx(-sum(line["kinds"][kind]["log_prob"] for line in each[:3]))
    header, *rows, last = run(score_command, model, *files, "--summary").stdout.splitlines()
    assert header.split() == ["actions", "nats/action", "nats/sentence", "share"]
    assert [row.split()[0] for row in rows] == [*kinds, "tree", "words", "all"]
    assert rows[-1].split()[1] == str(content["total"]["actions"])
    assert rows[-1].split()[3:] == [f"{content['total']['nats_per_sentence']:.3f}", "100.0%"]
    assert last.startswith("3 of 4 translations")


def test_what_the_model_cannot_write_is_minus_infinity_and_keeps_its_line(tmp_path: Path) -> None:
    model = trained()
    (tmp_path / "source").write_text("Finise piti yesebil .\nFinise\n\n")
    (tmp_path / "target").write_text("The fish\nThe fish\nThe fish\n")
    (tmp_path / "trees").write_text("(ROOT (QQ The fish))\n(ROOT (NP The fish))\n(ROOT (NP The fish))\n")
    files = ("--source", tmp_path / "source", "--target", tmp_path / "target")
    scored = run(score_command, model, *files, "--trees", tmp_path / "trees")
    first, second, third = scored.stdout.splitlines()
    assert first == third == "-inf"
    assert "ROOT -> QQ is not in the grammar" in scored.stderr
    assert "the line has no words" in scored.stderr
    assert second
    refused = run(score_command, model, *files)
    assert refused.returncode == 1
    assert "this model writes constituency trees, which cannot be built from the words" in refused.stderr


def _files(folder: Path, source: list[str], target: list[str], parses: list[str]) -> list[object]:
    options: list[object] = []
    for option, lines in (("--source", source), ("--target", target), ("--annotation", parses)):
        path = folder / option.strip("-")
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        options += [option, path]
    return options


def _first(name: str) -> str:
    """The first line of a file of the training text."""
    return (trained().parent / "toy" / name).read_text(encoding="utf-8").splitlines()[0]


def test_what_the_model_cannot_write_has_no_probability(tmp_path: Path) -> None:
    source, target, parse = map(_first, ("train.vel", "train.en", "train.en.con"))
    word = target.split()[0]
    unseen = parse.replace(f" {word})", " 你)", 1)
    assert unseen != parse
    scored = run(score_command, trained(), *_files(tmp_path, [source], [target.replace(word, "你", 1)], [unseen]))
    assert scored.stdout.startswith("-inf")
    assert "characters that the model cannot write" in scored.stderr


def test_control_characters_in_the_source_are_read_as_they_are_translated(tmp_path: Path) -> None:
    source, target, parse = map(_first, ("train.vel", "train.en", "train.en.con"))
    sources = [source.replace(" ", between, 1) for between in (" \x01 ", "   ")]
    scored = run(score_command, trained(), *_files(tmp_path, sources, [target] * 2, [parse] * 2))
    first, second = scored.stdout.splitlines()
    assert first == second
