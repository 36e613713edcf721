"""Schedules, optimiser, stopping, sums by kind, averages: each against an independent computation."""

from __future__ import annotations

import math
import random
import threading
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from support.tiny_training import KINDS, TinyBatch, TinyBatches, TinyModel
from trdec.configuration.sections import OptimiserConfiguration, ScheduleConfiguration, TrainingConfiguration
from trdec.errors import CheckpointError, TrainingError
from trdec.model.weights import average, read_tensors, set_weights, weights_of, write_tensors
from trdec.training.checkpoint import BestWeights
from trdec.training.metrics import Kinds, measure_dev
from trdec.training.optimiser import EarlyStopping, Optimiser, make_schedule
from trdec.training.stream import Stream, stride_after
from trdec.training.trainer import advice_on_bfloat16, bfloat16_cost, choose_device


def rates(updates: range, rate: float, **keys: object) -> list[float]:
    schedule = make_schedule(ScheduleConfiguration.model_validate({"warmup_updates": 0, **keys}), rate, max_updates=100)
    return [schedule.rate(update) for update in updates]


def test_a_constant_rate_rises_and_stays() -> None:
    assert rates(range(1, 7), 0.4, kind="constant", warmup_updates=4) == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.4, 0.4])
    assert rates(range(1, 3), 0.4, kind="constant") == [0.4, 0.4]


def test_the_inverse_square_root_is_vaswanis() -> None:
    # (2017): d^-0.5 min(u^-0.5, u warmup^-1.5), scaled so that its peak is the base rate.
    found = rates(range(1, 50), 0.3, kind="inverse_square_root", warmup_updates=9)
    assert found == pytest.approx([0.3 * 3 * min(u**-0.5, u * 9**-1.5) for u in range(1, 50)])


def test_without_warm_up_the_inverse_square_root_begins_at_the_base_rate() -> None:
    assert rates(range(1, 5), 1.0, kind="inverse_square_root") == pytest.approx([u**-0.5 for u in range(1, 5)])


def test_the_cosine_is_torchs() -> None:
    parameter = nn.Parameter(torch.zeros(1))
    adam = torch.optim.Adam([parameter], lr=0.2)
    reference = torch.optim.lr_scheduler.CosineAnnealingLR(adam, T_max=90, eta_min=0.01)
    expected = []
    for _ in range(91):
        expected.append(adam.param_groups[0]["lr"])
        adam.step()
        reference.step()
    found = rates(range(10, 101), 0.2, kind="cosine", warmup_updates=10, minimum=0.01)
    assert found == pytest.approx(expected, abs=1e-9)
    assert rates(range(5, 6), 0.2, kind="cosine", warmup_updates=10) == pytest.approx([0.1])
    assert rates(range(60, 200), 0.2, kind="cosine", decay_updates=60, minimum=0.01) == pytest.approx([0.01] * 140)


def test_a_plateau_halves_whenever_dev_does_not_improve_on_its_best() -> None:
    schedule = make_schedule(ScheduleConfiguration(kind="plateau", warmup_updates=0), 0.001, 100)
    found = []
    for loss in [5.0, 4.0, 4.5, 4.2, 3.9, 3.9]:
        schedule.validated(loss)
        found.append(schedule.rate(1))
    assert found == [0.001, 0.001, 0.0005, 0.00025, 0.00025, 0.000125]


def test_a_plateau_forgives_and_has_a_floor() -> None:
    schedule = make_schedule(ScheduleConfiguration(kind="plateau", warmup_updates=0, patience=1, minimum=0.3), 1.0, 100)
    found = []
    for loss in [5.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0]:
        schedule.validated(loss)
        found.append(schedule.rate(1))
    assert found == [1.0, 1.0, 0.5, 0.5, 0.3, 0.3, 0.3]


def test_a_plateau_goes_on_from_its_state() -> None:
    one = make_schedule(ScheduleConfiguration(kind="plateau", warmup_updates=0, patience=1), 1.0, 100)
    for loss in [5.0, 6.0, 6.0, 6.0]:
        one.validated(loss)
    two = make_schedule(ScheduleConfiguration(kind="plateau", warmup_updates=0, patience=1), 1.0, 100)
    two.restore(one.state())
    for loss in [6.0, 4.9, 5.0]:
        one.validated(loss), two.validated(loss)
        assert one.rate(9) == two.rate(9)


def test_early_stopping_counts_and_resumes() -> None:
    stopping = EarlyStopping(2)
    for score, exhausted in [(3.0, False), (3.0, False), (2.0, False), (2.5, False)]:
        stopping.validated(score)
        assert stopping.exhausted is exhausted
    again = EarlyStopping(2)
    again.restore(stopping.state())
    again.validated(2.0)
    assert again.exhausted
    assert not EarlyStopping(None).exhausted


def test_clipping_is_by_the_length_of_all_gradients_together() -> None:
    one, two = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(1))
    optimiser = Optimiser([("one", one), ("two", two)], OptimiserConfiguration(clip=1.0))
    one.grad, two.grad = torch.tensor([3.0, 0.0]), torch.tensor([4.0])
    assert optimiser.step(0.001) == pytest.approx(5.0)
    moments = optimiser.tensors()
    # Adam's first moment after one step is a tenth of the clipped gradient.
    torch.testing.assert_close(moments["exp_avg.one"], torch.tensor([0.06, 0.0]), rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(moments["exp_avg.two"], torch.tensor([0.08]), rtol=1e-4, atol=1e-6)
    assert one.grad is None


def test_adam_is_the_papers() -> None:
    # Kingma and Ba (2015), algorithm 1, in Python numbers.
    weight = nn.Parameter(torch.tensor([0.5]))
    configuration = OptimiserConfiguration(beta_1=0.8, beta_2=0.95, epsilon=1e-6, clip=None)
    optimiser = Optimiser([("weight", weight)], configuration)
    expected, first, second = 0.5, 0.0, 0.0
    for update, gradient in enumerate([0.3, -2.0, 7.0], start=1):
        weight.grad = torch.tensor([gradient])
        optimiser.step(0.01 * update)
        first = 0.8 * first + 0.2 * gradient
        second = 0.95 * second + 0.05 * gradient**2
        root = math.sqrt(second / (1 - 0.95**update)) + 1e-6
        expected -= 0.01 * update * first / (1 - 0.8**update) / root
    assert float(weight.detach()) == pytest.approx(expected, rel=1e-5)


def test_the_optimiser_refuses_anothers_moments() -> None:
    optimiser = Optimiser(TinyModel().named_parameters(), OptimiserConfiguration())
    with pytest.raises(CheckpointError, match=r"no parameter for step.other"):
        optimiser.restore({"step.other": torch.zeros(())})


def test_dev_losses_by_kind_are_those_of_single_sentences() -> None:
    model, corpus = TinyModel(), TinyBatches(7, size=3)
    found = measure_dev(model, corpus, Kinds(KINDS))
    sums: dict[str, float] = defaultdict(float)
    counts: dict[str, int] = defaultdict(int)
    model.eval()
    for row in corpus.rows:
        previous = torch.tensor([len(KINDS), *row[:-1]])
        scores = model.output(model.embedding(previous)).log_softmax(dim=1)
        for step, action in enumerate(row):
            sums[KINDS[action]] -= float(scores[step, action].detach())
            counts[KINDS[action]] += 1
    assert found.sums.counts == counts
    assert found.sums.losses == pytest.approx(sums, rel=1e-5)
    assert found.loss == pytest.approx(sum(sums.values()) / 7, rel=1e-5)
    perplexities = found.sums.perplexities()
    assert perplexities["word"] == pytest.approx(math.exp(sums["word"] / counts["word"]), rel=1e-5)
    assert perplexities["all"] == pytest.approx(math.exp(sum(sums.values()) / sum(counts.values())), rel=1e-5)
    assert found.sums.words == counts["word"]


def test_evaluating_leaves_dropout_as_it_was() -> None:
    model = TinyModel()
    one = measure_dev(model, TinyBatches(5), Kinds(KINDS))
    assert model.training
    assert measure_dev(model, TinyBatches(5), Kinds(KINDS)).loss == one.loss


def test_a_stream_goes_through_the_plans_of_all_epochs() -> None:
    corpus = TinyBatches(12, size=5)
    stream = Stream(corpus)
    found = [batch.actions.tolist() for batch in (stream.batch(stream.next()) for _ in range(8))]
    epochs = [(epoch, numbers) for epoch in range(3) for numbers in corpus.plan(epoch)]
    expected = [corpus.batch(numbers, epoch).actions.tolist() for epoch, numbers in epochs][:8]
    assert found == expected
    assert (stream.epoch, stream.position) == (2, 2)


class _Watched(TinyBatches):
    """Notes which thread made what; making waits while `hold` is locked, which says what it waits for."""

    def __init__(self, count: int, size: int) -> None:
        super().__init__(count, size)
        self.made: list[tuple[int, tuple[int, ...], bool]] = []
        self.planned: list[tuple[int, bool]] = []
        self.hold = threading.Lock()

    def plan(self, epoch: int) -> list[NDArray[Any]]:
        with self.hold:
            self.planned.append((epoch, threading.current_thread() is threading.main_thread()))
            return super().plan(epoch)

    def batch(self, numbers: NDArray[Any], epoch: int) -> TinyBatch:
        self.made.append((epoch, tuple(numbers.tolist()), threading.current_thread() is threading.main_thread()))
        if 7 in numbers and epoch == 1:
            raise OSError("the disk is gone")
        return super().batch(numbers, epoch)


def _settled(stream: Stream[Any]) -> None:
    """Wait until the background has nothing left to do."""
    stream._worker.submit(int).result()


def test_batches_and_plans_are_made_while_others_are_trained_on() -> None:
    corpus = _Watched(6, size=2)
    stream = Stream(corpus)
    for _ in range(7):
        stream.batch(stream.next())
        _settled(stream)
    in_front = [(epoch, numbers) for epoch, numbers, main in corpus.made if main]
    first_of_epochs = [(epoch, tuple(corpus.plan(epoch)[0].tolist())) for epoch in range(3)]
    assert in_front == first_of_epochs  # a batch is not begun before its epoch
    assert [epoch for epoch, main in corpus.planned[:3] if not main] == [1, 2]


def test_what_was_begun_for_another_place_is_not_given() -> None:
    """A rank takes every other batch; an update is put back; a signal comes."""
    corpus = TinyBatches(20, size=2)
    stream = Stream(corpus)
    draw = random.Random(1)
    for _ in range(200):
        numbers = stream.next()
        if draw.random() < 0.3:
            continue
        expected = corpus.batch(corpus.plan(stream.epoch)[stream.position - 1], stream.epoch)
        assert torch.equal(stream.batch(numbers, draw.randint(1, 3)).actions, expected.actions)
        if draw.random() < 0.2:
            stream.epoch, stream.position = draw.randint(0, 3), draw.randint(0, 10)
    stream.close()


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("batches", [3, 4, 5, 6])
def test_a_rank_looks_ahead_to_its_own_next_batch(batches: int, ranks: int) -> None:
    for rank in range(ranks):
        own = [place for place in range(4 * batches) if place % batches % ranks == rank]
        for place, following in pairwise(own):
            assert place + stride_after(place % batches, batches, ranks, rank) == following


def test_a_batch_does_not_wait_for_the_plan_of_the_next_epoch() -> None:
    corpus = _Watched(8, size=2)
    stream = Stream(corpus)
    stream.next()
    with corpus.hold:  # planning the next epoch would take for ever
        found = [stream.batch(stream.next()).actions.shape[0] for _ in range(3)]
    assert found == [2, 2, 2]
    stream.close()


def test_an_error_in_the_background_is_raised_where_its_batch_is_due() -> None:
    corpus = _Watched(12, size=3)
    stream = Stream(corpus)
    with pytest.raises(OSError, match="disk is gone"):
        for _ in range(8):
            stream.batch(stream.next())
    assert stream.epoch == 1
    assert 7 in corpus.plan(1)[stream.position - 1]
    stream.close()


def test_an_average_is_the_mean_of_each_number() -> None:
    many = [{"w": torch.full((2,), value), "count": torch.tensor(3)} for value in (1.0, 2.0, 6.0)]
    found = average(many)
    assert found["w"].tolist() == [3.0, 3.0]
    assert found["w"].dtype == torch.float32
    assert found["count"] == 3


def test_tied_weights_are_written_once_and_stay_tied(tmp_path: Path) -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False)
            self.two.weight = self.one.weight

    model, other = Tied(), Tied()
    write_tensors(tmp_path / "tied.safetensors", weights_of(model))
    found = read_tensors(tmp_path / "tied.safetensors")
    assert set(found) == {"one.weight"}
    set_weights(other, found, "tied")
    assert torch.equal(other.two.weight, model.one.weight)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda weights: weights.pop("output.bias"), r"file: .*'output.bias' is missing"),
        (lambda weights: weights.update(new=torch.zeros(1)), r"file: the model has no 'new'"),
        (
            lambda weights: weights.update({"output.bias": torch.zeros(3)}),
            r"file: expected output.bias of shape \(7,\), found \(3,\)",
        ),
    ],
)
def test_weights_of_another_model_are_refused(change: object, message: str) -> None:
    model = TinyModel()
    weights = weights_of(model)
    change(weights)  # type: ignore[operator]
    with pytest.raises(CheckpointError, match=message):
        set_weights(model, weights, "file")


def test_files_of_weights_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    digest = write_tensors(path, {"w": torch.ones(4)})
    assert read_tensors(path, digest)["w"].tolist() == [1.0] * 4
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)
    with pytest.raises(CheckpointError, match=r"w.safetensors: .*checksum is not the one recorded"):
        read_tensors(path, digest)
    path.write_text("a text")
    with pytest.raises(CheckpointError, match=r"w.safetensors: expected a safetensors file, found something else"):
        read_tensors(path)
    with pytest.raises(CheckpointError, match=r"gone.safetensors: cannot be read: No such file"):
        read_tensors(tmp_path / "gone.safetensors", digest)


def test_weights_files_can_be_read_by_others(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("")
    write_tensors(tmp_path / "w.safetensors", {"w": torch.ones(4)})
    assert (tmp_path / "w.safetensors").stat().st_mode == plain.stat().st_mode


def test_the_best_keep_their_order_and_their_files(tmp_path: Path) -> None:
    best = BestWeights(tmp_path, 2)
    for update, score in [(1, 5.0), (2, 4.0), (3, 4.0), (4, 6.0), (5, 3.0)]:
        best.offer(update, score, {"w": torch.tensor([float(update)])})
    assert [(kept.update, kept.score) for kept in best.kept] == [(5, 3.0), (2, 4.0)]
    assert best.best()["w"].tolist() == [5.0]
    assert best.mean()["w"].tolist() == [3.5]
    best.clear(["update-00000003.safetensors"])  # a checkpoint still needs it
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == [f"update-0000000{update}.safetensors" for update in (2, 3, 5)]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is such a device here")
def test_a_device_that_is_not_there_is_refused() -> None:
    with pytest.raises(TrainingError, match=r"training.device is cuda, but torch finds no such device"):
        choose_device(TrainingConfiguration(device="cuda"))
    assert choose_device(TrainingConfiguration()).type == "cpu"


def test_bfloat16_is_advised_against_where_it_is_slower() -> None:
    assert advice_on_bfloat16(0.6) is None
    assert advice_on_bfloat16(1.1) is None  # timing is not exact
    advice = advice_on_bfloat16(3.44)
    assert advice is not None
    assert "3.4 times as long" in advice and "training.precision=float32" in advice
    assert bfloat16_cost(attempts=1) > 0


def test_each_process_of_a_machine_has_a_device_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    configuration = TrainingConfiguration(device="cuda")
    assert [choose_device(configuration, local) for local in range(2)] == [torch.device("cuda", n) for n in range(2)]
    with pytest.raises(TrainingError, match=r"process 2 of this machine .*finds 2\."):
        choose_device(configuration, 2)
