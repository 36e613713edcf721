"""Trees that come from NLTK and spaCy, and go there."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given

from support import strategies
from trdec.errors import TreeShapeError, UsageError
from trdec.trees.brackets import parse
from trdec.trees.dependency import from_heads, to_heads
from trdec.trees.exchange import from_nltk, from_spacy, to_nltk, to_spacy
from trdec.trees.tree import Nonterminal

WORDS = ["The", "cat", "eats", "fish", "."]
HEADS = [2, 3, 0, 3, 3]


@given(strategies.trees())
def test_a_tree_comes_back_from_nltk(tree: Nonterminal) -> None:
    pytest.importorskip("nltk", reason="nltk is not installed: pip install 'trdec[nltk]'")
    assert from_nltk(to_nltk(tree)) == tree


def test_nltk_has_the_same_words_and_labels() -> None:
    nltk = pytest.importorskip("nltk", reason="nltk is not installed: pip install 'trdec[nltk]'")
    text = "(ROOT (S (NP The cat) (VP eats (NP fish)) .))"
    assert to_nltk(parse(text)) == nltk.Tree.fromstring(text)
    assert from_nltk(nltk.Tree.fromstring(text)) == parse(text)
    deep = parse("(S " * 20_000 + "a" + ")" * 20_000)
    assert from_nltk(to_nltk(deep)) == deep
    for bad in (nltk.Tree("S", []), nltk.Tree("S", ["a b"]), nltk.Tree("S", [1]), nltk.Tree("", ["a"]), "(S a)"):
        with pytest.raises(TreeShapeError, match="expected"):
            from_nltk(bad)


@given(strategies.projective_heads())
def test_a_dependency_tree_comes_back_from_spacy(heads: list[int]) -> None:
    pytest.importorskip("spacy", reason="spaCy is not installed: pip install 'trdec[parse]'")
    tree = from_heads([f"w{number}" for number in range(len(heads))], heads)
    assert from_spacy(to_spacy(tree)) == tree


def test_spacy_has_the_same_words_and_heads() -> None:
    pytest.importorskip("spacy", reason="spaCy is not installed: pip install 'trdec[parse]'")
    document = to_spacy(from_heads(WORDS, HEADS))
    assert [token.text for token in document] == WORDS
    assert [token.head.text for token in document] == ["cat", "eats", "eats", "eats", "eats"]
    assert [token.dep_ for token in document] == ["dep", "dep", "ROOT", "dep", "dep"]
    assert len(list(document.sents)) == 1
    assert repr(from_spacy(document[:2])) == "(ROOT (NULL (NULL The) cat))"


def test_spacy_takes_dependency_trees_only_and_gives_only_what_was_parsed() -> None:
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed: pip install 'trdec[parse]'")
    with pytest.raises(TreeShapeError, match=r"dependency trees only.*\(S \(NP it\) \(VP sleeps\)\)"):
        to_spacy(parse("(ROOT (S (NP it) (VP sleeps)))"))
    with pytest.raises(TreeShapeError, match="without dependencies"):
        from_spacy(spacy.blank("xx")("It sleeps"))
    with pytest.raises(TreeShapeError, match="an empty one"):
        from_spacy(spacy.blank("xx")(""))
    two = spacy.tokens.Doc(spacy.blank("xx").vocab, words=["a", "\n"], heads=[0, 0], deps=["ROOT", "dep"])
    with pytest.raises(TreeShapeError, match=r"without whitespace, found .*n"):
        from_spacy(two)
    assert to_heads(from_spacy(two[:1])) == [0]


@pytest.mark.parametrize(("package", "extra"), [("nltk", "nltk"), ("spacy", "parse")])
def test_a_missing_package_is_named_with_how_to_install_it(
    package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    convert = to_nltk if package == "nltk" else to_spacy
    with pytest.raises(UsageError, match=rf"package {package} is not installed.*trdec\[{extra}\]"):
        convert(from_heads(WORDS, HEADS))
