"""What a target writes besides words, grammar rules or marks: counted in trees, saved and loaded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from trdec.files import read_lines, writing
from trdec.targets.derivation import DerivationTarget
from trdec.targets.sequence import CcgTarget, LinTarget, Seq2SeqTarget, SequenceTarget
from trdec.targets.target import Target
from trdec.trees.grammar import Grammar, rules_of
from trdec.trees.tree import Nonterminal

AnyTarget = Target[Any]

Family = type[Seq2SeqTarget | CcgTarget | LinTarget]


class Notation(Protocol):
    """How the targets of a family are made from counts and kept in a file."""

    file_name: str

    def units(self, tree: Nonterminal) -> Iterable[Any]:
        """The rules or marks that writing the tree takes."""

    def target(self, counts: Counter[Any], min_count: int, vocabulary: Sequence[str]) -> AnyTarget:
        """The target with all units counted at least so often."""

    def save(self, target: Any, path: Path) -> None:
        """Write the target's units to a file that `load` reads."""

    def load(self, path: Path, vocabulary: Sequence[str]) -> AnyTarget:
        """The target with the units in the file."""


class RuleNotation:
    """A derivation's units are grammar rules."""

    file_name = "grammar.txt"

    @staticmethod
    def units(tree: Nonterminal) -> Iterable[Any]:
        """The rules of the tree."""
        return rules_of(tree)

    @staticmethod
    def target(counts: Counter[Any], min_count: int, vocabulary: Sequence[str]) -> AnyTarget:
        """Derivations by all rules counted at least so often."""
        return DerivationTarget(Grammar(_frequent(counts, min_count)), vocabulary)

    @staticmethod
    def save(target: DerivationTarget, path: Path) -> None:
        """Write a rule and its count a line."""
        _write(path, target.grammar.write())

    @staticmethod
    def load(path: Path, vocabulary: Sequence[str]) -> AnyTarget:
        """Derivations by the rules in the file."""
        return DerivationTarget(Grammar.read(read_lines(path)), vocabulary)


class MarkNotation:
    """A sequence's units are its marks: supertags, labelled brackets, or none."""

    file_name = "marks.txt"

    def __init__(self, family: Family) -> None:
        self._family = family

    def units(self, tree: Nonterminal) -> Iterable[Any]:
        """The marks of the tree."""
        return self._family.marks_of(tree)

    def target(self, counts: Counter[Any], min_count: int, vocabulary: Sequence[str]) -> AnyTarget:
        """Sequences with all marks counted at least so often, most frequent first."""
        frequent = _frequent(counts, min_count)
        return self._family(sorted(frequent, key=lambda mark: (-frequent[mark], mark)), vocabulary)

    @staticmethod
    def save(target: SequenceTarget, path: Path) -> None:
        """Write a mark a line."""
        _write(path, target.marks)

    def load(self, path: Path, vocabulary: Sequence[str]) -> AnyTarget:
        """Sequences with the marks in the file."""
        return self._family([line.text for line in read_lines(path)], vocabulary)


def notation_of(family: type[DerivationTarget] | Family) -> Notation:
    """How targets of this family are kept."""
    return _NOTATIONS[family]


_NOTATIONS: dict[type[DerivationTarget] | Family, Notation] = {
    DerivationTarget: RuleNotation(),
    Seq2SeqTarget: MarkNotation(Seq2SeqTarget),
    CcgTarget: MarkNotation(CcgTarget),
    LinTarget: MarkNotation(LinTarget),
}


def _frequent(counts: Counter[Any], min_count: int) -> dict[Any, int]:
    return {unit: count for unit, count in counts.items() if count >= min_count}


def _write(path: Path, lines: Iterable[str]) -> None:
    with writing(path) as stream:
        stream.writelines(f"{line}\n" for line in lines)
