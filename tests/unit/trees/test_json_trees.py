"""Trees as JSON: what is written, and what is said of what cannot be read."""

from __future__ import annotations

import json

import pytest

from trdec.errors import Place, TreeFormatError
from trdec.files import Line
from trdec.trees.brackets import parse
from trdec.trees.json_trees import read_json_trees, write_json_tree
from trdec.trees.tree import Entry


def _entry(text: str) -> Entry:
    (entry,) = read_json_trees([Line(Place("x.json", 7), text)])
    return entry


def _json(words: object, *nodes: object) -> str:
    return json.dumps({"words": words, "nodes": list(nodes)})


def _node(label: object, start: object, end: object) -> dict[str, object]:
    return {"label": label, "start": start, "end": end}


def test_nodes_are_spans_of_words_parents_first() -> None:
    assert json.loads(write_json_tree(parse("(ROOT (S (NP The cat) sleeps (X (Y .))))"))) == {
        "words": ["The", "cat", "sleeps", "."],
        "nodes": [_node("ROOT", 0, 4), _node("S", 0, 4), _node("NP", 0, 2), _node("X", 3, 4), _node("Y", 3, 4)],
    }


def test_other_keys_do_not_matter_and_every_tree_stands_under_root() -> None:
    entry = _entry('{"words": ["a"], "score": 1.5, "nodes": [{"label": "S", "start": 0, "end": 1, "x": []}]}')
    assert repr(entry.tree) == "(ROOT (S a))"
    assert _entry(" null ") == Entry(Place("x.json", 7), None)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("", "not JSON"),
        ("(S a)", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"a":' * 100_000, "not JSON"),
        ('{"words": ["a"], "nodes": [{"label": "S", "start": 0, "end": ' + "1" * 5000 + "}]}", "not JSON"),
        *(
            ('{"words": ["a"], "nodes": [' + "[" * depth + "]" * depth + "]}", "x.json")
            for depth in range(700, 1000, 20)
        ),
        ("[]", "list of words"),
        ("{}", "list of words"),
        (_json([], _node("S", 0, 0)), "list of words"),
        (_json("ab", _node("S", 0, 2)), "list of words"),
        (_json(["a", 1], _node("S", 0, 2)), "1 as a word"),
        (_json(["a b"], _node("S", 0, 1)), "a b"),
        (_json(["\ud800"], _node("S", 0, 1)), "as a word"),
        (_json([""], _node("S", 0, 1)), "as a word"),
        (_json(["a"]), "list of nodes"),
        (_json(["a"], "S"), "as a node"),
        (_json(["a"], _node("", 0, 1)), "as a node"),
        (_json(["a"], _node(None, 0, 1)), "as a node"),
        (_json(["a"], _node("S", False, True)), "as a node"),
        (_json(["a"], _node("S", 0, 1.0)), "as a node"),
        (_json(["a"], _node("S", 0, 2)), "from 0 to 2"),
        (_json(["a", "b"], _node("S", 0, 1)), "from 0 to 1"),
        (_json(["a"], _node("S", -1, 1)), "from -1 to 1"),
        (_json(["a", "b"], _node("S", 0, 2), _node("X", 1, 1)), "'X' from 1 to 1"),
        (_json(["a", "b"], _node("S", 0, 2), _node("X", 1, 3)), "'X' from 1 to 3"),
        (_json(["a", "b"], _node("S", 0, 2), _node("X", 2, 3)), "'X' from 2 to 3"),
        (_json(["a", "b"], _node("S", 0, 2), _node("X", 1, 2), _node("Y", 0, 2)), "'Y' from 0 to 2"),
        (_json(["a", "b", "c"], _node("S", 0, 3), _node("X", 0, 2), _node("Y", 1, 3)), "'Y' from 1 to 3"),
        (_json(["a", "b"], _node("S", 0, 2), _node("X", 1, 2), _node("Y", 0, 1)), "'Y' from 0 to 1"),
    ],
)
def test_what_is_no_tree_is_named_with_file_and_line(text: str, fact: str) -> None:
    entry = _entry(text)
    assert entry.tree is None
    assert isinstance(entry.error, TreeFormatError)
    assert str(entry.error).startswith("x.json, line 7: ")
    assert fact in str(entry.error)
    assert len(str(entry.error)) < 1000


def test_a_number_of_thousands_of_digits_is_not_shown_whole() -> None:
    entry = _entry('{"words": ["a"], "nodes": [{"label": "S", "start": 0, "end": ' + "1" * 4000 + "}]}")
    assert "does not fit" in str(entry.error)
    assert len(str(entry.error)) < 1000
