"""An experiment of two systems on the toy language that takes seconds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RECIPE = """\
system: seq2seq
output: elsewhere
folder: nowhere
data:
  train: {source: train.vel, target: train.en, constituency: train.en.con}
  dev: {source: dev.vel, target: dev.en, constituency: dev.en.con}
  source_subwords: {size: 150}
  target_subwords: {size: 150}
batches: {batch_type: sentences, batch_size: 16}
model: {embedding_size: 8, hidden_size: 8, dropout: {embeddings: 0.2}}
training: {max_updates: 6, validate_every: 3, checkpoint_every: 1, log_every: 2, plot: false}
"""

EXPERIMENT = """\
title: A *small* experiment
output: OUTPUT
recipe: recipe.yaml
toy: {sentences: 100, seed: 1}
systems: [seq2seq, trdec-binary]
seeds: [1]
test: {source: test.vel, target: test.en}
decoding: {beam_size: 2, length_power: [0.5, 1]}
samples: 2
published: {seq2seq: 10.9}
"""


def write_experiment(folder: Path, output: Path) -> Path:
    """The file of an experiment with this output, written with its recipe."""
    (folder / "recipe.yaml").write_text(RECIPE)
    path = folder / "experiment.yaml"
    path.write_text(EXPERIMENT.replace("OUTPUT", json.dumps(str(output))))
    return path


def results_of(output: Path) -> dict[str, Any]:
    """What must be the same however often an experiment was stopped: all but times and paths."""
    report = json.loads((output / "report.json").read_text())
    for run in report["runs"]:
        del run["commands"]
        del run["training"]["seconds"]
        del run["translating"]["seconds"]
    del report["command"]
    return dict(report)
