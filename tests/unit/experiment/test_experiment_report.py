"""What the report of an experiment says of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from trdec.experiment.configuration import load_experiment
from trdec.experiment.plan import make_plan
from trdec.experiment.report import _budget

RECIPE = """\
system: seq2seq
output: elsewhere
data: {train: {source: a, target: b}, dev: {source: a, target: b}}
training: {max_updates: 1000}
"""
LONGER = "{name: longer, like: seq2seq, changes: {training.max_updates: 5000}}"


@pytest.mark.parametrize(
    ("systems", "said", "not_said"),
    [
        (f"[{LONGER}, seq2seq]", "All systems that are not named below were given the same training: 1,000", "5,000"),
        (f"[seq2seq, {LONGER}]", "All systems that are not named below were given the same training: 1,000", "5,000"),
        ("[seq2seq, trdec-binary]", "All systems were given the same training: 1,000 updates", "not named below"),
        (f"[{LONGER}]", "longer has changes of its own: training.max_updates 5000", "the same training"),
    ],
)
def test_only_systems_without_changes_are_said_to_be_trained_alike(
    systems: str, said: str, not_said: str, tmp_path: Path
) -> None:
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    (tmp_path / "experiment.yaml").write_text("title: One\noutput: one\nrecipe: recipe.yaml\n")
    plan = make_plan(load_experiment(tmp_path / "experiment.yaml", [f"systems={systems}"]))
    results = SimpleNamespace(plan=plan, pairs=3, systems=list)
    text = "\n".join(_budget(cast(Any, results)).text)
    assert said in text
    assert not_said not in text
