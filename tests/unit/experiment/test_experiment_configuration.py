"""The file of an experiment: what it may say, and what is said of mistakes in it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import yaml

from trdec.configuration import load_configuration
from trdec.errors import ConfigError, FileError, UsageError
from trdec.experiment.configuration import experiment_reference, load_experiment
from trdec.experiment.plan import make_plan, shell_command
from trdec.systems import SYSTEMS, System

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
        assert run.training.system == SYSTEMS[run.system]
        assert run.training.seed == run.seed
        assert run.training.training.max_updates == 7
        assert run.training.model.hidden_size == 16
    assert len({run.training.output for run in plan.runs}) == 4


def test_an_ensemble_has_all_seeds_of_a_system(file: Path) -> None:
    assert make_plan(load_experiment(file)).ensembles == ()
    plan = make_plan(load_experiment(file, ["ensembles=true"]))
    assert [ensemble.system for ensemble in plan.ensembles] == ["seq2seq", "trdec-binary"]
    for ensemble in plan.ensembles:
        assert [member.name for member in ensemble.members] == [f"{ensemble.system}, seed {seed}" for seed in (3, 5)]
        assert "train" not in ensemble.commands
    assert make_plan(load_experiment(file, ["ensembles=true", "seeds=[3]"])).ensembles == ()


ROWS = """systems=[
    trdec-binary,
    {name: wide, like: trdec-binary, changes: {model.hidden_size: 99}},
    {name: wrapped, like: trdec-binary, transforms: wrap-words},
    {name: right, trees: right-branching},
]"""


def test_a_row_is_a_system_by_name_or_in_its_keys(file: Path) -> None:
    plain, wide, wrapped, right = make_plan(load_experiment(file, [ROWS, "seeds=[1]"])).runs
    assert [run.system for run in (plain, wide, wrapped, right)] == ["trdec-binary", "wide", "wrapped", "right"]
    assert plain.training.system == wide.training.system == SYSTEMS["trdec-binary"]
    assert wrapped.training.system == System(trees=("binary-1", "binary-2"), transforms=("wrap-words",))
    assert right.training.system == System(trees=("right-branching",))
    assert [plain.training.model.hidden_size, wide.training.model.hidden_size] == [16, 99]
    assert wide.directory.name == "wide-1"
    for run in (plain, wide, wrapped, right):
        recipe, *overrides = run.commands["train"][1:]
        assert load_configuration(recipe, overrides) == run.training


def test_a_row_may_have_trees_of_the_source(file: Path) -> None:
    rows = """systems=[
        {name: built, like: trdec-binary, source_trees: binary-1, encoder: tree-lstm},
        {name: parsed, like: trdec-binary, source_trees: dependency, source_transforms: binarise},
    ]"""
    parses = "changes.data.dev.source_dependency=dev.conllu"
    experiment = load_experiment(file, [rows, "seeds=[1]", parses, "changes.data.train.source_dependency=train.conllu"])
    built, parsed = make_plan(experiment).runs
    binary = ("binary-1", "binary-2")
    assert built.training.system == System(trees=binary, source_trees="binary-1", encoder="tree-lstm")
    assert parsed.training.system == System(trees=binary, source_trees="dependency", source_transforms=("binarise",))
    for run in (built, parsed):
        recipe, *overrides = run.commands["train"][1:]
        assert load_configuration(recipe, overrides) == run.training
        flags = {stage: "--source-trees" in command for stage, command in run.commands.items() if stage != "train"}
        assert set(flags.values()) == {run is parsed}, flags
    for stage in ("score", "translate"):
        command = parsed.commands[stage]  # type: ignore[index]
        assert command[command.index("--source-trees") + 1] == "data/dev.conllu"
    files = {path.name for path in make_plan(experiment).files(parsed)}
    assert {"dev.conllu", "train.conllu"} <= files
    assert not {"dev.conllu", "train.conllu"} & {path.name for path in make_plan(experiment).files(built)}
    with pytest.raises(ConfigError, match=r"reads dependency trees of the source, but data.dev names no file of them"):
        make_plan(load_experiment(file, [rows]))


@pytest.mark.parametrize("split", ["train", "dev"])
def test_trees_that_a_system_learns_must_have_files(split: str, file: Path) -> None:
    given = "changes={data.train.dependency: train.conllu, data.dev.dependency: dev.conllu}"
    assert make_plan(load_experiment(file, ["systems=[trdec-dep]", given])).runs
    message = rf"a system learns dependency trees, but data\.{split} names no file of them"
    with pytest.raises(ConfigError, match=message):
        make_plan(load_experiment(file, ["systems=[trdec-dep]", given, f"changes.data.{split}.dependency=null"]))


def test_code_that_an_experiment_names_is_allowed_to_its_models(file: Path) -> None:
    row = "{name: mine, trees: [my_trees:one, my_trees:two], decoder: my_decoders:Own}"
    run, *_ = make_plan(load_experiment(file, [f"systems=[{row}]"])).runs
    flags = [word for name in ("my_trees:one", "my_trees:two", "my_decoders:Own") for word in ("--allow", name)]
    assert list(run.commands["translate"][-6:]) == flags


NAMES = ["my #1", "2024", "true", "[exp]", "a: b", "it's", '"', "-o", "$HOME `x`", "é", "\N{IDEOGRAPHIC SPACE}"]


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_may_have_any_name(name: str, file: Path) -> None:
    file.write_text(yaml.safe_dump(yaml.safe_load(EXPERIMENT) | {"output": f"{name}/exp", "folder": name}))
    plan = make_plan(load_experiment(file))
    run = plan.runs[0]
    assert plan.directory == Path(name, "exp")
    assert run.training.output == Path(name, "exp", "runs", "seq2seq-3", "model")
    assert run.training.folder == Path(name)
    for command in run.commands.values():
        assert shlex.split(shell_command(command)) == ["trdec", *command]
    _, recipe, *overrides = run.commands["train"]
    assert load_configuration(recipe, overrides) == run.training
    assert [Path(word) for word in run.commands["translate"]].count(run.training.output) == 1


@pytest.mark.parametrize(
    "changes", ["{training.max_updates: 7, training.log_every: 3}", "{training: {max_updates: 7, log_every: 3}}"]
)
def test_a_change_changes_one_key(changes: str, file: Path) -> None:
    (file.parent / "recipe.yaml").write_text(RECIPE + "training: {validate_every: 5, schedule: {factor: 0.25}}\n")
    for overrides, updates in (([], 7), (["changes.training.max_updates=20"], 20)):
        experiment = load_experiment(file, [f"changes={changes}", *overrides])
        training = make_plan(experiment).runs[0].training.training
        assert (training.max_updates, training.log_every) == (updates, 3)
        assert (training.validate_every, training.schedule.factor) == (5, 0.25)


def test_a_change_on_the_command_line_wins_however_the_file_writes_it(file: Path) -> None:
    file.write_text(EXPERIMENT.replace("changes: {training.max", "changes: {training: {log_every: 2}, training.max"))
    training = make_plan(load_experiment(file, ["changes.training.max_updates=20"])).runs[0].training.training
    assert (training.max_updates, training.log_every) == (20, 2)
    scaled = load_experiment(file, ["scales.tiny.changes.model.hidden_size=12"], scale="tiny")
    assert make_plan(scaled).runs[0].training.model.hidden_size == 12


def test_rows_are_saved_as_they_were_given(file: Path, tmp_path: Path) -> None:
    experiment = load_experiment(file, [ROWS])
    experiment.save(tmp_path / "saved.yaml")
    saved = yaml.safe_load((tmp_path / "saved.yaml").read_text())["systems"]
    assert saved[0] == "trdec-binary"
    assert saved[2:] == [
        {"name": "wrapped", "like": "trdec-binary", "transforms": ["wrap-words"]},
        {"name": "right", "trees": ["right-branching"]},
    ]
    assert load_experiment(tmp_path / "saved.yaml").systems == experiment.systems
    scale = "scales={other: {systems: [lin, {name: right, trees: right-branching}]}}"
    scaled = load_experiment(file, [ROWS, scale], scale="other")
    assert [row.system for row in scaled.systems] == [SYSTEMS["lin"], System(trees=("right-branching",))]


def test_without_a_test_set_dev_is_scored(file: Path) -> None:
    plan = make_plan(load_experiment(file))
    assert plan.text("translate") == (Path("data/dev.vel"), Path("data/dev.en"))
    assert "dev" not in plan.runs[0].commands
    tested = make_plan(load_experiment(file, ["test={source: t.vel, target: t.en}", "folder=there"]))
    assert tested.text("translate") == (Path("there/t.vel"), Path("there/t.en"))
    assert tested.text("dev") == (Path("there/dev.vel"), Path("there/dev.en"))
    assert list(tested.runs[0].commands) == ["train", "dev", "score", "translate"]


def test_a_test_set_makes_no_training_due_again(file: Path) -> None:
    plan = make_plan(load_experiment(file))
    tested = make_plan(load_experiment(file, ["test={source: t.vel, target: t.en}"]))
    assert plan.files(plan.runs[0], "train") == tested.files(tested.runs[0], "train")
    assert Path("data/t.vel") in tested.files(tested.runs[0], "translate")


def test_a_scale_changes_what_it_names_and_has_a_directory_of_its_own(file: Path) -> None:
    scaled = load_experiment(file, scale="tiny")
    run, *_ = make_plan(scaled).runs
    assert scaled.output == Path("experiments/two-tiny")
    assert scaled.seeds == (9,)
    assert scaled.decoding.beam_size == (2,)
    assert run.training.model.hidden_size == 4
    assert run.training.training.max_updates == 7  # as the experiment says


def test_an_output_without_a_name_has_no_scales(file: Path) -> None:
    with pytest.raises(UsageError, match=r"expected an `output` with a name .*found '\.'"):
        load_experiment(file, ["output=."], scale="tiny")


def test_an_unknown_scale_is_named_with_those_there_are(file: Path) -> None:
    with pytest.raises(UsageError, match=r"`scale` 'huge'. It has: tiny\."):
        load_experiment(file, scale="huge")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("seed=[1]", r"'seed=\[1\]': the configuration has no key 'seed'\. Did you mean 'seeds'\?"),
        ("systems=[trdec-dip]", r"expected a system, one of seq2seq.*'trdec-dip'\. Did you mean 'trdec-dep'\?"),
        ("systems=[lin, lin]", r"systems: the system lin is given twice\."),
        ("scales={a/b: {seeds: [1]}}", r"scales: .*expected letters, digits.*found 'a/b'\."),
        ("decoding.length_power=.inf", r"decoding\.length_power\.0: expected a finite number"),
        ("seeds=[1, 2, 1]", r"seeds: the seed 1 is given twice\."),
        ("systems=[{name: lin, like: seq2seq}]", r"expected a new name, found 'lin'"),
        ("systems=[{name: a/b, like: lin}]", r"expected letters, digits.*found 'a/b'\."),
        ("systems=[{name: mine, like: lan}]", r"expected a system, one of .*found 'lan'\. Did you mean 'lin'\?"),
        ("systems=[{name: mine, like: lin, target: lan}]", r"expected a target, .*found 'lan'\. Did you mean 'lin'\?"),
        ("systems=[{name: mine, target: lin}]", r"mine: the key 'trees' is missing"),
        ("systems=[{name: mine, tree: flat}]", r"has no key 'tree'\. Did you mean 'trees'\?"),
        ("variants={mine: {system: lin}}", r"there is no key 'variants' any more\. List them under systems"),
        ("seeds=[]", r"seeds: .*at least 1 item"),
        ("decoding.beam_size=[]", r"decoding\.beam_size: expected a number, or several.*found none"),
        ("decoding.beam_size=0", r"decoding\.beam_size\.0: expected a number greater than or equal to 1, found 0"),
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
        batches = {run.training.batches.batch_type for run in plan.runs}
        as_published = {"actions"}  # as the released script counted
        assert batches == (as_published if path.stem.startswith("paper-") else {"sentences"})  # the same pairs for all


def test_there_are_recipes() -> None:
    assert {path.stem for path in RECIPES} >= {"toy", "or-en", "de-en", "ja-en"}


def test_the_page_of_experiments_is_generated() -> None:
    written = (REPOSITORY / "docs" / "experiments.md").read_text(encoding="utf-8")
    assert written == experiment_reference(), "run: python -m trdec.experiment.configuration > docs/experiments.md"


def test_a_training_configuration_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("system: seq2seq\noutput: mine\ndata: {}\n")
    with pytest.raises(ConfigError, match=r"mine.yaml: .*a training configuration .*trdec train "):
        load_experiment(path)
