"""Laws of dependency trees: inverses, word order, and what becomes of crossing arcs."""

from __future__ import annotations

from hypothesis import given

from support import strategies
from trdec.trees.dependency import from_heads, is_projective, projectivise, to_heads
from trdec.trees.tree import NULL, Nonterminal, Terminal, preorder, words


def _numbered(heads: list[int]) -> list[str]:
    return [f"w{number}" for number in range(1, len(heads) + 1)]


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
