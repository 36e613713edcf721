"""A grammar rule, and the rules that a tree uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trdec.trees.preterminals import insert
from trdec.trees.tree import PRE, Nonterminal, preorder

_ARROW = " -> "


@dataclass(frozen=True, slots=True, order=True)
class Rule:
    """How a nonterminal is expanded: NP -> pre PP. Only labels stand in a rule, never words."""

    lhs: str
    rhs: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.lhs}{_ARROW}{' '.join(self.rhs)}"

    @classmethod
    def parse(cls, text: str) -> Rule:
        """The rule that `str` wrote; ValueError for anything else."""
        lhs, arrow, rhs = text.partition(_ARROW)
        symbols = tuple(symbol for symbol in rhs.split(" ") if symbol)
        if not (lhs and arrow and symbols):
            raise ValueError(text)
        return cls(lhs, symbols)


def rules_of(tree: Nonterminal) -> Iterator[Rule]:
    """The rules of the tree's derivation, top-down and left to right."""
    for node in preorder(insert(tree)):
        if isinstance(node, Nonterminal) and node.label != PRE:
            yield Rule(node.label, tuple([child.label for child in node.children]))  # type: ignore[union-attr]
