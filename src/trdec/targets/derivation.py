"""TrDec's target: a tree as its derivation, top-down and left to right (paper, section 2).

A rule replaces the open nonterminal by the symbols of its right-hand side; an open preterminal is filled
with words until `<eop>`; when nothing is open, `<eos>` is the only legal action.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Self

from trdec.errors import IllegalActionError
from trdec.files import read_lines
from trdec.targets.actions import EOP, EOS, Action, ApplyRule, EmitWord, EndPhrase
from trdec.targets.target import END, Target
from trdec.trees import preterminals
from trdec.trees.grammar import Grammar, Rule
from trdec.trees.tree import PRE, ROOT, Nonterminal, Terminal, Tree

BEGUN = "pre+"
"""The symbol of an open phrase that already holds a word, so that `<eop>` is legal."""


class DerivationTarget(Target[Rule]):
    """Derivations by a grammar over a vocabulary of words (or subwords)."""

    start_symbols = (ROOT, END)
    file_name = "grammar.txt"

    def __init__(self, grammar: Grammar, vocabulary: Sequence[str]) -> None:
        self.grammar = grammar
        self.vocabulary = tuple(vocabulary)

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """Rules and EOS, which the rule RNN chooses, then words and EOP, which the word RNN chooses."""
        return (*map(ApplyRule, self.grammar), EOS, *map(EmitWord, self.vocabulary), EOP)

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The nonterminals, the phrase without and with words, and the end."""
        return (*self.grammar.nonterminals, PRE, BEGUN, END)

    @staticmethod
    def linearise(tree: Nonterminal) -> list[Action]:
        """The derivation of the tree: a rule for each node, words and EOP for each run of words, EOS."""
        actions: list[Action] = []
        stack = [tree]
        while stack:
            node = stack.pop()
            if node.label == PRE:
                actions += [_emit(leaf.word) for leaf in node.children]  # type: ignore[union-attr]
                actions.append(EOP)
            else:
                # `preterminals.insert` would give the same, but build the whole tree again.
                children = preterminals.close_runs(node.children)
                actions.append(_apply(node.label, tuple([child.label for child in children])))
                stack += children[::-1]
        actions.append(EOS)
        return actions

    def read(self, actions: Iterable[Action]) -> Nonterminal:
        """The tree that a complete legal derivation makes, without its preterminals."""
        # One entry per node that waits for children: its label, how many it still needs, those it has.
        waiting: list[tuple[str, list[int], list[Tree]]] = []
        phrase: list[Tree] = []
        state = self.start()
        top: Tree | None = None
        for action in actions:
            state = self.advance(state, action)
            done: Tree | None = None
            if isinstance(action, ApplyRule):
                waiting.append((action.rule.lhs, [len(action.rule.rhs)], []))
            elif isinstance(action, EmitWord):
                phrase.append(Terminal(action.word))
            elif isinstance(action, EndPhrase):
                done, phrase = Nonterminal(PRE, tuple(phrase)), []
            while done is not None and waiting:
                label, needed, children = waiting[-1]
                children.append(done)
                needed[0] -= 1
                if needed[0]:
                    break
                waiting.pop()
                done = Nonterminal(label, tuple(children))
                if not waiting:
                    top = done
        if not state.finished or not isinstance(top, Nonterminal):
            raise IllegalActionError(f"the actions end with {state.symbol!r} open: expected a complete derivation")
        return preterminals.remove(top)

    def legal(self, symbol: str) -> Sequence[Action]:
        """Rules for a nonterminal, words (and EOP once there is one) for a phrase, EOS at the end."""
        if symbol == END:
            return (EOS,)
        if symbol == PRE:
            return tuple(map(EmitWord, self.vocabulary))
        if symbol == BEGUN:
            return (*map(EmitWord, self.vocabulary), EOP)
        return tuple(map(ApplyRule, self.grammar.expanding(symbol)))

    @staticmethod
    def replacement(action: Action) -> tuple[str, ...]:
        """A rule's right-hand side; a phrase with a word in it; nothing after EOP and EOS."""
        if isinstance(action, ApplyRule):
            return action.rule.rhs
        return (BEGUN,) if isinstance(action, EmitWord) else ()

    @classmethod
    def from_units(cls, counts: Mapping[Rule, int], vocabulary: Sequence[str]) -> Self:
        """Derivations by these rules."""
        return cls(Grammar(counts), vocabulary)

    def lines(self) -> Iterable[str]:
        """One rule and its count per line."""
        return self.grammar.write()

    @classmethod
    def load(cls, path: Path, vocabulary: Sequence[str]) -> Self:
        """Derivations by the rules in the file."""
        return cls(Grammar.read(read_lines(path)), vocabulary)


@lru_cache(maxsize=2**17)
def _apply(lhs: str, rhs: tuple[str, ...]) -> ApplyRule:
    return ApplyRule(Rule(lhs, rhs))


# Trees repeat the same rules and words: sharing one object is faster than making and hashing new ones.
_emit = lru_cache(maxsize=2**17)(EmitWord)
