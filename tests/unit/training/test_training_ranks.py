"""Training on several processes: the same training, and one end for all."""

from __future__ import annotations

import json
import math
import os
import signal
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import distributed

from support.rank_processes import SickAt, finish, said, send, start_ranks, wait_for_checkpoint
from support.tiny_training import Recorder, TinyBatch, TinyLoss, TinyModel, make_loop
from trdec.configuration import Configuration
from trdec.corpora.toy.generate import write_corpus
from trdec.errors import TrainingError, TrainingInterrupted, UsageError
from trdec.training.distributed import ALONE, Alone, fresh_part, join_ranks
from trdec.training.trainer import check_ranks_agree, train

KEYS: dict[str, Any] = {"accumulate": 5, "max_updates": 12, "schedule": {"kind": "constant", "warmup_updates": 0}}
"""Five batches: two ranks have unequal shares, and epochs of four batches end within updates."""

CLOSE = 1e-5
"""How far the weights of one and of several ranks may be apart after these updates, relative to their size."""


def run(directory: Path, count: int, **keys: Any) -> dict[str, torch.Tensor]:
    """The final weights of a training on so many ranks."""
    if count == 1:
        make_loop(directory, **KEYS | keys).run()
    else:
        processes = start_ranks(directory, count, **KEYS | keys)
        assert finish(processes) == [0] * count, said(directory, 0)
    return load_file(directory / "checkpoints" / f"update-{(KEYS | keys)['max_updates']:08d}" / "weights.safetensors")


def assert_same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        torch.testing.assert_close(other[name], tensor, rtol=CLOSE, atol=CLOSE, msg=name)


def rows(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "log.jsonl").read_text().splitlines()]


def test_restarted_ranks_do_not_meet_those_that_were_killed() -> None:
    store = distributed.HashStore()
    names: list[str] = []
    for slow in (1, 0, 1):  # what the attempt before wrote is still there when the first of two ranks looks
        with ThreadPoolExecutor() as pool:
            early = pool.submit(fresh_part, store, 1 - slow, 2, 60)
            time.sleep(0.1)
            late = pool.submit(fresh_part, store, slow, 2, 60)
            assert early.result() == late.result()
        names.append(early.result())
    assert len(set(names)) == 3
    with pytest.raises(RuntimeError, match="rank 0 did not arrive"):
        fresh_part(store, 1, 2, 0.1)


def test_two_ranks_train_as_one_and_either_resumes_the_other(tmp_path: Path) -> None:
    alone = run(tmp_path / "alone", 1)
    together = run(tmp_path / "together", 2)
    assert_same(alone, together)
    outcomes = [json.loads(said(tmp_path / "together", rank)) for rank in range(2)]
    assert outcomes[0] == outcomes[1]
    for one, other in zip(rows(tmp_path / "alone"), rows(tmp_path / "together"), strict=True):
        assert one.keys() == other.keys()
        for key in ("event", "update", "epoch", "sentences", "actions", "best", "skipped", "learning_rate"):
            assert one.get(key) == other.get(key)
        assert one["loss"] == pytest.approx(other["loss"], rel=CLOSE)
    for first, second in ((1, 2), (2, 1)):
        directory = tmp_path / f"{first} then {second}"
        run(directory, first, max_updates=7)
        assert_same(alone, run(directory, second))


def test_ranks_resume_with_the_same_bits(tmp_path: Path) -> None:
    whole = run(tmp_path / "whole", 2)
    run(tmp_path / "cut", 2, max_updates=5)
    again = run(tmp_path / "cut", 2)
    assert all(torch.equal(tensor, again[name]) for name, tensor in whole.items())


def test_ranks_skip_the_same_batches_as_one(tmp_path: Path) -> None:
    torch.manual_seed(1)
    outcome = make_loop(tmp_path / "alone", model=SickAt(3), **KEYS | {"max_skipped": 99}).run()
    assert outcome.skipped
    processes = start_ranks(tmp_path / "together", 2, sick=3, **KEYS | {"max_skipped": 99})
    assert finish(processes) == [0, 0]
    assert json.loads(said(tmp_path / "together", 1))[3] == outcome.skipped
    name = Path("checkpoints") / "update-00000012" / "weights.safetensors"
    assert_same(load_file(tmp_path / "alone" / name), load_file(tmp_path / "together" / name))


@pytest.mark.slow
def test_four_ranks_train_as_one(tmp_path: Path) -> None:
    assert_same(run(tmp_path / "alone", 1), run(tmp_path / "together", 4))


def test_a_signal_to_one_rank_stops_all_after_the_same_update(tmp_path: Path) -> None:
    processes = start_ranks(tmp_path / "model", 2, pause=0.01, accumulate=2, max_updates=10**6)
    wait_for_checkpoint(tmp_path / "model")
    send(processes[1], signal.SIGTERM)
    assert finish(processes) == [1, 1]
    first, second = (said(tmp_path / "model", rank) for rank in range(2))
    assert first.startswith("TrainingInterrupted: interrupted after update ")
    assert first == second
    assert (tmp_path / "model" / "checkpoints" / f"update-{int(first.split()[4]):08d}").is_dir()


@pytest.mark.parametrize("lost", [0, 1])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_lost_rank_ends_the_others_in_time_with_its_name(tmp_path: Path, lost: int, number: signal.Signals) -> None:
    keys = {"accumulate": 2, "max_updates": 10**6}
    processes = start_ranks(tmp_path / "model", 2, limit=2.0, pause=0.01, **keys)
    wait_for_checkpoint(tmp_path / "model")
    send(processes[lost], number)
    began = time.monotonic()
    other = processes[1 - lost]
    other.join(20)
    processes[lost].kill()  # a stopped process would wait for ever
    other.kill()
    assert other.exitcode == 1
    assert time.monotonic() - began < 10
    message = said(tmp_path / "model", 1 - lost)
    assert message.startswith("LostRankError: ")
    # The first rank of these processes has the store, which is lost with it.
    assert ("rank 0, which holds" if lost == 0 else f"rank 1 (process {processes[1].pid} on ") in message
    assert "training.rank_timeout" in message
    assert "resumes" in message


def test_a_rank_that_fails_tells_the_others_why(tmp_path: Path) -> None:
    processes = start_ranks(tmp_path / "model", 2, limit=5.0, accumulate=1)
    assert finish(processes) == [1, 1]
    assert any("training.accumulate is 1" in said(tmp_path / "model", rank) for rank in range(2))


def test_more_ranks_than_batches_of_an_update_are_refused(tmp_path: Path) -> None:
    class Three(Alone):
        count = 3

    with pytest.raises(TrainingError, match=r"3 processes.*training\.accumulate is 2.*training\.accumulate=3"):
        make_loop(tmp_path, ranks=Three(), accumulate=2)


def test_a_process_that_is_not_told_of_others_trains_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    with join_ranks(1.0) as ranks:
        assert ranks is ALONE


@pytest.mark.parametrize("name", ["WORLD_SIZE", "RANK", "LOCAL_RANK"])
def test_a_variable_that_is_no_number_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for variable in ("WORLD_SIZE", "RANK", "LOCAL_RANK"):
        monkeypatch.setenv(variable, "two" if variable == name else "2")
    with pytest.raises(UsageError, match=f"^{name}: expected a number.*found 'two'"), join_ranks(1.0):
        pass


def test_ranks_begin_where_the_first_does_even_before_the_first_update(tmp_path: Path) -> None:
    class Stopped(TinyModel):
        def loss(self, batch: TinyBatch, label_smoothing: float) -> TinyLoss:
            os.kill(os.getpid(), signal.SIGTERM)
            found = super().loss(batch, label_smoothing)
            return TinyLoss(found.total * math.nan, found.negative_log_probs)

    with pytest.raises(TrainingInterrupted, match="after update 0"):
        make_loop(tmp_path / "model", model=Stopped(), **KEYS).run()
    assert finish(start_ranks(tmp_path / "model", 2, **KEYS)) == [0, 0]
    skipped = [json.loads(said(tmp_path / "model", rank))[3] for rank in range(2)]
    assert skipped == [1, 1]


class Pair(Alone):
    """Two ranks, of which the other has the numbers that this one remembers from another training."""

    count = 2

    def __init__(self, other: list[float] | None = None) -> None:
        self.other = other
        self.given: list[float] = []

    def gather(self, values: Sequence[float]) -> list[list[float]]:
        self.given = list(values)
        return [self.given, self.given if self.other is None else self.other]


def test_ranks_that_do_not_agree_are_refused_by_the_key(tmp_path: Path) -> None:
    folder = tmp_path / "toy"
    write_corpus(folder, 60, 1)
    files = {"source": "train.vel", "target": "train.en"}
    data = {"train": files, "dev": files, "source_subwords": {"size": 120}, "target_subwords": {"size": 120}}
    keys = {
        "system": "seq2seq",
        "folder": folder,
        "output": tmp_path / "model",
        "data": data,
        "training": {"accumulate": 2},
    }

    def configured(**changes: Any) -> Configuration:
        return Configuration.model_validate(keys | changes)

    def numbers(configuration: Configuration, fingerprint: str = "same") -> list[float]:
        pair = Pair()
        check_ranks_agree(configuration, fingerprint, pair)
        return pair.given

    own = {"training": {"accumulate": 2, "threads": 2, "device": "cpu", "rank_timeout": 9, "start_from": "parent"}}
    check_ranks_agree(configured(), "same", Pair(numbers(configured(folder=tmp_path, **own))))
    for changes, name in (
        ({"seed": 2}, "seed"),
        ({"training": {"accumulate": 2, "checkpoint_every": 3}}, r"training\.checkpoint_every"),
        ({"data": data | {"further": [files]}}, "data"),
    ):
        with pytest.raises(TrainingError, match=f"2 processes .* do not agree on {name}. "):
            check_ranks_agree(configured(), "same", Pair(numbers(configured(**changes))))
    with pytest.raises(TrainingError, match="do not agree on the prepared data"):
        check_ranks_agree(configured(), "same", Pair(numbers(configured(), "other")))
    with pytest.raises(TrainingError, match="do not agree on seed, the prepared data"):
        train(configured(), ranks=Pair(numbers(configured(seed=2))))
    assert not (tmp_path / "model" / "checkpoints").exists()


def test_dropout_depends_on_seed_update_and_batch_alone(tmp_path: Path) -> None:
    def after_drawing(draws: int) -> dict[str, torch.Tensor]:
        loop = make_loop(tmp_path / str(draws), Recorder(on_advance=lambda _: torch.rand(draws)), **KEYS)
        loop.run()
        return load_file(tmp_path / str(draws) / "model.safetensors")

    one, other = after_drawing(1), after_drawing(7)
    assert all(torch.equal(tensor, other[name]) for name, tensor in one.items())
    without = make_loop(tmp_path / "without", model=TinyModel(dropout=0), **KEYS)
    without.run()
    weights = load_file(tmp_path / "without" / "model.safetensors")
    assert not torch.equal(weights["output.weight"], one["output.weight"])
