"""Samples follow the distribution they are drawn from."""

from __future__ import annotations

import tracemalloc
from collections import Counter

import numpy as np
import pytest
import torch

from support.small_models import Tiny, small
from trdec.data.batch import SourceBatch
from trdec.errors import UsageError
from trdec.search.beam import BeamSettings, beam_search
from trdec.search.limits import LengthLimits
from trdec.search.sampling import SamplingSettings, _choose, _Draws, sample
from trdec.targets.target import replay

SOURCE = SourceBatch(torch.tensor([[1, 2, 3], [4, 0, 0]]), torch.tensor([3, 1]))
SHORT = LengthLimits(max_ratio=0, max_extra=6)


@pytest.mark.parametrize("name", ["derivation", "seq2seq"])
def test_samples_are_as_frequent_as_they_are_probable(name: str) -> None:
    """Without limits on length that bind, a derivation's share of the samples is its probability."""
    tiny = Tiny.of(name, seed=5)
    settings = SamplingSettings(samples=1500, limits=LengthLimits(max_ratio=0, max_extra=40))
    drawn = sample(tiny.model, tiny.effects, SOURCE.select(torch.tensor([0])), settings, [0])[0]
    counts = Counter(hypothesis.actions for hypothesis in drawn)
    probable = sorted(tiny.derivations((1, 2, 3), 6), key=lambda item: -item[1])[:5]
    for actions, log_prob in probable:
        expected = float(torch.tensor(log_prob).exp())
        assert counts[actions] / 1500 == pytest.approx(expected, abs=4 * (expected / 1500) ** 0.5)


def test_samples_depend_on_the_seed_and_the_sentence_s_number_alone() -> None:
    tiny = Tiny.of("derivation", seed=2)
    settings = SamplingSettings(samples=3, limits=SHORT)
    together = sample(tiny.model, tiny.effects, SOURCE, settings, [7, 9])
    alone = sample(tiny.model, tiny.effects, SOURCE.select(torch.tensor([1])), settings, [9])
    assert alone[0] == together[1]
    other = SamplingSettings(samples=3, seed=2, limits=SHORT)
    assert sample(tiny.model, tiny.effects, SOURCE, other, [7, 9]) != together


def test_numbers_are_drawn_as_steps_need_them_and_are_the_same_however_many() -> None:
    draws = _Draws(SamplingSettings(samples=2, seed=5), [3, 8])
    found = torch.stack([draws.at(step) for step in range(200)], dim=2)  # B K T
    for row, number in enumerate([3, 8]):
        for place in range(2):
            whole = np.random.Generator(np.random.PCG64([5, number, place])).random(200)
            assert found[row, place].tolist() == whole.tolist()


def test_a_great_length_that_is_not_used_costs_nothing() -> None:
    tiny = Tiny.of("seq2seq", seed=5)
    settings = SamplingSettings(samples=50, limits=LengthLimits(max_ratio=100, max_extra=100_000))
    tracemalloc.start()
    sample(tiny.model, tiny.effects, SOURCE, settings, [0, 1])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10 << 20  # 2 sentences, 50 samples, 100,000 steps of 8 bytes would be 80 MB


def test_the_most_probable_action_alone_is_greedy_search() -> None:
    one = small("trdec-con")
    source = one.sources([0, 1, 2])
    greedy = beam_search(one.searching, one.effects, source, BeamSettings(1, limits=SHORT))
    for settings in (SamplingSettings(top_k=1, limits=SHORT), SamplingSettings(top_p=1e-9, limits=SHORT)):
        drawn = sample(one.searching, one.effects, source, settings, [0, 1, 2])
        assert [hypotheses[0].actions for hypotheses in drawn] == [hypotheses[0].actions for hypotheses in greedy]


def test_samples_are_legal_and_scored_by_the_model() -> None:
    one = small("trdec-dep")
    settings = SamplingSettings(samples=4, temperature=2.0, limits=LengthLimits(max_ratio=1, max_extra=10))
    for hypotheses in sample(one.searching, one.effects, one.sources([0, 1, 2]), settings, [0, 1, 2]):
        assert len(hypotheses) == 4
        for hypothesis in hypotheses:
            actions = [one.codec.table.actions[number] for number in hypothesis.actions]
            assert len(replay(one.codec.target, actions)) == len(actions)
            assert hypothesis.log_prob == pytest.approx(sum(hypothesis.action_log_probs))


def test_top_p_leaves_the_fewest_actions_that_have_so_much_probability() -> None:
    log_probs = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log().expand(1000, 4)
    drawn = torch.arange(1000) / 1000
    assert set(_choose(log_probs, drawn, SamplingSettings(top_p=0.6)).tolist()) == {0, 1}
    assert set(_choose(log_probs, drawn, SamplingSettings(top_k=3)).tolist()) == {0, 1, 2}
    shares = Counter(_choose(log_probs, drawn, SamplingSettings(temperature=0.5)).tolist())
    squares = torch.tensor([0.5, 0.3, 0.15, 0.05]) ** 2
    assert shares[0] / 1000 == pytest.approx(float(squares[0] / squares.sum()), abs=0.01)


@pytest.mark.parametrize(
    "wrong", [{"samples": 0}, {"temperature": 0.0}, {"top_k": 0}, {"top_p": 1.5}, {"top_p": 0.0}, {"seed": -1}]
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="expected"):
        SamplingSettings(**wrong)  # type: ignore[arg-type]
