"""A target: what one family of systems writes, reads, allows and stores.

A new target is one class in one file. It states which symbols are open at the start, which actions a symbol allows and
what an action opens in its place; from that, `Target` derives the states of a derivation, alike for every family.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from trdec.errors import IllegalActionError, UnknownActionError, UnknownRuleError, UsageError
from trdec.files import writing
from trdec.targets.actions import KINDS, Action, ApplyRule, EmitMark, EmitWord, EndPhrase, EndSentence
from trdec.text import UNKNOWN
from trdec.trees.tree import Nonterminal

END = "<end>"
"""The symbol below all others in a derivation: `<eos>` closes it. A finished state has it too."""


class Open(NamedTuple):
    """An open symbol, the step that opened it, and what is open after it: a stack whose tail hypotheses share."""

    symbol: str
    parent: int
    rest: Open | None


class Frontier(NamedTuple):
    """The state of a derivation: the stack of open symbols, leftmost on top, and the steps taken."""

    top: Open | None
    steps: int

    @property
    def symbol(self) -> str:
        """The open symbol that the next action replaces, which decides which actions are legal."""
        return END if self.top is None else self.top.symbol

    @property
    def parent(self) -> int:
        """1 + the step whose rule opened the symbol; 0 if none did."""
        return 0 if self.top is None else self.top.parent

    @property
    def finished(self) -> bool:
        """Whether nothing is open."""
        return self.top is None


Unit = TypeVar("Unit", bound=Hashable)
"""What a target writes besides words: grammar rules, or marks such as supertags and brackets."""


class Target(ABC, Generic[Unit]):
    """How one family writes a tree as actions."""

    vocabulary: tuple[str, ...]
    """The words, or the pieces of words, that it can write."""

    # Writing and reading.

    @staticmethod
    @abstractmethod
    def linearise(tree: Nonterminal) -> list[Action]:
        """The actions that write the tree, EOS last."""

    @abstractmethod
    def read(self, actions: Iterable[Action]) -> Nonterminal:
        """The tree that the actions write: the inverse of `linearise`."""

    # Legal actions.

    @property
    @abstractmethod
    def actions(self) -> tuple[Action, ...]:
        """Every action, in the order of their numbers."""

    @property
    @abstractmethod
    def symbols(self) -> tuple[str, ...]:
        """Every symbol that can be open, in the order of their numbers."""

    start_symbols: ClassVar[tuple[str, ...]]
    """The symbols that are open before the first action, leftmost first."""

    @abstractmethod
    def legal(self, symbol: str) -> Sequence[Action]:
        """The actions that the symbol allows, in the order of their numbers."""

    @staticmethod
    @abstractmethod
    def replacement(action: Action) -> tuple[str, ...]:
        """The symbols that the action opens instead of the open symbol, leftmost first."""

    @staticmethod
    def opens(action: Action) -> bool:
        """Whether the action is the parent of its replacement. Otherwise the parent stays the same."""
        return isinstance(action, ApplyRule)

    # Storing.

    file_name: ClassVar[str]
    """The file in a model's directory that holds its units."""

    @classmethod
    @abstractmethod
    def from_units(cls, counts: Mapping[Unit, int], vocabulary: Sequence[str]) -> Self:
        """The target with these units, given with their counts in the training data."""

    @abstractmethod
    def lines(self) -> Iterable[str]:
        """The lines of the file that holds its units."""

    @classmethod
    @abstractmethod
    def load(cls, path: Path, vocabulary: Sequence[str]) -> Self:
        """The target with the units in a file that `save` wrote."""

    # Derived from the above.

    @staticmethod
    def unit_of(action: Action) -> Any:
        """The rule or mark that the action writes; None for words and ends, which every target has."""
        return action.rule if isinstance(action, ApplyRule) else action.mark if isinstance(action, EmitMark) else None

    def save(self, path: Path) -> None:
        """Write its units to a file that `load` reads."""
        with writing(path) as stream:
            stream.writelines(f"{line}\n" for line in self.lines())

    @classmethod
    def from_counts(cls, counts: Mapping[Unit, int], vocabulary: Sequence[str], min_count: int = 1) -> Self:
        """The target with the units that were counted at least `min_count` times."""
        return cls.from_units({unit: count for unit, count in counts.items() if count >= min_count}, vocabulary)

    @classmethod
    def from_trees(cls, trees: Iterable[Nonterminal], vocabulary: Sequence[str], min_count: int = 1) -> Self:
        """The target with the units that occur at least `min_count` times in the trees."""
        return cls.from_counts(
            cls.count(action for tree in trees for action in cls.linearise(tree)), vocabulary, min_count
        )

    @classmethod
    def count(cls, actions: Iterable[Action]) -> Counter[Unit]:
        """How often the actions write each unit."""
        units = map(cls.unit_of, actions)
        return Counter(unit for unit in units if unit is not None)

    def start(self) -> Frontier:
        """The state before the first action."""
        top: Open | None = None
        for symbol in reversed(self.start_symbols):
            top = Open(symbol, 0, top)
        return Frontier(top, 0)

    def advance(self, state: Frontier, action: Action) -> Frontier:
        """The state after the action; IllegalActionError if the open symbol does not allow it."""
        step = state.steps + 1
        return Frontier(self.open_after(state.top, action, step), step)

    def open_after(self, top: Open | None, action: Action, step: int) -> Open | None:
        """The stack of open symbols after the action, taken as step `step`: `advance` without the counting."""
        if top is None:
            raise IllegalActionError(f"{action} is not legal after <eos>: expected no more actions")
        symbol, parent, rest = top
        effects = self._effects[symbol]
        effect = effects.get(type(action)) or effects.get(action)
        opens, symbols = effect or self._effect_of_unknown(symbol, action)
        if opens:
            parent = step
        for opened in symbols:
            rest = Open(opened, parent, rest)
        return rest

    @cached_property
    def _effects(self) -> dict[str, dict[Action | type[Action], _Effect]]:
        """For each symbol, what each action that it allows does.

        Where all words are legal and do the same, they share one entry, their type, which also covers words outside
        the vocabulary. Preparing data needs an effect at every step, and a type is faster to look up than an action.
        """
        words = sum(isinstance(action, EmitWord) for action in self.actions)
        found: dict[str, dict[Action | type[Action], _Effect]] = {}
        for symbol in {*self.start_symbols, *self.symbols}:
            found[symbol] = {action: self._effect(action) for action in self.legal(symbol)}
            of_words = [effect for action, effect in found[symbol].items() if isinstance(action, EmitWord)]
            if 0 < words == len(of_words) and len(set(of_words)) == 1:
                found[symbol][EmitWord] = of_words[0]
        return found

    def _effect(self, action: Action) -> _Effect:
        return self.opens(action), self.replacement(action)[::-1]

    def _effect_of_unknown(self, symbol: str, action: Action) -> _Effect:
        """The effect of a word outside the vocabulary, which counts as the unknown word; anything else is refused."""
        kinds = {type(legal) for legal in self.legal(symbol)}
        if isinstance(action, ApplyRule) and action.rule.lhs == symbol:
            rules = sum(isinstance(known, ApplyRule) for known in self.actions)
            raise UnknownRuleError(
                f"{action} is not in the grammar ({rules} rules). Extract the grammar from data that covers "
                "this tree, or leave such sentences out."
            )
        if isinstance(action, EmitMark) and EmitMark in kinds:
            raise _unknown(action, self.actions)
        if isinstance(action, EmitWord) and EmitWord in kinds:
            return self._effect(action)
        expected = [name.format(symbol) for kind, name in _EXPECTED.items() if kind in kinds] or ["nothing"]
        raise IllegalActionError(f"{action} is not legal with {symbol} open: expected {' or '.join(expected)}")


_Effect = tuple[bool, tuple[str, ...]]
"""Whether the action is the parent of what it opens, and what it opens, rightmost first."""

_EXPECTED: dict[type[Action], str] = {
    ApplyRule: "a rule for {}",
    EmitMark: "a mark",
    EmitWord: "a word",
    EndPhrase: "<eop>",
    EndSentence: "<eos>",
}


def _unknown(action: Action, actions: Sequence[Action]) -> UnknownActionError:
    return UnknownActionError(
        f"the action {action} is not among the {len(actions)} actions of this target. "
        "Make the target from data that covers this sentence, or leave the sentence out."
    )


class Step(NamedTuple):
    """One action of a derivation, with the symbol that was open and the step that opened it."""

    action: Action
    symbol: str
    parent: int


def replay(target: Target[Any], actions: Iterable[Action]) -> list[Step]:
    """The steps of a complete derivation, given its actions: what training and search agree on."""
    steps: list[Step] = []
    top = target.start().top
    open_after = target.open_after
    for number, action in enumerate(actions, start=1):
        after = open_after(top, action, number)
        assert top is not None, "or the action would have been illegal"
        steps.append(Step(action, top.symbol, top.parent))
        top = after
    if top is not None:
        raise IllegalActionError(f"the actions end with {top.symbol!r} open: expected <eos> as the last action")
    return steps


LARGEST_TABLE = 2**28
"""The most entries of the legal table, one byte each: hundreds of times those of the paper's systems."""


class ActionTable:
    """The numbers of a target's actions and symbols, and the legal table over them."""

    def __init__(self, target: Target[Any]) -> None:
        self.actions = tuple(target.actions)
        self.symbols = tuple(target.symbols)
        if len(self.symbols) * len(self.actions) > LARGEST_TABLE:
            raise UsageError(
                f"{len(self.symbols):,} symbols times {len(self.actions):,} actions are more than a table of legal "
                f"actions can hold ({LARGEST_TABLE:,}). Use fewer labels, rules or pieces."
            )
        self._numbers = {action: number for number, action in enumerate(self.actions)}
        self._symbol_numbers = {symbol: number for number, symbol in enumerate(self.symbols)}
        self._unknown = self._numbers.get(EmitWord(UNKNOWN))
        self.kinds = tuple(KINDS[type(action)] for action in self.actions)
        legal = np.zeros((len(self.symbols), len(self.actions)), dtype=bool)  # Y A
        for row, symbol in enumerate(self.symbols):
            legal[row, [self._numbers[action] for action in target.legal(symbol)]] = True
        self.legal: NDArray[np.bool_] = legal
        # A symbol that no action replaces has no number: nothing is legal with it open.
        numbers = self._symbol_numbers
        self._start = [numbers.get(symbol, -1) for symbol in reversed(target.start_symbols)]
        self._effects = [
            (target.opens(action), [numbers.get(symbol, -1) for symbol in reversed(target.replacement(action))])
            for action in self.actions
        ]

    def number(self, action: Action) -> int:
        """The action's number; a word outside the vocabulary has the unknown word's."""
        number = self._numbers.get(action)
        if number is None and isinstance(action, EmitWord):
            number = self._unknown
        if number is None:
            raise _unknown(action, self.actions)
        return number

    def symbol_number(self, symbol: str) -> int:
        """The symbol's number, its row in the legal table."""
        return self._symbol_numbers[symbol]

    def numbers(self, actions: Iterable[Action]) -> NDArray[np.int32]:
        """The actions as numbers."""
        return np.array([self.number(action) for action in actions], dtype=np.int32)  # T

    def steps(self, actions: NDArray[np.int32]) -> NDArray[np.int32]:
        """The steps of a complete derivation as rows of action, symbol and parent: `replay`, but of numbers."""
        stack = [(symbol, 0) for symbol in self._start]
        rows: list[tuple[int, int, int]] = []
        legal, effects = self.legal, self._effects
        for step, action in enumerate(actions.tolist(), start=1):
            symbol, parent = stack.pop() if stack else (-1, 0)
            if symbol < 0 or not legal[symbol, action]:
                name = self._symbol_name(symbol) if symbol >= 0 or stack else "nothing"
                raise IllegalActionError(f"step {step}: {self.actions[action]} is not legal with {name} open")
            rows.append((action, symbol, parent))
            opens, symbols = effects[action]
            if opens:
                parent = step
            for opened in symbols:
                stack.append((opened, parent))
        if stack:
            name = self._symbol_name(stack[-1][0])
            raise IllegalActionError(f"the actions end with {name} open: expected <eos> as the last action")
        return np.array(rows, dtype=np.int32).reshape(-1, 3)  # T 3

    def _symbol_name(self, number: int) -> str:
        return repr(self.symbols[number]) if number >= 0 else "a symbol that no action replaces"
