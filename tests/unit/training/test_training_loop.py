"""The loop, with the smallest model that can be trained."""

from __future__ import annotations

import json
import math
import os
import signal
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from support.tiny_training import (
    DEFAULTS,
    PowerCut,
    Recorder,
    TinyBatch,
    TinyBatches,
    TinyLoss,
    TinyModel,
    make_loop,
    remains,
)
from trdec.errors import CheckpointError, FileError, OutOfMemoryError, TrainingError, TrainingInterrupted
from trdec.model.weights import set_weights, weights_of
from trdec.training.interfaces import Observers
from trdec.training.observers import JsonLines

CONSTANT = {"kind": "constant", "warmup_updates": 0}


def rows_without_time(directory: Path) -> list[dict[str, Any]]:
    timed = ("seconds", "words_per_second", "actions_per_second")
    lines = (directory / "log.jsonl").read_text().splitlines()
    return [{key: value for key, value in json.loads(line).items() if key not in timed} for line in lines]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("uninterrupted")
    make_loop(directory).run()
    return directory


def test_training_lowers_the_loss(tmp_path: Path) -> None:
    recorder = Recorder()
    keys = {"max_updates": 100, "validate_every": 20, "checkpoint_every": 100}
    make_loop(tmp_path, recorder, train=TinyBatches(200), **keys).run()
    assert recorder.dev[-1]["loss"] < 0.95 * recorder.dev[0]["loss"]
    assert recorder.train[-1]["perplexity"]["word"] < recorder.train[0]["perplexity"]["word"]


@pytest.mark.parametrize("moment", range(1, 21))
def test_a_training_cut_at_any_update_ends_as_if_it_were_not(uninterrupted: Path, tmp_path: Path, moment: int) -> None:
    with pytest.raises(PowerCut):
        make_loop(tmp_path, Recorder(die_after=moment)).run()
    make_loop(tmp_path).run()
    assert remains(tmp_path) == remains(uninterrupted)
    assert rows_without_time(tmp_path) == rows_without_time(uninterrupted)


def test_a_training_cut_many_times_ends_as_if_it_were_not(uninterrupted: Path, tmp_path: Path) -> None:
    for moment in (2, 5, 5, 6, 9, 11, 14, 17, 19):
        with pytest.raises(PowerCut):
            make_loop(tmp_path, Recorder(die_after=moment)).run()
    make_loop(tmp_path).run()
    assert remains(tmp_path) == remains(uninterrupted)
    assert rows_without_time(tmp_path) == rows_without_time(uninterrupted)


def test_a_fallen_rate_and_lost_patience_are_remembered(tmp_path: Path) -> None:
    # A rate far too high: dev gets worse, the rate falls, patience runs out.
    keys = {"optimiser": {"learning_rate": 1.0}, "validate_every": 2, "early_stopping": 6, "max_updates": 30}
    whole = make_loop(tmp_path / "whole", **keys).run()
    rates = [row["learning_rate"] for row in rows_without_time(tmp_path / "whole") if row["event"] == "dev"]
    assert min(rates) < 1.0
    assert whole.stopped_early
    for moment in range(3, whole.update, 4):
        with pytest.raises(PowerCut):
            make_loop(tmp_path / "cut", Recorder(die_after=moment), **keys).run()
    assert make_loop(tmp_path / "cut", **keys).run().update == whole.update
    assert remains(tmp_path / "cut") == remains(tmp_path / "whole")


@pytest.mark.parametrize("kind", ["plateau", "inverse_square_root", "constant"])
def test_raising_max_updates_gives_what_a_longer_training_gives(tmp_path: Path, kind: str) -> None:
    keys = {"schedule": {"kind": kind, "warmup_updates": 3}, "validate_every": 4, "keep_best": 50}
    keys["optimiser"] = {"learning_rate": 1.0}  # so high that dev gets worse and the rate falls
    make_loop(tmp_path / "grown", max_updates=10, **keys).run()  # its last look at dev is outside the rhythm
    make_loop(tmp_path / "grown", max_updates=20, **keys).run()
    make_loop(tmp_path / "long", max_updates=20, **keys).run()
    name = Path("checkpoints") / "update-00000020" / "weights.safetensors"
    assert (tmp_path / "grown" / name).read_bytes() == (tmp_path / "long" / name).read_bytes()


def test_a_finished_training_that_is_run_again_changes_nothing(tmp_path: Path) -> None:
    first = make_loop(tmp_path).run()
    before, log = remains(tmp_path), (tmp_path / "log.jsonl").read_bytes()
    assert make_loop(tmp_path).run() == first
    assert remains(tmp_path) == before
    assert (tmp_path / "log.jsonl").read_bytes() == log


def test_the_seed_decides_the_weights(tmp_path: Path) -> None:
    make_loop(tmp_path / "one").run()
    make_loop(tmp_path / "two").run()
    make_loop(tmp_path / "three", train=TinyBatches(seed=5)).run()
    assert remains(tmp_path / "one") == remains(tmp_path / "two") != remains(tmp_path / "three")


def test_two_half_batches_accumulated_are_one_whole_batch(tmp_path: Path) -> None:
    class InOrder(TinyBatches):
        def plan(self, epoch: int) -> Any:  # noqa: ARG002
            order = np.arange(len(self.rows))
            return [order[start : start + self.size] for start in range(0, len(order), self.size)]

    halves = make_loop(tmp_path / "halves", model=TinyModel(dropout=0), train=InOrder(12, 3), accumulate=2)
    whole = make_loop(tmp_path / "whole", model=TinyModel(dropout=0), train=InOrder(12, 6))
    set_weights(halves.model, weights_of(whole.model), "whole")
    halves.run(), whole.run()
    for name, tensor in weights_of(whole.model).items():
        torch.testing.assert_close(weights_of(halves.model)[name], tensor, rtol=1e-4, atol=1e-6)


def test_the_first_update_is_adams_on_the_loss_divided_by_sentences(tmp_path: Path) -> None:
    loop = make_loop(tmp_path, model=TinyModel(dropout=0), max_updates=1, schedule=CONSTANT)
    reference = TinyModel(dropout=0)
    reference.load_state_dict(loop.model.state_dict())
    batches = TinyBatches()
    batch = batches.batch(batches.plan(0)[0], 0)
    (reference.loss(batch, 0.0).total / batch.num_sentences).backward()
    gradients = [weight.grad for weight in reference.parameters()]
    length = math.sqrt(sum(float((gradient**2).sum()) for gradient in gradients if gradient is not None))
    loop.run()
    for (name, after), before in zip(loop.model.named_parameters(), reference.parameters(), strict=True):
        assert before.grad is not None
        gradient = before.grad * min(1, 5 / length)  # as in Adam's first step, where both moments are the gradient's
        expected = before.detach() - 0.05 * gradient / (gradient.abs() + 1e-8)
        torch.testing.assert_close(after.detach(), expected, msg=name)
    assert json.loads((tmp_path / "log.jsonl").read_text().splitlines()[0])["gradient_norm"] == pytest.approx(length)


class Sick(TinyModel):
    """Has a loss that is not finite, or gradients that are not, at some batches."""

    def __init__(self, losses: tuple[int, ...] = (), gradients: tuple[int, ...] = ()) -> None:
        super().__init__(dropout=0)
        self.sick = losses, gradients
        self.seen = 0

    def loss(self, batch: TinyBatch, label_smoothing: float) -> TinyLoss:
        found = super().loss(batch, label_smoothing)
        if not self.training:
            return found
        self.seen += 1
        if self.seen in self.sick[0]:
            return TinyLoss(found.total * math.nan, found.negative_log_probs)
        if self.seen in self.sick[1]:  # the root's slope at zero is infinite, its value is not
            return TinyLoss(found.total + (self.output.weight.sum() * 0).sqrt(), found.negative_log_probs)
        return found


def test_a_batch_that_is_not_finite_is_skipped_and_counted(tmp_path: Path) -> None:
    recorder = Recorder()
    outcome = make_loop(tmp_path, recorder, model=Sick((2, 5), (9,))).run()
    assert outcome.skipped == 3
    assert recorder.train[-1]["skipped"] == 3
    assert "a batch was skipped (epoch 0, batch 2, after update 1): the loss is nan." in recorder.notes
    assert any("gradient norm is nan" in note or "gradient norm is inf" in note for note in recorder.notes)
    assert all(tensor.isfinite().all() for tensor in load_file(tmp_path / "model.safetensors").values())


def test_all_batches_of_a_skipped_update_are_counted(tmp_path: Path) -> None:
    recorder = Recorder()
    outcome = make_loop(tmp_path, recorder, model=Sick((2,), ()), accumulate=2, max_updates=3).run()
    assert outcome.skipped == 2
    expected = "the 2 batches of an update were skipped, the last (epoch 0, batch 2, after update 0): the loss is nan."
    assert expected in recorder.notes


def test_a_log_that_a_full_disk_cut_short_can_be_drawn(tmp_path: Path) -> None:
    log = JsonLines(tmp_path / "log.jsonl")
    log.write({"event": "train", "update": 1})
    with log.path.open("a", encoding="utf-8") as stream:
        stream.write('{"event": "tra')
    assert list(log.rows()) == [{"event": "train", "update": 1}]


def test_a_display_that_began_ends_when_another_cannot_begin(tmp_path: Path) -> None:
    class Refusing(Recorder):
        def begin(self, update: int, max_updates: int) -> None:  # noqa: ARG002
            raise FileError("no room")

    recorder = Recorder()
    loop = make_loop(tmp_path)
    loop.observer = Observers([recorder, Refusing()])
    with pytest.raises(FileError, match="no room"):
        loop.run()
    assert recorder.ended


def test_skipping_leaves_the_weights_alone(tmp_path: Path) -> None:
    loop = make_loop(tmp_path, model=Sick(tuple(range(1, 6)), tuple(range(6, 99))), max_skipped=9)
    before = {name: tensor.clone() for name, tensor in weights_of(loop.model).items()}
    message = r"9 updates in a row were skipped, .* gradient norm is (nan|inf) \(epoch 2.*training\.max_skipped is 9"
    with pytest.raises(TrainingError, match=message):
        loop.run()
    assert all(torch.equal(before[name], tensor) for name, tensor in weights_of(loop.model).items())


def test_what_ends_a_training_is_skipped_updates_however_many_batches_they_have(tmp_path: Path) -> None:
    keys = {"accumulate": 10, "max_skipped": 2, "max_updates": 3}
    outcome = make_loop(tmp_path / "once", model=Sick((), (5,)), **keys).run()
    assert (outcome.update, outcome.skipped) == (3, 10)
    with pytest.raises(TrainingError, match="2 updates in a row were skipped"):
        make_loop(tmp_path / "twice", model=Sick((), (5, 15)), **keys).run()


def test_a_finite_batch_between_ends_the_row_of_skipped_ones(tmp_path: Path) -> None:
    outcome = make_loop(tmp_path, model=Sick((1, 2, 4, 5, 7, 8)), max_skipped=3).run()
    assert outcome.skipped == 6


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_writes_a_checkpoint_and_says_how_to_go_on(
    uninterrupted: Path, tmp_path: Path, number: signal.Signals
) -> None:
    def send(update: int) -> None:
        if update == 7:
            os.kill(os.getpid(), number)

    message = (
        r"interrupted after update 7 of 20; a checkpoint is in .*checkpoints. Run the same command again to resume."
    )
    before = signal.getsignal(number)
    with pytest.raises(TrainingInterrupted, match=message) as raised:
        make_loop(tmp_path, Recorder(on_advance=send)).run()
    assert raised.value.signal_number == number
    assert signal.getsignal(number) == before
    assert (tmp_path / "checkpoints" / "update-00000007").is_dir()
    make_loop(tmp_path).run()
    assert (tmp_path / "model.safetensors").read_bytes() == (uninterrupted / "model.safetensors").read_bytes()


class Signalling(TinyBatches):
    """Sends a signal when its `moment`th batch is about to be trained on, and counts the batches that are in use."""

    def __init__(self, moment: int, number: signal.Signals = signal.SIGTERM) -> None:
        super().__init__()
        self.moment = moment
        self.number = number
        self.used = 0
        self.most_alive = 0
        self._made: list[weakref.ref[TinyBatch]] = []

    def batch(self, numbers: Any, epoch: int = 0) -> TinyBatch:
        made = super().batch(numbers, epoch)
        return _Noted(made.actions, made.padding, self)

    def use(self, batch: TinyBatch) -> TinyBatch:
        self.used += 1
        if self.used == self.moment:
            os.kill(os.getpid(), self.number)
        self._made.append(weakref.ref(batch))
        self.most_alive = max(self.most_alive, sum(made() is not None for made in self._made))
        return batch


@dataclass(frozen=True)
class _Noted(TinyBatch):
    batches: Signalling

    def to(self, device: torch.device | str) -> TinyBatch:  # noqa: ARG002
        return self.batches.use(self)


@pytest.mark.parametrize("moment", [1, 2, 3, 19, 20, 21])
def test_a_signal_between_the_batches_of_an_update_puts_them_back(tmp_path: Path, moment: int) -> None:
    keys = {"accumulate": 3}
    make_loop(tmp_path / "whole", **keys).run()
    batches = Signalling(moment)
    finished = (moment - 1) // 3 + (moment % 3 == 0)
    with pytest.raises(TrainingInterrupted, match=f"interrupted after update {finished} of 20"):
        make_loop(tmp_path / "cut", train=batches, **keys).run()
    assert batches.used == moment
    make_loop(tmp_path / "cut", **keys).run()
    assert remains(tmp_path / "cut") == remains(tmp_path / "whole")
    assert rows_without_time(tmp_path / "cut") == rows_without_time(tmp_path / "whole")


def test_an_update_of_countless_batches_holds_one_at_a_time_and_ends_at_a_signal(tmp_path: Path) -> None:
    batches = Signalling(50)
    with pytest.raises(TrainingInterrupted, match="interrupted after update 0"):
        make_loop(tmp_path, train=batches, accumulate=10**8).run()
    assert batches.used == 50
    assert batches.most_alive <= 2  # the one before is let go when the next is used


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 4096 bytes."),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
    ],
)
def test_too_little_memory_says_what_to_change_and_loses_nothing(tmp_path: Path, error: Exception) -> None:
    class Hungry(TinyModel):
        calls = 0

        def loss(self, batch: TinyBatch, label_smoothing: float) -> TinyLoss:
            Hungry.calls += 1
            if Hungry.calls == 9:
                raise error
            return super().loss(batch, label_smoothing)

    def seeded(model: type[TinyModel]) -> TinyModel:
        torch.manual_seed(1)
        return model()

    with pytest.raises(OutOfMemoryError, match=r"not enough memory.*batches\.batch_size.*max_source_length"):
        make_loop(tmp_path / "cut", model=seeded(Hungry)).run()
    make_loop(tmp_path / "cut").run()
    make_loop(tmp_path / "whole", model=seeded(TinyModel)).run()
    assert remains(tmp_path / "cut") == remains(tmp_path / "whole")


def test_other_errors_are_not_taken_for_too_little_memory(tmp_path: Path) -> None:
    class Wrong(TinyModel):
        def loss(self, batch: TinyBatch, label_smoothing: float) -> TinyLoss:  # noqa: ARG002
            raise RuntimeError("sizes do not match")

    with pytest.raises(RuntimeError, match="sizes do not match"):
        make_loop(tmp_path, model=Wrong()).run()


def test_fewer_updates_than_were_done_before_the_first_look_at_dev_end_it_well(tmp_path: Path) -> None:
    def send(update: int) -> None:
        if update == 7:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(TrainingInterrupted):
        make_loop(tmp_path, Recorder(on_advance=send), validate_every=10).run()
    outcome = make_loop(tmp_path, validate_every=10, max_updates=5).run()
    assert (outcome.update, outcome.best_update) == (7, 7)
    assert outcome.weights.exists()


def test_a_second_interrupt_ends_at_once(tmp_path: Path) -> None:
    def send(update: int) -> None:  # noqa: ARG001
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        make_loop(tmp_path, Recorder(on_advance=send)).run()


def test_early_stopping_counts_looks_at_dev_without_improvement(tmp_path: Path) -> None:
    scores = iter([10.0, 30.0, 20.0, 30.0, 29.0, 99.0])
    outcome = make_loop(
        tmp_path, metric="bleu", bleu=lambda: next(scores), early_stopping=3, validate_every=1, max_updates=50
    ).run()
    assert (outcome.update, outcome.best_update, outcome.best_score) == (5, 2, -30.0)
    assert outcome.stopped_early


def _seen(directory: Path) -> int:
    return sum(row["sentences"] for row in rows_without_time(directory) if row["event"] == "train")


def test_the_log_has_every_update_of_a_training_that_stops_early(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"metric": "bleu", "bleu": lambda: 1.0, "validate_every": 2, "max_updates": 12}
    assert make_loop(tmp_path / "one", early_stopping=2, **keys).run().update == 6  # a line of the log has 5 updates
    rows = rows_without_time(tmp_path / "one")
    assert [row["update"] for row in rows if row["event"] == "train"] == [5, 6]
    assert _seen(tmp_path / "one") == 6 * 3  # sentences in a batch
    log = (tmp_path / "one" / "log.jsonl").read_bytes()
    make_loop(tmp_path / "one", early_stopping=2, **keys).run()
    assert (tmp_path / "one" / "log.jsonl").read_bytes() == log
    # With more patience it goes on, and its log is that of a training that had it from the beginning.
    for name in ("one", "patient"):
        assert make_loop(tmp_path / name, early_stopping=4, **keys).run().update == 10
    assert rows_without_time(tmp_path / "one") == rows_without_time(tmp_path / "patient")


def test_the_log_has_every_update_if_fewer_are_asked_for_later(tmp_path: Path) -> None:
    def stop(update: int) -> None:
        if update == 7:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(TrainingInterrupted):
        make_loop(tmp_path, Recorder(on_advance=stop)).run()
    assert make_loop(tmp_path, max_updates=6).run().update == 7
    assert _seen(tmp_path) == 7 * 3


def test_patience_can_be_raised_to_go_on(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"metric": "bleu", "bleu": lambda: 1.0, "validate_every": 1, "max_updates": 8}
    assert make_loop(tmp_path, early_stopping=2, **keys).run().update == 3
    assert make_loop(tmp_path, early_stopping=4, **keys).run().update == 5


def test_dev_bleu_without_a_translator_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"training.metric is bleu, but .* Set training.metric=loss."):
        make_loop(tmp_path, metric="bleu")


def test_the_best_weights_are_those_of_the_best_look(tmp_path: Path) -> None:
    scores = {4: 5.0, 8: 9.0, 12: 7.0, 16: 1.0, 20: 8.0}
    seen: dict[int, dict[str, torch.Tensor]] = {}

    def bleu() -> float:
        seen[loop.update] = {name: tensor.clone() for name, tensor in weights_of(loop.model).items()}
        return scores[loop.update]

    loop = make_loop(tmp_path, metric="bleu", bleu=bleu, final_weights="average", keep_best=3)
    loop.run()
    assert [kept.update for kept in loop.best.kept] == [8, 20, 12]
    kept = [seen[update] for update in (8, 12, 20)]
    for name, tensor in load_file(tmp_path / "model.safetensors").items():
        torch.testing.assert_close(tensor, sum(weights[name] for weights in kept) / 3)
    for update in (8, 12, 20):
        found = load_file(tmp_path / "best" / f"update-{update:08d}.safetensors")
        assert all(torch.equal(found[name], tensor) for name, tensor in seen[update].items())


@pytest.mark.parametrize(("final", "update"), [("best", 8), ("last", 20)])
def test_the_final_weights_are_the_ones_asked_for(tmp_path: Path, final: str, update: int) -> None:
    seen = {}

    def bleu() -> float:
        seen[loop.update] = {name: tensor.clone() for name, tensor in weights_of(loop.model).items()}
        return float(loop.update == 8)

    loop = make_loop(tmp_path, metric="bleu", bleu=bleu, final_weights=final)
    loop.run()
    found = load_file(tmp_path / "model.safetensors")
    assert all(torch.equal(found[name], tensor) for name, tensor in seen[update].items())


def test_looking_at_dev_more_often_does_not_change_the_weights(tmp_path: Path) -> None:
    keys = {"schedule": CONSTANT, "final_weights": "last"}
    make_loop(tmp_path / "often", validate_every=1, bleu=lambda: float(torch.rand(())), **keys).run()
    make_loop(tmp_path / "rarely", validate_every=20, **keys).run()
    often, rarely = (tmp_path / name / "model.safetensors" for name in ("often", "rarely"))
    assert often.read_bytes() == rarely.read_bytes()


def test_other_data_are_refused(tmp_path: Path) -> None:
    make_loop(tmp_path).run()
    before = remains(tmp_path)
    with pytest.raises(CheckpointError, match="checkpoint of update 20 was trained on other data"):
        make_loop(tmp_path, fingerprint="other").run()
    assert remains(tmp_path) == before


def test_another_model_is_refused(tmp_path: Path) -> None:
    make_loop(tmp_path).run()
    message = r"the checkpoint of update 20: expected embedding.weight of shape \(8, 6\), found \(8, 5\)"
    with pytest.raises(CheckpointError, match=message):
        make_loop(tmp_path, model=TinyModel(size=6)).run()


def test_an_empty_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"expected training examples, found none in epoch 0\..*weight"):
        make_loop(tmp_path, train=TinyBatches(0)).run()
    with pytest.raises(TrainingError, match="expected dev examples, found none"):
        make_loop(tmp_path / "dev", dev=TinyBatches(0)).run()


def test_the_log_has_what_is_promised(uninterrupted: Path) -> None:
    rows = [json.loads(line) for line in (uninterrupted / "log.jsonl").read_text().splitlines()]
    train = [row for row in rows if row["event"] == "train"]
    assert [row["update"] for row in train] == [5, 10, 15, 20]
    assert [row["update"] for row in rows if row["event"] == "dev"] == [4, 8, 12, 16, 20]
    speed = {"words_per_second", "actions_per_second", "seconds"}
    assert set(train[0]) == speed | {
        *("event", "update", "epoch", "sentences", "actions"),
        *("loss", "perplexity", "learning_rate", "gradient_norm", "skipped"),
    }
    assert set(train[0]["perplexity"]) == {"all", "rule", "word", "eop", "eos"}
    assert train[-1]["epoch"] == 4  # of 4 batches each


def test_label_smoothing_changes_the_loss_but_not_the_perplexity_reported(tmp_path: Path) -> None:
    plain, smooth = Recorder(), Recorder()
    make_loop(tmp_path / "plain", plain, max_updates=1, log_every=1).run()
    make_loop(tmp_path / "smooth", smooth, max_updates=1, log_every=1, label_smoothing=0.5).run()
    assert plain.train[0]["loss"] != smooth.train[0]["loss"]
    assert plain.train[0]["perplexity"] == smooth.train[0]["perplexity"]


def test_bfloat16_trains_float32_weights(tmp_path: Path) -> None:
    recorder = Recorder()
    loop = make_loop(tmp_path, recorder, precision="bfloat16", max_updates=40)
    loop.run()
    assert recorder.dev[-1]["loss"] < recorder.dev[0]["loss"]
    assert {tensor.dtype for tensor in weights_of(loop.model).values()} == {torch.float32}


def test_defaults_used_here_are_known_keys() -> None:
    from trdec.configuration.sections import TrainingConfiguration

    assert set(DEFAULTS) <= set(TrainingConfiguration.model_fields)
