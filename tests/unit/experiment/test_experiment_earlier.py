"""A folder of experiments that is used for one list of systems today and for another tomorrow."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from trdec.cli.experiment import experiment_command
from trdec.experiment.configuration import ExperimentConfiguration, load_experiment
from trdec.experiment.counts import read_counts
from trdec.experiment.earlier import covering_plan, earlier_experiment, with_earlier
from trdec.experiment.plan import Plan, make_plan
from trdec.experiment.run import Records, execute

RECIPE = """\
system: seq2seq
output: elsewhere
data:
  train: {source: text.vel, target: text.en}
  dev: {source: text.vel, target: text.en}
"""
TEXT = "the cat eats fish .\na dog sleeps in the house .\n"
TRAINED = {
    **{"updates": 3, "sentences": 9, "actions": 99, "seconds": 1.5, "parameters": 7, "best_update": 3},
    **{"dev_perplexity": {"all": 2.0, "word": 2.0}, "versions": {"trdec": "0"}},
    "curve": [{"update": 3, "perplexity": {"all": 2.0, "word": 2.0}}],
}
PART = {"actions": 1, "nats": 1.0, "nats_per_sentence": 1.0, "share": 1.0}
LOSS = {"sentences": 2, "left_out": 0, "kinds": {"word": PART}, "tree": PART, "words": PART, "total": PART}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    for name in ("text.vel", "text.en"):
        (tmp_path / name).write_text(TEXT)
    path = tmp_path / "experiment.yaml"
    keys = {"title": "One", "output": str(tmp_path / "out"), "recipe": "recipe.yaml", "folder": str(tmp_path)}
    path.write_text(yaml.safe_dump({**keys, "systems": ["seq2seq", "trdec-binary"], "samples": 0}))
    return path


def _finish(plan: Plan) -> None:
    """Leave everything behind that the runs of a plan leave when they have ended."""
    records, text = Records(plan), TEXT.splitlines()
    for run in (*plan.runs, *plan.ensembles):
        for stage in run.commands:
            run.result(stage).parent.mkdir(parents=True, exist_ok=True)
            run.result(stage).write_text(TEXT)
        for stage in ("dev", "translate"):
            run.trees(stage).write_text("".join(f"(ROOT {line})\n" for line in text))
    for run in (*plan.runs, *plan.ensembles):
        translated = {"sentences": 2, "seconds": 1.0}
        made: dict[str, Any] = {"train": TRAINED, "score": LOSS, "dev": translated, "translate": translated}
        for stage in run.commands:
            records.finish(run, stage, made[stage])


def _plan(file: Path, *overrides: str) -> Plan:
    return make_plan(load_experiment(file, overrides))


def _command(file: Path, *overrides: str, report_only: bool = False) -> None:
    experiment_command(file, list(overrides), None, 1, False, None, report_only)


def _reported(file: Path) -> list[str]:
    """The runs of the report and of the counts, which are the same."""
    out = file.parent / "out"
    counted = [run.name for run in read_counts(out / "counts.json").runs]
    report = json.loads((out / "report.json").read_text())
    single = [f"{run['system']}, seed {run['seed']}" for run in report["runs"]]
    assert single == [name for name in counted if "seeds" not in name]
    return counted


TERNARY = "systems=[{name: mine, trees: ternary}]"


def test_a_report_covers_what_was_finished_for_another_list_of_systems(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _finish(_plan(file))
    _command(file)
    assert _reported(file) == ["seq2seq, seed 1", "trdec-binary, seed 1"]
    _finish(_plan(file, TERNARY))
    _command(file, TERNARY)
    every = ["seq2seq, seed 1", "trdec-binary, seed 1", "mine, seed 1"]
    assert _reported(file) == every
    # And what comes third does not forget the first.
    _finish(_plan(file, "systems=[{name: fourth, trees: flat}]", "seeds=[2]"))
    _command(file, "systems=[{name: fourth, trees: flat}]", "seeds=[2]")
    assert _reported(file) == [*every, "fourth, seed 2"]
    assert "4 systems, 2 seeds; scored on text.en" in (file.parent / "out" / "report.md").read_text()
    assert not list(file.parent.glob("out/counts-*"))
    assert "WARNING" not in capsys.readouterr().err


def test_only_what_was_trained_as_the_experiment_trains_is_covered_and_the_rest_is_kept(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _finish(_plan(file))
    _command(file)
    other = "changes={training.max_updates: 9}"
    _finish(_plan(file, TERNARY, other))
    _command(file, TERNARY, other)
    out = file.parent / "out"
    assert _reported(file) == ["mine, seed 1"]
    assert [run.name for run in read_counts(out / "counts-1.json").runs] == ["seq2seq, seed 1", "trdec-binary, seed 1"]
    said = " ".join(capsys.readouterr().err.split())
    assert f"{out / 'counts.json'} had counts that the new one lacks: seq2seq, seed 1 (dev), trdec-binary" in said
    assert f"are kept as {out / 'counts-1.json'}." in said


def test_an_ensemble_of_before_is_covered(file: Path) -> None:
    seeds = "seeds=[1, 2]"
    _finish(_plan(file, seeds, "ensembles=true"))
    _command(file, seeds, "ensembles=true")
    together = ["seq2seq, seeds 1, 2", "trdec-binary, seeds 1, 2"]
    assert _reported(file)[-2:] == together
    _finish(_plan(file, TERNARY, "seeds=[3]"))
    for _ in range(2):  # the same command again reports the same
        _command(file, TERNARY, "seeds=[3]")
        assert _reported(file)[-3:] == ["mine, seed 3", *together]
    assert not list(file.parent.glob("out/counts-*"))


def test_what_another_command_finished_meanwhile_is_covered(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def meanwhile(*given: Any) -> list[Any]:
        monkeypatch.undo()
        _finish(_plan(file, TERNARY))
        _command(file, TERNARY)
        return execute(*given)

    _finish(_plan(file))
    monkeypatch.setattr("trdec.experiment.run.execute", meanwhile)
    _command(file)
    assert _reported(file) == ["seq2seq, seed 1", "trdec-binary, seed 1", "mine, seed 1"]


def test_what_is_asked_for_decides_whether_dev_or_test_is_shown(file: Path) -> None:
    (file.parent / "test.vel").write_text(TEXT)
    (file.parent / "test.en").write_text("".join(reversed(TEXT.splitlines(keepends=True))))
    test, out = "test={source: test.vel, target: test.en}", file.parent / "out"
    _finish(_plan(file, test))
    _command(file, test)
    added = _plan(file, TERNARY, test)
    _finish(added)
    # The command is still running: it has translated dev only.
    with_earlier(added.experiment, earlier_experiment(added.experiment)).save(out / "experiment.yaml")
    (added.runs[0].directory / "translate.json").unlink()
    for systems, text, shown in ((TERNARY, "text.en", 3), ("systems=[seq2seq]", "test.en", 2)):
        _command(file, systems, test, report_only=True)
        report = (out / "report.md").read_text()
        assert f"scored on {text}" in report
        assert f"\n{shown} systems" in report
        counted = {run.system: sorted(run.counts) for run in read_counts(out / "counts.json").runs}
        assert counted == {"seq2seq": ["dev", "test"], "trdec-binary": ["dev", "test"], "mine": ["dev"]}
    assert not list(out.glob("counts-*"))


def test_a_report_may_leave_ter_out(file: Path) -> None:
    _finish(_plan(file))
    for value, shown in (("true", True), ("false", False)):
        _command(file, f"ter={value}")
        assert ("| TER |" in re.sub(" +", " ", (file.parent / "out" / "report.md").read_text())) == shown


@pytest.mark.parametrize(
    ("now", "systems"),
    [
        ("[lin]", ["seq2seq", "ccg", "lin"]),
        ("[ccg, lin]", ["seq2seq", "ccg", "lin"]),
        ("[ccg]", ["seq2seq", "ccg"]),
        ("[ccg, lin, seq2seq]", ["ccg", "lin", "seq2seq"]),  # it names all of them: its order
    ],
)
def test_the_first_system_stays_the_first_unless_all_are_named(file: Path, now: str, systems: list[str]) -> None:
    before, after = (load_experiment(file, [f"systems={names}"]) for names in ("[seq2seq, ccg]", now))
    assert [row.name for row in with_earlier(after, before).systems] == systems
    assert with_earlier(after, None) is after


def _saved(file: Path, *overrides: str) -> ExperimentConfiguration:
    experiment = load_experiment(file, overrides)
    experiment.output.mkdir()
    experiment.save(experiment.output / "experiment.yaml")
    return experiment


def test_what_was_not_finished_is_not_covered(file: Path) -> None:
    _saved(file)
    plan = _plan(file, TERNARY, "seeds=[4]")
    earlier = earlier_experiment(plan.experiment)
    covering = covering_plan(plan, earlier)
    assert covering == plan
    _finish(_plan(file, "systems=[trdec-binary]"))
    found = covering_plan(plan, earlier)
    assert [run.name for run in found.runs] == ["trdec-binary, seed 1", "mine, seed 4"]
    assert [row.name for row in found.experiment.systems] == ["trdec-binary", "mine"]
    assert found.experiment.seeds == (1, 4)


def test_what_is_named_again_is_taken_as_it_is_named_now(file: Path) -> None:
    _saved(file, TERNARY)
    now = load_experiment(file, ["systems=[{name: mine, trees: flat}, seq2seq]"])
    earlier = earlier_experiment(now)
    assert earlier is not None
    assert [row.trees for row in with_earlier(now, earlier).systems] == [("flat",), None]
    assert [row.trees for row in earlier.systems] == [("flat",)]


@pytest.mark.parametrize(
    ("saved", "message"),
    [
        ("title: [", "was used before, but it cannot be read for what"),
        ("title: A\noutput: b\nrecipe: c\nsystems: [ccg]\n", "from before are not in the report: .*no file of them"),
    ],
)
def test_what_cannot_be_planned_again_is_said_and_does_not_stop_the_experiment(
    saved: str, message: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _finish(_plan(file))
    (file.parent / "out" / "experiment.yaml").write_text(saved)
    _command(file, report_only=True)
    assert _reported(file) == ["seq2seq, seed 1", "trdec-binary, seed 1"]
    said = " ".join(capsys.readouterr().err.split())
    assert re.search(f"WARNING: .*{message}", said)


def test_runs_whose_loss_cannot_be_divided_are_reported_all_the_same(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _finish(_plan(file))
    for name in ("seq2seq-1", "trdec-binary-1"):
        (file.parent / "out" / "runs" / name / "score.json").unlink()
    with pytest.raises(typer.Exit) as ended:
        _command(file)
    assert ended.value.exit_code == 1
    assert "trdec-binary, seed 1: failed to score; see " in capsys.readouterr().err
    assert _reported(file) == ["seq2seq, seed 1", "trdec-binary, seed 1"]
    failures = json.loads((file.parent / "out" / "report.json").read_text())["failures"]
    assert list(failures) == ["seq2seq, seed 1", "trdec-binary, seed 1"]
    assert all(reason.startswith("failed to score: ") for reason in failures.values())
