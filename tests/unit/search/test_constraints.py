"""Constraints hold exactly, and what obeys them is still the best that obeys them."""

from __future__ import annotations

import pytest
import torch

from support.small_models import Tiny, small
from trdec.data.batch import SourceBatch
from trdec.errors import SearchError, UsageError
from trdec.search.beam import BeamSettings, beam_search
from trdec.search.constraints import ExactWords, Prefix, Skeleton
from trdec.search.ensemble import Ensemble
from trdec.search.frontiers import PIECES, STEPS, WORDS
from trdec.search.limits import LengthLimits
from trdec.search.sampling import SamplingSettings, sample
from trdec.search.tabular import TabularModel
from trdec.targets.actions import ApplyRule, EmitWord
from trdec.targets.target import ActionTable
from trdec.tokenisers import WORD_START
from trdec.trees.tree import words

SOURCE = SourceBatch(torch.tensor([[1, 2, 3], [4, 0, 0]]), torch.tensor([3, 1]))


def _limits(most: int) -> LengthLimits:
    return LengthLimits(max_ratio=0, max_extra=most)


def _continues(_text: str, piece: str) -> bool:
    return not piece.startswith(WORD_START)


def _never(_text: str, _piece: str) -> bool:
    """In the tiny vocabularies every piece is a word."""
    return False


@pytest.mark.parametrize("name", ["derivation", "seq2seq", "ccg", "lin"])
def test_a_prefix_leaves_the_best_translations_that_begin_with_it(name: str) -> None:
    tiny, most = Tiny.of(name, seed=3), 9 if name == "derivation" else 5
    prefix = Prefix.of(tiny.table, [[["a"], ["b"]], []], _never)
    settings = BeamSettings(5000, 5, limits=_limits(most))
    found = beam_search(tiny.model, tiny.effects, SOURCE, settings, [prefix])
    scored = sorted(
        ((log_prob / len(actions), actions) for actions, log_prob in tiny.derivations((1, 2, 3), most)), reverse=True
    )
    said = {actions: words(tiny.target.read([tiny.table.actions[a] for a in actions])) for _, actions in scored}
    expected = [actions for _, actions in scored if said[actions][:2] == ["a", "b"]]
    assert [hypothesis.actions for hypothesis in found[0]] == expected[:5]
    free = beam_search(tiny.model, tiny.effects, SOURCE, settings)
    assert found[1] == free[1]


def test_the_last_word_of_a_prefix_is_not_continued() -> None:
    one = small("seq2seq")
    pieces = one.codec.target_side.subwords.split("The")
    prefix = Prefix.of(one.codec.table, [[pieces]] * 3, _continues)
    settings = BeamSettings(5, 5, limits=_limits(20))
    for hypotheses in beam_search(one.searching, one.effects, one.sources([0, 1, 2]), settings, [prefix]):
        for hypothesis in hypotheses:
            assert one.codec.decode(hypothesis.actions).text.split()[0] == "The"


@pytest.mark.parametrize("system", ["trdec-binary", "trdec-con", "trdec-dep", "seq2seq"])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_word_of_a_prefix_is_one_word_however_many_pieces_it_has(system: str, seed: int) -> None:
    one = small(system, seed)
    pieces = one.codec.target_side.subwords.split("Theisther")
    assert len(pieces) > 1
    prefix = Prefix.of(one.codec.table, [[pieces]] * 3, _continues)
    settings = BeamSettings(4, 4, limits=_limits(40))
    for hypotheses in beam_search(one.searching, one.effects, one.sources([0, 1, 2]), settings, [prefix]):
        assert hypotheses
        for hypothesis in hypotheses:
            assert one.codec.decode(hypothesis.actions).text.split()[0] == "Theisther"


def test_a_skeleton_is_the_tree_that_comes_out() -> None:
    tiny = Tiny.of("derivation", seed=1)
    rules = [a for a in tiny.table.actions if isinstance(a, ApplyRule)]
    wanted = {"ROOT -> S": 0, "S -> NP pre NP": 1, "NP -> pre": 2}
    chosen = sorted((rule for rule in rules if str(rule) in wanted), key=lambda rule: wanted[str(rule)])
    skeleton = Skeleton.of(tiny.table, [[*chosen, chosen[2]], []])
    settings = BeamSettings(20, 3, limits=_limits(14))
    found, free = beam_search(tiny.model, tiny.effects, SOURCE, settings, [skeleton])
    for hypothesis in found:
        actions = [tiny.table.actions[number] for number in hypothesis.actions]
        assert [str(a) for a in actions if isinstance(a, ApplyRule)] == [*wanted, "NP -> pre"]
    assert free == beam_search(tiny.model, tiny.effects, SOURCE, settings)[1]
    with pytest.raises(UsageError, match=r"writes no rules.*Choose a trdec system"):
        Skeleton.of(Tiny.of("ccg").table, [[chosen[0]]])


@pytest.mark.parametrize("system", ["trdec-binary", "trdec-con", "seq2seq"])
@pytest.mark.parametrize("count", [1, 4, 9])
def test_a_translation_has_exactly_as_many_words_as_asked(system: str, count: int) -> None:
    one = small(system)
    exact = ExactWords.of(one.codec.table, one.effects.gains[:, WORDS] > 0, [count, count + 1])
    settings = BeamSettings(6, 3, limits=_limits(90))
    found = beam_search(one.searching, one.effects, one.sources([0, 1]), settings, [exact])
    for number, hypotheses in enumerate(found):
        for hypothesis in hypotheses:
            assert len(words(one.codec.decode(hypothesis.actions).tree)) == count + number


@pytest.mark.parametrize("system", ["trdec-binary", "trdec-con", "seq2seq"])
@pytest.mark.parametrize("spare", [0, 1, 5])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_greatest_length_leaves_room_for_what_is_asked(system: str, spare: int, seed: int) -> None:
    """Greedy search has no second try, so it must never take a step that is needed for a word still owed."""
    one = small(system, seed)
    begins = one.effects.gains[:, WORDS] > 0
    shortest = one.effects.needs[list(one.effects.start)].sum(dim=0)  # M
    besides_words = int(shortest[STEPS] - shortest[PIECES])
    for count in (1, 4, 9):
        settings = BeamSettings(1, limits=_limits(besides_words + count + spare))
        exact = ExactWords.of(one.codec.table, begins, [count] * 2)
        for (hypothesis,) in beam_search(one.searching, one.effects, one.sources([0, 1]), settings, [exact]):
            assert len(words(one.codec.decode(hypothesis.actions).tree)) == count
        given = [one.codec.target_side.subwords.split("Theisther")] * count
        settings = BeamSettings(1, limits=_limits(besides_words + sum(map(len, given)) + spare))
        prefix = Prefix.of(one.codec.table, [given] * 2, _continues)
        for (hypothesis,) in beam_search(one.searching, one.effects, one.sources([0, 1]), settings, [prefix]):
            assert one.codec.decode(hypothesis.actions).text.split()[:count] == ["Theisther"] * count


def test_what_cannot_be_is_refused() -> None:
    one = small("seq2seq")
    exact = ExactWords.of(one.codec.table, one.effects.gains[:, WORDS] > 0, [50])
    with pytest.raises(SearchError, match=r"line 5: no translation .*`max_ratio`"):
        beam_search(one.searching, one.effects, one.sources([0]), BeamSettings(2, limits=_limits(10)), [exact], [4])
    drawing = SamplingSettings(samples=2, limits=_limits(10))
    with pytest.raises(SearchError, match=r"line 5: no translation .*`max_ratio`"):
        sample(one.searching, one.effects, one.sources([0]), drawing, [4], [exact])
    with pytest.raises(UsageError, match="writes marks"):
        ExactWords.of(Tiny.of("lin").table, torch.zeros(1, dtype=torch.bool), [3])


def test_an_ensemble_is_the_mean_of_probabilities() -> None:
    tiny = Tiny.of("derivation", seed=1)
    models = [TabularModel(tiny.table, seed) for seed in (1, 2, 3)]
    settings = BeamSettings(3000, 5, limits=_limits(8))
    ensemble = Ensemble(models)
    (found,) = beam_search(ensemble, tiny.effects, SOURCE.select(torch.tensor([1])), settings)
    for hypothesis in found:
        state, total, history = tiny.target.start(), 0.0, ()
        for number in hypothesis.actions:
            symbol = tiny.table.symbol_number(state.symbol)
            each = [m.log_probs((4,), history, symbol, state.parent)[number].exp() for m in models]
            total += float((sum(each) / 3).log())
            state, history = tiny.target.advance(state, tiny.table.actions[number]), (*history, number)
        assert hypothesis.log_prob == pytest.approx(total)
    real = [small("trdec-con", seed) for seed in (1, 2)]
    source = real[0].sources([0, 1, 2])
    short = BeamSettings(3, 3, limits=_limits(20))
    once = beam_search(real[0].searching, real[0].effects, source, short)
    twice = beam_search(Ensemble([real[0].searching] * 2), real[0].effects, source, short)
    assert [[h.actions for h in hs] for hs in once] == [[h.actions for h in hs] for hs in twice]
    with pytest.raises(UsageError, match="same target vocabulary and grammar"):
        Ensemble([tiny.model, real[0].model])


def test_words_outside_the_vocabulary_cannot_be_a_prefix() -> None:
    table = ActionTable(Tiny.of("seq2seq").target)
    with pytest.raises(Exception, match="not among the 4 actions"):
        Prefix.of(table, [[["z"]]], _never)
    assert table.number(EmitWord("a")) == 0
