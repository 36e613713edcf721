"""Attention is what the network's definition gives, for what the search found, and nothing else changes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from support import strategies
from support.small_models import ROWS, Small, small
from trdec.data.source_form import SOURCE_END
from trdec.model.translation_model import TranslationModel
from trdec.model.tree_decoder import TreeDecoder
from trdec.search.beam import BeamSettings, beam_search
from trdec.search.hypotheses import Hypothesis
from trdec.search.limits import LengthLimits
from trdec.systems import SYSTEMS
from trdec.targets.target import replay
from trdec.tokenisers import UnicodeTokeniser
from trdec.translation.attention import PARTS, TranslationAttention, actions_of_words, attention_of, rounded
from trdec.translation.source import read_source
from trdec.trees.transforms import desegment
from trdec.trees.tree import Nonterminal, Terminal, words

NUMBERS = [0, 1, 2, 3]


def _found(one: Small, n_best: int = 2) -> list[list[Hypothesis]]:
    settings = BeamSettings(n_best, n_best, limits=LengthLimits(max_ratio=1.0, max_extra=15))
    return beam_search(one.searching, one.effects, one.sources(NUMBERS), settings)


def _looked(
    one: Small, found: list[list[Hypothesis]], models: Sequence[TranslationModel] = ()
) -> list[list[TranslationAttention]]:
    sources = [read_source(one.codec, one.lines[number], None) for number in NUMBERS]
    return attention_of(models or [one.model], one.codec, sources, found)


def _contexts(one: Small, number: int, hypothesis: Hypothesis) -> tuple[Tensor, dict[tuple[int, str], Tensor]]:
    """The encoder's states S C, and the context C that the decoder itself took of them, at each step of each RNN."""
    table, decoder = one.codec.table, one.model.decoder
    memory = decoder.prepare(one.model.encoder(one.sources([number])))
    state = decoder.start(memory)
    previous = one.model.num_actions
    contexts: dict[tuple[int, str], Tensor] = {}
    for step, (action, symbol, parent) in enumerate(
        replay(one.codec.target, [table.actions[number] for number in hypothesis.actions])
    ):
        open_symbol = torch.tensor([table.symbol_number(symbol)])
        _, state = decoder.step(state, memory, torch.tensor([previous]), open_symbol, torch.tensor([parent]))
        if isinstance(decoder, TreeDecoder):
            contexts[step, "rule"] = state.rule_context[0]
            if table.kinds[table.number(action)] in ("word", "eop"):
                contexts[step, "word"] = state.word_context[0]
        else:
            contexts[step, "sequence"] = state.context[0]
        previous = table.number(action)
    return memory.encoding.states[0], contexts


@pytest.mark.parametrize("system", SYSTEMS)
def test_attention_is_what_the_decoder_s_contexts_are_made_with(system: str) -> None:
    one = small(system)
    found = _found(one)
    for number, hypotheses, attentions in zip(NUMBERS, found, _looked(one, found), strict=True):
        for hypothesis, attention in zip(hypotheses, attentions, strict=True):
            states, contexts = _contexts(one, number, hypothesis)
            assert [(row.action, row.rnn) for row in attention.rows] == list(contexts)
            for row in attention.rows:
                weights = torch.tensor(row.weights, dtype=torch.double)  # S
                assert float(weights.sum()) == pytest.approx(1)
                assert torch.allclose(weights @ states, contexts[row.action, row.rnn], atol=1e-9)
                action = hypothesis.actions[row.action]
                assert (row.text, row.kind) == (str(one.codec.table.actions[action]), one.codec.table.kinds[action])


@pytest.mark.parametrize("system", ["trdec-con", "ccg"])
def test_the_pieces_are_those_of_source_and_words(system: str) -> None:
    one = small(system)
    found = _found(one)
    for number, hypotheses, attentions in zip(NUMBERS, found, _looked(one, found), strict=True):
        for hypothesis, attention in zip(hypotheses, attentions, strict=True):
            assert attention.source == (*one.codec.source_side.subwords.split_text(one.lines[number]), SOURCE_END)
            spelt = ["".join(row.text for row in rows).removeprefix("▁") for rows in attention.of_words()]
            assert spelt == words(one.codec.decode(hypothesis.actions).tree)
            assert {row.rnn for rows in attention.of_words() for row in rows} <= {"word", "sequence"}


@pytest.mark.parametrize("system", [name for name in ROWS if name not in SYSTEMS])
def test_every_action_has_attention_that_sums_to_1(system: str) -> None:
    one = small(system)
    found = _found(one)
    for hypotheses, attentions in zip(found, _looked(one, found), strict=True):
        for hypothesis, attention in zip(hypotheses, attentions, strict=True):
            assert {row.action for row in attention.rows} == set(range(len(hypothesis.actions)))
            assert all(sum(row.weights) == pytest.approx(1) for row in attention.rows)
            assert attention.of_words() or not words(one.codec.decode(hypothesis.actions).tree)


def test_an_ensemble_of_different_decoders_has_the_attention_of_each() -> None:
    one, other = small("trdec-con"), small(next(name for name in ROWS if "tree-transformer" in name))
    found = _found(one)
    for both, first, second in zip(
        _looked(one, found, [one.model, other.model]),
        _looked(one, found),
        _looked(one, found, [other.model]),
        strict=True,
    ):
        assert both[0].rnns == ("rule", "transformer", "word")
        assert sorted(both[0].rows) == sorted([*first[0].rows, *second[0].rows])


def test_an_ensemble_looks_where_its_models_look_on_average() -> None:
    one, other = small("trdec-dep", 1), small("trdec-dep", 2)
    found = _found(one)
    both = _looked(one, found, [one.model, other.model])
    for mean, first, second in zip(both, _looked(one, found), _looked(one, found, [other.model]), strict=True):
        for row, a, b in zip(mean[0].rows, first[0].rows, second[0].rows, strict=True):
            assert row.weights == pytest.approx([(x + y) / 2 for x, y in zip(a.weights, b.weights, strict=True)])
            assert a.weights != b.weights


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40).filter(lambda weights: sum(weights) > 0.01))
def test_rounded_weights_add_up_to_1_and_are_near(weights: list[float]) -> None:
    exact = [weight / sum(weights) for weight in weights]
    parts = [weight * PARTS for weight in rounded(weights)]
    assert round(sum(parts), 6) == PARTS
    assert parts == pytest.approx([round(part) for part in parts])
    for part, weight in zip(parts, exact, strict=True):
        assert abs(part - weight * PARTS) < 1 + 1e-6


_PIECES = st.sampled_from(["▁a", "▁", "b", "▁cd", "e", "猫", "\u00a0!", "\u3000"])


@given(strategies.trees(word=_PIECES), st.data())
def test_the_actions_of_a_word_spell_it(pieces: Nonterminal, data: st.DataObject) -> None:
    actions: list[str] = []  # the pieces, anything else among them
    for piece in words(pieces):
        actions += ["-"] * data.draw(st.integers(0, 2)) + [piece]
    kinds = ["rule" if action == "-" else "word" for action in actions]
    found = actions_of_words(pieces, kinds)
    raw = UnicodeTokeniser().words_of
    spelt = ["".join(actions[number] for number in word) for word in actions_of_words(pieces, kinds, raw)]
    bare = UnicodeTokeniser().bare
    assert all(bare(word) in written for word, written in zip(words(desegment(pieces, raw)), spelt, strict=True))
    assert ["".join(actions[number] for number in word).removeprefix("▁") for word in found] == words(desegment(pieces))


def test_a_space_written_as_two_belongs_to_the_word_after_it() -> None:
    pieces = Nonterminal("ROOT", tuple(map(Terminal, ("▁mot", "▁", "\u00a0!"))))
    raw = UnicodeTokeniser().words_of
    assert words(desegment(pieces, raw)) == ["▁mot", "▁!"]
    assert actions_of_words(pieces, ["word"] * 3, raw) == ((0,), (1, 2))
