"""Laws of the page's modules that need no browser: derivations, layout, pictures and the state in a link."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import strategies
from support.page_answers import candidate, candidate_of
from trdec.serve.page_files import FOLDER
from trdec.targets.actions import EOS, Action, EmitMark, EmitWord
from trdec.targets.derivation import BEGUN, DerivationTarget
from trdec.targets.sequence import LinTarget
from trdec.targets.target import END, Frontier, replay
from trdec.trees.builders import left_branching
from trdec.trees.tree import PRE, Nonterminal, Terminal, Tree, words

QUESTIONS = Path(__file__).parent / "page" / "questions.js"

Ask = Callable[..., Any]
laws = settings(max_examples=30)


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Ask node something about the modules."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("no node found: install nodejs to test the page's modules without a browser")
    folder = tmp_path_factory.mktemp("page")
    for path in [*FOLDER.glob("*.js"), QUESTIONS]:
        shutil.copy(path, folder)
    (folder / "package.json").write_text('{"type": "module"}')
    command = [program, str(folder / QUESTIONS.name)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def answered(about: str, **question: Any) -> Any:
            process.stdin.write(json.dumps({"about": about, **question}) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield answered
        process.stdin.close()


def flat(tree: Nonterminal) -> list[list[str]]:
    """The tree's brackets and words."""
    found: list[list[str]] = []
    stack: list[Tree | None] = [tree]
    while stack:
        node = stack.pop()
        if node is None:
            found.append([")"])
        elif isinstance(node, Terminal):
            found.append(["word", node.word])
        else:
            found.append(["(", node.label])
            stack += [None, *node.children[::-1]]
    return found


@laws
@given(tree=strategies.trees())
def test_the_page_replays_a_derivation_to_its_tree(ask: Ask, tree: Nonterminal) -> None:
    assert ask("tree", candidate=candidate("a b", tree)) == flat(tree)


@laws
@given(tree=strategies.trees())
def test_the_open_symbol_and_its_parent_are_those_of_training(ask: Ask, tree: Nonterminal) -> None:
    actions = DerivationTarget.linearise(tree)
    steps = replay(DerivationTarget.from_trees([tree], sorted(set(words(tree)))), actions)
    expected = [[PRE if step.symbol == BEGUN else step.symbol, step.parent] for step in steps]
    assert ask("steps", candidate=candidate_of("a b", actions, tree)) == expected


@laws
@given(tree=strategies.trees())
def test_after_each_step_the_symbols_are_open_that_are_open_in_search(ask: Ask, tree: Nonterminal) -> None:
    actions = DerivationTarget.linearise(tree)
    target = DerivationTarget.from_trees([tree], sorted(set(words(tree))))
    state = target.start()
    expected = [Counter(_open_symbols(state))]
    for action in actions:
        state = target.advance(state, action)
        expected.append(Counter(_open_symbols(state)))
    assert [Counter(found) for found in ask("open", candidate=candidate_of("a b", actions, tree))] == expected


def _open_symbols(state: Frontier) -> Iterator[str]:
    top = state.top
    while top is not None:
        if top.symbol != END:
            yield PRE if top.symbol == BEGUN else top.symbol
        top = top.rest


marks = st.sampled_from(["(S", "(NP", ")S", ")NP", "(ROOT", ")ROOT"]).map(EmitMark)
nonsense = st.lists(marks | st.sampled_from(["a", "b"]).map(EmitWord), max_size=25)


@laws
@given(before=nonsense, after=nonsense)
def test_brackets_that_do_not_match_are_read_as_the_target_reads_them(
    ask: Ask, before: list[Action], after: list[Action]
) -> None:
    actions = [*before, EmitWord("c"), *after, EOS]
    pieces = [EmitWord(f"▁{action.word}") if isinstance(action, EmitWord) else action for action in actions]
    made = candidate_of("a b", pieces, LinTarget.read(actions))
    made["tree"]["json"] = None  # only the actions tell
    assert ask("tree", candidate=made) == flat(LinTarget.read(actions))


@laws
@given(tree=strategies.trees(), system=st.sampled_from(["trdec-con", "lin"]))
def test_a_tree_only_grows_one_symbol_at_a_time_is_next_and_all_is_done_at_the_end(
    ask: Ask, tree: Nonterminal, system: str
) -> None:
    steps = ask("statuses", candidate=candidate("a b", tree, system))
    for before, after in pairwise(steps):
        shown = [status != "absent" for kind, status in before if kind != "phrase"]
        still = [status != "absent" for kind, status in after if kind != "phrase"]
        assert all(later for earlier, later in zip(shown, still, strict=True) if earlier)
    assert all(sum(status == "next" for _, status in step) <= 1 for step in steps)
    assert {status for kind, status in steps[-1] if kind != "phrase"} <= {"done", "absent"}
    assert (["symbol", "next"] in steps[0]) == (system == "trdec-con")


@laws
@given(tree=strategies.trees(), direction=st.sampled_from(["ltr", "rtl"]))
def test_words_stand_in_one_line_and_nothing_overlaps(ask: Ask, tree: Nonterminal, direction: str) -> None:
    layout = ask("layout", candidate=candidate("a b", tree), direction=direction)
    sign = 1 if direction == "ltr" else -1
    leaves = [node for node in layout["nodes"] if node["kind"] == "word"]
    assert len({leaf["y"] for leaf in leaves}) == 1
    assert [leaf["first"] for leaf in sorted(leaves, key=lambda leaf: sign * leaf["x"])] == list(range(len(leaves)))
    for node in layout["nodes"]:
        assert 0 <= node["x"] - node["width"] / 2 <= node["x"] + node["width"] / 2 <= layout["width"]
        assert 0 <= node["y"] - node["height"] / 2 <= node["y"] + node["height"] / 2 <= layout["height"]
        first, last = sorted([leaves[node["first"]]["x"], leaves[node["last"]]["x"]])
        assert first - 0.01 <= node["x"] <= last + 0.01
    rows: dict[float, list[dict[str, float]]] = {}
    for node in layout["nodes"]:
        rows.setdefault(node["y"], []).append(node)
    for row in rows.values():
        row.sort(key=lambda node: node["x"])
        for left, right in pairwise(row):
            assert left["x"] + left["width"] / 2 < right["x"] - right["width"] / 2


@laws
@given(tree=strategies.trees(word=strategies.unicode_words.filter(lambda word: "▁" not in word)))
def test_a_picture_is_xml_whatever_the_words_are(ask: Ask, tree: Nonterminal) -> None:
    made = candidate("a b", tree)
    ElementTree.fromstring(ask("svg", candidate=made, step=len(made["actions"])))
    ElementTree.fromstring(ask("svg", candidate=made, step=len(made["actions"]) // 2))


@laws
@given(tree=strategies.trees(), system=st.sampled_from(["trdec-con", "lin", "seq2seq"]))
def test_the_probability_of_all_nodes_is_that_of_the_translation(ask: Ask, tree: Nonterminal, system: str) -> None:
    made = candidate("a b", tree, system)
    made["actions"][-1]["log_prob"] = 0.0  # the end belongs to no node of a derivation
    total, rows = ask("totals", candidate=made)
    assert math.isclose(total, sum(action["log_prob"] for action in made["actions"]), abs_tol=1e-9)
    assert rows == len(made["actions"])


def test_a_piece_may_end_one_word_and_begin_the_next(ask: Ask) -> None:
    actions = [EmitWord("▁ca"), EmitWord("t."), EOS]
    made = candidate_of("a", actions, Nonterminal("ROOT", (Terminal("cat"), Terminal("."))), has_tree=False)
    made["attention"]["words"] = [[0, 1], [1]]
    assert ask("facts", candidate=made, word=0)["facts"][0] == ["Place", "word 1 of 2"]
    assert ask("facts", candidate=made, word=1)["facts"][0] == ["Place", "word 2 of 2"]


def test_a_word_has_the_mean_attention_of_its_pieces_by_the_rnn_that_writes_words(ask: Ask) -> None:
    made = candidate("a b c", "(ROOT fishes)")
    made["attention"]["rows"] = [
        {"action": 1, "rnn": "rule", "weights": [1, 0, 0, 0]},
        {"action": 1, "rnn": "word", "weights": [0, 1, 0, 0]},
        {"action": 2, "rnn": "rule", "weights": [1, 0, 0, 0]},
        {"action": 2, "rnn": "word", "weights": [0, 0, 0, 1]},
    ]
    assert ask("facts", candidate=made, word=0)["weights"] == [0, 0.5, 0, 0.5]


def test_only_the_lowest_differences_are_marked(ask: Ask) -> None:
    best = candidate("a", "(ROOT (S (NP the cat) (VP sleeps)))")
    other_word = candidate("a", "(ROOT (S (NP the dog) (VP sleeps)))")
    other_tree = candidate("a", "(ROOT (S (NP the cat) (X (VP sleeps))))")
    assert ask("differences", candidate=other_word, other=best) == ["dog"]
    assert ask("differences", candidate=other_tree, other=best) == ["X"]
    assert ask("differences", candidate=best, other=best) == []


def test_a_tree_deeper_than_any_stack_is_drawn(ask: Ask) -> None:
    tree = left_branching([f"w{number}" for number in range(5000)])
    made = candidate("a", tree)
    assert made["tree"]["json"] is None
    assert len(ask("layout", candidate=made, direction="ltr")["nodes"]) > 9000


whole = st.integers(1, 100)
states = st.fixed_dictionaries(
    {
        "model": st.none() | st.text(min_size=1),
        "text": st.text(),
        "beam": st.none() | whole,
        "best": whole,
        "words": st.none() | whole,
        "prefix": st.text(),
        "skeleton": st.text(),
        "split": st.booleans(),
        "sentence": whole,
        "candidate": whole,
        "step": st.none() | st.integers(0, 1000),
    }
)


@laws
@given(state=states)
def test_a_link_restores_the_state(ask: Ask, state: dict[str, Any]) -> None:
    assert ask("fragment", state=state) == state


@laws
@given(fragment=st.text())
def test_any_fragment_is_read_as_some_state(ask: Ask, fragment: str) -> None:
    state = ask("read", fragment=fragment)
    assert ask("fragment", state=state) == state


def test_numbers_out_of_range_in_a_link_are_ignored(ask: Ask) -> None:
    state = ask("read", fragment="#best=0&beam=1e3&words=-4&step=99999999&text=a&unknown=1")
    assert (state["best"], state["beam"], state["words"], state["step"], state["text"]) == (1, None, None, None, "a")
    assert ask("request", state=state) == {"text": "a", "split": True, "n_best": 1, "attention": True}


@pytest.mark.parametrize(
    ("text", "direction"), [("«12» שלום abc", "rtl"), ("abc שלום", "ltr"), ("العربية", "rtl"), ("", "ltr")]
)
def test_the_direction_is_that_of_the_first_letter(ask: Ask, text: str, direction: str) -> None:
    assert ask("direction", text=text) == direction


@pytest.mark.parametrize(
    ("number", "text"), [(1, "100 %"), (0.996, "99.6 %"), (0.5, "50 %"), (0.0123, "1.2 %"), (1e-9, "< 0.1 %")]
)
def test_probabilities_are_written_for_people(ask: Ask, number: float, text: str) -> None:
    assert ask("percent", number=number) == text
