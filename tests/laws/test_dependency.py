"""Laws of dependency trees: inverses, word order, and what becomes of crossing arcs."""

from __future__ import annotations

import time
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import strategies
from trdec.errors import HeadsError
from trdec.trees.dependency import from_heads, is_projective, projectivise, to_heads
from trdec.trees.tree import NULL, Nonterminal, Terminal, preorder, words


def _numbered(heads: list[int]) -> list[str]:
    return [f"w{number}" for number in range(1, len(heads) + 1)]


def _hangs_from(heads: list[int], word: int, head: int) -> bool:
    while word not in (0, head):
        word = heads[word]
    return word == head


def _lifted_by_definition(heads: list[int]) -> list[int]:
    """The definition: the shortest arc over a word that does not hang from its head is lifted, again and again."""
    lifted = [0, *heads]
    while True:
        crossing = [
            (abs(word - head), word)
            for word, head in enumerate(lifted)
            if any(not _hangs_from(lifted, other, head) for other in range(min(word, head) + 1, max(word, head)))
        ]
        if not crossing:
            return lifted[1:]
        _, shortest = min(crossing)
        lifted[shortest] = lifted[lifted[shortest]]


def _random_heads(number: int, random: Random, nearest: int) -> list[int]:
    """Heads of words in a random order, each one of the `nearest` words before it there: if few, the tree is deep."""
    order = random.sample(range(1, number + 1), number)
    heads = [0] * (number + 1)
    for position, word in enumerate(order):
        heads[word] = random.choice(order[max(0, position - nearest) : position] or [0])
    return heads[1:]


def _crosses_by_definition(heads: list[int]) -> bool:
    """Two arcs cross if exactly one end of one lies strictly inside the other; the root stands before word 1."""
    arcs = [tuple(sorted((head, word))) for word, head in enumerate(heads, start=1)]
    return any(a < c < b < d for a, b in arcs for c, d in arcs)


@given(strategies.projective_heads())
def test_heads_come_back_from_the_tree(heads: list[int]) -> None:
    assert to_heads(from_heads(_numbered(heads), heads)) == heads


@given(strategies.projective_heads())
def test_projective_heads_are_left_as_they_are(heads: list[int]) -> None:
    assert is_projective(heads)
    assert projectivise(heads) == heads


@given(strategies.any_heads())
def test_projective_means_that_no_arcs_cross(heads: list[int]) -> None:
    assert is_projective(heads) == (not _crosses_by_definition(heads))


@given(strategies.any_heads())
def test_words_keep_their_order_whatever_the_heads(heads: list[int]) -> None:
    tree = from_heads(_numbered(heads), heads)
    assert words(tree) == _numbered(heads)
    for node in preorder(tree.children[0]):
        if isinstance(node, Nonterminal):
            assert node.label == NULL
            assert sum(isinstance(child, Terminal) for child in node.children) == 1


@given(strategies.any_heads())
def test_the_shortest_arc_that_crosses_is_lifted_until_none_crosses(heads: list[int]) -> None:
    assert projectivise(heads) == _lifted_by_definition(heads)


@given(st.integers(1, 30), st.sampled_from([1, 2, 3, 30]), st.randoms(use_true_random=False))
def test_lifting_follows_its_definition_in_long_and_deep_trees_too(number: int, nearest: int, random: Random) -> None:
    heads = _random_heads(number, random, nearest)
    assert projectivise(heads) == _lifted_by_definition(heads)


@pytest.mark.parametrize("nearest", [1, 3, 3000])
def test_three_thousand_words_with_crossing_arcs_are_lifted_in_a_moment(nearest: int) -> None:
    heads = _random_heads(3000, Random(1), nearest)
    begin = time.process_time()
    assert is_projective(projectivise(heads))
    assert time.process_time() - begin < 3


def test_arcs_that_cross_beyond_all_measure_are_refused_in_a_moment() -> None:
    # A chain of n words, then a root, then n words that hang from the end of the chain: each is lifted n times.
    begin = time.process_time()
    with pytest.raises(HeadsError, match=r"4001 words .* 500000 lifts"):
        projectivise([*range(2000), 0, *[2000] * 2000])
    with pytest.raises(HeadsError, match=r"20000 words, and it has 20004"):
        projectivise([3, 4, 0, 0, *[1] * 20_000])
    assert time.process_time() - begin < 4


@given(strategies.any_heads())
def test_lifting_hangs_words_from_ancestors_of_their_heads_only(heads: list[int]) -> None:
    lifted = projectivise(heads)
    assert is_projective(lifted)
    assert to_heads(from_heads(_numbered(heads), heads)) == lifted
    for word, head in enumerate(lifted, start=1):
        ancestor = heads[word - 1]
        while ancestor not in (head, 0):
            ancestor = heads[ancestor - 1]
        assert ancestor == head


def test_the_conversion_is_that_of_the_paper() -> None:
    tree = from_heads(["The", "cat", "eats", "fish", "."], [2, 3, 0, 3, 3])
    assert repr(tree) == "(ROOT (NULL (NULL (NULL The) cat) eats (NULL fish) (NULL .)))"


def test_a_chain_of_five_thousand_heads_does_not_overflow() -> None:
    heads = list(range(5000))
    assert to_heads(from_heads(_numbered(heads), heads)) == heads
