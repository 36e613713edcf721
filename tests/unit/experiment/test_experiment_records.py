"""A finished stage is not done again while what it came from is the same."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from trdec.errors import FileError
from trdec.experiment import run
from trdec.experiment.configuration import load_experiment
from trdec.experiment.display import ExperimentDisplay
from trdec.experiment.plan import Plan, Run, Stage, make_plan
from trdec.experiment.run import Records, training_record
from trdec.training.observers import JsonLines

RECIPE = """\
system: seq2seq
output: elsewhere
data:
  train: {source: train.vel, target: train.en}
  dev: {source: dev.vel, target: dev.en}
"""


TAGS = "changes={data.train.supertags: train.ccg, data.dev.supertags: dev.ccg}"


def _plan(folder: Path, *overrides: str) -> Plan:
    (folder / "recipe.yaml").write_text(RECIPE)
    (folder / "experiment.yaml").write_text("title: One\nrecipe: recipe.yaml\nsystems: [seq2seq]\n")
    return make_plan(
        load_experiment(folder / "experiment.yaml", [f"output={folder / 'out'}", f"folder={folder}", *overrides])
    )


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    for name in ("train.vel", "train.en", "dev.vel", "dev.en"):
        (tmp_path / name).write_text(f"{name}\n")
    plan = _plan(tmp_path)
    (plan.runs[0].directory / "model").mkdir(parents=True)
    (plan.runs[0].directory / "model" / "model.safetensors").write_bytes(b"weights")
    plan.runs[0].translations().write_text("a translation\n")
    records = Records(plan)
    records.finish(plan.runs[0], "train", {"updates": 3})
    records.finish(plan.runs[0], "translate", {"seconds": 1})
    return plan


def test_a_record_is_kept(plan: Plan) -> None:
    record = Records(plan).finished(plan.runs[0], "train")
    assert record is not None
    assert record["updates"] == 3


def test_other_data_make_every_stage_due(plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "train.en").write_text("other\n")
    assert Records(plan).finished(plan.runs[0], "train") is None
    assert Records(plan).finished(plan.runs[0], "translate") is None


def test_another_table_makes_every_stage_due_whichever_column_is_read(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("one\tuno\n")
    columns = "{source: 'pairs.tsv:1', target: 'pairs.tsv:2'}"
    plan = _plan(tmp_path, f"changes={{data.train: {columns}, data.dev: {columns}}}")
    run = plan.runs[0]
    run.result("train").parent.mkdir(parents=True)
    run.result("train").write_bytes(b"weights")
    Records(plan).finish(run, "train", {"updates": 3})
    assert Records(plan).finished(run, "train") is not None
    (tmp_path / "pairs.tsv").write_text("two\tdos\n")
    assert Records(plan).finished(run, "train") is None


def test_of_each_seed_the_longest_runs_are_begun_first(tmp_path: Path) -> None:
    plan = _plan(tmp_path, "systems=[seq2seq, trdec-binary, ccg, {name: flat, trees: flat}]", "seeds=[5, 2]", TAGS)
    begun = ["trdec-binary, seed 5", "flat, seed 5", "seq2seq, seed 5", "ccg, seed 5"]
    assert [run.name for run in plan.schedule] == begun + [name.replace("5", "2") for name in begun]


@pytest.mark.usefixtures("plan")
def test_another_training_makes_training_due(tmp_path: Path) -> None:
    other = _plan(tmp_path, "changes={training.max_updates: 9}")
    assert Records(other).finished(other.runs[0], "train") is None


@pytest.mark.usefixtures("plan")
def test_another_beam_makes_only_translating_due(tmp_path: Path) -> None:
    other = _plan(tmp_path, "decoding.beam_size=2")
    assert Records(other).finished(other.runs[0], "train") is not None
    assert Records(other).finished(other.runs[0], "translate") is None


def test_other_weights_make_translating_due(plan: Plan) -> None:
    (plan.runs[0].directory / "model" / "model.safetensors").write_bytes(b"others")
    assert Records(plan).finished(plan.runs[0], "train") is not None
    assert Records(plan).finished(plan.runs[0], "translate") is None


def test_an_ensemble_is_due_again_if_any_of_its_models_is_another(tmp_path: Path) -> None:
    for name in ("train.vel", "train.en", "dev.vel", "dev.en"):
        (tmp_path / name).write_text(f"{name}\n")
    plan = _plan(tmp_path, "seeds=[1, 2]", "ensembles=true")
    (ensemble,) = plan.ensembles
    for member in ensemble.members:
        (member.directory / "model").mkdir(parents=True)
        member.result("train").write_bytes(b"weights")
    ensemble.directory.mkdir(parents=True)
    ensemble.translations().write_text("a translation\n")
    Records(plan).finish(ensemble, "translate", {"seconds": 1})
    assert Records(plan).finished(ensemble, "translate") is not None
    plan.runs[1].result("train").write_bytes(b"others")
    assert Records(plan).finished(ensemble, "translate") is None


def test_an_ensemble_waits_for_its_members_and_is_left_out_without_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("train.vel", "train.en", "dev.vel", "dev.en"):
        (tmp_path / name).write_text(f"{name}\n")
    plan = _plan(tmp_path, "systems=[seq2seq, trdec-binary]", "seeds=[1, 2]", "ensembles=true")
    translated = []

    class Machine:
        """A machine on which one training fails and everything else ends well at once."""

        def run(self, asked: Run, stage: Stage) -> int:
            if stage == "translate":
                translated.append(asked.name)
            elif asked.name == "seq2seq, seed 2":
                raise FileError("the disk is full")
            return 0

        def close(self) -> None:
            """Nothing runs."""

    loss = {"total": {"nats_per_sentence": 1}, "tree": {"share": 0}}
    record = {"seconds": 1, "sentences": 1, "dev_perplexity": {"all": 1}, **loss}
    monkeypatch.setattr(run, "_record", lambda *_: record)
    with ExperimentDisplay(plan, Console(file=io.StringIO())) as display:
        failures = run.execute(plan, 1, display, Machine())
    assert [failure.run.name for failure in failures] == ["seq2seq, seed 2"]
    assert translated[-1] == "trdec-binary, seeds 1, 2 together"
    assert sorted(translated[:-1]) == ["seq2seq, seed 1", "trdec-binary, seed 1", "trdec-binary, seed 2"]


def test_what_was_deleted_is_due_again(plan: Plan) -> None:
    plan.runs[0].translations().unlink()
    assert Records(plan).finished(plan.runs[0], "train") is not None
    assert Records(plan).finished(plan.runs[0], "translate") is None
    plan.runs[0].result("train").unlink()
    assert Records(plan).finished(plan.runs[0], "train") is None


@pytest.mark.parametrize("part", ["trees", "encoder", "decoder"])
def test_an_edit_of_an_own_part_makes_training_due(part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / f"{part}_of_this_test.py"
    module.write_text("def flat(words):\n    return words\n")
    monkeypatch.syspath_prepend(tmp_path)
    keys = {"trees": "flat"} | {part: f"{part}_of_this_test:flat"}
    plan = _plan(tmp_path, f"systems=[{json.dumps({'name': 'mine', **keys})}]")
    assert module in plan.files(plan.runs[0])
    assert module in plan.files(plan.runs[0], "train")


def test_another_model_to_start_from_makes_training_due(tmp_path: Path) -> None:
    for name in ("train.vel", "train.en", "dev.vel", "dev.en"):
        (tmp_path / name).write_text(f"{name}\n")
    archive, folder = tmp_path / "parent.tar.gz", tmp_path / "parent"
    archive.write_bytes(b"one")
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"one")
    for parent, weights in ((archive, archive), (folder, folder / "model.safetensors")):
        plan = _plan(tmp_path, f"changes={{training.start_from: {parent}}}", f"output={tmp_path / parent.stem}")
        (run,) = plan.runs
        run.result("train").parent.mkdir(parents=True)
        run.result("train").write_bytes(b"weights")
        Records(plan).finish(run, "train", {"updates": 3})
        assert Records(plan).finished(run, "train") is not None
        weights.write_bytes(b"two")
        assert Records(plan).finished(run, "train") is None
    missing = _plan(tmp_path, f"changes={{training.start_from: {tmp_path / 'none.zip'}}}")
    with pytest.raises(FileError, match=r"none\.zip \(needed by seq2seq\)"):
        missing.check_files()


TESTED = "test={source: test.vel, target: test.en}"


def test_scoring_depends_on_dev_and_not_on_the_test_text(plan: Plan, tmp_path: Path) -> None:
    for name in ("test.vel", "test.en"):
        (tmp_path / name).write_text(f"{name}\n")
    tested = _plan(tmp_path, TESTED)
    run = plan.runs[0]
    run.loss.write_text("{}")
    Records(plan).finish(run, "score", {"sentences": 1})
    assert Records(tested).finished(run, "score") is not None
    (tmp_path / "test.en").write_text("other\n")
    assert Records(tested).finished(run, "score") is not None
    (tmp_path / "dev.en").write_text("other\n")
    assert Records(tested).finished(run, "score") is None


def test_a_score_whose_record_names_the_test_text_is_still_finished(plan: Plan, tmp_path: Path) -> None:
    run = plan.runs[0]
    run.loss.write_text("{}")
    Records(plan).finish(run, "score", {"sentences": 1})
    path = run.directory / "score.json"
    record = json.loads(path.read_text())
    record["depends_on"]["files"] |= {"test.vel": "0", "test.en": "0"}
    path.write_text(json.dumps(record))
    assert Records(plan).finished(run, "score") is not None
    (tmp_path / "train.en").write_text("other\n")
    assert Records(plan).finished(run, "score") is None


@pytest.mark.usefixtures("plan")
def test_the_experiment_can_be_moved(tmp_path: Path) -> None:
    (tmp_path / "out").rename(tmp_path / "moved")
    moved = _plan(tmp_path, f"output={tmp_path / 'moved'}")
    assert Records(moved).finished(moved.runs[0], "translate") is not None


def test_a_damaged_record_is_named(plan: Plan) -> None:
    (plan.runs[0].directory / "train.json").write_text("{")
    with pytest.raises(FileError, match=r"train\.json: expected the record of a finished run, as JSON\. Remove"):
        Records(plan).finished(plan.runs[0], "train")


def test_the_best_update_is_the_best_even_if_later_ones_are_among_the_k_best(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = plan.runs[0]
    log = JsonLines(run.directory / "model" / "log.jsonl")
    for update, loss in ((10, 5.0), (20, 4.0), (30, 6.0)):
        log.write(
            {"event": "dev", "update": update, "loss": loss, "best": True, "perplexity": {"all": loss}, "seconds": 1}
        )
    monkeypatch.setattr("trdec.experiment.run.parameters", lambda weights: 0)  # noqa: ARG005
    record = training_record(run)
    assert (record["best_update"], record["dev_perplexity"]) == (20, {"all": 4.0})


def test_a_stage_whose_result_cannot_be_used_is_a_failure_of_its_run_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("train.vel", "train.en", "dev.vel", "dev.en"):
        (tmp_path / name).write_text(f"{name}\n")
    plan = _plan(tmp_path, "seeds=[1, 2]")

    def damaged(run: object) -> None:  # noqa: ARG001
        raise FileError("the log is damaged")

    monkeypatch.setattr(run, "training_record", damaged)
    stream = io.StringIO()
    with ExperimentDisplay(plan, Console(file=stream)) as display:
        failures = run.execute(plan, 1, display, Idle())
    assert stream.getvalue().count("training failed") == 2
    assert [(failure.run.seed, failure.reason) for failure in failures] == [
        (1, "the log is damaged"),
        (2, "the log is damaged"),
    ]


class Idle:
    """Machines on which every stage ends at once, and well but for those that are named to fail."""

    def __init__(self, *failing: tuple[str, Stage]) -> None:
        self.failing = failing
        self.done: list[tuple[str, Stage]] = []

    def run(self, asked: Run, stage: Stage) -> int:
        self.done.append((asked.name, stage))
        return int((asked.name, stage) in self.failing)

    def close(self) -> None:
        """Nothing runs."""


RECORD: dict[str, Any] = {
    **{"seconds": 1, "sentences": 1, "dev_perplexity": {"all": 1}},
    **{"total": {"nats_per_sentence": 1}, "tree": {"share": 0}},
}


def _executed(plan: Plan, machines: Idle) -> tuple[list[run.Failure], str]:
    """The failures of an experiment on these machines, and what was shown."""
    stream = io.StringIO()
    for each in (*plan.runs, *plan.ensembles):
        each.directory.mkdir(parents=True)
        for stage in each.commands:
            run.log_of(each, stage).write_text("it is told here\n")
    with ExperimentDisplay(plan, Console(file=stream, width=200)) as display:
        failures = run.execute(plan, 1, display, machines)
    return failures, stream.getvalue()


def _tested(folder: Path, *overrides: str) -> Plan:
    for name in ("train.vel", "train.en", "dev.vel", "dev.en", "test.vel", "test.en"):
        (folder / name).write_text(f"{name}\n")
    return _plan(folder, TESTED, *overrides)


def test_a_run_whose_loss_cannot_be_divided_goes_on_and_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = _tested(tmp_path, "seeds=[1, 2]", "ensembles=true")
    together = "seq2seq, seeds 1, 2 together"
    machines = Idle(("seq2seq, seed 1", "score"), ("seq2seq, seed 1", "translate"))
    monkeypatch.setattr(run, "_record", lambda *_: RECORD)
    failures, _ = _executed(plan, machines)
    translating: Stage = "translate"
    assert [(name, translating) for name in ("seq2seq, seed 1", "seq2seq, seed 2", together)] == machines.done[-3:]
    assert (together, "dev") in machines.done
    assert [(failure.run.name, failure.stage, failure.ends_run) for failure in failures] == [
        ("seq2seq, seed 1", "score", False),
        ("seq2seq, seed 1", "translate", True),
    ]
    assert failures[0].reason == "it is told here"


def test_a_perplexity_that_is_not_finite_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _tested(tmp_path)
    monkeypatch.setattr(run, "_record", lambda *_: RECORD | {"dev_perplexity": {"all": None}})
    failures, shown = _executed(plan, Idle())
    assert failures == []
    assert "trained in 0:00:01, dev perplexity not finite" in shown


def test_a_mistake_in_the_bookkeeping_of_a_stage_ends_its_run_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = _tested(tmp_path, "seeds=[1, 2]")

    def record(of: Run, stage: Stage, _: float) -> dict[str, Any]:
        return {} if (of.seed, stage) == (1, "train") else RECORD  # the display will look for more

    monkeypatch.setattr(run, "_record", record)
    machines = Idle()
    failures, shown = _executed(plan, machines)
    assert [(failure.run.seed, failure.stage, failure.reason) for failure in failures] == [
        (1, "train", "KeyError: 'seconds'")
    ]
    assert "in _outcome" in failures[0].log.read_text()
    assert "seq2seq, seed 1: training failed" in shown
    assert ("seq2seq, seed 2", "translate") in machines.done
    assert ("seq2seq, seed 1", "dev") not in machines.done


def test_a_damaged_record_ends_its_run_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _tested(tmp_path, "seeds=[1, 2]")
    first = plan.runs[0]
    first.result("train").parent.mkdir(parents=True)
    first.result("train").write_bytes(b"weights")
    (first.directory / "train.json").write_text("{")
    monkeypatch.setattr(run, "_record", lambda *_: RECORD)
    machines = Idle()
    with ExperimentDisplay(plan, Console(file=io.StringIO())) as display:
        (failure,) = run.execute(plan, 1, display, machines)
    assert failure.run is first
    assert "train.json: expected the record of a finished run, as JSON. Remove the file." in failure.reason
    assert ("seq2seq, seed 2", "translate") in machines.done
