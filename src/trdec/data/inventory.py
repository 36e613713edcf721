"""What a network needs to know of a target."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Inventory:
    """The sizes of a target and what is legal where.

    For a target with word symbols, the word actions are one contiguous block of ids; a word symbol allows only
    word actions, any other symbol only the others.
    """

    source_size: int
    num_actions: int
    num_symbols: int
    legal: Tensor  # Y A bool
    word_symbols: Tensor  # Y bool   where the word RNN is invoked: an open phrase
    word_actions: Tensor  # A bool   what the word RNN generates: pieces and <eop>

    def __post_init__(self) -> None:
        expected = {
            "legal": (self.num_symbols, self.num_actions),
            "word_symbols": (self.num_symbols,),
            "word_actions": (self.num_actions,),
        }
        for name, shape in expected.items():
            found = tuple(getattr(self, name).shape)
            if found != shape:
                raise ValueError(f"{name} must have the shape {shape}, found {found}.")
        if not bool(self.word_symbols.any()):
            return
        ids = self.word_actions.nonzero().squeeze(1)
        if int(ids[-1] - ids[0]) + 1 != len(ids):
            raise ValueError("the word actions must be one contiguous block of ids.")
        if bool((self.legal & (self.word_symbols.unsqueeze(1) != self.word_actions)).any()):
            raise ValueError("a word symbol must allow word actions only, any other symbol none of them.")
