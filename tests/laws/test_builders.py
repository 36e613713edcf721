"""Laws of the builders: words kept, and the paper's algorithms as the appendix writes them."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import strategies
from trdec.trees.builders import BUILDERS, phrases, version_1, version_2
from trdec.trees.tree import NULL, ROOT, Nonterminal, Terminal, Tree, depth, preorder, words


def make_tree_v1(w: list[str] | list[Tree], l: int, r: int) -> Tree:  # noqa: E741  (the appendix's letters)
    """The appendix's first algorithm, line by line; items that are nodes already stay as they are."""
    if l == r:
        item = w[l]
        return Terminal(item) if isinstance(item, str) else item
    m = math.floor((l + r) / 2)
    left_tree = make_tree_v1(w, l, m)
    right_tree = make_tree_v1(w, m + 1, r)
    return Nonterminal(NULL, (left_tree, right_tree))


def make_tree_v2(w: list[str]) -> Tree:
    """The appendix's second algorithm, line by line."""
    nodes: list[Tree] = []
    i = 0
    while i < len(w) - 1:
        lc = Terminal(w[i])
        rc = Terminal(w[i + 1])
        n = Nonterminal(NULL, (lc, rc))
        nodes.append(n)
        i = i + 2
    if i != len(w):
        nodes.append(Terminal(w[i]))
    return make_tree_v1(nodes, 0, len(nodes) - 1)


@given(strategies.sentences(70))
def test_binary_trees_are_those_of_the_appendix(sentence: list[str]) -> None:
    assert version_1(sentence) == make_tree_v1(sentence, 0, len(sentence) - 1)
    assert version_2(sentence) == make_tree_v2(sentence)


@given(strategies.sentences(70))
def test_version_1_is_as_deep_as_the_logarithm_of_its_length(sentence: list[str]) -> None:
    assert depth(version_1(sentence)) == math.ceil(math.log2(len(sentence)))


@pytest.mark.parametrize("kind", BUILDERS)
@given(sentence=strategies.sentences(), seed=st.integers(0, 10))
def test_every_builder_keeps_the_words_under_root(kind: str, sentence: list[str], seed: int) -> None:
    tree = BUILDERS[kind](sentence, Random(seed))
    assert tree.label == ROOT
    assert words(tree) == sentence
    assert all(
        node.label == NULL for child in tree.children for node in preorder(child) if isinstance(node, Nonterminal)
    )


@pytest.mark.parametrize(
    "kind", ["binary-1", "binary-2", "right-branching", "left-branching", "random-binary", "phrase"]
)
@given(sentence=strategies.sentences())
def test_binary_kinds_have_two_children_a_node(kind: str, sentence: list[str]) -> None:
    tree = BUILDERS[kind](sentence, Random(1))
    below = [node for child in tree.children for node in preorder(child) if isinstance(node, Nonterminal)]
    assert all(len(node.children) == 2 for node in below)


@given(strategies.sentences())
def test_siblings_of_a_ternary_tree_differ_by_one_word_at_most(sentence: list[str]) -> None:
    for node in preorder(BUILDERS["ternary"](sentence, Random(1)).children[0]):
        if isinstance(node, Nonterminal):
            sizes = [len(words(child)) for child in node.children]
            assert 2 <= len(sizes) <= 3
            assert max(sizes) - min(sizes) <= 1
            assert sizes == sorted(sizes, reverse=True)


def test_random_trees_are_the_same_for_the_same_seed_only() -> None:
    sentence = [str(number) for number in range(30)]
    build = BUILDERS["random-binary"]
    assert build(sentence, Random(3)) == build(sentence, Random(3))
    assert build(sentence, Random(3)) != build(sentence, Random(4))


def test_random_trees_split_at_every_place() -> None:
    generator = Random(0)
    lefts = {len(words(BUILDERS["random-binary"](list("abcd"), generator).children[0].children[0])) for _ in range(100)}  # type: ignore[union-attr]
    assert lefts == {1, 2, 3}


@given(strategies.sentences())
def test_phrases_are_the_sentence_cut_up(sentence: list[str]) -> None:
    parts = phrases(sentence)
    assert [word for part in parts for word in part] == sentence
    assert all(parts)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("After that , he slept .", ["After that ,", "he slept ."]),
        ("He said : `` Go home ! '' and left .", ["He said :", "`` Go home ! ''", "and left ."]),
        ("one ( or two ) three", ["one", "( or two )", "three"]),
        ("no punctuation here", ["no punctuation here"]),
    ],
)
def test_phrases_end_after_closing_and_before_opening_punctuation(sentence: str, expected: list[str]) -> None:
    assert [" ".join(part) for part in phrases(sentence.split())] == expected


def test_a_phrase_tree_never_mixes_two_phrases_below_the_phrases() -> None:
    tree = BUILDERS["phrase"](["a", "b", "c", ",", "d", "e", "."], Random(1))
    assert repr(tree) == "(ROOT (NULL (NULL (NULL a b) (NULL c ,)) (NULL (NULL d e) .)))"
