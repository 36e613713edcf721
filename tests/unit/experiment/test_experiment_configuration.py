"""The file of an experiment: what it may say, and what is said of mistakes in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from trdec.errors import ConfigError, FileError, UsageError
from trdec.experiment.configuration import experiment_reference, load_experiment
from trdec.experiment.plan import make_plan
from trdec.systems import SYSTEMS

REPOSITORY = Path(__file__).parents[3]
RECIPES = sorted((REPOSITORY / "configs" / "experiments").glob("*.yaml"))

EXPERIMENT = """\
title: Two systems
output: experiments/two
recipe: recipe.yaml
systems: [seq2seq, trdec-binary]
seeds: [3, 5]
changes: {training.max_updates: 7, model.hidden_size: 16}
scales:
  tiny: {seeds: [9], beam_size: 2, changes: {model.hidden_size: 4}}
"""

RECIPE = """\
system: seq2seq
output: elsewhere
folder: data
data:
  train: {source: train.vel, target: train.en}
  dev: {source: dev.vel, target: dev.en}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    path = tmp_path / "experiment.yaml"
    path.write_text(EXPERIMENT)
    return path


def test_runs_are_systems_times_seeds_with_the_changes_applied(file: Path) -> None:
    plan = make_plan(load_experiment(file))
    assert [(run.system, run.seed) for run in plan.runs] == [
        ("seq2seq", 3),
        ("trdec-binary", 3),
        ("seq2seq", 5),
        ("trdec-binary", 5),
    ]
    for run in plan.runs:
        assert run.training.system == run.system
        assert run.training.seed == run.seed
        assert run.training.training.max_updates == 7
        assert run.training.model.hidden_size == 16
    assert len({run.training.output for run in plan.runs}) == 4


def test_a_variant_is_a_system_with_other_keys(file: Path) -> None:
    variants = "variants={wide: {system: trdec-binary, changes: {model.hidden_size: 99}}}"
    plain, wide = make_plan(load_experiment(file, [variants, "systems=[trdec-binary, wide]", "seeds=[1]"])).runs
    assert [plain.system, wide.system] == ["trdec-binary", "wide"]
    assert plain.training.system == wide.training.system == "trdec-binary"
    assert [plain.training.model.hidden_size, wide.training.model.hidden_size] == [16, 99]
    assert wide.directory.name == "wide-1"


def test_without_a_test_set_dev_is_scored(file: Path) -> None:
    assert make_plan(load_experiment(file)).test == (Path("data/dev.vel"), Path("data/dev.en"))
    overrides = ["test={source: t.vel, target: t.en}", "folder=there"]
    assert make_plan(load_experiment(file, overrides)).test == (Path("there/t.vel"), Path("there/t.en"))


def test_a_scale_changes_what_it_names_and_has_a_directory_of_its_own(file: Path) -> None:
    scaled = load_experiment(file, scale="tiny")
    run, *_ = make_plan(scaled).runs
    assert scaled.output == Path("experiments/two-tiny")
    assert scaled.seeds == (9,)
    assert scaled.decoding.beam_size == 2
    assert run.training.model.hidden_size == 4
    assert run.training.training.max_updates == 7  # as the experiment says


def test_an_unknown_scale_is_named_with_those_there_are(file: Path) -> None:
    with pytest.raises(UsageError, match=r"`scale` 'huge'. It has: tiny\."):
        load_experiment(file, scale="huge")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("seed=[1]", r"'seed=\[1\]': the configuration has no key 'seed'\. Did you mean 'seeds'\?"),
        ("systems=[trdec-dip]", r"expected a system, one of seq2seq.*'trdec-dip'\. Did you mean 'trdec-dep'\?"),
        ("systems=[lin, lin]", r"systems: the system lin is given twice\."),
        ("seeds=[1, 2, 1]", r"seeds: the seed 1 is given twice\."),
        ("variants={lin: {system: seq2seq}}", r"variants: expected a new name of letters, digits.*found 'lin'\."),
        ("variants={a/b: {system: lin}}", r"variants: expected a new name of letters, digits.*found 'a/b'\."),
        ("variants={mine: {system: lan}}", r"variants\.mine\.system: expected a system, one of .*found 'lan'"),
        ("seeds=[]", r"seeds: .*at least 1 item"),
        ("decoding.beam_size=0", r"decoding\.beam_size: expected a number greater than or equal to 1, found 0"),
    ],
)
def test_mistakes_are_explained(file: Path, override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_experiment(file, [override])


def test_a_change_that_the_recipe_does_not_have_is_refused_before_anything_is_done(file: Path) -> None:
    with pytest.raises(ConfigError, match=r"training has no key 'max_update'\. Did you mean 'max_updates'\?"):
        make_plan(load_experiment(file, ["changes={training.max_update: 3}"]))


def test_missing_files_are_all_named_with_the_system_that_needs_them(file: Path) -> None:
    trees = "changes={data.train.constituency: train.con, data.dev.constituency: dev.con}"
    overrides = ["systems=[seq2seq, lin]", trees]
    with pytest.raises(FileError) as raised:
        make_plan(load_experiment(file, overrides)).check_files()
    message = str(raised.value)
    assert "data/train.vel (needed by seq2seq)" in message
    assert "data/train.con (needed by lin)" in message
    assert "folder to where they are (now data)" in message


def test_saving_and_loading_are_inverses(file: Path, tmp_path: Path) -> None:
    experiment = load_experiment(file)
    experiment.save(tmp_path / "saved.yaml")
    again = load_experiment(tmp_path / "saved.yaml")
    assert again.model_copy(update={"recipe": experiment.recipe}) == experiment


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_makes_a_plan_at_every_scale(path: Path) -> None:
    scales = [None, *load_experiment(path).scales]
    for scale in scales:
        plan = make_plan(load_experiment(path, scale=scale))
        assert {run.system for run in plan.runs} <= set(SYSTEMS)
        assert all(run.training.batches.batch_type == "sentences" for run in plan.runs)  # the same pairs for all


def test_there_are_recipes() -> None:
    assert {path.stem for path in RECIPES} >= {"toy", "or-en", "de-en", "ja-en"}


def test_the_page_of_experiments_is_generated() -> None:
    written = (REPOSITORY / "docs" / "experiments.md").read_text(encoding="utf-8")
    assert written == experiment_reference(), "run: python -m trdec.experiment.configuration > docs/experiments.md"
