"""Alignments: which pieces translate each other, and what attention is told of it."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from support.small_models import ROWS, small, small_dev
from trdec.configuration.sections import BatchConfiguration
from trdec.data import guidance
from trdec.data.batch import Batch, Batcher, collate
from trdec.data.guidance import TENSION, UNLINKED, Alignment, Guide, PiecePair, learn_guide
from trdec.data.store import Prepared
from trdec.targets.actions import EmitWord

SIZES = (7, 9)
texts = st.lists(st.integers(0, SIZES[0] - 1), min_size=1, max_size=6)
translations = st.lists(st.integers(0, SIZES[1] - 1), min_size=1, max_size=6)
corpora = st.lists(st.tuples(texts, translations), min_size=1, max_size=5)


def silent(_task: str, _done: int, _total: int | None) -> None:
    pass


def pairs_of(corpus: list[tuple[list[int], list[int]]]) -> list[PiecePair]:
    return [PiecePair(np.array(source), np.array(target)) for source, target in corpus]


def links_by_the_book(
    corpus: list[tuple[list[int], list[int]]], iterations: int, source: list[int], target: list[int]
) -> NDArray[np.float64]:
    """Links as the equations define them, a number at a time."""
    together = dict.fromkeys(product(range(SIZES[0]), range(SIZES[1])), 1.0)
    sides = [[piece for pair in corpus for piece in pair[side]] for side in (0, 1)]

    def near(at: int, of: int, other: int, others: int) -> float:
        def weight(place: int) -> float:
            return math.exp(-TENSION * abs((at + 0.5) / of - (place + 0.5) / others))

        return weight(other) / sum(map(weight, range(others)))

    def links(source: list[int], target: list[int]) -> NDArray[np.float64]:
        found = np.zeros((len(target), len(source)))
        of_source = [sum(together[f, e] for e in range(SIZES[1])) for f in range(SIZES[0])]
        of_target = [sum(together[f, e] for f in range(SIZES[0])) for e in range(SIZES[1])]
        forwards, backwards = np.zeros_like(found), np.zeros_like(found)
        for (t, e), (j, f) in product(enumerate(target), enumerate(source)):
            forwards[t, j] = together[f, e] / of_source[f] * near(t, len(target), j, len(source)) * (1 - UNLINKED)
            backwards[t, j] = together[f, e] / of_target[e] * near(j, len(source), t, len(target)) * (1 - UNLINKED)
        for (t, e), (j, f) in product(enumerate(target), enumerate(source)):
            from_nowhere = UNLINKED * sides[1].count(e) / len(sides[1])
            for_nothing = UNLINKED * sides[0].count(f) / len(sides[0])
            share = forwards[t, j] / (sum(forwards[t]) + from_nowhere)
            found[t, j] = share * backwards[t, j] / (sum(backwards[:, j]) + for_nothing)
        return found

    for _ in range(iterations):
        counted = dict.fromkeys(together, 1e-06)
        for some_source, some_target in corpus:
            found = links(some_source, some_target)
            for (t, e), (j, f) in product(enumerate(some_target), enumerate(some_source)):
                counted[f, e] += found[t, j]
        together = counted
    return links(source, target)


@settings(max_examples=30, deadline=None)
@given(corpora, st.integers(0, 3))
def test_links_are_what_the_equations_say(corpus: list[tuple[list[int], list[int]]], iterations: int) -> None:
    learnt = Alignment.learn(pairs_of(corpus), *SIZES, silent, iterations)
    for source, target in corpus:
        expected = links_by_the_book(corpus, iterations, source, target)
        np.testing.assert_allclose(learnt.links(np.array(source), np.array(target)), expected, rtol=1e-9)


@settings(max_examples=50, deadline=None)
@given(corpora, texts, translations)
def test_a_piece_is_linked_once_at_most(
    corpus: list[tuple[list[int], list[int]]], source: list[int], target: list[int]
) -> None:
    links = Alignment.learn(pairs_of(corpus), *SIZES, silent).links(np.array(source), np.array(target))
    assert links.shape == (len(target), len(source))
    assert (links >= 0).all()
    assert (links.sum(axis=0) <= 1 + 1e-9).all() and (links.sum(axis=1) <= 1 + 1e-9).all()


def test_a_piece_that_was_never_counted_has_no_links() -> None:
    """As a split of a word may have, that only subword dropout gives."""
    learnt = Alignment.learn(pairs_of([([0, 1, 2], [0, 1, 2]), ([1], [1])]), *SIZES, silent)
    links = learnt.links(np.array([0, 6, 2]), np.array([0, 8, 2]))
    assert not links[1].any() and not links[:, 1].any()
    assert links[0, 0] > 0.5 and links[2, 2] > 0.5


def test_a_dictionary_is_found_whatever_the_order() -> None:
    """Each piece has one translation; neighbours change places at random, and a third piece is without translation."""
    draw = np.random.default_rng(1)
    dictionary = draw.permutation(60)
    pairs, gold = [], []
    for _ in range(400):
        source = draw.choice(60, size=9, replace=False)
        order = np.argsort(np.arange(9) + draw.uniform(0, 3, size=9))
        target = np.append(dictionary[source][order], 60)
        pairs.append(PiecePair(source, target))
        gold.append(order)
    learnt = Alignment.learn(pairs, 60, 61, silent)
    right = [learnt.links(*pair)[:-1].argmax(axis=1) == order for pair, order in zip(pairs, gold, strict=True)]
    assert np.mean(right) > 0.99
    assert (
        np.mean([learnt.links(*pair)[-1].sum() for pair in pairs])
        < 0.5
        < np.mean([learnt.links(*pair)[:-1].sum(axis=1).mean() for pair in pairs])
    )


@pytest.mark.parametrize("system", ROWS)
def test_a_guide_links_text_to_text_in_every_system(system: str) -> None:
    codec, dev = small(system).codec, small_dev(system)
    guide, double = (learn_guide(dev, codec, weight, silent) for weight in (1.0, 2.0))
    is_piece = codec.inventory().pieces.numpy()
    for number in range(0, len(dev), 7):
        example = dev[number]
        found = guide(example)
        assert found.shape == (len(example.actions), len(example.source))
        places = example.source if example.source.ndim == 1 else example.source[:, 0]
        text = places < len(codec.source_side.subwords.pieces)
        assert not found[~is_piece[example.actions]].any() and not found[:, ~text].any()
        assert (found[is_piece[example.actions]].sum(axis=1) > 0).all()
        np.testing.assert_allclose(double(example), 2 * found, rtol=1e-6)


def test_a_guide_has_the_links_of_the_pieces_at_their_places() -> None:
    codec, dev = small("trdec-con").codec, small_dev("trdec-con")
    pieces = {action: number for number, action in enumerate(codec.table.actions) if isinstance(action, EmitWord)}
    pairs, steps = [], []
    for number in range(len(dev)):
        source, actions = dev[number].source, dev[number].actions
        steps.append([step for step, action in enumerate(actions) if codec.table.actions[action] in pieces])
        pairs.append(PiecePair(source[:-1].astype(np.int64), actions[steps[-1]].astype(np.int64)))
    learnt = Alignment.learn(pairs, codec.source_size, len(codec.table.actions), silent)
    guide = learn_guide(dev, codec, 1.0, silent)
    for number in range(0, len(dev), 11):
        found = guide(dev[number])[steps[number]][:, :-1]
        np.testing.assert_allclose(
            found, learnt.links(*pairs[number]), rtol=0.05, atol=0.005
        )  # other columns count a little


def test_trees_of_a_sentence_are_counted_once() -> None:
    """Balanced trees of both kinds have the pieces of seq2seq, and so their links."""
    found = []
    for system in ("seq2seq", "trdec-binary"):
        codec, dev = small(system).codec, small_dev(system)
        guide, is_piece = learn_guide(dev, codec, 1.0, silent), codec.inventory().pieces.numpy()
        by_sentence = {dev[number].sentence: dev[number] for number in range(len(dev))}
        found.append({key: guide(example)[is_piece[example.actions]] for key, example in by_sentence.items()})
    assert len(small_dev("trdec-binary")) == 2 * len(small_dev("seq2seq"))
    for key, links in found[0].items():
        np.testing.assert_allclose(found[1][key], links, rtol=1e-5)


def test_only_some_sentences_of_a_large_corpus_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    codec, dev = small("seq2seq").codec, small_dev("seq2seq")
    totals = []
    for most in (len(dev), 10):
        monkeypatch.setattr(guidance, "MOST_SENTENCES", most)
        learn_guide(dev, codec, 1.0, lambda _task, _done, total: totals.append(total))
    assert totals[0] == len(dev) * guidance.ITERATIONS
    assert 5 * guidance.ITERATIONS <= totals[-1] <= 10 * guidance.ITERATIONS


def guided(system: str) -> tuple[Prepared, Guide, Batch]:
    codec, dev = small(system).codec, small_dev(system)
    guide = learn_guide(dev, codec, 0.7, silent)
    some = sorted((dev[number] for number in (3, 0, 5)), key=lambda example: -len(example.actions))
    return dev, guide, collate(some, codec.table.steps, guide)


@pytest.mark.parametrize("system", ROWS)
def test_attention_that_strays_from_its_guide_costs(system: str) -> None:
    """The loss is the plain one and -g log a of every RNN, whichever sentences are padded."""
    model, (_, _, batch) = small(system).model.eval(), guided(system)
    assert batch.guide is not None
    plain = model.loss(Batch(batch.source, batch.actions, batch.symbols, batch.parents, batch.padding), 0.1)
    found = model.loss(batch, 0.1)
    expected = 0.0
    for weights in model.attention(batch).values():  # B T S
        for row, step, place in batch.guide.nonzero().tolist():
            weight = weights[row, step, place].item()
            expected -= batch.guide[row, step, place].item() * math.log(weight + 1e-6)
    assert expected > 0
    assert (found.total - plain.total).item() == pytest.approx(expected, rel=1e-4)
    torch.testing.assert_close(found.negative_log_probs, plain.negative_log_probs)


def test_a_batch_has_the_guides_of_its_sentences_where_they_are() -> None:
    dev, guide, batch = guided("trdec-con")
    assert batch.guide is not None and batch.guide.shape == (*batch.actions.shape, batch.source.pieces.shape[1])
    for row in range(3):
        steps, places = int((~batch.padding[row]).sum()), int(batch.source.lengths[row])
        (example,) = [dev[n] for n in (3, 0, 5) if np.array_equal(dev[n].actions, batch.actions[row, :steps].numpy())]
        np.testing.assert_array_equal(batch.guide[row, :steps, :places].numpy(), guide(example))
        assert not batch.guide[row, steps:].any() and not batch.guide[row, :, places:].any()
    moved = batch.to("cpu")
    assert moved.guide is not None and torch.equal(moved.guide, batch.guide)


def test_batches_are_guided_if_there_is_a_guide() -> None:
    codec, dev = small("seq2seq").codec, small_dev("seq2seq")
    guide = learn_guide(dev, codec, 1.0, silent)
    batches = [Batcher(dev, codec.table.steps, BatchConfiguration(), 1, guide=each) for each in (None, guide)]
    assert batches[0].batch([0, 1], 0).guide is None
    assert batches[0].batch([0, 1], 0).to("cpu").guide is None
    assert batches[1].batch([0, 1], 0).guide is not None
