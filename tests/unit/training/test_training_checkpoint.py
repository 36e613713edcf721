"""Checkpoints that are damaged, foreign or half written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from support.tiny_training import PowerCut, Recorder, make_loop, remains
from trdec.errors import CheckpointError
from trdec.training.checkpoint import Checkpoint, Checkpoints, read_checkpoint


def truncate(path: Path) -> None:
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) // 2])


def flip(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 4
    path.write_bytes(raw)


def change_json(key: str, value: object) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        content = json.loads(path.read_text())
        content[key] = value
        path.write_text(json.dumps(content))

    return change


DAMAGES: list[tuple[str, Callable[[Path], None], str]] = [
    ("weights.safetensors", truncate, r"weights.safetensors: .*checksum is not the one recorded"),
    ("weights.safetensors", flip, r"weights.safetensors: .*checksum is not the one recorded"),
    ("weights.safetensors", Path.unlink, r"weights.safetensors: cannot be read: No such file"),
    ("optimiser.safetensors", flip, r"optimiser.safetensors: .*checksum is not the one recorded"),
    ("state.json", truncate, r"state.json: expected JSON, found something else"),
    ("state.json", Path.unlink, r"state.json: cannot be read: No such file"),
    ("state.json", change_json("version", 1), r"state.json: expected version 3, found 1: another version of trdec"),
    ("state.json", change_json("format", "x"), r"state.json: expected the format 'trdec checkpoint'"),
    ("state.json", change_json("state", {}), r"state.json: .*checksum is not the one recorded"),
    ("state.json", lambda path: path.write_text("[1]"), r"state.json: expected the format 'trdec checkpoint'"),
    ("state.json", lambda path: path.write_bytes(b"\xff\xfe"), r"state.json: expected JSON, found something else"),
]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("uninterrupted")
    make_loop(directory, max_updates=10).run()
    return directory


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("cut")
    with pytest.raises(PowerCut):
        make_loop(directory, Recorder(die_after=9), max_updates=10).run()  # checkpoints of updates 6 and 8
    return directory


@pytest.mark.parametrize(("name", "damage", "message"), DAMAGES, ids=range(len(DAMAGES)))
def test_a_damaged_checkpoint_is_refused_by_name_and_the_one_before_it_used(
    cut: Path, uninterrupted: Path, tmp_path: Path, name: str, damage: Callable[[Path], None], message: str
) -> None:
    shutil.copytree(cut, tmp_path, dirs_exist_ok=True)
    damage(tmp_path / "checkpoints" / "update-00000008" / name)
    recorder = Recorder()
    make_loop(tmp_path, recorder, max_updates=10).run()
    refusal, resuming = recorder.notes[:2]
    assert recorder.began == (6, 10)
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(refusal)
    assert refusal.endswith("It is now called update-00000008.unusable; training resumes from update-00000006.")
    assert resuming.startswith("resuming after update 6")
    shutil.rmtree(tmp_path / "checkpoints" / "update-00000008.unusable")
    assert remains(tmp_path) == remains(uninterrupted)


def test_a_file_with_a_checkpoints_name_is_refused(cut: Path, tmp_path: Path) -> None:
    shutil.copytree(cut, tmp_path, dirs_exist_ok=True)
    (tmp_path / "checkpoints" / "update-00000009").write_text("mine")
    recorder = Recorder()
    make_loop(tmp_path, recorder, max_updates=10).run()
    assert recorder.notes[0].split(": ")[0].endswith("update-00000009/state.json")
    assert (tmp_path / "checkpoints" / "update-00000009.unusable").read_text() == "mine"


def test_if_no_checkpoint_is_good_nothing_is_touched_and_all_are_named(cut: Path, tmp_path: Path) -> None:
    shutil.copytree(cut, tmp_path, dirs_exist_ok=True)
    for name in ("update-00000006", "update-00000008"):
        flip(tmp_path / "checkpoints" / name / "weights.safetensors")
    before = remains(tmp_path)
    message = (
        r"(?s)no checkpoint can be used:.*00000008/weights.*00000006/weights.*another output, or remove .*checkpoints"
    )
    with pytest.raises(CheckpointError, match=message):
        make_loop(tmp_path, max_updates=10).run()
    assert remains(tmp_path) == before


def test_what_a_killed_process_left_half_done_is_cleared(cut: Path, uninterrupted: Path, tmp_path: Path) -> None:
    shutil.copytree(cut, tmp_path, dirs_exist_ok=True)
    for name in (".update-00000009.0123abcd.tmp", ".update-00000003.89ef4567.tmp"):
        half = tmp_path / "checkpoints" / name
        half.mkdir()
        (half / "weights.safetensors").write_bytes(b"half")
    (tmp_path / "best" / ".update-00000008.safetensors.0123abcd.tmp").write_bytes(b"half")
    (tmp_path / "best" / "update-00000099.safetensors").write_bytes(b"kept after the last checkpoint")
    (tmp_path / ".model.safetensors.0123abcd.tmp").write_bytes(b"half")
    (tmp_path / ".loss.png.0123abcd.tmp").write_bytes(b"half")
    make_loop(tmp_path, max_updates=10).run()
    assert remains(tmp_path) == remains(uninterrupted)
    assert not list(tmp_path.rglob(".*"))


@pytest.mark.parametrize("damage", [flip, Path.unlink], ids=["damaged", "missing"])
def test_best_weights_that_are_gone_are_made_again(
    cut: Path, uninterrupted: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    shutil.copytree(cut, tmp_path, dirs_exist_ok=True)
    states = [read_checkpoint(path).state for path in Checkpoints(tmp_path / "checkpoints").paths()]
    new = {kept["file"] for kept in states[0]["best"]} - {kept["file"] for kept in states[1]["best"]}
    damage(tmp_path / "best" / min(new))  # not needed by the checkpoint before
    recorder = Recorder()
    make_loop(tmp_path, recorder, max_updates=10).run()
    assert f"best/{min(new)}: " in recorder.notes[0]
    assert recorder.notes[0].endswith(
        "It is now called update-00000008.unusable; training resumes from update-00000006."
    )
    shutil.rmtree(tmp_path / "checkpoints" / "update-00000008.unusable")
    assert remains(tmp_path) == remains(uninterrupted)


def test_best_weights_that_no_checkpoint_can_make_again_are_done_without(uninterrupted: Path, tmp_path: Path) -> None:
    shutil.copytree(uninterrupted, tmp_path, dirs_exist_ok=True)
    for path in (tmp_path / "best").iterdir():
        flip(path)
    log = (tmp_path / "log.jsonl").read_text()
    recorder = Recorder()
    outcome = make_loop(tmp_path, recorder, max_updates=10).run()
    assert "Training resumes without the weights of update " in recorder.notes[0]
    assert (tmp_path / "log.jsonl").read_text().startswith(log)
    assert outcome.best_update == 10  # all that was better is lost, and what there is was looked at again
    assert (tmp_path / "model.safetensors").read_bytes() == (
        tmp_path / "best" / "update-00000010.safetensors"
    ).read_bytes()


def test_only_the_last_two_checkpoints_are_kept(uninterrupted: Path) -> None:
    found = sorted(path.name for path in (uninterrupted / "checkpoints").iterdir())
    assert found == ["update-00000009", "update-00000010"]


def test_the_best_weights_of_the_checkpoint_before_are_still_there(tmp_path: Path) -> None:
    scores = iter([1.0, 2.0, 3.0, 4.0, 5.0])
    keys = {"metric": "bleu", "keep_best": 1, "checkpoint_every": 100, "validate_every": 2, "max_updates": 12}
    with pytest.raises(PowerCut):
        make_loop(tmp_path, Recorder(die_after=11), bleu=lambda: next(scores), **keys).run()
    flip(tmp_path / "checkpoints" / "update-00000010" / "weights.safetensors")
    make_loop(tmp_path, bleu=lambda: 0.0, **keys).run()  # nothing is better than update 8 now
    assert (tmp_path / "model.safetensors").read_bytes() == (
        tmp_path / "best" / "update-00000008.safetensors"
    ).read_bytes()


def test_a_finished_training_keeps_as_many_of_the_best_weights_as_asked_for(tmp_path: Path) -> None:
    scores = iter([1.0, 2.0, 3.0])
    keys = {"metric": "bleu", "keep_best": 1, "validate_every": 2, "max_updates": 6}
    make_loop(tmp_path, bleu=lambda: next(scores), **keys).run()
    assert [path.name for path in (tmp_path / "best").iterdir()] == ["update-00000006.safetensors"]


def test_writing_and_reading_a_checkpoint_changes_nothing(tmp_path: Path) -> None:
    state = {"update": 3, "score": 0.1 + 0.2, "text": "ö"}
    tensors = {"weights": {"w": torch.randn(3, 4)}, "empty": {}}
    path = Checkpoints(tmp_path).write(3, Checkpoint(state, tensors))
    found = read_checkpoint(path)
    assert found.state == state
    assert torch.equal(found.tensors["weights"]["w"], tensors["weights"]["w"])
    assert found.tensors["empty"] == {}


def test_nothing_in_a_checkpoint_is_pickled(uninterrupted: Path) -> None:
    names = {path.name for path in (uninterrupted / "checkpoints").rglob("*") if path.is_file()}
    assert names == {"state.json", "weights.safetensors", "optimiser.safetensors"}


def test_the_newest_checkpoint_has_the_highest_number_and_copies_are_left_alone(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    copies = [tmp_path / name for name in ("update-00000007-good", "update-00000099.bak", "update-9", "update-")]
    for copy in copies:
        copy.mkdir()
    written = [checkpoints.write(update, Checkpoint({}, {})) for update in (99_999_998, 99_999_999, 100_000_000)]
    assert checkpoints.paths() == [written[2], written[1]]
    assert all(copy.is_dir() for copy in copies)
