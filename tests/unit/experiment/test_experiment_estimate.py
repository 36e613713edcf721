"""How long an experiment takes is tried with what its runs will have: their network, and pieces of their size."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trdec.configuration import Configuration, load_configuration
from trdec.experiment import estimate
from trdec.experiment.configuration import load_experiment
from trdec.experiment.plan import make_plan
from trdec.text import Subwords

EXPERIMENT = """\
title: Two systems
output: two
recipe: recipe.yaml
systems: [seq2seq, trdec-binary]
"""

RECIPE = """\
system: seq2seq
output: elsewhere
data:
  train: {source: train.xx, target: train.en}
  dev: {source: train.xx, target: train.en}
  source_subwords: {size: 900}
  target_subwords: {size: 500, kind: unigram}
"""

FIRST_CHARACTER = ord("\N{CJK UNIFIED IDEOGRAPH-4E00}")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """An experiment on 21,000 pairs, whose source has 700 different characters."""
    numbers = range(21_000)
    source = (f"{chr(FIRST_CHARACTER + number % 700)}{chr(FIRST_CHARACTER + number % 697)}\n" for number in numbers)
    (tmp_path / "train.xx").write_text("".join(source), encoding="utf-8")
    (tmp_path / "train.en").write_text("".join(f"word{number % 1000} and {number % 7}\n" for number in numbers))
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    path = tmp_path / "experiment.yaml"
    path.write_text(EXPERIMENT)
    return path


def test_what_is_tried_has_the_sizes_of_the_run(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Configuration] = []
    sizes: list[tuple[int, int]] = []

    def record(verb: str, recipe: str, *overrides: str) -> None:
        if verb == "train":
            training = load_configuration(recipe, overrides)
            source, target = training.data.source_subwords.model, training.data.target_subwords.model
            assert source is not None
            assert target is not None
            tried.append(training)
            sizes.append((len(Subwords.load(source).pieces), len(Subwords.load(target).pieces)))
            training.output.mkdir()
            row = {"event": "train", "seconds": estimate.TRIAL_UPDATES * 2, "actions": 90, "sentences": 10}
            (training.output / "log.jsonl").write_text(json.dumps(row) + "\n")

    monkeypatch.setattr(estimate, "_trdec", record)
    plan = make_plan(load_experiment(file, [f"folder={file.parent}"]))
    found = list(estimate.estimates(plan, 1))
    assert [(one.system, one.training) for one in found] == [
        (run.system, 2 * run.training.training.max_updates) for run in plan.runs
    ]
    for training, run in zip(tried, plan.runs, strict=True):
        assert (training.system, training.model) == (run.training.system, run.training.model)
        assert training.batches == run.training.batches
    markers = 2  # of beginning and end, which are no pieces
    assert sizes == [(900 - markers, 500 - markers)] * 2
    assert len({training.data.source_subwords.model for training in tried}) == 1, "one text, learnt from once"
