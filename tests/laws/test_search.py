"""Laws of search: it finds what enumeration finds, in any batch, and what it finds is legal and scored by the model."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import pytest
import torch

from support.search_laws import (
    NUMBERS,
    forced_log_probs,
    is_greedy_with_a_beam_of_1,
    is_legal_and_scored_as_in_training,
    is_the_same_in_any_batch,
    legal_and_whole,
)
from support.small_models import ROWS, TARGETS, Tiny, small
from trdec.data.batch import SourceBatch
from trdec.search.beam import BeamSettings, beam_search
from trdec.search.frontiers import STEPS, Effects, Frontiers
from trdec.search.limits import LengthLimits, Normalisation
from trdec.targets.target import ActionTable

targets = pytest.mark.parametrize("name", TARGETS)
systems = pytest.mark.parametrize("system", ROWS)
normalisations = pytest.mark.parametrize(
    "normalisation",
    [Normalisation(0.0), Normalisation(1.0), Normalisation(0.7, "words")],
    ids=["none", "actions", "words"],
)

SOURCE = SourceBatch(torch.tensor([[1, 2, 3], [4, 0, 0], [5, 6, 0]]), torch.tensor([3, 1, 2]))


@targets
@pytest.mark.parametrize("seed", range(5))
def test_frontiers_of_many_rows_are_the_target_s_states(name: str, seed: int) -> None:
    """Random legal derivations, rows copied and dropped at random."""
    draw = random.Random(seed)
    target = TARGETS[name]
    table = ActionTable(target)
    states = [target.start()] * 4
    frontiers = Frontiers.start(Effects.of(target, table), 4)
    for step in range(25):
        rows = [draw.randrange(len(states)) for _ in range(draw.randint(2, 6))]
        rows = [row for row in rows if not states[row].finished]
        if not rows:
            break
        states = [states[row] for row in rows]
        frontiers = frontiers.select(torch.tensor(rows))
        assert frontiers.symbols.tolist() == [table.symbol_number(state.symbol) for state in states]
        assert frontiers.parents.tolist() == [state.parent for state in states]
        actions = [draw.choice(target.legal(state.symbol)) for state in states]
        taken = torch.tensor([table.number(action) for action in actions])
        frontiers = frontiers.advance(taken, torch.full_like(taken, step + 1))
        states = [target.advance(state, action) for state, action in zip(states, actions, strict=True)]
        assert frontiers.finished.tolist() == [state.finished for state in states]


@targets
def test_needs_are_the_shortest_completions(name: str) -> None:
    tiny = Tiny.of(name)
    shortest = min(len(actions) for actions, _ in tiny.derivations((1,), 6))
    assert int(tiny.effects.needs[list(tiny.effects.start), STEPS].sum()) == shortest


def _limit(most: int) -> LengthLimits:
    return LengthLimits(max_ratio=0, max_extra=most)


def _ranked(tiny: Tiny, source: tuple[int, ...], most: int, normalisation: Normalisation) -> list[tuple[Any, ...]]:
    """All derivations of at most so many actions: score, actions and log-probability, best first."""
    scored = [
        (
            normalisation.score(log_prob, len(actions), sum(tiny.table.kinds[action] == "word" for action in actions)),
            actions,
            log_prob,
        )
        for actions, log_prob in tiny.derivations(source, most)
    ]
    return sorted(scored, reverse=True)


@targets
@normalisations
@pytest.mark.parametrize("seed", range(3))
def test_a_beam_wider_than_the_space_finds_what_enumeration_finds(
    name: str, normalisation: Normalisation, seed: int
) -> None:
    tiny, most = Tiny.of(name, seed), 8 if name == "derivation" else 4
    settings = BeamSettings(3000, 20, normalisation, _limit(most))
    found = beam_search(tiny.model, tiny.effects, SOURCE, settings)
    for row, hypotheses in enumerate(found):
        source = tuple(SOURCE.pieces[row, : SOURCE.lengths[row]].tolist())
        expected = _ranked(tiny, source, most, normalisation)
        assert 20 < len(expected) < 3000
        assert [hypothesis.actions for hypothesis in hypotheses] == [actions for _, actions, _ in expected[:20]]
        assert [h.score for h in hypotheses] == pytest.approx([score for score, _, _ in expected[:20]])
        assert [h.log_prob for h in hypotheses] == pytest.approx([log_prob for _, _, log_prob in expected[:20]])


@targets
@pytest.mark.parametrize("seed", range(2))
def test_merging_adds_up_the_probabilities_of_all_derivations_of_a_text(name: str, seed: int) -> None:
    tiny, most, normalisation = Tiny.of(name, seed), 8 if name == "derivation" else 4, Normalisation(0.0)
    found = beam_search(
        tiny.model, tiny.effects, SOURCE, BeamSettings(3000, 5, normalisation, _limit(most), merge=True)
    )
    merged = 0
    for row, hypotheses in enumerate(found):
        source = tuple(SOURCE.pieces[row, : SOURCE.lengths[row]].tolist())
        sums: dict[tuple[int, ...], list[tuple[float, tuple[int, ...]]]] = {}
        for actions, log_prob in tiny.derivations(source, most):
            text = tuple(action for action in actions if tiny.table.kinds[action] == "word")
            sums.setdefault(text, []).append((log_prob, actions))
        expected = sorted(
            ((math.log(sum(math.exp(log_prob) for log_prob, _ in each)), max(each)[1]) for each in sums.values()),
            reverse=True,
        )[:5]
        assert [hypothesis.actions for hypothesis in hypotheses] == [actions for _, actions in expected]
        assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx([score for score, _ in expected])
        merged += sum(len(each) > 1 for each in sums.values())
    assert merged or name == "seq2seq"


def _beam_by_hand(tiny: Tiny, source: tuple[int, ...], places: int, most: int) -> list[tuple[int, ...]] | None:
    """What a beam of so many places finds, one hypothesis after the other; None if one becomes too long to tell."""
    live: list[tuple[float, tuple[int, ...], Any]] = [(0.0, (), tiny.target.start())]
    found = []
    while live and places:
        grown = []
        for total, history, state in live:
            log_probs = tiny.model.log_probs(source, history, tiny.table.symbol_number(state.symbol), state.parent)
            for action in tiny.target.legal(state.symbol):
                number = tiny.table.number(action)
                after = tiny.target.advance(state, action)
                grown.append((total + float(log_probs[number]), (*history, number), after))
        best = sorted(grown, key=lambda candidate: -candidate[0])[:places]
        found += [(total / len(history), history) for total, history, state in best if state.finished]
        live = [candidate for candidate in best if not candidate[2].finished]
        places -= len(best) - len(live)  # one that ends keeps its place for good
        if live and len(live[0][1]) > most:
            return None
    return [history for _, history in sorted(found, reverse=True)]


@targets
@pytest.mark.parametrize("beam_size", [2, 3, 5])
def test_a_beam_is_what_its_definition_gives(name: str, beam_size: int) -> None:
    told = 0
    for seed in range(6):
        tiny = Tiny.of(name, seed, spread=2.0)
        settings = BeamSettings(beam_size, beam_size, Normalisation(1.0), _limit(90), early_termination=False)
        found = beam_search(tiny.model, tiny.effects, SOURCE, settings)
        for row, hypotheses in enumerate(found):
            source = tuple(SOURCE.pieces[row, : SOURCE.lengths[row]].tolist())
            expected = _beam_by_hand(tiny, source, beam_size, most=40)
            if expected is not None:
                told += 1
                assert [hypothesis.actions for hypothesis in hypotheses] == expected
    assert told > 4


@targets
@normalisations
@pytest.mark.parametrize("n_best", [1, 3])
@pytest.mark.parametrize("merge", [False, True])
def test_ending_early_changes_nothing(name: str, normalisation: Normalisation, n_best: int, merge: bool) -> None:
    for seed in range(5):
        tiny = Tiny.of(name, seed, spread=9.0)
        settings = BeamSettings(4, n_best, normalisation, _limit(12), merge=merge)
        early, late = (
            beam_search(tiny.model, tiny.effects, SOURCE, replace(settings, early_termination=early))
            for early in (True, False)
        )
        assert early == late


@targets
@pytest.mark.parametrize("power", [0.0, 0.5, 1.5, 3.0])
def test_all_that_a_beam_finds_ranked_by_another_power_begins_with_what_a_search_by_it_finds(
    name: str, power: float
) -> None:
    normalisation, differ = Normalisation(power), 0
    for seed in range(8):
        tiny = Tiny.of(name, seed, spread=4.0)
        everything = beam_search(tiny.model, tiny.effects, SOURCE, BeamSettings(6, 6, limits=_limit(12)))
        searched = beam_search(tiny.model, tiny.effects, SOURCE, BeamSettings(6, 1, normalisation, _limit(12)))
        for found, (best,) in zip(everything, searched, strict=True):
            ranked = max(found, key=lambda each: normalisation.score(each.log_prob, len(each.actions), 0))
            assert ranked.actions == best.actions
            differ += ranked.actions != found[0].actions
    assert differ  # the power must matter, or the law says nothing


@targets
def test_ending_early_saves_steps(name: str) -> None:
    steps = {}
    for early in (True, False):
        tiny = Tiny.of(name, seed=3, spread=9.0)
        settings = BeamSettings(8, 1, Normalisation(0.0), _limit(30), early_termination=early)
        memory = _Counting(tiny.model)
        beam_search(memory, tiny.effects, SOURCE, settings)
        steps[early] = memory.rows
    assert steps[True] < steps[False]


class _Counting:
    """A model that counts the rows it was asked about."""

    def __init__(self, model: Any) -> None:
        self.num_actions, self.encode, self.start, self._model, self.rows = (
            model.num_actions,
            model.encode,
            model.start,
            model,
            0,
        )

    def step(self, *arguments: Any) -> Any:
        self.rows += len(arguments[2])
        return self._model.step(*arguments)


@systems
def test_what_is_found_is_legal_and_has_the_score_that_training_gives(system: str) -> None:
    is_legal_and_scored_as_in_training(small(system))


@systems
def test_a_sentence_is_translated_the_same_in_any_batch(system: str) -> None:
    is_the_same_in_any_batch(small(system))


@systems
def test_a_beam_of_1_is_greedy(system: str) -> None:
    for seed in (1, 2):
        is_greedy_with_a_beam_of_1(small(system, seed))


@systems
def test_what_cannot_end_in_time_is_closed_legally_and_flagged(system: str) -> None:
    one = small(system)
    for most in (0, 1, 7, 12):
        found = beam_search(one.searching, one.effects, one.sources(NUMBERS), BeamSettings(3, limits=_limit(most)))
        shortest = int(one.effects.needs[list(one.effects.start), STEPS].sum())
        for number, (hypothesis,) in zip(NUMBERS, found, strict=True):
            legal_and_whole(one, hypothesis)
            assert len(hypothesis.actions) <= max(most, shortest)
            forced = forced_log_probs(one, number, hypothesis)
            assert hypothesis.log_prob == pytest.approx(sum(forced), abs=1e-9)
        if most == 0 and shortest > 1:
            assert any(hypothesis.truncated for (hypothesis,) in found)


@targets
def test_a_least_length_is_kept(name: str) -> None:
    tiny = Tiny.of(name, seed=2)
    limits = LengthLimits(min_ratio=5, max_ratio=6, max_extra=0)
    found = beam_search(tiny.model, tiny.effects, SOURCE, BeamSettings(8, 3, limits=limits))
    for length, hypotheses in zip(SOURCE.lengths.tolist(), found, strict=True):
        for hypothesis in hypotheses:
            assert 5 * length <= len(hypothesis.actions) <= 6 * length


@targets
def test_a_least_length_leaves_the_best_of_those_that_are_long_enough(name: str) -> None:
    tiny, least, most = Tiny.of(name, seed=4), 3, 4
    if name == "derivation":
        least, most = 7, 8
    source = SOURCE.select(torch.tensor([1]))
    limits = LengthLimits(min_ratio=least, max_ratio=most, max_extra=0)
    (found,) = beam_search(tiny.model, tiny.effects, source, BeamSettings(3000, 10, limits=limits))
    expected = [actions for _, actions, _ in _ranked(tiny, (4,), most, Normalisation()) if len(actions) >= least]
    assert [hypothesis.actions for hypothesis in found] == expected[:10]
