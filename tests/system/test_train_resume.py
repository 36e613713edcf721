"""`trdec train` as a person runs it: to the end, killed, interrupted, run again."""

from __future__ import annotations

import errno
import fcntl
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import SimpleNamespace

import pytest

from support.small_models import ROWS
from trdec.cli import main
from trdec.configuration import load_saved_configuration
from trdec.configuration.sections import SearchConfiguration
from trdec.corpora.toy.generate import write_corpus
from trdec.data.manifest import MANIFEST, WEIGHTS
from trdec.systems import SYSTEMS
from trdec.training import loop
from trdec.training.tuning import set_search
from trdec.translation.model_directory import load_model

# Processes are forked from one that has only imported torch: quick to start, and like new.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["trdec.training.trainer", "trdec.cli.main"])

Finished = tuple[int, str, str]

CONFIG = """\
system: trdec-con
data:
  train: {source: train.vel, target: train.en, constituency: train.en.con, dependency: train.en.conllu}
  dev: {source: dev.vel, target: dev.en, constituency: dev.en.con, dependency: dev.en.conllu}
  source_subwords: {size: 150}
  target_subwords: {size: 150}
batches: {batch_type: actions, batch_size: 300}
model: {embedding_size: 8, hidden_size: 8, dropout: {embeddings: 0.2, states: 0.2, readout: 0.2}}
training:
  validate_every: 10
  checkpoint_every: 3
  log_every: 1
  keep_best: 2
  final_weights: average
  schedule: {kind: plateau}
  plot: false
"""


class Experiment:
    """A small training that can be run in any directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        write_corpus(folder / "toy", 120, 1)
        (folder / "config.yaml").write_text(CONFIG)

    def arguments(self, output: Path, *overrides: str) -> list[str]:
        return [
            "train",
            str(self.folder / "config.yaml"),
            f"folder={self.folder / 'toy'}",
            f"output={output}",
            *overrides,
        ]

    def start(self, output: Path, *overrides: str) -> BaseProcess:
        process = PROCESSES.Process(target=command, args=(self.arguments(output, *overrides), str(output) + ".errors"))
        process.start()
        return process


def command(arguments: list[str], errors: str) -> None:
    """Be `trdec` with these arguments."""
    sys.argv = ["trdec", *arguments]
    with Path(errors).open("w") as sys.stderr:
        main.main()


Run = Callable[..., Finished]


@pytest.fixture
def run(experiment: Experiment, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a training to its end, here: exit code, standard output and standard error."""

    def run(output: Path, *overrides: str) -> Finished:
        monkeypatch.setattr(sys, "argv", ["trdec", *experiment.arguments(output, *overrides)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main.main()
        captured = capsys.readouterr()
        return int(str(ended.value.code)), captured.out, captured.err

    return run


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    return Experiment(tmp_path_factory.mktemp("experiment"))


def updates_done(output: Path) -> int:
    log = output / "log.jsonl"
    lines = log.read_text(errors="ignore").splitlines() if log.exists() else []
    for line in reversed(lines):
        try:
            return int(json.loads(line)["update"])
        except ValueError:
            continue  # being written
    return 0


def wait_for_update(process: BaseProcess, output: Path, update: int) -> None:
    limit = time.monotonic() + 120
    while updates_done(output) < update:
        assert process.is_alive(), Path(f"{output}.errors").read_text()
        assert time.monotonic() < limit
        time.sleep(0.002)


def end(process: BaseProcess, number: signal.Signals) -> int | None:
    assert process.pid
    os.kill(process.pid, number)
    process.join(60)
    return process.exitcode


def weights(output: Path) -> dict[str, bytes]:
    return {str(path.relative_to(output)): path.read_bytes() for path in sorted(output.rglob("*.safetensors"))}


def log_without_time(output: Path) -> list[dict[str, object]]:
    timed = ("seconds", "words_per_second", "actions_per_second")
    rows = map(json.loads, (output / "log.jsonl").read_text().splitlines())
    return [{key: value for key, value in row.items() if key not in timed} for row in rows]


def kill_and_compare(experiment: Experiment, run: Run, folder: Path, kills: int, seed: int) -> None:
    generator = random.Random(seed)
    updates = f"training.max_updates={kills * 7 + 8}"
    code, _, errors = run(folder / "whole", updates)
    assert code == 0, errors
    done = 0
    for _ in range(kills):
        process = experiment.start(folder / "killed", updates)
        wait_for_update(process, folder / "killed", done + generator.randint(1, 7))
        time.sleep(generator.uniform(0, 0.04))  # anywhere: in an update, in a validation, in a checkpoint
        assert end(process, signal.SIGKILL) == -signal.SIGKILL
        if (folder / "killed" / WEIGHTS).exists():
            load_model(folder / "killed")
        done = max((int(path.name[7:]) for path in (folder / "killed" / "checkpoints").glob("update-*")), default=0)
    code, _, errors = run(folder / "killed", updates)
    assert code == 0, errors
    assert done and f"resuming after update {done}, " in errors
    assert weights(folder / "killed") == weights(folder / "whole")
    assert log_without_time(folder / "killed") == log_without_time(folder / "whole")
    for name in ("killed", "whole"):
        assert (folder / name / MANIFEST).exists()
        load_model(folder / name)


def test_three_kills_leave_no_trace(experiment: Experiment, run: Run, tmp_path: Path) -> None:
    kill_and_compare(experiment, run, tmp_path, kills=3, seed=1)


@pytest.mark.parametrize("row", [name for name in ROWS if name not in SYSTEMS])
def test_every_encoder_and_decoder_is_resumed_to_the_bit(run: Run, tmp_path: Path, row: str) -> None:
    keys = (f"system={json.dumps(ROWS[row].model_dump(mode='json'))}", "training.final_weights=last")
    small = ("model.transformer={layers: 2, heads: 2, feed_forward: 8}", "training.schedule.kind=constant")
    for name, updates in (("whole", 6), ("parted", 3), ("parted", 6)):
        code, _, errors = run(tmp_path / name, *keys, *small, f"training.max_updates={updates}")
        assert code == 0, errors
    assert "resuming after update 3, " in errors
    assert (tmp_path / "parted" / WEIGHTS).read_bytes() == (tmp_path / "whole" / WEIGHTS).read_bytes()


@pytest.mark.slow
def test_twenty_kills_leave_no_trace(experiment: Experiment, run: Run, tmp_path: Path) -> None:
    kill_and_compare(experiment, run, tmp_path, kills=20, seed=2)


def test_an_interrupt_writes_a_checkpoint_and_says_how_to_go_on(experiment: Experiment, tmp_path: Path) -> None:
    model = tmp_path / "model"
    process = experiment.start(model, "training.max_updates=100000", "training.checkpoint_every=100000")
    wait_for_update(process, model, 3)
    assert end(process, signal.SIGINT) == 130
    errors = Path(f"{model}.errors").read_text()
    assert "trdec: interrupted after update" in errors
    assert "Run the same command again to resume." in errors
    assert len(list((model / "checkpoints").glob("update-*"))) > 0


def test_what_a_training_leaves_and_what_it_refuses(run: Run, tmp_path: Path) -> None:
    model = tmp_path / "model"
    keys = ("training.max_updates=4", "system=trdec-dep", "training.plot=true")
    code, output, errors = run(model, *keys)
    assert code == 0, errors
    assert output == f"{model / 'model.safetensors'}\n"
    assert "finished after 4 updates; best dev loss" in errors
    names = {path.name for path in model.iterdir() if not path.name.startswith(".")}
    assert names == {
        *("config.yaml", "codec", "data", "log.jsonl", "loss.png", "checkpoints", "best", "model.safetensors"),
        "manifest.json",
    }
    suits_derivations = SearchConfiguration(beam_size=10, length_power=1.5)
    assert load_saved_configuration(model).search == suits_derivations
    set_search(model, SearchConfiguration(beam_size=7, length_power=2.5))
    code, _, errors = run(model, *keys, "model.hidden_size=9")
    assert code == 1
    assert errors.startswith(f"ConfigError: {model / 'config.yaml'}: ")
    assert "model.hidden_size: 8 there, 9 now" in errors
    codec = {path.name: path.read_bytes() for path in (model / "codec").iterdir()}
    (model / "codec" / "target.spm.model").write_bytes(b"damaged")
    (model / "codec" / "codec.json").unlink()
    code, _, errors = run(model, *keys)
    assert code == 0
    assert "resuming after update 4" in errors
    assert {path.name: path.read_bytes() for path in (model / "codec").iterdir()} == codec
    assert load_saved_configuration(model).search == SearchConfiguration(beam_size=7, length_power=2.5)  # as tuned
    code, _, _ = run(model, *keys, "search.beam_size=3")
    assert code == 0
    search = load_saved_configuration(model).search
    assert search == SearchConfiguration(beam_size=3, length_power=2.5)  # but for what the recipe says


def test_another_corpus_is_refused_before_anything_is_changed(run: Run, experiment: Experiment, tmp_path: Path) -> None:
    model, keys = tmp_path / "model", ("training.max_updates=2", "system=seq2seq")
    assert run(model, *keys)[0] == 0
    before = {
        path: path.read_bytes() for path in model.rglob("*") if path.is_file() and not path.name.endswith(".lock")
    }
    for role in ("source", "target"):
        name = {"source": "vel", "target": "en"}[role]
        text = (experiment.folder / "toy" / f"train.{name}").read_text(encoding="utf-8")
        (tmp_path / f"other.{name}").write_text("".join(text.splitlines(keepends=True)[:-1]), encoding="utf-8")
    others = (f"data.train.source={tmp_path / 'other.vel'}", f"data.train.target={tmp_path / 'other.en'}")
    code, _, errors = run(model, *keys, *others)
    assert code == 1
    assert errors.startswith(f"TrainingError: {model}: ")
    assert "train.source, train.target changed. Choose another output" in errors
    after = {path: path.read_bytes() for path in model.rglob("*") if path.is_file() and not path.name.endswith(".lock")}
    assert after == before
    for path in (model / "checkpoints").rglob("state.json"):
        path.write_text(json.dumps({**json.loads(path.read_text()), "version": 1}))
    code, _, errors = run(model, *keys)
    assert code == 1
    assert "expected version 3, found 1" in errors
    assert "another output" in errors
    for path, content in before.items():
        path.write_bytes(content)
    (model / "config.yaml").unlink()
    code, _, errors = run(model, *keys)
    assert code == 1
    assert f"ConfigError: {model / 'config.yaml'}: expected the configuration of the training in this dir" in errors


def test_dev_that_was_never_finite_is_said(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = SimpleNamespace(loss=float("nan"), sums=SimpleNamespace(perplexities=lambda: {"all": 1.0}), sentences=1)
    monkeypatch.setattr(loop, "measure_dev", lambda *_: found)
    code, _, errors = run(tmp_path / "model", "training.max_updates=1", "system=seq2seq")
    assert code == 0, errors
    assert "finished after 1 updates; dev loss was never a finite number" in errors


def test_a_directory_in_which_nothing_was_trained_yet_takes_another_configuration(run: Run, tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.yaml").write_text("system: of another kind")
    code, _, errors = run(model, "training.max_updates=1")
    assert code == 0, errors


def test_a_trained_model_without_checkpoints_is_not_trained_over(run: Run, tmp_path: Path) -> None:
    model, keys = tmp_path / "model", ("training.max_updates=1", "system=seq2seq")
    assert run(model, *keys)[0] == 0
    shutil.rmtree(model / "checkpoints")
    before = {path: path.read_bytes() for path in model.rglob("*") if path.is_file()}
    for other in ((), ("seed=2",)):
        code, _, errors = run(model, *keys, *other)
        assert code == 1
        assert "found a trained model, model.safetensors, and no checkpoint" in errors
        assert "another output" in errors
        assert {path: path.read_bytes() for path in model.rglob("*") if path.is_file()} == before
    (model / WEIGHTS).unlink()
    code, _, errors = run(model, *keys, "seed=2")
    assert code == 0, errors


@pytest.mark.parametrize("part", ["encoder", "decoder"])
def test_a_mistake_in_a_network_of_ones_own_is_found_before_the_data_are_prepared(
    run: Run, tmp_path: Path, part: str
) -> None:
    code, _, errors = run(tmp_path / "model", f"system.{part}=sys:nothing")
    assert code == 1
    assert "sys:nothing: the module sys has no 'nothing'" in errors
    assert not (tmp_path / "model" / "data").exists()


def test_dev_bleu_can_decide_which_weights_are_best(run: Run, tmp_path: Path) -> None:
    keys = (
        "training.metric=bleu",
        "training.max_updates=6",
        "training.validate_every=3",
        "training.final_weights=best",
    )
    code, _, errors = run(tmp_path / "model", *keys, "system=seq2seq")
    assert code == 0, errors
    assert "finished after 6 updates; best dev BLEU " in errors
    scores = [row["bleu"] for row in log_without_time(tmp_path / "model") if row["event"] == "dev"]
    assert len(scores) == 2
    assert f"best dev BLEU {max(scores):.2f}" in errors  # type: ignore[type-var]


def test_two_trainings_in_one_directory_are_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    with (tmp_path / "model" / ".lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        code, _, errors = run(tmp_path / "model")
    assert code == 1
    assert errors.startswith("TrainingError: ")
    assert "another process is training in this directory" in errors


def test_a_file_system_without_locks_is_named(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    code, _, errors = run(tmp_path / "model")
    assert code == 1
    assert errors.startswith(f"FileError: {tmp_path / 'model' / '.lock'}: cannot be locked: No locks available. Choose")
