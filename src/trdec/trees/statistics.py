"""What a treebank holds, counted: trees, words, depths, labels, rules, and actions in each target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sized
from typing import Any

from trdec.trees.grammar import Rule, rules_of
from trdec.trees.tree import Entry, Nonterminal, depth, labels, words


class TreebankStatistics:
    """Sums over the entries added so far; `linearisers` say, by name, which actions a tree takes."""

    def __init__(self, linearisers: Mapping[str, Callable[[Nonterminal], Sized]]) -> None:
        self.trees = self.words = self.failures = self.unreadable = self.crossing = 0
        self.depths: Counter[int] = Counter()
        self.labels: Counter[str] = Counter()
        self.rules: Counter[Rule] = Counter()
        self.actions: Counter[str] = Counter()
        self._linearisers = linearisers

    def add(self, entry: Entry) -> None:
        """Count one more entry."""
        if entry.error is not None:
            self.unreadable += 1
        elif entry.tree is None:
            self.failures += 1
        else:
            self.crossing += not entry.was_projective
            self._add_tree(entry.tree)

    def _add_tree(self, tree: Nonterminal) -> None:
        self.trees += 1
        self.words += len(words(tree))
        self.depths[depth(tree)] += 1
        self.labels.update(labels(tree))
        self.rules.update(rules_of(tree))
        for target, linearise in self._linearisers.items():
            self.actions[target] += len(linearise(tree))

    def to_json(self) -> dict[str, Any]:
        """The figures as JSON has them."""
        trees = max(1, self.trees)
        return {
            "trees": self.trees,
            "sentences_without_tree": self.failures,
            "sentences_unreadable": self.unreadable,
            "trees_with_crossing_arcs": self.crossing,
            "words": self.words,
            "words_per_sentence": self.words / trees,
            "depth": {
                "mean": sum(level * count for level, count in self.depths.items()) / trees,
                "max": max(self.depths, default=0),
            },
            "labels": len(self.labels),
            "most_frequent_labels": dict(self.labels.most_common(10)),
            "rules": len(self.rules),
            "rules_seen_once": sum(count == 1 for count in self.rules.values()),
            "actions_per_sentence": {target: self.actions[target] / trees for target in self._linearisers},
        }
