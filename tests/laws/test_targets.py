"""Laws of the targets: reading undoes writing, gold is legal, parents open their children, nonsense is read."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import strategies
from trdec.errors import IllegalActionError, UnknownActionError
from trdec.targets import TARGETS
from trdec.targets.actions import EOP, EOS, Action, ApplyRule, EmitMark, EmitWord
from trdec.targets.derivation import BEGUN, DerivationTarget
from trdec.targets.sequence import SENTENCE, CcgTarget, LinTarget, Seq2SeqTarget
from trdec.targets.target import END, ActionTable, replay
from trdec.trees import supertags
from trdec.trees.builders import left_branching
from trdec.trees.grammar import Grammar, Rule, rules_of
from trdec.trees.transforms import rooted
from trdec.trees.tree import PRE, ROOT, Nonterminal, words

tag_trees = st.lists(st.tuples(strategies.words, strategies.labels), min_size=1, max_size=12).map(
    lambda pairs: supertags.from_tags([word for word, _ in pairs], [tag for _, tag in pairs])
)


def _derivations(tree: Nonterminal) -> DerivationTarget:
    return DerivationTarget.from_trees([tree], sorted(set(words(tree))))


@given(strategies.trees())
def test_reading_a_derivation_undoes_writing_it(tree: Nonterminal) -> None:
    target = _derivations(tree)
    assert target.read(target.linearise(tree)) == tree


@given(strategies.trees())
def test_reading_lin_undoes_writing_it(tree: Nonterminal) -> None:
    assert LinTarget.read(LinTarget.linearise(tree)) == tree


@given(tag_trees)
def test_reading_ccg_undoes_writing_it(tree: Nonterminal) -> None:
    assert CcgTarget.read(CcgTarget.linearise(tree)) == tree


@given(strategies.trees())
def test_seq2seq_keeps_the_words(tree: Nonterminal) -> None:
    assert words(Seq2SeqTarget.read(Seq2SeqTarget.linearise(tree))) == words(tree)


@given(strategies.trees())
def test_every_gold_action_of_a_derivation_is_legal_where_it_occurs(tree: Nonterminal) -> None:
    target = _derivations(tree)
    for step in replay(target, target.linearise(tree)):
        assert step.action in target.legal(step.symbol)


@given(strategies.trees())
def test_an_action_is_legal_exactly_where_advance_takes_it(tree: Nonterminal) -> None:
    target = _derivations(tree)
    state = target.start()
    for gold in target.linearise(tree):
        legal = set(target.legal(state.symbol))
        for action in target.actions:
            if action in legal:
                target.advance(state, action)
            else:
                with pytest.raises(IllegalActionError, match="is not legal with"):
                    target.advance(state, action)
        state = target.advance(state, gold)
    assert state.finished


@given(strategies.trees())
def test_every_parent_is_the_rule_that_opened_the_symbol(tree: Nonterminal) -> None:
    target = _derivations(tree)
    steps = replay(target, target.linearise(tree))
    opened: dict[int, list[str]] = {}
    previous: tuple[str, int] | None = None
    for number, step in enumerate(steps, start=1):
        inside_phrase = step.symbol == BEGUN
        if step.symbol == END or number == 1:
            assert step.parent == 0
        elif inside_phrase:
            assert previous is not None
            assert step.parent == previous[1]
        else:
            # A rule's symbols are expanded left to right, each once.
            assert opened[step.parent].pop(0) == step.symbol
        if isinstance(step.action, ApplyRule):
            opened[number] = list(step.action.rule.rhs)
        previous = (step.symbol, step.parent)
    assert not any(opened.values())


@given(strategies.trees())
def test_the_rules_of_a_derivation_are_those_of_its_tree(tree: Nonterminal) -> None:
    applied = [action.rule for action in DerivationTarget.linearise(tree) if isinstance(action, ApplyRule)]
    assert applied == list(rules_of(tree))


marks = st.one_of(
    st.sampled_from(["(NP", ")NP", "(S", ")S", "(ROOT", ")ROOT", "(", ")"]).map(EmitMark),
    st.builds(EmitMark, st.just("N/N")),
)
nonsense = st.lists(st.one_of(st.builds(EmitWord, strategies.words), marks), max_size=30)


@given(nonsense)
def test_lin_and_ccg_read_any_tokens_and_keep_the_words(actions: list[Action]) -> None:
    said = [action.word for action in actions if isinstance(action, EmitWord)]
    for target in (LinTarget, CcgTarget):
        tree = target.read(actions)
        assert tree.label == ROOT
        assert words(tree) == said
        # What was read is a tree as good as any: it is written and read back.
        assert LinTarget.read(LinTarget.linearise(tree)) == tree


@given(strategies.trees(), st.data())
def test_any_legal_walk_is_a_derivation_that_reads_back(tree: Nonterminal, data: st.DataObject) -> None:
    target = _derivations(tree)
    state, taken = target.start(), []
    while not state.finished:
        legal = list(target.legal(state.symbol))
        # After a while, rules that lead to words soonest: every walk must be able to end.
        late = len(taken) > 30
        action = min(legal, key=_hurry(target.grammar)) if late else data.draw(st.sampled_from(legal))
        taken.append(action)
        state = target.advance(state, action)
    read = target.read(taken)
    assert target.linearise(read) == taken
    assert words(read) == [action.word for action in taken if isinstance(action, EmitWord)]


def _hurry(grammar: Grammar) -> object:
    """The number of actions that an action still needs to come to an end, at the least."""
    cost: dict[str, float] = {PRE: 2.0}
    for _ in grammar:
        for rule in grammar:
            total = 1 + sum(cost.get(symbol, float("inf")) for symbol in rule.rhs)
            cost[rule.lhs] = min(total, cost.get(rule.lhs, float("inf")))

    def key(action: Action) -> float:
        if isinstance(action, ApplyRule):
            return sum(cost[symbol] for symbol in action.rule.rhs)
        return 1.0 if isinstance(action, EmitWord) else 0.0

    return key


@given(strategies.trees())
def test_the_table_numbers_actions_and_says_what_is_legal(tree: Nonterminal) -> None:
    target = _derivations(tree)
    table = ActionTable(target)
    steps = replay(target, target.linearise(tree))
    numbers = table.steps(table.numbers(step.action for step in steps))
    assert [table.actions[number] for number in numbers[:, 0]] == [step.action for step in steps]
    assert [table.symbols[number] for number in numbers[:, 1]] == [step.symbol for step in steps]
    assert numbers[:, 2].tolist() == [step.parent for step in steps]
    assert table.legal[numbers[:, 1], numbers[:, 0]].all()
    assert table.legal.sum() == sum(len(target.legal(symbol)) for symbol in target.symbols)


@given(strategies.trees(), st.data())
def test_the_table_refuses_what_replaying_refuses(tree: Nonterminal, data: st.DataObject) -> None:
    target = _derivations(tree)
    table = ActionTable(target)
    gold = target.linearise(tree)
    place = data.draw(st.integers(0, len(gold)))
    other = data.draw(st.sampled_from(table.actions))
    changed = data.draw(st.sampled_from(([*gold[:place], other, *gold[place + 1 :]], gold[:place], [*gold, other])))
    try:
        steps = replay(target, changed)
    except IllegalActionError:
        with pytest.raises(IllegalActionError):
            table.steps(table.numbers(changed))
    else:
        found = table.steps(table.numbers(changed))
        assert [(table.symbols[symbol], parent) for _, symbol, parent in found] == [step[1:] for step in steps]


def test_a_table_without_rules_has_no_steps() -> None:
    table = ActionTable(DerivationTarget.from_trees([], ["a"]))
    for actions in ([], table.actions[:1]):
        with pytest.raises(IllegalActionError):
            table.steps(table.numbers(actions))


def test_rules_and_eos_come_before_words_and_eop() -> None:
    tree = Nonterminal(ROOT, (rooted(left_branching(["a", "b", "c"])),))
    kinds = ActionTable(_derivations(tree)).kinds
    assert kinds == ("rule",) * kinds.count("rule") + ("eos",) + ("word",) * 3 + ("eop",)


def test_a_derivation_five_thousand_deep_does_not_overflow() -> None:
    tree = rooted(left_branching([f"w{number}" for number in range(5000)]))
    target = _derivations(tree)
    actions = target.linearise(tree)
    assert len(replay(target, actions)) == len(actions)
    assert target.read(actions) == tree
    assert LinTarget.read(LinTarget.linearise(tree)) == tree


def test_a_phrase_cannot_end_before_its_first_word() -> None:
    tree = Nonterminal(ROOT, rooted(left_branching(["a", "b"])).children)
    target = _derivations(tree)
    assert EOP not in target.legal(PRE)
    assert EOP in target.legal(BEGUN)
    assert list(target.legal(END)) == [EOS]


@given(tag_trees)
def test_a_sequence_allows_every_action_until_eos(tree: Nonterminal) -> None:
    target = CcgTarget.from_trees([tree], sorted(set(words(tree))))
    state = target.start()
    for gold in target.linearise(tree):
        assert (state.symbol, state.parent, state.finished) == (SENTENCE, 0, False)
        for action in target.actions:
            assert target.advance(state, action).finished == (action == EOS)
        for action in (EOP, ApplyRule(Rule("S", (PRE,)))):
            with pytest.raises(IllegalActionError, match="with sentence open: expected a mark or a word or <eos>"):
                target.advance(state, action)
        state = target.advance(state, gold)
    assert state.finished
    with pytest.raises(IllegalActionError, match="after <eos>"):
        target.advance(state, EOS)


def test_a_word_outside_the_vocabulary_is_taken_where_words_are_legal() -> None:
    tree = rooted(left_branching(["a", "b"]))
    derivation = _derivations(tree)
    steps = replay(derivation, derivation.linearise(rooted(left_branching(["a", "new"]))))
    assert [(symbol, parent) for _, symbol, parent in steps] == [
        (symbol, parent) for _, symbol, parent in replay(derivation, derivation.linearise(tree))
    ]
    with pytest.raises(IllegalActionError, match="new is not legal with ROOT open: expected a rule for ROOT"):
        derivation.advance(derivation.start(), EmitWord("new"))
    assert replay(Seq2SeqTarget((), ["a"]), [EmitWord("new"), EOS])[0].action == EmitWord("new")


def test_an_unknown_mark_is_named() -> None:
    target = CcgTarget(["N"], ["a"])
    with pytest.raises(UnknownActionError, match="the action NP is not among the 3"):
        target.advance(target.start(), EmitMark("NP"))


@given(strategies.trees())
@settings(max_examples=20)
def test_a_target_that_was_saved_writes_the_same(tree: Nonterminal) -> None:
    for name, family in TARGETS.items():
        if name == "ccg":
            tree = supertags.from_tags(words(tree), ["N"] * len(words(tree)))
        target = family.from_trees([tree], sorted(set(words(tree))))
        with tempfile.TemporaryDirectory() as folder:
            target.save(Path(folder) / family.file_name)
            loaded = family.load(Path(folder) / family.file_name, target.vocabulary)
        assert loaded.actions == target.actions
        assert loaded.symbols == target.symbols
