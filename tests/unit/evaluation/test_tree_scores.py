"""Agreement of trees, and what trees are like."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import strategies
from trdec.errors import TextFormatError
from trdec.evaluation.trees import bracketing, builders_of, score_trees, shape_of
from trdec.trees.brackets import parse, write
from trdec.trees.builders import BUILDERS
from trdec.trees.transforms import null_labels, wrap_words
from trdec.trees.tree import Nonterminal, Terminal, labels, words

CAT = "(ROOT (S (NP The cat) (VP eats (NP fish)) .))"


@settings(max_examples=30)
@given(strategies.trees())
def test_a_tree_agrees_with_itself(tree: Nonterminal) -> None:
    scores = score_trees([tree], [" ".join(words(tree))], [tree])
    assert scores.labelled is not None
    assert scores.unlabelled is not None
    assert scores.labelled.f1 == scores.unlabelled.f1 == scores.labelled.precision == scores.labelled.recall == 1
    assert (scores.comparable, scores.well_formed, scores.trees) == (1, 1, 1)


@settings(max_examples=30)
@given(strategies.trees())
def test_every_node_but_the_top_is_a_bracket_over_its_words(tree: Nonterminal) -> None:
    brackets = bracketing(tree)
    assert brackets.total() == sum(1 for _ in labels(tree)) - 1
    assert all(0 <= start < end <= len(words(tree)) for _, start, end in brackets)


def test_brackets_are_what_a_hand_counts() -> None:
    assert dict(bracketing(parse(CAT))) == {("S", 0, 5): 1, ("NP", 0, 2): 1, ("VP", 2, 4): 1, ("NP", 3, 4): 1}
    assert bracketing(parse("(ROOT (NP (NP fish)))"))["NP", 0, 1] == 2


def test_agreement_is_counted_over_all_sentences() -> None:
    # First sentence: S and NP(0, 2) match; VP(2, 4) is called X, so it matches by span alone; NP(3, 4) is missing.
    # Second sentence: one bracket found, one expected, both over the same word, labels differ.
    found = [parse("(ROOT (S (NP The cat) (X eats fish) .))"), parse("(ROOT (NP yes))")]
    expected = [parse(CAT), parse("(ROOT (INTJ yes))")]
    scores = score_trees(found, ["The cat eats fish .", "yes"], expected)
    assert scores.labelled is not None
    assert scores.unlabelled is not None
    assert (scores.labelled.matched, scores.labelled.found, scores.labelled.expected) == (2, 4, 5)
    assert (scores.labelled.precision, scores.labelled.recall) == (2 / 4, 2 / 5)
    assert scores.labelled.f1 == pytest.approx(4 / 9)
    assert scores.unlabelled.matched == 4
    assert scores.unlabelled.f1 == pytest.approx(8 / 9)


def test_only_trees_over_the_same_words_are_compared() -> None:
    found = [parse("(ROOT (NP The dog))"), None, parse("(ROOT (NP a fish))")]
    expected = [parse("(ROOT (NP The cat))"), parse("(ROOT (NP x))"), None]
    scores = score_trees(found, ["The dog", "", "a fish"], expected)
    assert (scores.comparable, scores.labelled, scores.unlabelled) == (0, None, None)
    assert score_trees(found, ["The dog", "", "a fish"]).comparable is None


def test_a_well_formed_tree_has_the_words_of_its_translation() -> None:
    tree = parse("(ROOT (NP The cat))")
    scores = score_trees([tree, tree, None, None], ["The  cat", "The dog", "The cat", ""])
    assert (scores.sentences, scores.trees, scores.well_formed) == (4, 2, 2)
    assert scores.well_formed_share == 1 / 2
    assert (scores.mean_depth, scores.mean_nodes) == (2, 2)
    raw = parse("(ROOT (S (NP The fish) (VP is n't small) .))")
    assert score_trees([raw, raw], ["The fish isn't small.", "The fish is small."]).well_formed == 1
    spaced = [parse("(ROOT (S oui !))"), parse("(ROOT (S 10\u00a0000 !))")]
    assert score_trees(spaced, ["oui\u00a0!", "10\u00a0000\u3000!"]).well_formed == 2
    nothing = score_trees([None], ["The cat"])
    assert (nothing.mean_depth, nothing.mean_nodes, nothing.well_formed) == (None, None, 0)


def test_depth_is_no_limit() -> None:
    tree = Nonterminal("X", (Terminal("word"),))
    for _ in range(5000):
        tree = Nonterminal("X", (tree,))
    scores = score_trees([tree], ["word"], [tree])
    assert scores.mean_depth == 5001
    assert scores.labelled is not None
    assert (scores.labelled.matched, scores.labelled.f1) == (5000, 1)


def test_flat_trees_agree_and_their_brackets_are_none() -> None:
    flat = parse("(ROOT a b)")
    scores = score_trees([flat], ["a b"], [flat])
    assert scores.labelled is not None
    assert (scores.labelled.found, scores.labelled.f1, scores.labelled.precision, scores.labelled.recall) == (
        0,
        1,
        1,
        1,
    )
    assert scores.to_json()["labelled"]["f1"] == 1


def test_unequal_numbers_are_said() -> None:
    with pytest.raises(TextFormatError, match="found 1 trees and 2 hypotheses"):
        score_trees([None], ["a", "b"])
    with pytest.raises(TextFormatError, match="found 0 trees and 0 hypotheses"):
        score_trees([], [])
    with pytest.raises(TextFormatError, match="found 2 reference trees and 1 trees"):
        score_trees([None], ["a"], [None, None])


REGULAR = [name for name, builder in BUILDERS.items() if not builder.is_random]


@settings(max_examples=30)
@given(strategies.sentences(min_size=3, max_size=20), st.sampled_from(REGULAR))
def test_what_a_builder_made_has_its_shape_whatever_its_labels_and_single_words(written: list[str], name: str) -> None:
    built = BUILDERS[name](written, Random(1))
    assert name in builders_of(built)
    assert name in builders_of(wrap_words(null_labels(built)))
    scores = score_trees([built, built], [" ".join(written)] * 2)
    assert (scores.shaped, scores.shapes[name]) == (2, 2)


@settings(max_examples=30)
@given(st.integers(min_value=5, max_value=40))
def test_a_balanced_tree_with_a_word_more_than_planned_is_no_longer_balanced(count: int) -> None:
    planned = write(BUILDERS["binary-1"]([*(f"w{number}" for number in range(count - 1)), "last"], Random(1)))
    assert "binary-1" in builders_of(parse(planned))
    longer = parse(planned.replace("last", "(NULL last (NULL and more))"))
    assert len(words(longer)) == count + 2
    assert "binary-1" not in builders_of(longer)


def test_shapes_are_what_a_hand_counts() -> None:
    assert shape_of(parse(CAT)) == {(0, 2), (2, 4)}
    assert builders_of(parse(CAT)) == ["ternary"]
    assert builders_of(parse("(ROOT (X The (X cat eats) fish))")) == []
    assert builders_of(parse("(ROOT (NULL (NULL The cat) (NULL eats fish)))")) == ["binary-1", "binary-2", "phrase"]
    assert builders_of(parse("(ROOT (X The (X cat (X eats fish))))")) == ["right-branching"]
    scores = score_trees([parse(CAT), None, parse("(ROOT a b c)")], ["The cat eats fish .", "", "a b c"])
    assert (scores.three_words_or_more, scores.shaped, dict(scores.shapes)) == (2, 2, {"ternary": 2, "flat": 1})


def test_trees_of_one_or_two_words_tell_no_builder() -> None:
    short = [parse("(ROOT a)"), parse("(ROOT (NULL a b))"), parse("(ROOT (NULL a (NULL b c)))")]
    scores = score_trees(short, ["a", "a b", "a b c"])
    assert (scores.three_words_or_more, scores.shaped, dict(scores.shapes)) == (1, 1, {"right-branching": 1})
