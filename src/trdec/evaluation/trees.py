"""Figures on a system's trees, and their agreement with reference trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from trdec.errors import TextFormatError
from trdec.files import WHITESPACE
from trdec.tokenisers import SPACES
from trdec.trees.builders import BUILDERS
from trdec.trees.tree import Nonterminal, Terminal, Tree, depth, labels, words

Bracket = tuple[str, int, int]
"""A node's label, its first word, and the word after its last."""

Shape = frozenset[tuple[int, int]]
"""The first word, and the word after the last, of each phrase of several words that is not the whole sentence."""

_FEWEST_WORDS = 3
"""Over fewer words the shape of a tree does not tell builders apart."""

_WHITESPACE = frozenset(WHITESPACE + SPACES)


@dataclass(frozen=True, slots=True)
class Agreement:
    """What was found beside what was expected (brackets, or words), counted over all sentences."""

    matched: int
    found: int
    expected: int

    @property
    def precision(self) -> float:
        """The share of what was found that was expected; 1 if nothing was found."""
        return self.matched / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """The share of what was expected that was found; 1 if nothing was expected."""
        return self.matched / self.expected if self.expected else 1.0

    @property
    def f1(self) -> float:
        """F1 = 2 matched / (found + expected); 1 if there is nothing on either side."""
        both = self.found + self.expected
        return 2 * self.matched / both if both else 1.0

    def to_json(self) -> dict[str, Any]:
        """The counts and what follows from them, as JSON has them."""
        counts = {"matched": self.matched, "found": self.found, "expected": self.expected}
        return {**counts, "precision": self.precision, "recall": self.recall, "f1": self.f1}


@dataclass(frozen=True, slots=True)
class TreeScores:
    """Figures over the trees of one or several outputs."""

    sentences: int
    trees: int
    """Sentences that have a tree at all."""
    well_formed: int
    """Sentences whose tree has exactly the words of the translation."""
    mean_depth: float | None
    mean_nodes: float | None
    """Nonterminals per tree, including ROOT."""
    three_words_or_more: int
    """How many trees have so many words: over fewer, all builders agree."""
    shapes: Mapping[str, int]
    """Of these, those with the shape that each builder gives to their words; a short tree may have several."""
    shaped: int
    """Of these, those with the shape of at least one builder."""
    comparable: int | None = None
    """Sentences whose tree has the words of the reference tree: only their spans mean the same."""
    labelled: Agreement | None = None
    unlabelled: Agreement | None = None

    @property
    def well_formed_share(self) -> float:
        """Well-formed sentences among all sentences."""
        return self.well_formed / self.sentences

    @property
    def shaped_share(self) -> float:
        """Trees with the shape of any builder among those of three words or more, of which there must be some."""
        return self.shaped / self.three_words_or_more

    def shape_share(self, builder: str) -> float:
        """Trees with the shape of this builder among the same."""
        return self.shapes.get(builder, 0) / self.three_words_or_more

    def to_json(self) -> dict[str, Any]:
        """The figures as JSON has them."""
        return {
            "sentences": self.sentences,
            "trees": self.trees,
            "well_formed": self.well_formed,
            "well_formed_share": self.well_formed_share,
            "mean_depth": self.mean_depth,
            "mean_nodes": self.mean_nodes,
            "three_words_or_more": self.three_words_or_more,
            "shapes": dict(self.shapes),
            "shaped": self.shaped,
            "comparable": self.comparable,
            "labelled": self.labelled.to_json() if self.labelled else None,
            "unlabelled": self.unlabelled.to_json() if self.unlabelled else None,
        }


def score_trees(
    trees: Sequence[Nonterminal | None],
    hypotheses: Sequence[str],
    reference_trees: Sequence[Nonterminal | None] | None = None,
) -> TreeScores:
    """The figures of an output's trees; agreement only where reference trees are given and some have the same words."""
    if not trees or len(trees) != len(hypotheses):
        raise TextFormatError(
            f"expected a tree for each hypothesis, found {len(trees)} trees and {len(hypotheses)} hypotheses."
        )
    there = [tree for tree in trees if tree is not None]
    well_formed = sum(
        _letters(hypothesis) == ("" if tree is None else _letters("".join(words(tree))))
        for tree, hypothesis in zip(trees, hypotheses, strict=True)
    )
    comparable, labelled, unlabelled = None, None, None
    if reference_trees is not None:
        if len(reference_trees) != len(trees):
            raise TextFormatError(
                f"expected a reference tree for each tree, found {len(reference_trees)} reference trees and "
                f"{len(trees)} trees."
            )
        pairs = list(_comparable(trees, reference_trees))
        comparable = len(pairs)
        if pairs:
            spans = [(bracketing(tree), bracketing(reference)) for tree, reference in pairs]
            labelled = _agreement(spans)
            unlabelled = _agreement([(_without_labels(found), _without_labels(expected)) for found, expected in spans])
    shapes = [builders_of(tree) for tree in there if len(words(tree)) >= _FEWEST_WORDS]
    return TreeScores(
        sentences=len(trees),
        trees=len(there),
        well_formed=well_formed,
        mean_depth=sum(map(depth, there)) / len(there) if there else None,
        mean_nodes=sum(sum(1 for _ in labels(tree)) for tree in there) / len(there) if there else None,
        three_words_or_more=len(shapes),
        shapes={name: count for name in BUILDERS if (count := sum(name in names for names in shapes))},
        shaped=sum(map(bool, shapes)),
        comparable=comparable,
        labelled=labelled,
        unlabelled=unlabelled,
    )


def builders_of(tree: Nonterminal) -> list[str]:
    """The builders that give the tree's shape to its words, but for those that draw shapes at random."""
    own, written = shape_of(tree), words(tree)
    regular = ((name, builder) for name, builder in BUILDERS.items() if not builder.is_random)
    return [name for name, builder in regular if written and shape_of(builder(written, Random(0))) == own]


def shape_of(tree: Nonterminal) -> Shape:
    """The tree's phrases of several words, whatever their labels and however many nodes have the same words."""
    whole = 0, len(words(tree))
    spans = {(start, end) for _, start, end in bracketing(tree)}
    return frozenset(span for span in spans if span != whole and span[1] - span[0] > 1)


def _letters(text: str) -> str:
    """The text without whitespace of any kind: a tree keeps a no-break space inside a word, but not before one."""
    return "".join(character for character in text if character not in _WHITESPACE)


def bracketing(tree: Nonterminal) -> Counter[Bracket]:
    """The brackets of a tree except its top, which all trees share; a bracket may occur more than once."""
    found: Counter[Bracket] = Counter()
    position = 0
    stack: list[Tree | tuple[str, int]] = list(reversed(tree.children))  # a tuple: a bracket that ends here
    while stack:
        item = stack.pop()
        if isinstance(item, Terminal):
            position += 1
        elif isinstance(item, Nonterminal):
            stack.append((item.label, position))
            stack.extend(reversed(item.children))
        else:
            label, start = item
            found[label, start, position] += 1
    return found


def _comparable(
    trees: Sequence[Nonterminal | None], references: Sequence[Nonterminal | None]
) -> Iterator[tuple[Nonterminal, Nonterminal]]:
    for tree, reference in zip(trees, references, strict=True):
        if tree is not None and reference is not None and words(tree) == words(reference):
            yield tree, reference


def _without_labels(brackets: Counter[Bracket]) -> Counter[Bracket]:
    spans: Counter[Bracket] = Counter()
    for (_, start, end), count in brackets.items():
        spans["", start, end] += count
    return spans


def _agreement(pairs: Sequence[tuple[Counter[Bracket], Counter[Bracket]]]) -> Agreement:
    return Agreement(
        matched=sum((found & expected).total() for found, expected in pairs),
        found=sum(found.total() for found, _ in pairs),
        expected=sum(expected.total() for _, expected in pairs),
    )
