"""Actions and symbols as numbers, and which is legal when: all that a network needs to know of a target."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from trdec.errors import UnknownActionError
from trdec.targets.actions import KINDS, Action, EmitWord
from trdec.targets.target import AnyState, Step, Target
from trdec.text.subwords import UNKNOWN


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
