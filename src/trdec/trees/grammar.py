"""Grammar rules, grammars extracted from trees, and how much of other trees a grammar covers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from trdec.errors import Place, TreeFormatError, excerpt
from trdec.files import Line, split_words
from trdec.trees.preterminals import insert
from trdec.trees.tree import PRE, ROOT, Nonterminal, preorder
from trdec.trees.treebank import SYMBOLS_NOT_LABELS

_ARROW = " -> "
_COUNT = re.compile("[1-9][0-9]{0,17}")


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
        symbols = tuple(split_words(rhs))
        if not (arrow and symbols) or split_words(lhs) != [lhs] or lhs in (PRE, *SYMBOLS_NOT_LABELS):
            raise ValueError(text)
        return cls(lhs, symbols)


def rules_of(tree: Nonterminal) -> Iterator[Rule]:
    """The rules of the tree's derivation, top-down and left to right."""
    for node in preorder(insert(tree)):
        if isinstance(node, Nonterminal) and node.label != PRE:
            yield Rule(node.label, tuple([child.label for child in node.children]))  # type: ignore[union-attr]


class Grammar:
    """A set of counted rules in a fixed order: most frequent first, then by name; if it was read, as it was written.

    Every nonterminal in it can be expanded down to words: a rule that would leave one stranded, because
    rarer rules were left out, is left out too.
    """

    def __init__(self, counts: Mapping[Rule, int]) -> None:
        self._keep(counts, sorted(counts, key=lambda rule: (-counts[rule], rule)))

    def _keep(self, counts: Mapping[Rule, int], order: Iterable[Rule]) -> None:
        productive = _productive(counts)
        self.counts: dict[Rule, int] = {rule: counts[rule] for rule in order if rule in productive}

    @classmethod
    def from_trees(cls, trees: Iterable[Nonterminal], min_count: int = 1) -> Grammar:
        """The grammar of all rules that occur at least `min_count` times in the trees."""
        counts: Counter[Rule] = Counter()
        for tree in trees:
            counts.update(rules_of(tree))
        return cls({rule: count for rule, count in counts.items() if count >= min_count})

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules in the grammar's order."""
        return tuple(self.counts)

    @cached_property
    def _by_lhs(self) -> dict[str, tuple[Rule, ...]]:
        grouped: dict[str, list[Rule]] = {}
        for rule in self.counts:
            grouped.setdefault(rule.lhs, []).append(rule)
        return {lhs: tuple(rules) for lhs, rules in grouped.items()}

    @property
    def nonterminals(self) -> tuple[str, ...]:
        """Every left-hand side, by the place of its first rule."""
        return tuple(self._by_lhs)

    def expanding(self, label: str) -> tuple[Rule, ...]:
        """The rules whose left-hand side is the label, in the grammar's order."""
        return self._by_lhs.get(label, ())

    def __contains__(self, rule: Rule) -> bool:
        return rule in self.counts

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.counts)

    def __len__(self) -> int:
        return len(self.counts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grammar) and list(self.counts.items()) == list(other.counts.items())

    __hash__ = None  # type: ignore[assignment]

    def write(self) -> Iterator[str]:
        """A line for each rule: the rule, a tab, its count."""
        return (f"{rule}\t{count}" for rule, count in self.counts.items())

    @classmethod
    def read(cls, lines: Iterable[Line]) -> Grammar:
        """The grammar that `write` wrote, its rules in the order of the lines, whatever their counts.

        TreeFormatError for one that generates no tree.
        """
        counts: dict[Rule, int] = {}
        last: Place | None = None
        for line in lines:
            last = line.place
            text, _, count = line.text.partition("\t")
            try:
                rule = Rule.parse(text)
                if not _COUNT.fullmatch(count):
                    raise ValueError(count)
            except ValueError:
                raise TreeFormatError(
                    f"{line.place}: expected a rule, a tab and its count, such as 'NP -> pre PP<tab>12', "
                    f"found {excerpt(line.text)}. Write grammars with: trdec grammar extract"
                ) from None
            if rule in counts:
                raise TreeFormatError(
                    f"{line.place}: the rule {excerpt(str(rule))} is in the grammar twice. Remove one."
                )
            counts[rule] = int(count)
        grammar = cls({})
        grammar._keep(counts, counts)
        if not grammar.expanding(ROOT):
            raise TreeFormatError(
                f"{last or 'an empty file'}: expected a rule that leads from {ROOT} to words, found none up to the "
                "end: the grammar generates no tree. Write grammars with: trdec grammar extract"
            )
        return grammar


def _productive(rules: Iterable[Rule]) -> set[Rule]:
    """The rules all of whose nonterminals lead to words through rules of the set."""
    productive: set[Rule] = set()
    missing: dict[Rule, int] = {}  # how many of a rule's symbols are not yet known to lead to words
    rules_with: dict[str, list[Rule]] = {}
    for rule in rules:
        symbols = set(rule.rhs)
        missing[rule] = len(symbols)
        for symbol in symbols:
            rules_with.setdefault(symbol, []).append(rule)
    leading = [PRE]
    for symbol in leading:  # grows while it is read
        for rule in rules_with.pop(symbol, ()):
            missing[rule] -= 1
            if not missing[rule]:
                productive.add(rule)
                leading.append(rule.lhs)
    return productive


@dataclass(frozen=True, slots=True)
class Coverage:
    """The number of trees, of those the grammar generates, and how many trees need each missing rule."""

    trees: int
    covered: int
    unseen: Counter[Rule]

    @property
    def uncovered(self) -> int:
        """The number of trees that need a rule missing from the grammar."""
        return self.trees - self.covered


def coverage(grammar: Grammar, trees: Iterable[Nonterminal]) -> Coverage:
    """How much of the trees the grammar covers."""
    total = covered = 0
    unseen: Counter[Rule] = Counter()
    for tree in trees:
        total += 1
        lacking = {rule for rule in rules_of(tree) if rule not in grammar}
        unseen.update(lacking)
        covered += not lacking
    return Coverage(total, covered, unseen)
