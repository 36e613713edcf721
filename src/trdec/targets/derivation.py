"""TrDec's target: a tree as the derivation that makes it, top-down and left to right (paper, section 2).

A rule replaces the open nonterminal by the symbols of its right-hand side; an open preterminal is filled
with words until `<eop>`; when nothing is open, `<eos>` is the only legal action.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from trdec.errors import IllegalActionError
from trdec.targets.actions import EOP, EOS, Action, ApplyRule, EmitWord, EndPhrase, EndSentence
from trdec.trees import preterminals
from trdec.trees.grammar import Grammar, Rule
from trdec.trees.tree import PRE, ROOT, Nonterminal, Terminal, Tree

BEGUN = "pre+"
"""The symbol of an open phrase that holds a word already, so that `<eop>` has become legal."""

END = "<end>"
"""The symbol when nothing is open."""


class Open(NamedTuple):
    """An open symbol, the step that opened it, and what is open after it: a stack that beams share."""

    symbol: str
    parent: int
    rest: Open | None


class Frontier(NamedTuple):
    """The state of a derivation: the stack of open symbols, leftmost on top, and the steps taken."""

    top: Open | None
    steps: int
    finished: bool

    @property
    def symbol(self) -> str:
        """The open symbol that the next action is about."""
        return END if self.top is None else self.top.symbol

    @property
    def parent(self) -> int:
        """1 + the step whose rule opened the symbol; 0 for ROOT and the end."""
        return 0 if self.top is None else self.top.parent


class DerivationTarget:
    """Derivations by a grammar over a vocabulary of words (or subwords)."""

    def __init__(self, grammar: Grammar, vocabulary: Sequence[str]) -> None:
        self.grammar = grammar
        self.vocabulary = tuple(vocabulary)

    @classmethod
    def from_trees(
        cls, trees: Iterable[Nonterminal], vocabulary: Sequence[str], min_count: int = 1
    ) -> DerivationTarget:
        """Derivations by the rules that occur at least `min_count` times in the trees."""
        return cls(Grammar.from_trees(trees, min_count), vocabulary)

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
        stack: list[Tree] = [preterminals.insert(tree)]
        while stack:
            node = stack.pop()
            assert isinstance(node, Nonterminal), "words stand under preterminals only"
            if node.label == PRE:
                actions += [_emit(leaf.word) for leaf in node.children]  # type: ignore[union-attr]
                actions.append(EOP)
            else:
                actions.append(_apply(node.label, tuple([child.label for child in node.children])))  # type: ignore[union-attr]
                stack += node.children[::-1]
        actions.append(EOS)
        return actions

    def read(self, actions: Iterable[Action]) -> Nonterminal:
        """The tree that a whole legal derivation makes, without its preterminals."""
        # One entry for each node that waits for children: its label, how many it still needs, those it has.
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
            raise IllegalActionError(f"the actions end with {state.symbol!r} open: expected a whole derivation")
        return preterminals.remove(top)

    @staticmethod
    def start() -> Frontier:
        """ROOT open, nothing done."""
        return Frontier(Open(ROOT, 0, None), 0, False)

    def advance(self, state: Frontier, action: Action) -> Frontier:
        """The frontier after the action."""
        top, steps, finished = state
        if top is None:
            if isinstance(action, EndSentence) and not finished:
                return Frontier(None, steps + 1, True)
            raise _illegal(action, END, "only <eos>, once")
        symbol, parent, rest = top
        if symbol == BEGUN:
            if isinstance(action, EmitWord):
                return Frontier(top, steps + 1, False)
            if isinstance(action, EndPhrase):
                return Frontier(rest, steps + 1, False)
            raise _illegal(action, symbol, "a word or <eop>")
        if symbol == PRE:
            if isinstance(action, EmitWord):
                return Frontier(Open(BEGUN, parent, rest), steps + 1, False)
            raise _illegal(action, symbol, "a word, since no phrase is empty")
        if not isinstance(action, ApplyRule) or action.rule.lhs != symbol:
            raise _illegal(action, symbol, f"a rule for {symbol}")
        self.grammar.require(action.rule)
        opened = steps + 1
        for child in reversed(action.rule.rhs):
            rest = Open(child, opened, rest)
        return Frontier(rest, opened, False)

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
    def replacement(action: Action) -> Sequence[str]:
        """A rule's right-hand side; a phrase with a word in it; nothing after EOP and EOS."""
        if isinstance(action, ApplyRule):
            return action.rule.rhs
        return (BEGUN,) if isinstance(action, EmitWord) else ()


@lru_cache(maxsize=2**17)
def _apply(lhs: str, rhs: tuple[str, ...]) -> ApplyRule:
    return ApplyRule(Rule(lhs, rhs))


# Trees are full of the same rules and words: one object for all of them is quicker to make and to look up.
_emit = lru_cache(maxsize=2**17)(EmitWord)


def _illegal(action: Action, symbol: str, expected: str) -> IllegalActionError:
    return IllegalActionError(f"{action} is not legal with {symbol} open: expected {expected}")
