"""How much of a treebank a grammar can generate, and which rules it lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from trdec.grammar.grammar import Grammar
from trdec.grammar.rule import Rule, rules_of
from trdec.trees.tree import Nonterminal


@dataclass(frozen=True, slots=True)
class Coverage:
    """The number of trees, of those the grammar generates, and how many trees need each rule it lacks."""

    trees: int
    covered: int
    unseen: Counter[Rule]

    @property
    def uncovered(self) -> int:
        """The number of trees that need a rule the grammar lacks."""
        return self.trees - self.covered


def coverage(grammar: Grammar, trees: Iterable[Nonterminal]) -> Coverage:
    """What the grammar covers of the trees."""
    total = covered = 0
    unseen: Counter[Rule] = Counter()
    for tree in trees:
        total += 1
        lacking = {rule for rule in rules_of(tree) if rule not in grammar}
        unseen.update(lacking)
        covered += not lacking
    return Coverage(total, covered, unseen)
