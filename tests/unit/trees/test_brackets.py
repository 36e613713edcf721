"""Brackets as real parsers and treebanks write them, and what is said of broken ones."""

from __future__ import annotations

import re
import time

import pytest

from trdec.errors import Place, TreeFormatError, TreeShapeError
from trdec.files import Line
from trdec.trees import brackets
from trdec.trees.tree import Entry, Nonterminal, Terminal, words


def _read(text: str) -> list[Entry]:
    return list(
        brackets.read_brackets(Line(Place("x.con", number), line) for number, line in enumerate(text.split("\n"), 1))
    )


def _error(text: str) -> str:
    errors = [entry.error for entry in _read(text) if entry.error]
    assert len(errors) == 1
    assert isinstance(errors[0], TreeFormatError)
    return str(errors[0])


def test_tight_style_is_read() -> None:
    assert repr(brackets.parse("(T (T the)seal)")) == "(T (T the) seal)"
    assert brackets.parse("(T(T the)seal)") == brackets.parse("( T ( T the ) seal )")


def test_an_unlabelled_outer_bracket_is_root() -> None:
    assert repr(brackets.parse("( (S (NP I) (VP sleep)))")) == "(ROOT (S (NP I) (VP sleep)))"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("(X -LRB-)", "("),
        ("(X -RRB-)", ")"),
        (r"(X 1\/2)", "1/2"),
        (r"(X \*)", "*"),
        (r"(X \-LRB-)", "-LRB-"),
        ("(X ``)", "``"),
        ("(X \\)", "\\"),
        ("(X a\u00a0b)", "a\u00a0b"),
        ("(X :-LRB-)", ":("),
    ],
)
def test_escapes_are_read(text: str, word: str) -> None:
    assert words(brackets.parse(text)) == [word]


def test_trees_may_be_spread_over_lines() -> None:
    pretty = """
( (S
    (NP (DT The) (NN cat))
    (VP sleeps)))

(ROOT
  (S (NP It)
    (VP dreams)))
"""
    assert [repr(entry.tree) for entry in _read(pretty)] == [
        "(ROOT (S (NP (DT The) (NN cat)) (VP sleeps)))",
        "(ROOT (S (NP It) (VP dreams)))",
    ]
    assert [entry.place.line for entry in _read(pretty)] == [2, 6]


def test_blank_lines_part_trees_where_the_first_is_followed_by_one() -> None:
    assert len(_read("(S a)\n\n(S\n  b)\n\n(S c)\n")) == 3


@pytest.mark.parametrize("mark", ["SENTENCE_SKIPPED_OR_UNPARSABLE", "(())", "()", "( )", "(ROOT )", "(TOP)", "( () )"])
def test_a_parsers_failure_is_an_entry_without_tree_or_error(mark: str) -> None:
    entries = _read(f"(S a)\n{mark}\n(S b)")
    assert [repr(entry.tree) for entry in entries] == ["(S a)", "None", "(S b)"]
    assert not any(entry.error for entry in entries)


def test_an_empty_line_among_trees_one_per_line_is_an_error() -> None:
    error = _error("(S a)\n(S b)\n\n(S c)")
    assert error.startswith("x.con, line 3: expected a bracketed tree, found an empty line.")
    assert "(())" in error


def test_an_empty_first_line_before_trees_one_per_line_is_an_error() -> None:
    assert _error("\n(S a)\n(S b)").startswith("x.con, line 1: expected a bracketed tree, found an empty line.")


def test_an_empty_first_line_before_a_failure_is_an_error() -> None:
    assert _error("\nNone\n(S a)\n(S b)").startswith("x.con, line 1: expected a bracketed tree, found an empty line.")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "(S (NP a) (VP b)\n(S c)",
            "x.con, line 1: the tree that starts here is missing 1 ')' before the tree that starts on line 2.",
        ),
        ("(S (NP a", "x.con, line 1: the tree that starts here is missing 2 ')' before the end of the file."),
        ("(S a))", "x.con, line 1: ')' at token 5 follows the end of the tree."),
        ("(S a) (S b)", "x.con, line 1: '(' at token 5 follows the end of the tree."),
        (") (S a)", "x.con, line 1: ')' at token 1 closes nothing."),
        ("(S (NP) a)", "x.con, line 1: the node 'NP' that ends at token 5 holds no words."),
        ("(S (NP (DT)) (VP))", "x.con, line 1: the node 'DT' that ends at token 7 holds no words."),
        ("(S a () b)", "x.con, line 1: ')' at token 5 closes a bracket that holds nothing."),
        ("The cat sleeps", "x.con, line 1: expected '(' at token 1, found 'The'."),
    ],
)
def test_broken_brackets_are_named_with_file_line_and_token(text: str, message: str) -> None:
    assert _error(text).startswith(message)


def test_reading_goes_on_after_a_broken_tree() -> None:
    entries = _read("(S (a\n(S b)\n(S c))\n(S d)")
    assert [entry.tree is not None for entry in entries] == [False, True, False, True]


def test_brackets_never_closed_are_counted() -> None:
    with pytest.raises(TreeFormatError, match=re.escape("<text>, line 1: 2 brackets are never closed.")):
        brackets.parse("(S (NP a")


@pytest.mark.parametrize("name", ["", "two words", "a\tb"])
def test_what_cannot_be_bracketed_is_refused(name: str) -> None:
    with pytest.raises(TreeShapeError, match="without whitespace"):
        brackets.write(Nonterminal("S", (Terminal(name),)))
    with pytest.raises(TreeShapeError, match="without whitespace"):
        brackets.write(Nonterminal(name, (Terminal("a"),)))


@pytest.mark.parametrize("space", ["\u3000", "\u00a0", "\u2028", "\x85", "\x1c"])
def test_a_word_of_unicode_space_is_a_word_wherever_it_stands(space: str) -> None:
    for text in (
        f"(S {space})",
        f"(S a {space})",
        f"(S {space} a)",
        f"({space} a)",
        f"(S (NP {space}) {space}a{space})",
    ):
        (entry,) = _read(text)
        assert entry.tree is not None, entry
        assert brackets.write(entry.tree) == text
    assert "expected '(' at token 1" in _error(f"(S a)\n{space}\n(S b)")


@pytest.mark.parametrize(
    "text",
    [
        "(" + " " * 200_000 + "S a)",
        "(" + " " * 200_000 + "S (NP a))",
        "(" * 200_000 + "x" + " " * 200_000 + "(",
        "(" + " " * 200_000 + "x\n" + " " * 200_000 + "y)",
        "(S a" + " (" * 100_000,
        "\n".join(["(S a"] + [" b"] * 50_000),
    ],
)
def test_reading_takes_time_in_proportion_to_the_length(text: str) -> None:
    begin = time.process_time()
    _read(text)
    assert time.process_time() - begin < 2


def test_a_tree_a_hundred_thousand_brackets_deep_is_read_compared_and_written() -> None:
    text = "(S " * 100_000 + "a" + ")" * 100_000
    (entry,) = _read(text)
    assert entry.tree is not None
    assert brackets.write(entry.tree) == text
    assert entry.tree == brackets.parse(text)


def test_a_message_stays_short_whatever_is_found() -> None:
    for text in ("x" * 100_000, "(S a) " + "x" * 100_000, "(S " + "(" + "x" * 100_000 + " ))"):
        assert len(_error(text)) < 400
