"""Batches hold every example once an epoch, pad little, and give back what went in."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trdec.configuration.sections import BatchConfiguration
from trdec.data.batch import Batcher, collate, unbatch
from trdec.data.store import Example, Examples, Prepared, PreparedWriter

lengths = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 60)), min_size=1, max_size=60)
configurations = st.builds(
    BatchConfiguration, batch_type=st.sampled_from(["actions", "sentences"]), batch_size=st.integers(1, 200)
)
seeds = st.integers(0, 2**63 - 1)


def examples_of(sizes: list[tuple[int, int]], seed: int = 0) -> list[Example]:
    """Examples of these source lengths and numbers of steps, filled at random."""
    generator = np.random.default_rng(seed)
    return [
        Example(
            generator.integers(0, 50, pieces, dtype=np.int32),
            generator.integers(0, 50, steps, dtype=np.int32),
            number,
            0,
        )
        for number, (pieces, steps) in enumerate(sizes)
    ]


def steps_of(actions: np.ndarray) -> np.ndarray:
    """Steps that tell which actions they are of, and in which place."""
    return np.stack([actions, 50 - actions, np.arange(len(actions), dtype=np.int32)], axis=1)


def prepared_of(examples: list[Example]) -> Prepared:
    """The examples as they come from disk."""
    with TemporaryDirectory() as folder:
        with PreparedWriter(Path(folder) / "train") as writer:
            writer.append(Examples.of(examples))
        return Prepared.open(Path(folder) / "train")  # a mapping outlives its file's name


def same(first: tuple[np.ndarray, np.ndarray], second: Example) -> bool:
    return np.array_equal(first[0], second.source) and np.array_equal(first[1], steps_of(second.actions))


@given(lengths, seeds)
def test_unbatching_undoes_batching(sizes: list[tuple[int, int]], seed: int) -> None:
    examples = examples_of(sizes, seed)
    longest_first = sorted(examples, key=lambda example: len(example.actions), reverse=True)
    batch = collate(examples, steps_of)
    assert all(map(same, unbatch(batch), longest_first))
    assert len(unbatch(batch)) == len(examples)
    assert batch.source.pieces.shape == (len(sizes), max(pieces for pieces, _ in sizes))
    assert batch.actions.shape == (len(sizes), max(steps for _, steps in sizes))
    assert not batch.actions[batch.padding].any()
    assert not batch.parents[batch.padding].any()
    assert batch.num_actions == sum(steps for _, steps in sizes)


@settings(deadline=None)
@given(lengths, configurations, seeds, st.integers(0, 1000))
def test_a_plan_holds_every_example_once(
    sizes: list[tuple[int, int]], configuration: BatchConfiguration, seed: int, epoch: int
) -> None:
    batcher = Batcher(prepared_of(examples_of(sizes)), steps_of, configuration, seed)
    plan = batcher.plan(epoch)
    assert sorted(np.concatenate(plan).tolist()) == list(range(len(sizes)))
    for numbers in plan:
        steps = [sizes[number][1] for number in numbers]
        assert steps == sorted(steps, reverse=True)
        cost = {"actions": sum(sum(sizes[number]) for number in numbers), "sentences": len(numbers)}
        assert len(numbers) == 1 or cost[configuration.batch_type] <= configuration.batch_size


@settings(deadline=None)
@given(lengths, configurations, seeds)
def test_batches_hold_the_examples_of_their_plan_in_order(
    sizes: list[tuple[int, int]], configuration: BatchConfiguration, seed: int
) -> None:
    examples = examples_of(sizes)
    batcher = Batcher(prepared_of(examples), steps_of, configuration, seed)
    for numbers in batcher.plan(0):
        rows = unbatch(batcher.batch(numbers, 0))
        assert len(rows) == len(numbers)
        assert all(same(row, examples[number]) for row, number in zip(rows, numbers, strict=True))


@pytest.fixture(scope="module")
def corpus() -> Prepared:
    """Examples whose lengths are spread and related like those of real sentences."""
    generator = np.random.default_rng(1)
    source = np.clip(generator.lognormal(3.4, 0.5, 4000), 2, 150).astype(int)
    steps = np.clip(source * generator.normal(2.1, 0.25, 4000), 4, 400).astype(int)
    return prepared_of(examples_of(list(zip(source.tolist(), steps.tolist(), strict=True))))


def as_lists(plan: list[np.ndarray]) -> list[list[int]]:
    return [numbers.tolist() for numbers in plan]


def test_the_same_seed_and_epoch_give_the_same_plan_and_others_another(corpus: Prepared) -> None:
    def plan(seed: int, epoch: int) -> list[list[int]]:
        return as_lists(
            Batcher(corpus, steps_of, BatchConfiguration(batch_type="actions", batch_size=1000), seed).plan(epoch)
        )

    assert plan(1, 3) == plan(1, 3)
    assert plan(1, 3) != plan(1, 4)
    assert plan(1, 3) != plan(2, 3)
    assert {tuple(sorted(batch)) for batch in plan(1, 3)} != {tuple(sorted(batch)) for batch in plan(1, 4)}


def test_the_order_of_epochs_asked_for_does_not_matter(corpus: Prepared) -> None:
    batcher = Batcher(corpus, steps_of, BatchConfiguration(batch_type="actions", batch_size=1000), 1)
    later = as_lists(batcher.plan(5))
    batcher.plan(0)
    assert as_lists(batcher.plan(5)) == later


def test_a_plan_is_the_same_on_every_machine() -> None:
    sizes = [(1 + number % 7, 1 + number % 11) for number in range(24)]
    batcher = Batcher(
        prepared_of(examples_of(sizes)), steps_of, BatchConfiguration(batch_type="actions", batch_size=40), 1
    )
    assert as_lists(batcher.plan(0)) == [
        [2, 1, 23, 12, 0, 22, 11],
        [20],
        [10, 9, 8],
        [17, 16, 4, 3],
        [21, 7, 15, 14],
        [19, 18],
        [6, 5, 13],
    ]


@pytest.mark.parametrize(("batch_size", "waste"), [(800, 0.05), (3200, 0.1), (12800, 0.25)])
def test_padding_is_a_small_part(corpus: Prepared, batch_size: int, waste: float) -> None:
    plan = Batcher(corpus, steps_of, BatchConfiguration(batch_type="actions", batch_size=batch_size), 1).plan(0)
    for lengths_of in (corpus.step_lengths, corpus.source_lengths):
        padded = sum(int(lengths_of[numbers].max()) * len(numbers) for numbers in plan)
        assert 1 - int(lengths_of.sum()) / padded < waste


def test_batches_come_in_random_order(corpus: Prepared) -> None:
    plan = Batcher(corpus, steps_of, BatchConfiguration(batch_type="actions", batch_size=1000), 1).plan(0)
    longest = np.array([corpus.step_lengths[numbers[0]] for numbers in plan], dtype=float)
    neighbours = float(np.corrcoef(longest[:-1], longest[1:])[0, 1])
    assert abs(neighbours) < 0.2


@given(lengths, configurations, seeds, st.data())
def test_an_example_is_seen_as_often_as_its_weight_says(
    sizes: list[tuple[int, int]], configuration: BatchConfiguration, seed: int, data: st.DataObject
) -> None:
    every = st.lists(st.sampled_from([0.3, 1.0, 2.0, 2.5]), min_size=len(sizes), max_size=len(sizes))
    weights = np.array(data.draw(every))
    batcher = Batcher(prepared_of(examples_of(sizes)), steps_of, configuration, seed, weights=weights)
    for epoch in range(2):
        plan = batcher.plan(epoch)
        counts = np.bincount(np.concatenate([np.zeros(0, dtype=np.int64), *plan]), minlength=len(sizes))
        assert ((counts == np.floor(weights)) | (counts == np.ceil(weights))).all()
        again = Batcher(prepared_of(examples_of(sizes)), steps_of, configuration, seed, weights=weights).plan(epoch)
        assert [batch.tolist() for batch in again] == [batch.tolist() for batch in plan]


def test_the_broken_part_of_a_weight_is_drawn_in_each_epoch() -> None:
    prepared, weights = prepared_of(examples_of([(3, 4)] * 400)), np.full(400, 0.25)
    batcher = Batcher(prepared, steps_of, BatchConfiguration(), seed=3, weights=weights)
    seen = [set(np.concatenate(batcher.plan(epoch)).tolist()) for epoch in range(40)]
    assert 60 < sum(map(len, seen)) / len(seen) < 140
    assert len(set().union(*seen)) == 400


def test_weights_of_one_change_nothing() -> None:
    prepared = prepared_of(examples_of([(3, 4), (5, 6), (2, 9), (7, 1)]))
    plain, weighted = (
        Batcher(prepared, steps_of, BatchConfiguration(batch_size=12), 1, weights=w) for w in (None, np.ones(4))
    )
    for epoch in range(3):
        assert [batch.tolist() for batch in plain.plan(epoch)] == [batch.tolist() for batch in weighted.plan(epoch)]
