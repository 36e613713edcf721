"""Data are prepared once, again when something changed, and never by half."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from support.toy_corpora import changed_system, configuration, files
from trdec.configuration.sections import DataConfiguration, FilterConfiguration, SubwordConfiguration
from trdec.data.prepare import Preparation, lock_for_training, prepare
from trdec.data.workers import Processes
from trdec.errors import (
    FileError,
    StoredDataError,
    SubwordError,
    TrainingError,
    TreeShapeError,
    WorkerError,
)
from trdec.systems import SYSTEMS
from trdec.text import Subwords


def contents(directory: Path) -> dict[str, bytes]:
    """Every file below the directory but locks, byte for byte."""
    files = (path for path in directory.rglob("*") if path.is_file() and not path.name.endswith(".lock"))
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def identity(directory: Path) -> int:
    """Another number if the data in the model directory were made again."""
    return (directory / "data").stat().st_ino


@pytest.fixture
def folder(toy: Path, tmp_path: Path) -> Path:
    """A copy of the toy corpus that a test may change."""
    return Path(shutil.copytree(toy, tmp_path / "corpus"))


@pytest.mark.parametrize("system", ["trdec-binary", "trdec-dep"])
def test_the_result_is_the_same_for_any_number_of_workers(system: str, toy: Path, tmp_path: Path) -> None:
    prepare(configuration(toy), SYSTEMS[system], tmp_path / "one")
    prepare(configuration(toy), SYSTEMS[system], tmp_path / "two", Processes(2))
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_examples_are_what_the_codec_encodes(toy: Path, tmp_path: Path) -> None:
    made = prepare(configuration(toy), SYSTEMS["trdec-binary"], tmp_path / "model")
    lines = (toy / "train.vel").read_text().splitlines()
    targets = (toy / "train.en").read_text().splitlines()
    assert len(made.train) == 2 * len(lines)
    for number in range(0, len(made.train), 37):
        example = made.train[number]
        assert (example.sentence, example.treebank) == (number // 2, number % 2)
        assert (example.source == made.codec.encode_source(lines[example.sentence])).all()
        assert made.codec.decode(example.actions).text == targets[example.sentence]
    assert made.train.source_lengths[5] == len(made.train[5].source)
    assert made.train.step_lengths[5] == len(made.train[5].actions)


def test_a_rerun_uses_what_there_is(folder: Path, tmp_path: Path) -> None:
    data = tmp_path / "model"
    first = prepare(configuration(folder), SYSTEMS["trdec-binary"], data)
    before, was = contents(data), identity(data)
    again = prepare(configuration(folder), SYSTEMS["trdec-binary"], data)
    assert (identity(data), contents(data)) == (was, before)
    assert again.report == first.report
    moved = folder.rename(tmp_path / "moved")
    os.utime(moved / "train.en")
    prepare(configuration(moved), SYSTEMS["trdec-binary"], data)
    assert identity(data) == was


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"min_rule_count": 2}, "min_rule_count"),
        ({"filters": FilterConfiguration(max_ratio=5)}, "filters"),
        ({"target_subwords": SubwordConfiguration(size=80)}, "target_subwords"),
        ({"target_language": "en"}, "target_language"),
    ],
)
def test_another_configuration_is_prepared_again(
    changes: dict[str, object], name: str, toy: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    small = {"train": files(toy, "dev")}
    prepare(configuration(toy, **small), SYSTEMS["trdec-binary"], tmp_path / "model")
    was = identity(tmp_path / "model")
    with caplog.at_level(logging.WARNING):
        prepare(configuration(toy, **small, **changes), SYSTEMS["trdec-binary"], tmp_path / "model")
    assert identity(tmp_path / "model") != was
    assert f"data: made again, because of changes in {name}" in caplog.text


@pytest.mark.parametrize("trained", ["checkpoints", "model.safetensors"])
def test_what_a_model_was_trained_on_is_never_replaced(trained: str, toy: Path, tmp_path: Path) -> None:
    model, small = tmp_path / "model", {"train": files(toy, "dev")}
    prepare(configuration(toy, **small), SYSTEMS["seq2seq"], model)
    (model / trained).touch()
    before = contents(model)
    with pytest.raises(TrainingError, match=r"model: .* other data: target_subwords changed. Choose another output"):
        prepare(configuration(toy, **small, target_subwords=SubwordConfiguration(size=80)), SYSTEMS["seq2seq"], model)
    assert contents(model) == before
    shutil.rmtree(model / "data")
    with pytest.raises(TrainingError, match=r"model: .* another codec .* Choose another output"):
        prepare(configuration(toy, **small, target_subwords=SubwordConfiguration(size=80)), SYSTEMS["seq2seq"], model)
    prepare(configuration(toy, **small), SYSTEMS["seq2seq"], model)
    assert contents(model) == before


def test_what_another_process_is_training_on_is_never_replaced(toy: Path, tmp_path: Path) -> None:
    model, small = tmp_path / "model", {"train": files(toy, "dev")}
    other = configuration(toy, **small, target_subwords=SubwordConfiguration(size=80))
    prepare(configuration(toy, **small), SYSTEMS["seq2seq"], model)
    before = identity(model)
    with lock_for_training(model):
        prepare(configuration(toy, **small), SYSTEMS["seq2seq"], model)
        with pytest.raises(TrainingError, match=r"model: another process is training in this directory"):
            prepare(other, SYSTEMS["seq2seq"], model)
        assert identity(model) == before
        prepare(other, SYSTEMS["seq2seq"], model, is_training=True)  # which holds the lock itself
    assert identity(model) != before


def test_a_changed_file_is_prepared_again(folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = configuration(folder, train=files(folder, "dev"))
    prepare(data, SYSTEMS["trdec-binary"], tmp_path / "model")
    lines = (folder / "dev.vel").read_text().splitlines()
    stat = (folder / "dev.vel").stat()
    (folder / "dev.vel").write_text("\n".join([lines[1], lines[0], *lines[2:]]) + "\n")
    os.utime(folder / "dev.vel", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    (folder / "dev.en.con").write_text("not needed by this system")
    made = prepare(data, SYSTEMS["trdec-binary"], tmp_path / "model")
    assert "because of changes in dev.source, train.source" in caplog.text
    assert (made.train[0].source == made.codec.encode_source(lines[1])).all()


def test_another_transform_is_prepared_again(toy: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    small = configuration(toy, train=files(toy, "dev"))
    prepare(small, SYSTEMS["trdec-binary"], tmp_path / "data")
    prepare(small, changed_system("trdec-binary", transforms="wrap-words"), tmp_path / "data")
    assert "data: made again, because of changes in transforms" in caplog.text


def test_another_system_is_prepared_again(toy: Path, tmp_path: Path) -> None:
    prepare(configuration(toy), SYSTEMS["seq2seq"], tmp_path / "model")
    made = prepare(configuration(toy), SYSTEMS["trdec-binary"], tmp_path / "model")
    assert made.codec.system == SYSTEMS["trdec-binary"]
    assert not (tmp_path / "model" / "codec" / "marks.txt").exists()


@pytest.mark.parametrize(
    "name", ["data/train/actions.npy", "data/dev/prepared.json", "codec/codec.json", "data/report.json"]
)
def test_damaged_data_are_prepared_again(
    name: str, toy: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = configuration(toy, train=files(toy, "dev"))
    prepare(data, SYSTEMS["seq2seq"], tmp_path / "model")
    before = contents(tmp_path / "model")
    (tmp_path / "model" / name).write_bytes(before[name][:-20])
    prepare(data, SYSTEMS["seq2seq"], tmp_path / "model")
    assert contents(tmp_path / "model") == before
    damaged = name if name.startswith("data") else "codec"
    assert "made again" in caplog.text
    assert f"{tmp_path}/model/{damaged}" in caplog.text


def test_a_codec_that_is_not_the_datas_own_is_made_again(toy: Path, tmp_path: Path) -> None:
    data = configuration(toy, train=files(toy, "dev"))
    prepare(data, SYSTEMS["seq2seq"], tmp_path / "model")
    before = contents(tmp_path / "model")
    shutil.copy(tmp_path / "model/codec/source.spm.model", tmp_path / "model/codec/target.spm.model")
    with pytest.raises(StoredDataError, match="model/codec: "):
        Preparation.open(tmp_path / "model")
    prepare(data, SYSTEMS["seq2seq"], tmp_path / "model")
    assert contents(tmp_path / "model") == before


def test_a_directory_with_something_else_is_left_alone(toy: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "thesis.tex").write_text("mine")
    with pytest.raises(StoredDataError, match="data: expected prepared data or nothing, found something else"):
        prepare(configuration(toy), SYSTEMS["seq2seq"], tmp_path)
    assert (tmp_path / "data" / "thesis.tex").read_text() == "mine"


def test_a_killed_run_leaves_nothing_half(toy: Path, tmp_path: Path) -> None:
    script = f"""
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from support.toy_corpora import configuration
from trdec.data.prepare import prepare
from trdec.systems import SYSTEMS

def kill(task, done, total):
    if task == "encoding train":
        os.kill(os.getpid(), signal.SIGKILL)

prepare(configuration(Path({str(toy)!r})), SYSTEMS["seq2seq"], Path({str(tmp_path / "model")!r}), progress=kill)
"""
    killed = subprocess.run([sys.executable, "-c", script], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "model" / "data").exists()
    made = prepare(configuration(toy), SYSTEMS["seq2seq"], tmp_path / "model")
    assert len(made.train) == 600
    assert {path.name for path in (tmp_path / "model").iterdir()} == {".data.lock", ".lock", "codec", "data"}


def test_an_error_leaves_what_was_there(folder: Path, tmp_path: Path) -> None:
    data = configuration(folder, train=files(folder, "dev"))
    prepare(data, SYSTEMS["trdec-con"], tmp_path / "model")
    before = contents(tmp_path / "model")
    (folder / "dev.en.con").write_text("(S x)\n")
    with pytest.raises(Exception, match=r"has 60 sentences, .*dev.en.con has 1"):
        prepare(data, SYSTEMS["trdec-con"], tmp_path / "model")
    assert contents(tmp_path / "model") == before
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_label_that_means_something_else_leaves_its_sentence_out(folder: Path, tmp_path: Path) -> None:
    trees = (folder / "train.en.con").read_text().splitlines()
    trees[3] = trees[3].replace("(NP", "(pre+", 1)
    (folder / "train.en.con").write_text("\n".join(trees) + "\n")
    made = prepare(configuration(folder), SYSTEMS["trdec-con"], tmp_path / "model")
    assert len(made.train) == 599
    assert "the label 'pre+'" in json.dumps(made.report.to_json())


def test_progress_is_told(toy: Path, tmp_path: Path) -> None:
    told: dict[str, tuple[int, int]] = {}
    prepare(
        configuration(toy), SYSTEMS["lin"], tmp_path / "model", progress=lambda task, *state: told.update({task: state})
    )
    assert told == {
        "reading source sentences": (600, 600),
        "learning source subwords": (1, 1),
        "reading target sentences": (600, 600),
        "learning target subwords": (1, 1),
        "encoding train": (600, 600),
        "writing train": (600, 600),
        "encoding dev": (60, 60),
        "writing dev": (60, 60),
    }


def test_progress_ends_where_trees_are_left_out(toy: Path, tmp_path: Path) -> None:
    told: dict[str, tuple[int, int]] = {}
    data = configuration(toy, min_rule_count=3)
    made = prepare(
        data, SYSTEMS["trdec-con"], tmp_path / "model", progress=lambda task, *state: told.update({task: state})
    )
    assert len(made.train) < 600
    assert told["writing train"] == (600, 600)


def test_subwords_are_learnt_from_a_part_of_a_large_corpus(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trdec.data.make.SUBWORD_SENTENCES", 400)
    seen: list[int] = []

    def progress(task: str, done: int, _total: int) -> None:
        if task == "reading source sentences":
            seen.append(done)

    prepare(configuration(toy), SYSTEMS["seq2seq"], tmp_path / "model", progress=progress)
    assert seen == list(range(1, 600, 2))


def test_too_many_subwords_for_the_text_are_refused(toy: Path, tmp_path: Path) -> None:
    data = configuration(toy, target_subwords=SubwordConfiguration(size=50_000))
    with pytest.raises(SubwordError, match=r"train.en: cannot learn 50000 bpe pieces .*\(data.target_subwords.size\)"):
        prepare(data, SYSTEMS["seq2seq"], tmp_path / "model")


def test_trees_that_a_system_cannot_write_are_refused(toy: Path, tmp_path: Path) -> None:
    with pytest.raises(TreeShapeError, match=r"train.en.ccg, line 1: expected a flat tree of supertags"):
        prepare(configuration(toy), changed_system("ccg", transforms="wrap-words"), tmp_path / "model")


def test_an_output_that_cannot_be_written_is_named(toy: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match=r"file.*: cannot be written: (File exists|Not a directory)"):
        prepare(configuration(toy), SYSTEMS["seq2seq"], tmp_path / "file" / "data")


def test_results_come_in_the_order_of_the_shards() -> None:
    assert list(Processes(2).map(abs, range(-40, 0))) == list(range(40, 0, -1))


def test_a_worker_that_dies_is_reported() -> None:
    with pytest.raises(WorkerError, match=r"a worker process died .* Try again with fewer workers"):
        list(Processes(2).map(os._exit, [3, 3, 3]))


def test_a_preparation_of_another_version_is_refused(toy: Path, tmp_path: Path) -> None:
    prepare(configuration(toy, train=files(toy, "dev")), SYSTEMS["seq2seq"], tmp_path / "model")
    path = tmp_path / "model" / "data" / "preparation.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": 0}))
    with pytest.raises(StoredDataError, match=r"preparation.json: expected version 2 .* found version 0"):
        Preparation.open(tmp_path / "model")


def test_preparing_needs_no_torch() -> None:
    check = "import sys, trdec.data.prepare, trdec.data.workers; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_every_key_is_described() -> None:
    waiting = [DataConfiguration]
    while waiting:
        model = waiting.pop()
        for name, field in model.model_fields.items():
            assert field.description, name
            assert field.description.endswith("."), name
            if hasattr(field.annotation, "model_fields"):
                waiting.append(field.annotation)


def test_the_command_line_prints_the_report(toy: Path, tmp_path: Path, trdec) -> None:
    names = {"source": "vel", "target": "en", "constituency": "en.con"}
    splits = {split: {key: f"{split}.{ending}" for key, ending in names.items()} for split in ("train", "dev")}
    subwords = {"source_subwords": {"size": 90}, "target_subwords": {"size": 90}}
    document = {
        "system": "trdec-con",
        "output": str(tmp_path / "model"),
        "folder": str(toy),
        "data": {**splits, **subwords},
    }
    (tmp_path / "toy.yaml").write_text(json.dumps(document))  # JSON is YAML
    result = trdec("prepare", tmp_path / "toy.yaml", "--workers", 2)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("train: 600 sentence pairs, 600 examples, ")
    made = Preparation.open(tmp_path / "model")
    again = trdec("prepare", tmp_path / "toy.yaml", "--json")
    assert json.loads(again.stdout) == made.report.to_json()
    assert "nothing changed, used again" in again.stderr
    assert np.array_equal(made.train.sentences, np.arange(600))


def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    script = """
import os, signal, sys, time
from trdec.data.workers import Processes
from worker_tasks import name_self

if __name__ == "__main__":
    for _ in Processes(2).map(name_self, [sys.argv[1]] * 9):
        os.kill(os.getpid(), signal.SIGKILL)
"""
    (tmp_path / "killed.py").write_text(script)
    (tmp_path / "worker_tasks.py").write_text(
        "import os, pathlib, time\n\n\n"
        "def name_self(folder):\n    pathlib.Path(folder, f'{os.getpid()}.pid').touch()\n    time.sleep(0.2)\n"
    )
    killed = subprocess.run([sys.executable, tmp_path / "killed.py", tmp_path], cwd=tmp_path, check=False)
    assert killed.returncode == -signal.SIGKILL
    workers = {int(path.stem) for path in tmp_path.glob("*.pid")}
    assert workers
    limit = time.monotonic() + 20
    while alive := {worker for worker in workers if Path(f"/proc/{worker}").exists()}:
        assert time.monotonic() < limit, alive
        time.sleep(0.05)


def test_a_report_that_lacks_a_count_is_made_again(toy: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = configuration(toy, train=files(toy, "dev"))
    prepare(data, SYSTEMS["seq2seq"], tmp_path / "model")
    report = tmp_path / "model" / "data" / "report.json"
    before = report.read_bytes()
    content = json.loads(before)
    del content["train"]["pairs_left_out"]
    report.write_text(json.dumps(content))
    prepare(data, SYSTEMS["seq2seq"], tmp_path / "model")
    assert report.read_bytes() == before
    assert f"made again: {report}: 'pairs_left_out'" in caplog.text


def test_very_long_lines_are_learnt_from() -> None:
    alphabet = [chr(ord("a") + number) for number in range(26)]
    lines = [" ".join(alphabet), " ".join(["ß" * 50] * 100)]
    assert any("ß" in piece for piece in Subwords.train(lines, "bpe", 40).pieces)
