"""A target: how one family of systems writes a tree as actions, and which actions it may choose when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from trdec.errors import IllegalActionError, UnknownActionError
from trdec.targets.actions import KINDS, Action, EmitWord
from trdec.text import UNKNOWN
from trdec.trees.tree import Nonterminal


class State(Protocol):
    """What is open right now."""

    @property
    def symbol(self) -> str:
        """What is open: the row of the legal table that applies."""

    @property
    def parent(self) -> int:
        """1 + the step whose rule opened the symbol; 0 if none did."""

    @property
    def finished(self) -> bool:
        """Whether the sentence has ended."""


AnyState = TypeVar("AnyState", bound=State)


class Target(Protocol[AnyState]):
    """How one family writes a tree."""

    @property
    def actions(self) -> Sequence[Action]:
        """Every action, in the order of their numbers."""

    @property
    def symbols(self) -> Sequence[str]:
        """Every symbol that can be open, in the order of their numbers."""

    def linearise(self, tree: Nonterminal) -> list[Action]:
        """The actions that write the tree, EOS last."""

    def read(self, actions: Iterable[Action]) -> Nonterminal:
        """The tree that the actions write: undoes `linearise`."""

    def start(self) -> AnyState:
        """The state before the first action."""

    def advance(self, state: AnyState, action: Action) -> AnyState:
        """The state after the action; IllegalActionError if the open symbol does not allow it."""

    def legal(self, symbol: str) -> Sequence[Action]:
        """The actions that the symbol allows, in the order of their numbers."""

    def replacement(self, action: Action) -> Sequence[str]:
        """The symbols that are open in the place of the open symbol after the action, leftmost first."""


class Step(NamedTuple):
    """One action of a derivation, with what was open and which step opened it."""

    action: Action
    symbol: str
    parent: int


def replay(target: Target[AnyState], actions: Iterable[Action]) -> list[Step]:
    """The steps that the actions take from the start to the end: the only source of training steps."""
    steps: list[Step] = []
    state = target.start()
    advance = target.advance
    for action in actions:
        steps.append(Step(action, state.symbol, state.parent))
        state = advance(state, action)
    if not state.finished:
        raise IllegalActionError(f"the actions end with {state.symbol!r} open: expected <eos> as the last action")
    return steps


class ActionTable:
    """The numbers of a target's actions and symbols, and the legal table over them."""

    def __init__(self, target: Target[AnyState]) -> None:
        self.actions = tuple(target.actions)
        self.symbols = tuple(target.symbols)
        self._numbers = {action: number for number, action in enumerate(self.actions)}
        self._symbol_numbers = {symbol: number for number, symbol in enumerate(self.symbols)}
        self._unknown = self._numbers.get(EmitWord(UNKNOWN))
        self.kinds = tuple(KINDS[type(action)] for action in self.actions)
        legal = np.zeros((len(self.symbols), len(self.actions)), dtype=bool)  # Y A
        for row, symbol in enumerate(self.symbols):
            legal[row, [self._numbers[action] for action in target.legal(symbol)]] = True
        self.legal: NDArray[np.bool_] = legal

    def number(self, action: Action) -> int:
        """The action's number; a word outside the vocabulary has the unknown word's."""
        number = self._numbers.get(action)
        if number is None and isinstance(action, EmitWord):
            number = self._unknown
        if number is None:
            raise UnknownActionError(
                f"the action {action} is not among the {len(self.actions)} of this target. "
                "Take the target from data that covers this sentence, or leave it out."
            )
        return number

    def symbol_number(self, symbol: str) -> int:
        """The row of the legal table that the symbol has."""
        return self._symbol_numbers[symbol]

    def numbers(self, steps: Iterable[Step]) -> NDArray[np.int32]:
        """The steps as rows of action, symbol and parent."""
        rows = [(self.number(action), self._symbol_numbers[symbol], parent) for action, symbol, parent in steps]
        return np.array(rows, dtype=np.int32).reshape(-1, 3)  # T 3
