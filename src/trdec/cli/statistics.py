"""What `trdec trees stats` counts and how it shows it."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from trdec.targets.actions import Action
from trdec.targets.derivation import DerivationTarget
from trdec.targets.sequence import CcgTarget, LinTarget, Seq2SeqTarget
from trdec.trees.grammar import Rule, rules_of
from trdec.trees.supertags import from_tags
from trdec.trees.tree import NULL, Nonterminal, depth, labels, words


def _ccg(tree: Nonterminal) -> list[Action]:
    # Supertags stand one before each word, whatever tree there is besides.
    sentence = words(tree)
    return CcgTarget.linearise(from_tags(sentence, [NULL] * len(sentence)))


LINEARISERS: dict[str, Callable[[Nonterminal], list[Action]]] = {
    "derivation": DerivationTarget.linearise,
    "lin": LinTarget.linearise,
    "ccg": _ccg,
    "seq2seq": Seq2SeqTarget.linearise,
}


class TreebankStatistics:
    """Sums over the trees added so far."""

    def __init__(self) -> None:
        self.trees = self.words = self.failures = self.unreadable = self.crossing = 0
        self.depths: Counter[int] = Counter()
        self.labels: Counter[str] = Counter()
        self.rules: Counter[Rule] = Counter()
        self.actions: Counter[str] = Counter()

    def add(self, tree: Nonterminal) -> None:
        """Count one tree more."""
        self.trees += 1
        self.words += len(words(tree))
        self.depths[depth(tree)] += 1
        self.labels.update(labels(tree))
        self.rules.update(rules_of(tree))
        for target, linearise in LINEARISERS.items():
            self.actions[target] += len(linearise(tree))

    def summary(self) -> dict[str, Any]:
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
            "actions_per_sentence": {target: self.actions[target] / trees for target in LINEARISERS},
        }


def print_statistics(statistics: TreebankStatistics, as_json: bool) -> None:
    """The figures as JSON, as a table on a terminal, or as aligned plain lines."""
    summary = statistics.summary()
    if as_json:
        print(json.dumps(summary, ensure_ascii=False, indent=2))
        return
    rows = [
        ("trees", f"{summary['trees']:,}"),
        ("sentences without a tree", f"{summary['sentences_without_tree']:,}"),
        ("sentences that cannot be read", f"{summary['sentences_unreadable']:,}"),
        ("trees with crossing arcs", f"{summary['trees_with_crossing_arcs']:,}"),
        ("words", f"{summary['words']:,}"),
        ("words a sentence", f"{summary['words_per_sentence']:.1f}"),
        ("depth, mean", f"{summary['depth']['mean']:.1f}"),
        ("depth, greatest", f"{summary['depth']['max']:,}"),
        ("labels", f"{summary['labels']:,}"),
        ("rules", f"{summary['rules']:,}"),
        ("rules seen once", f"{summary['rules_seen_once']:,}"),
        *((f"actions a sentence, {target}", f"{mean:.1f}") for target, mean in summary["actions_per_sentence"].items()),
    ]
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table

        table = Table(show_header=False)
        table.add_column(style="bold")
        table.add_column(justify="right")
        for row in rows:
            table.add_row(*row)
        Console().print(table)
    else:
        for name, figure in rows:
            print(f"{name:32}{figure:>12}")
