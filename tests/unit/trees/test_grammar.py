"""Grammars: counted, ordered, pruned, written and read back."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import strategies
from trdec.errors import Place, TreeFormatError, UnknownRuleError
from trdec.files import Line
from trdec.targets.actions import EOP, EOS, EmitMark, EmitWord
from trdec.targets.derivation import DerivationTarget
from trdec.targets.sequence import CcgTarget, LinTarget
from trdec.targets.target import ActionTable, replay
from trdec.trees.brackets import parse
from trdec.trees.grammar import Grammar, Rule, coverage, rules_of
from trdec.trees.tree import PRE, Nonterminal

treebanks = st.lists(strategies.trees(), min_size=1, max_size=6)


@given(treebanks)
def test_a_grammar_read_back_is_the_same(trees: list[Nonterminal]) -> None:
    grammar = Grammar.from_trees(trees)
    lines = [Line(Place("x", number), text) for number, text in enumerate(grammar.write(), 1)]
    assert Grammar.read(lines) == grammar


@given(treebanks, st.randoms(use_true_random=False))
def test_the_order_of_the_trees_does_not_matter(trees: list[Nonterminal], random: object) -> None:
    shuffled = list(trees)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert Grammar.from_trees(shuffled) == Grammar.from_trees(trees)


@given(treebanks)
def test_counts_are_those_of_the_rules_and_every_tree_is_covered(trees: list[Nonterminal]) -> None:
    grammar = Grammar.from_trees(trees)
    everything = [rule for tree in trees for rule in rules_of(tree)]
    assert {rule: everything.count(rule) for rule in everything} == grammar.counts
    assert coverage(grammar, trees).uncovered == 0
    assert list(grammar.counts.values()) == sorted(grammar.counts.values(), reverse=True)


@given(treebanks, st.integers(2, 4))
def test_no_nonterminal_is_stranded_by_a_minimum_count(trees: list[Nonterminal], minimum: int) -> None:
    grammar = Grammar.from_trees(trees, minimum)
    for rule in grammar:
        assert grammar.counts[rule] >= minimum
        assert all(symbol == PRE or grammar.expanding(symbol) for symbol in rule.rhs)


def test_coverage_names_what_is_unseen_once_a_tree() -> None:
    grammar = Grammar.from_trees([parse("(ROOT (S a))")])
    found = coverage(grammar, [parse("(ROOT (X b) (X c))"), parse("(ROOT (S b))"), parse("(ROOT (X d))")])
    assert (found.trees, found.covered, found.uncovered) == (3, 1, 2)
    assert found.unseen == {Rule("X", ("pre",)): 2, Rule("ROOT", ("X", "X")): 1, Rule("ROOT", ("X",)): 1}


def test_an_unknown_rule_is_named() -> None:
    target = DerivationTarget.from_trees([parse("(ROOT (S a))")], ["a"])
    with pytest.raises(UnknownRuleError, match=re.escape("ROOT -> X is not in the grammar (2 rules).")):
        replay(target, target.linearise(parse("(ROOT (X a))")))


@pytest.mark.parametrize(
    "text", ["S pre\t3", "S -> \t3", "S -> pre", "S -> pre\tmany", "S -> pre\t0", "S -> pre\t-3", "S -> pre\t1_0"]
)
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(TreeFormatError, match="x, line 1: expected a rule, a tab and its count"):
        Grammar.read([Line(Place("x", 1), text)])


def test_targets_take_their_marks_from_trees() -> None:
    trees = [parse("(ROOT (S a) (S b) (NP c))"), parse("(ROOT (S d))")]
    assert LinTarget.from_trees(trees, ["a"]).marks == ("(S", ")S", "(ROOT", ")ROOT", "(NP", ")NP")
    assert CcgTarget.from_trees(trees, ["a"], min_count=2).marks == ("S",)
    table = ActionTable(CcgTarget.from_trees(trees, ["a"]))
    assert [str(action) for action in table.actions] == ["S", "NP", "a", "<eos>"]
    assert str(EOP) == "<eop>"
    assert table.number(EOS) == 3
    assert table.number(EmitMark("NP")) == 1
    assert table.number(EmitWord("a")) == 2


def _lines(*texts: str) -> list[Line]:
    return [Line(Place("g.txt", number), text) for number, text in enumerate(texts, 1)]


@pytest.mark.parametrize("texts", [("S -> pre\t1", "NP -> S S\t1"), ("S -> pre\t1", "ROOT -> NP\t1")])
def test_a_grammar_that_makes_no_tree_is_refused_with_its_file_and_line(texts: tuple[str, ...]) -> None:
    with pytest.raises(TreeFormatError, match=r"g\.txt, line 2: .*ROOT"):
        Grammar.read(_lines(*texts))


def test_an_empty_grammar_is_refused() -> None:
    with pytest.raises(TreeFormatError, match="ROOT"):
        Grammar.read([])


def test_an_overlong_count_is_refused_in_a_short_message() -> None:
    with pytest.raises(TreeFormatError, match=r"g\.txt, line 2: expected a rule") as caught:
        Grammar.read(_lines("ROOT -> pre\t1", "ROOT -> S\t" + "9" * 5000))
    assert len(str(caught.value)) < 400


def test_a_long_chain_of_rules_is_read_in_time_in_proportion_to_its_length() -> None:
    texts = [f"{'ROOT' if number == 0 else f'N{number}'} -> N{number + 1}\t1" for number in range(20_000)]
    begin = time.process_time()
    assert len(Grammar.read(_lines(*texts, "N20000 -> pre\t1"))) == 20_001
    assert time.process_time() - begin < 2
