"""Subword dropout changes how words are split, and nothing else."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from itertools import accumulate

import numpy as np
import pytest

from trdec.data.prepare import Preparation
from trdec.data.store import Example
from trdec.data.subword_dropout import PieceSampler, SubwordDropout
from trdec.systems import SYSTEMS
from trdec.text import SubwordKind, Subwords
from trdec.tokenisers import WORD_START, UnicodeTokeniser

Prepare = Callable[[str], Preparation]

TEXT = ["the unbelievable believers believe", "unable to be able , the table is stable", "babble and bubble"]


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def subwords(request: pytest.FixtureRequest) -> Subwords:
    kind: SubwordKind = request.param
    return Subwords.train(TEXT * 3, kind, 32)


def all_words() -> list[str]:
    return sorted({word for line in TEXT for word in line.split()})


def test_nothing_dropped_is_how_sentencepiece_splits(subwords: Subwords) -> None:
    sampler = PieceSampler(subwords, 0.0)
    for word in [*all_words(), "unstable", "bee", "tablet", "e"]:
        assert sampler.split(WORD_START + word, lambda: 0.5) == list(subwords.split(word))


def test_the_kind_of_model_is_known() -> None:
    assert [Subwords.train(TEXT * 3, kind, 32).kind for kind in ("bpe", "unigram")] == ["bpe", "unigram"]


def test_everything_dropped_leaves_characters(subwords: Subwords) -> None:
    assert PieceSampler(subwords, 0.99).split("able", lambda: 0.0) == list("able")


def test_pieces_always_spell_the_word_and_are_in_the_model(subwords: Subwords) -> None:
    sampler, draw = PieceSampler(subwords, 0.4), random.Random(1)
    for word in all_words():
        found = {tuple(sampler.split(WORD_START + word, draw.random)) for _ in range(50)}
        assert {"".join(pieces) for pieces in found} == {WORD_START + word}
        assert {piece for pieces in found for piece in pieces} <= set(subwords.pieces)
        assert (len(found) > 1) == (len(subwords.split(word)) <= len(word))  # some piece can be dropped


def test_a_word_with_an_unknown_piece_stays_as_it_is(subwords: Subwords) -> None:
    sampler = PieceSampler(subwords, 0.9)
    pieces = [WORD_START, "<unk>", "able"]
    assert list(sampler.resplit(pieces, lambda: 0.0)) == pieces


def test_pieces_do_not_cross_the_words_of_raw_text() -> None:
    tokeniser = UnicodeTokeniser("en")
    lines = [tokeniser.split(line) for line in ("It is 3:30.", "Is it 3:30?", "It is it.")]
    counts = Counter(word for words in lines for word in words)
    sampler = PieceSampler(Subwords.train_on_words(counts, "bpe", 22), 0.3, tokeniser.words_of)
    for words in lines:
        for draw in range(20):
            pieces = list(sampler.resplit(words, random.Random(draw).random))
            assert "".join(pieces) == "".join(words)
            ends = set(accumulate(map(len, pieces)))
            assert ends >= set(accumulate(map(len, words)))


def same(one: Example, other: Example) -> bool:
    return np.array_equal(one.source, other.source) and np.array_equal(one.actions, other.actions)


@pytest.mark.parametrize("system", SYSTEMS)
def test_only_the_pieces_change_and_only_with_the_epoch(system: str, toy_prepared: Prepare) -> None:
    made = toy_prepared(system)
    codec, numbers = made.codec, range(0, len(made.train), 3)
    unchanged, changing = SubwordDropout(codec, 0.0, 1), SubwordDropout(codec, 0.3, 1)
    differing = 0
    for number in numbers:
        example = made.train[number]
        assert same(unchanged(example, number, 0), example)
        found = changing(example, number, 7)
        before, after = codec.decode(example.actions), codec.decode(found.actions)
        assert (after.tree, after.text) == (before.tree, before.text)
        pieces = codec.source_side.subwords.pieces
        spelled = ["".join(pieces[n] for n in each.source[:-1]) for each in (example, found)]
        assert spelled[0] == spelled[1]
        assert found.source[-1] == codec.source_end
        assert same(changing(example, number, 7), found)
        differing += not same(changing(example, number, 8), found)
    assert differing > len(numbers) // 2
