"""A target: how one family of systems writes a tree as actions, and which actions it may choose when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from trdec.errors import IllegalActionError
from trdec.targets.actions import Action
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
