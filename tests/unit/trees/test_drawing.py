"""Trees drawn for a terminal and as a picture."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from hypothesis import given
from rich.cells import cell_len

from support import strategies
from trdec.trees.brackets import parse
from trdec.trees.builders import right_branching
from trdec.trees.drawing import LIGHT, dim_word_starts, draw, outline, spread, spread_width, tree_svg
from trdec.trees.transforms import rooted
from trdec.trees.tree import Nonterminal, labels, words


def test_a_tree_is_spread_under_its_top() -> None:
    tree = parse("(ROOT (S (NP The cat) (VP eats (NP fish)) .))")
    assert "\n".join(spread(tree)) == "\n".join(
        [
            "           ROOT",
            "            │",
            "            S",
            "   ┌────────┴─┬───────┐",
            "   NP         VP      .",
            " ┌─┴──┐    ┌──┴──┐",
            "The  cat  eats   NP",
            "                 │",
            "                fish",
        ]
    )


def test_a_tree_too_wide_is_an_outline() -> None:
    tree = parse("(ROOT (S (NP The cat) (VP eats now (NP fish)) .))")
    assert list(draw(tree, width=10)) == [
        "ROOT",
        "└── S",
        "    ├── NP  The cat",
        "    ├── VP",
        "    │   ├── eats now",
        "    │   └── NP  fish",
        "    └── .",
    ]
    assert list(draw(tree, width=80)) == spread(tree)


@given(strategies.trees())
def test_a_drawing_has_every_word_and_label_and_keeps_to_its_width(tree: Nonterminal) -> None:
    names = sorted([*words(tree), *labels(tree)])
    lines = spread(tree)
    assert max(map(cell_len, lines)) <= spread_width(tree)
    branches = "".join(sorted("".join(lines).translate(str.maketrans("", "", "│┌┐─┬┴┼├┤ "))))
    drawn = "".join(sorted("".join(names).translate(str.maketrans("", "", "│┌┐─┬┴┼├┤ "))))
    assert branches == drawn
    assert sum(len(line) for line in outline(tree)) >= sum(map(len, names))


@given(strategies.trees())
def test_a_picture_is_well_formed_and_names_every_node(tree: Nonterminal) -> None:
    picture = ElementTree.fromstring(tree_svg(tree))
    texts = [element for element in picture.iter() if element.tag.endswith("text")]
    assert sorted("".join(element.itertext()) for element in texts) == sorted([*words(tree), *labels(tree)])


def test_words_of_a_picture_stand_left_to_right() -> None:
    picture = ElementTree.fromstring(tree_svg(parse("(ROOT (A one two) three (B (C four) five))")))
    places = {element.text: float(element.attrib["x"]) for element in picture.iter() if element.tag.endswith("text")}
    assert sorted(["one", "two", "three", "four", "five"], key=lambda word: places[word]) == [
        "one",
        "two",
        "three",
        "four",
        "five",
    ]


def test_a_deep_tree_can_be_outlined_and_pictured() -> None:
    tree = rooted(right_branching([str(number) for number in range(2000)]))
    assert sum(1 for _ in draw(tree, width=80)) == 2000 * 2 - 2  # the last two words share a line
    assert tree_svg(tree).count("<text ") == 4000


def test_an_empty_tree_is_drawn_as_its_label() -> None:
    assert list(draw(Nonterminal("ROOT", ()), width=80)) == ["ROOT"]


def test_the_mark_that_begins_a_word_is_light() -> None:
    tree = parse("(ROOT (S ▁fi sh) ▁.)")
    picture = ElementTree.fromstring(tree_svg(tree))
    marks = [element for element in picture.iter() if element.tag.endswith("tspan")]
    assert [(element.text, element.attrib["fill"]) for element in marks] == [("▁", LIGHT)] * 2
    plain = spread(tree)
    dim = [dim_word_starts(line) for line in plain]
    assert [line.count("\x1b[2m▁\x1b[22m") for line in dim] == [line.count("▁") for line in plain]
    assert [line.replace("\x1b[2m", "").replace("\x1b[22m", "") for line in dim] == plain


@given(strategies.trees(strategies.unicode_words, strategies.unicode_words))
def test_whatever_the_words_hold_a_drawing_is_lines_that_fit(tree: Nonterminal) -> None:
    for lines in (spread(tree), list(outline(tree))):
        assert not [line for line in lines if re.search("[\x00-\x1f\x7f-\x9f\u2028\u2029]", line)]
    assert max(map(cell_len, spread(tree))) <= spread_width(tree)
    ElementTree.fromstring(tree_svg(tree))


def test_a_word_without_width_and_one_that_would_move_the_cursor_are_drawn() -> None:
    assert list(draw(parse("(S \u0301)"), width=80)) == ["S", "│", "\u0301"]
    assert list(draw(parse("(S a\x1b[2Jb)"), width=80)) == ["  S", "  │", "a\ufffd[2Jb"]
