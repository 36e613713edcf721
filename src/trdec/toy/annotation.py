"""Reads the annotation of an English sentence off its tree."""

from __future__ import annotations

from dataclasses import dataclass

from trdec.toy.english import HEAD, Phrase, Word
from trdec.trees.tree import Nonterminal, Terminal


@dataclass(frozen=True, slots=True)
class Dependencies:
    """For each word the position of its head (from 1, 0 for the root) and its relation to it."""

    heads: tuple[int, ...]
    relations: tuple[str, ...]


def words(phrase: Phrase) -> list[Word]:
    """The words of the phrase, left to right."""
    found: list[Word] = []
    stack: list[Phrase | Word] = [phrase]
    while stack:
        part = stack.pop()
        if isinstance(part, Word):
            found.append(part)
        else:
            stack.extend(child for _, child in reversed(part.children))
    return found


def constituency(phrase: Phrase) -> Nonterminal:
    """The Penn Treebank tree, with a part-of-speech tag over each word."""
    return Nonterminal(
        phrase.label,
        tuple(
            Nonterminal(child.xpos, (Terminal(child.form),)) if isinstance(child, Word) else constituency(child)
            for _, child in phrase.children
        ),
    )


def dependencies(phrase: Phrase) -> Dependencies:
    """The dependency tree: the head of a phrase governs the heads of its other children."""
    heads: list[int] = []
    relations: list[str] = []

    def visit(part: Phrase | Word) -> int:
        """Adds the words of a part; returns the position of its head, which waits for its own."""
        if isinstance(part, Word):
            heads.append(0)
            relations.append("root")
            return len(heads)
        positions = [(relation, visit(child)) for relation, child in part.children]
        top = next(position for relation, position in positions if relation == HEAD)
        governor = top
        # From the right, because `and` and the comma before it hang on the conjunct after them.
        for relation, position in reversed(positions):
            if relation == HEAD:
                governor = top
            else:
                heads[position - 1] = top if relation == "conj" else governor
                relations[position - 1] = relation
                governor = position if relation == "conj" else governor
        return top

    visit(phrase)
    return Dependencies(tuple(heads), tuple(relations))
