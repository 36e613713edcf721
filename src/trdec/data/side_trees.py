"""The trees over the sentences of one side of a corpus, read from a parser's file or built from the words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from trdec.data.report import LeftOut, Reason
from trdec.errors import MisalignedTreeError, TreeShapeError
from trdec.files import Line
from trdec.systems import ANNOTATIONS, SUPERTAGS, System, transformed
from trdec.text import Side
from trdec.trees import supertags, treebank
from trdec.trees.alignment import align
from trdec.trees.by_name import builder_called
from trdec.trees.tree import Entry, Nonterminal
from trdec.trees.tree import words as leaves_of


@dataclass(frozen=True, slots=True)
class SideTrees:
    """Finds the tree of a sentence, in the text's spelling and transformed, or says why there is none."""

    side: Side
    transforms: tuple[str, ...]

    def tree(
        self, kind: str, line: Line, words: Sequence[str], parse: Sequence[Line], generator: Random
    ) -> Entry | LeftOut:
        """The tree of this kind over the words of a line, from the lines of its parse or from the builder."""
        found = self._entry(kind, line, list(words), parse, generator)
        if isinstance(found, LeftOut):
            return found
        entry, spelling = found
        try:
            return Entry(entry.place, self._spelt(entry, spelling), was_projective=entry.was_projective)
        except MisalignedTreeError as error:
            return LeftOut(Reason.MISALIGNED, f"{entry.place}: {error}")

    def over_words(self, entry: Entry, text: str, words: Sequence[str]) -> Nonterminal:
        """The entry's tree over words as they are encoded: those of the text, or a parser's own, found in raw text."""
        assert entry.tree is not None
        if not self.side.tokeniser.marks_spaces:
            return treebank.respell(entry.tree, list(words))
        tree = entry.as_written or entry.tree
        return treebank.respell(tree, align(leaves_of(tree), text))

    def _spelt(self, entry: Entry, spelling: list[str]) -> Nonterminal:
        """The tree, transformed, with these words; builders and transforms see words without marks of spaces."""
        assert entry.tree is not None
        tokeniser = self.side.tokeniser
        if not tokeniser.marks_spaces:
            return transformed(entry.tree, self.transforms)
        plain = treebank.respell(entry.tree, [tokeniser.bare(word) for word in spelling])
        return treebank.respell(transformed(plain, self.transforms), spelling)

    def _entry(
        self, kind: str, line: Line, words: list[str], parse: Sequence[Line], generator: Random
    ) -> tuple[Entry, list[str]] | LeftOut:
        """The tree before the transforms, and the spelling of its words."""
        plain = [self.side.tokeniser.bare(word) for word in words]
        if kind not in ANNOTATIONS:
            try:
                return Entry(line.place, builder_called(kind)(plain, generator)), words
            except TreeShapeError as error:
                raise TreeShapeError(f"{line.place}: {error}") from error
        if kind == SUPERTAGS:
            entries = supertags.read_supertags(parse, [Line(line.place, " ".join(plain))])
        else:
            entries = treebank.FORMATS[ANNOTATIONS[kind]](parse)
        entry = next(map(treebank.checked, entries), None)
        place = parse[0].place
        if entry is None:
            return LeftOut(Reason.UNREADABLE, f"{place}: expected a tree, found an empty line.")
        if entry.error is not None:
            return LeftOut(Reason.UNREADABLE, str(entry.error))
        if entry.tree is None:
            return LeftOut(Reason.NO_TREE, f"{place}: the parser found no tree.")
        if kind == SUPERTAGS:
            return Entry(place, entry.tree), words
        try:
            tree = self.over_words(entry, line.text, words)
            return Entry(place, tree, was_projective=entry.was_projective), leaves_of(tree)
        except MisalignedTreeError as error:
            return LeftOut(Reason.MISALIGNED, f"{place}: {error}")


def source_tree(system: System, side: Side, line: Line, words: Sequence[str], parse: Sequence[Line]) -> Entry | LeftOut:
    """The tree over the words of a source line, as the system reads it in training and in translating."""
    assert system.source_trees is not None
    # The words are the seed: when it is translated, a sentence has the tree that it had in training.
    generator = Random(" ".join(map(side.tokeniser.bare, words)))
    return SideTrees(side, system.source_transforms).tree(system.source_trees, line, words, parse, generator)
