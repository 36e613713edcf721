"""The supertags of every generated sentence combine: a CKY parser of CCG, written from its rules."""

from __future__ import annotations

from functools import cache
from itertools import islice, product

import pytest

from trdec.corpora.toy.generate import ToySentence, draws
from trdec.trees.tree import Nonterminal, Tree, words

# A category is an atom (name, feature) or a function (result, slash, argument).
Category = tuple[str, str | None] | tuple["Category", str, "Category"] | tuple[str, str, "Category"]
NP: Category = ("NP", None)
S: Category = ("S", None)
PUNCTUATION = {",", "."}
RAISED: Category = (S, "/", (S, "\\", NP))


@cache
def category(text: str) -> Category:
    depth = 0
    for position in range(len(text) - 1, -1, -1):
        letter = text[position]
        depth += (letter == ")") - (letter == "(")
        if depth == 0 and letter in "/\\" and position:
            return category(text[:position]), letter, category(text[position + 1 :])
    if text.startswith("("):
        assert text.endswith(")")
        return category(text[1:-1])
    name, _, feature = text.rstrip("]").partition("[")
    return name, feature or None


def match(wanted: Category, given: Category) -> tuple[bool, str | None]:
    """Whether `given` may stand for `wanted`, and the feature that a bare S then takes."""
    if len(wanted) != len(given):
        return False, None
    if len(wanted) == 2:
        if wanted[0] != given[0] or (wanted[1] and given[1] and wanted[1] != given[1]):
            return False, None
        return True, given[1] if wanted[1] is None else None
    if wanted[1] != given[1]:
        return False, None
    results, arguments = match(wanted[0], given[0]), match(wanted[2], given[2])
    return results[0] and arguments[0], results[1] or arguments[1]


def with_feature(item: Category, feature: str | None) -> Category:
    """The category with that feature on every bare S."""
    if len(item) == 2:
        return ("S", feature) if item == S else item
    return with_feature(item[0], feature), item[1], with_feature(item[2], feature)


@cache
def combine(left: Category, right: Category) -> frozenset[Category]:
    found: set[Category] = set()
    if len(left) == 3 and left[1] == "/":
        fits, feature = match(left[2], right)
        if fits:  # X/Y Y -> X
            found.add(with_feature(left[0], feature))
        if len(right) == 3 and right[1] == "/":
            fits, feature = match(left[2], right[0])
            if fits:  # X/Y Y/Z -> X/Z
                found.add((with_feature(left[0], feature), "/", right[2]))
    if len(right) == 3 and right[1] == "\\":
        fits, feature = match(right[2], left)
        if fits:  # Y X\Y -> X
            found.add(with_feature(right[0], feature))
        if len(left) == 3 and left[1] == "/":
            fits, feature = match(right[2], left[0])
            if fits:  # Y/Z X\Y -> X/Z
                found.add((with_feature(right[0], feature), "/", left[2]))
    if right[0] in PUNCTUATION:  # X , -> X
        found.add(left)
    if left == ("conj", None):  # conj X -> X', X X' -> X
        found.add(("joined", "", right))
    if right[0] == "joined" and right[2] == left:
        found.add(left)
    return frozenset(found)


def unary(item: Category) -> set[Category]:
    if item == ("N", None):
        return {item, NP, RAISED}
    return {item, RAISED} if item == NP else {item}


def chart(supertags: tuple[str, ...]) -> dict[tuple[int, int], set[Category]]:
    spans = {(i, i + 1): unary(category(tag)) for i, tag in enumerate(supertags)}
    for width in range(2, len(supertags) + 1):
        for start in range(len(supertags) - width + 1):
            end = start + width
            spans[start, end] = {
                item
                for middle in range(start + 1, end)
                for left, right in product(spans[start, middle], spans[middle, end])
                for result in combine(left, right)
                for item in unary(result)
            }
    return spans


@pytest.fixture(scope="module")
def sample() -> list[ToySentence]:
    return list(islice(draws(11), 1500))


def top_of(sentence: ToySentence) -> Category:
    return ("S", "q" if sentence.target.endswith("?") else "dcl")


def test_the_supertags_of_every_sentence_derive_a_sentence(sample: list[ToySentence]) -> None:
    for sentence in sample:
        top = chart(sentence.supertags)[0, len(sentence.supertags)]
        assert top_of(sentence) in top, sentence.target


def phrases(tree: Tree, start: int = 0) -> list[tuple[str, int, int]]:
    """The label and the span of every nonterminal."""
    if not isinstance(tree, Nonterminal):
        return []
    found = [(tree.label, start, start + len(words(tree)))]
    for child in tree.children:
        found += phrases(child, start)
        start += len(words(child))
    return found


def test_every_noun_phrase_of_the_tree_is_one_for_ccg_too(sample: list[ToySentence]) -> None:
    for sentence in sample[:400]:
        spans = chart(sentence.supertags)
        for label, start, end in phrases(sentence.tree):
            if label == "NP":
                assert NP in spans[start, end], sentence.target


def test_the_parser_refuses_what_is_no_sentence(sample: list[ToySentence]) -> None:
    for sentence in sample[:200]:
        *before, stop = sentence.supertags
        verbless = tuple("NP" if r"[dcl]\NP)" in tag else tag for tag in before)
        if verbless != tuple(before):
            assert top_of(sentence) not in chart((*verbless, stop))[0, len(before) + 1], sentence.target


@pytest.mark.parametrize(
    ("supertags", "derives"),
    [
        (r"NP/N N (S[dcl]\NP)/NP N .", True),
        (r"NP/N N (S[dcl]\NP)/(S[b]\NP) (S\NP)\(S\NP) (S[b]\NP)/NP N .", True),
        (r"NP/N N (S[dcl]\NP)/(S[b]\NP) (S[ng]\NP)/NP N .", False),
        (r"NP/N N (NP\NP)/(S[dcl]/NP) NP (S[dcl]\NP)/NP S[dcl]\NP .", True),
        (r"NP/N N (NP\NP)/(S[dcl]\NP) NP (S[dcl]\NP)/NP S[dcl]\NP .", False),
        (r"N/N NP/N S[dcl]\NP .", False),
    ],
)
def test_the_parser_knows_grammatical_from_ungrammatical(supertags: str, derives: bool) -> None:
    tags = tuple(supertags.split())
    assert (("S", "dcl") in chart(tags)[0, len(tags)]) is derives
