"""`trdec translate`, `trdec score` and `trdec serve` with models that read trees of the source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commands import run
from support.model_directory import make_model_of, trained
from support.small_models import toy_data
from trdec.cli.score import score_command
from trdec.cli.translate import translate_command
from trdec.cli.tune import tune_command
from trdec.configuration.sections import CorpusConfiguration, DataConfiguration
from trdec.errors import UsageError
from trdec.serve.model_process import _load
from trdec.systems import System
from trdec.translation.source import UNUSABLE_PARSE
from trdec.translation.translator import Translator

SENTENCES = 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def data(folder: Path) -> DataConfiguration:
    """The toy language in the other direction, so that the source is what has parses."""
    toy = toy_data(folder / "toy")

    def turned(split: str, files: CorpusConfiguration) -> CorpusConfiguration:
        parses = folder / "toy" / f"{split}.en.con"
        return CorpusConfiguration(source=files.target, target=files.source, source_constituency=parses)

    return toy.model_copy(update={"train": turned("train", toy.train), "dev": turned("dev", toy.dev)})


@pytest.fixture(scope="module")
def parsed(folder: Path, data: DataConfiguration) -> Path:
    """A model of parses that learnt some sentences by heart."""
    system = System(
        trees=("binary-1",), source_trees="constituency", source_transforms=("strip-tags",), encoder="tree-lstm"
    )
    return make_model_of(system, data, folder / "parsed", updates=150, sentences=SENTENCES)


@pytest.fixture(scope="module")
def files(folder: Path, data: DataConfiguration) -> dict[str, Path]:
    """The first lines of the training text, and their parses."""
    found = {}
    for name, path in {
        "source": data.train.source,
        "target": data.train.target,
        "parses": data.train.source_constituency,
    }.items():
        assert path is not None
        found[name] = folder / f"first.{name}"
        lines = path.read_text(encoding="utf-8").splitlines()[:SENTENCES]
        found[name].write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return found


def test_a_model_of_parses_translates_lines_with_their_parses(parsed: Path, files: dict[str, Path]) -> None:
    result = run(translate_command, parsed, files["source"], "--source-trees", files["parses"])
    assert result.returncode == 0, result.stderr
    assert result.stdout == files["target"].read_text(encoding="utf-8")


def test_translations_are_scored_with_the_same_parses(parsed: Path, files: dict[str, Path], tmp_path: Path) -> None:
    made = run(
        translate_command, parsed, files["source"], "--source-trees", files["parses"], "--format", "json",
        "--trees", tmp_path / "trees", "--no-attention",
    )  # fmt: skip
    expected = [json.loads(line)["log_prob"] for line in made.stdout.splitlines()]
    texts = ("--source", files["source"], "--target", files["target"], "--trees", tmp_path / "trees")
    scored = run(score_command, parsed, *texts, "--source-trees", files["parses"])
    assert scored.returncode == 0, scored.stderr
    found = [float(line.split("\t")[0]) for line in scored.stdout.splitlines()]
    assert found == pytest.approx(expected, abs=1e-3)
    without = run(score_command, parsed, *texts)
    assert without.returncode == 1
    assert "this model reads constituency trees of the source" in without.stderr
    assert "Give their parses as --source-trees" in without.stderr


def test_a_search_is_tuned_with_parses_over_several_lines(parsed: Path, files: dict[str, Path], tmp_path: Path) -> None:
    several = tmp_path / "several.con"
    several.write_text(files["parses"].read_text(encoding="utf-8").replace(" (", "\n  ("), encoding="utf-8")
    options = ("--source", files["source"], "--target", files["target"], "--source-trees", several)
    result = run(tune_command, parsed, *options, "--beam-size", 1, "--length-power", 1, "--keep")
    assert result.returncode == 0, result.stderr


def test_missing_and_superfluous_parses_are_refused(parsed: Path, files: dict[str, Path]) -> None:
    result = run(translate_command, parsed, files["source"])
    assert result.returncode == 1
    assert "this model reads constituency trees of the source, which cannot be built from the words" in result.stderr
    assert "Give their parses as --source-trees." in result.stderr
    assert not result.stdout
    result = run(translate_command, trained(), files["source"], "--source-trees", files["parses"])
    assert result.returncode == 1
    assert "this model reads no trees of the source. Leave --source-trees out." in result.stderr
    with pytest.raises(UsageError, match="reads constituency trees of the source"):
        Translator.load(parsed).translate(["The fish is small ."])


@pytest.mark.parametrize(("kept", "lines"), [(2, 4), (4, 2)])
def test_each_line_needs_a_parse(parsed: Path, files: dict[str, Path], tmp_path: Path, kept: int, lines: int) -> None:
    for name, count in (("parses", kept), ("source", lines)):
        some = files[name].read_text(encoding="utf-8").splitlines()[:count]
        (tmp_path / name).write_text("".join(f"{line}\n" for line in some), encoding="utf-8")
    result = run(translate_command, parsed, tmp_path / "source", "--source-trees", tmp_path / "parses")
    assert result.returncode == 1
    ended, other = ("trees", "lines to translate") if kept < lines else ("lines to translate", "trees")
    assert f"expected a tree for each line, found only 2 {ended}, but more {other}" in result.stderr
    assert len(result.stdout.splitlines()) == 2  # what was before it is translated


def test_a_line_whose_parse_is_no_good_is_still_translated(
    parsed: Path, files: dict[str, Path], tmp_path: Path
) -> None:
    lines = files["parses"].read_text(encoding="utf-8").splitlines()
    lines[1:3] = ["(())", "(ROOT (S some other words))"]
    (tmp_path / "parses").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    result = run(translate_command, parsed, files["source"], "--source-trees", tmp_path / "parses")
    assert result.returncode == 0
    assert f"2 lines {UNUSABLE_PARSE}." in result.stderr
    expected = files["target"].read_text(encoding="utf-8").splitlines()
    assert [result.stdout.splitlines()[number] for number in (0, 3)] == [expected[0], expected[3]]
    assert len(result.stdout.splitlines()) == SENTENCES


def test_phrases_are_places_of_attention_with_names(parsed: Path, files: dict[str, Path], tmp_path: Path) -> None:
    options = ("--source-trees", files["parses"], "--attention", tmp_path / "a.jsonl", "--draw", tmp_path / "drawn")
    assert run(translate_command, parsed, files["source"], *options).returncode == 0
    for number, line in enumerate((tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines(), start=1):
        content = json.loads(line)
        end = content["source"].index("<eos>")
        phrases = content["source"][end + 1 :]
        assert phrases[-1].startswith("(ROOT ")
        assert all(name.startswith("(") and name.endswith(")") for name in phrases)
        assert all(len(row["weights"]) == len(content["source"]) for row in content["rows"])
        assert any(sum(row["weights"][end + 1 :]) > 0 for row in content["rows"])
        assert "(ROOT " in (tmp_path / "drawn" / f"{number:04}.svg").read_text(encoding="utf-8")


def test_a_model_of_parses_is_not_served(parsed: Path) -> None:
    with pytest.raises(UsageError, match="reads constituency trees of the source, which a parser must find"):
        _load([parsed], "float32", 1, [])


def test_built_trees_are_built_when_translating_and_may_be_served(
    folder: Path, data: DataConfiguration, files: dict[str, Path]
) -> None:
    system = System(trees=("binary-1",), source_trees="random-binary", encoder="tree-lstm")
    model = make_model_of(system, data, folder / "built", updates=150, sentences=SENTENCES)
    result = run(translate_command, model, files["source"])
    assert result.stdout == files["target"].read_text(encoding="utf-8"), result.stderr
    lines = files["source"].read_text(encoding="utf-8").splitlines()
    found = _load([model], "float32", 1, []).translate([*lines, ""], batch_size=2)
    assert [each.text for each in found] == [*result.stdout.splitlines(), ""]


def test_models_that_read_the_source_differently_do_not_translate_together(
    folder: Path, data: DataConfiguration, parsed: Path
) -> None:
    system = System(trees=("binary-1",), source_trees="constituency", encoder="tree-lstm")
    other = make_model_of(system, data, folder / "other")
    with pytest.raises(UsageError, match="the two cannot be combined"):
        Translator.load(parsed, other)
