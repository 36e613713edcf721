"""Laws of trees, brackets, preterminals and transforms."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from support import strategies
from trdec.trees import brackets, preterminals
from trdec.trees.builders import left_branching, right_branching
from trdec.trees.transforms import (
    TRANSFORMS,
    bare_leaves,
    binarise,
    desegment,
    limit_depth,
    null_labels,
    rooted,
    segment,
    strip_tags,
    unbinarise,
    wrap_words,
)
from trdec.trees.tree import NULL, PRE, Nonterminal, Terminal, depth, labels, preorder, words
from trdec.trees.treebank import misused_label


@given(strategies.trees())
def test_a_written_tree_is_parsed_back(tree: Nonterminal) -> None:
    assert brackets.parse(brackets.write(tree)) == tree


@given(strategies.trees(), strategies.trees())
def test_trees_are_equal_exactly_when_they_are_written_alike(first: Nonterminal, second: Nonterminal) -> None:
    alike = brackets.write(first) == brackets.write(second)
    assert (first == second) == alike
    if alike:
        assert hash(first) == hash(second)


@given(strategies.trees())
def test_a_tree_survives_pickling_and_copying(tree: Nonterminal) -> None:
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert copy.deepcopy(tree) == tree


@given(strategies.trees())
def test_removing_preterminals_undoes_inserting_them(tree: Nonterminal) -> None:
    assert preterminals.remove(preterminals.insert(tree)) == tree


@given(strategies.trees())
def test_words_stand_only_under_preterminals_and_no_two_preterminals_touch(tree: Nonterminal) -> None:
    inserted = preterminals.insert(tree)
    assert words(inserted) == words(tree)
    for node in preorder(inserted):
        if isinstance(node, Nonterminal):
            assert all(isinstance(child, Terminal) == (node.label == PRE) for child in node.children)
            kinds = [child.label == PRE for child in node.children if isinstance(child, Nonterminal)]
            assert not any(first and second for first, second in pairwise(kinds))


@given(strategies.trees(), st.integers(1, 6))
def test_transforms_keep_the_words(tree: Nonterminal, limit: int) -> None:
    for transform in (null_labels, strip_tags, wrap_words, bare_leaves, binarise, rooted):
        assert words(transform(tree)) == words(tree), transform
    assert words(limit_depth(tree, limit)) == words(tree)


@given(strategies.trees(), st.permutations(sorted(TRANSFORMS)))
def test_transforms_in_any_order_give_a_tree_that_is_read_back(tree: Nonterminal, names: list[str]) -> None:
    for name in names:
        tree = TRANSFORMS[name](tree)
        assert not any(isinstance(node, Nonterminal) and misused_label(node) for node in preorder(tree)), name
    assert brackets.parse(brackets.write(tree)) == tree


def test_a_preterminal_is_wrapped_like_a_word() -> None:
    assert (
        repr(wrap_words(brackets.parse("(ROOT (pre a) (NULL b c))")))
        == "(ROOT (NULL (pre a)) (NULL (NULL b) (NULL c)))"
    )


@given(strategies.trees())
def test_null_labels_keep_the_shape(tree: Nonterminal) -> None:
    null = null_labels(tree)
    assert set(labels(null)) <= {tree.label, NULL}
    assert [len(node.children) for node in preorder(tree) if isinstance(node, Nonterminal)] == [
        len(node.children) for node in preorder(null) if isinstance(node, Nonterminal)
    ]


@given(strategies.trees())
def test_every_wrapped_word_has_a_null_node_to_itself(tree: Nonterminal) -> None:
    for node in preorder(wrap_words(tree)):
        if isinstance(node, Nonterminal) and any(isinstance(child, Terminal) for child in node.children):
            assert node.label == NULL
            assert len(node.children) == 1


@given(strategies.trees())
def test_stripping_takes_out_exactly_the_nodes_over_one_word(tree: Nonterminal) -> None:
    tags = sum(
        len(node.children) == 1 and isinstance(node.children[0], Terminal)
        for node in preorder(tree)
        if isinstance(node, Nonterminal) and node is not tree
    )
    assert len(list(labels(strip_tags(tree)))) == len(list(labels(tree))) - tags


def _letters(word: str) -> list[str]:
    return ["▁" + word[0], *word[1:]]


PIECES = st.lists(st.sampled_from(["▁", "▁a", "b", "▁cd"]), min_size=1, max_size=4)


@given(st.recursive(PIECES, lambda inner: st.lists(inner, min_size=1, max_size=3), max_leaves=8))
def test_whatever_subwords_a_model_writes_its_tree_of_words_can_be_read_back(shape: list[object]) -> None:
    def tree_of(part: list[object]) -> Nonterminal:
        return Nonterminal("X", tuple(Terminal(inner) if isinstance(inner, str) else tree_of(inner) for inner in part))

    tree = desegment(Nonterminal("ROOT", (tree_of(shape),)))
    if tree.children:
        assert brackets.parse(brackets.write(tree)) == tree
    else:
        assert not words(tree)


@given(strategies.trees(word=strategies.plain_words))
def test_desegmenting_undoes_segmenting(tree: Nonterminal) -> None:
    segmented = segment(tree, _letters)
    assert words(segmented) == [piece for word in words(tree) for piece in _letters(word)]
    assert desegment(segmented) == tree


@given(strategies.trees(label=strategies.plain_labels))
def test_unbinarising_undoes_binarising_and_no_rule_is_longer_than_two(tree: Nonterminal) -> None:
    binary = binarise(tree)
    assert unbinarise(binary) == tree
    for node in preorder(preterminals.insert(binary)):
        if isinstance(node, Nonterminal) and node.label != PRE:
            assert len(node.children) <= 2


@given(strategies.trees(), st.integers(1, 6))
def test_a_limited_tree_is_no_deeper_than_its_limit_and_a_shallow_one_is_unchanged(
    tree: Nonterminal, limit: int
) -> None:
    limited = limit_depth(tree, limit)
    assert depth(limited) == min(depth(tree), limit)
    if depth(tree) <= limit:
        assert limited == tree


def test_nothing_overflows_on_a_tree_as_deep_as_five_thousand_words() -> None:
    sentence = [f"w{number}" for number in range(5000)]
    for shape in (right_branching, left_branching):
        tree = rooted(shape(sentence))
        assert depth(tree) == 5000
        assert words(tree) == sentence
        assert brackets.parse(brackets.write(tree)) == tree
        assert hash(tree) == hash(pickle.loads(pickle.dumps(tree)))
        assert repr(tree).startswith("(ROOT (NULL")
        assert preterminals.remove(preterminals.insert(tree)) == tree
        assert desegment(segment(tree, lambda word: ["▁" + word])) == tree
        assert unbinarise(binarise(tree)) == tree
        assert depth(limit_depth(tree, 7)) == 7
        for transform in (null_labels, strip_tags, wrap_words, bare_leaves):
            assert words(transform(tree)) == sentence
