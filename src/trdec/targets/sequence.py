"""Targets that write a sequence of tokens until `<eos>`: seq2seq, CCG and LIN."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Self

from trdec.errors import TreeShapeError
from trdec.files import read_lines
from trdec.targets.actions import EOS, Action, EmitMark, EmitWord, EndSentence
from trdec.targets.target import Target
from trdec.trees.builders import flat
from trdec.trees.tree import ROOT, Nonterminal, Terminal, Tree, words

SENTENCE = "sentence"
"""The one symbol that is open in a sequence."""


class SequenceTarget(Target[str]):
    """A sequence of words and of the marks that a family interleaves with them."""

    start_symbols = (SENTENCE,)
    file_name = "marks.txt"

    def __init__(self, marks: Sequence[str], vocabulary: Sequence[str]) -> None:
        self.marks = tuple(marks)
        self.vocabulary = tuple(vocabulary)

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """Marks, words and EOS."""
        return (*map(EmitMark, self.marks), *map(EmitWord, self.vocabulary), EOS)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The sentence: nothing else can be open."""
        return (SENTENCE,)

    def legal(self, symbol: str) -> Sequence[Action]:
        """Every action is always legal."""
        assert symbol == SENTENCE
        return self.actions

    @staticmethod
    def replacement(action: Action) -> tuple[str, ...]:
        """The sentence stays open until EOS."""
        return () if isinstance(action, EndSentence) else (SENTENCE,)

    @classmethod
    def from_units(cls, counts: Mapping[str, int], vocabulary: Sequence[str]) -> Self:
        """Sequences with these marks, most frequent first."""
        return cls(sorted(counts, key=lambda mark: (-counts[mark], mark)), vocabulary)

    def lines(self) -> Iterable[str]:
        """One mark per line."""
        return self.marks

    @classmethod
    def load(cls, path: Path, vocabulary: Sequence[str]) -> Self:
        """Sequences with the marks in the file."""
        return cls([line.text for line in read_lines(path)], vocabulary)


class Seq2SeqTarget(SequenceTarget):
    """The words of a tree, without the tree."""

    @staticmethod
    def linearise(tree: Nonterminal) -> list[Action]:
        """The words, then EOS."""
        return [*map(EmitWord, words(tree)), EOS]

    @staticmethod
    def read(actions: Iterable[Action]) -> Nonterminal:
        """The flat tree of the words."""
        return flat([action.word for action in actions if isinstance(action, EmitWord)])


class CcgTarget(SequenceTarget):
    """A flat tree of tags as tag, word, tag, word; a segmented word's pieces follow its one tag."""

    @staticmethod
    def linearise(tree: Nonterminal) -> list[Action]:
        """Each tag before its words, then EOS."""
        actions: list[Action] = []
        for tagged in tree.children:
            if isinstance(tagged, Terminal) or not all(isinstance(leaf, Terminal) for leaf in tagged.children):
                raise TreeShapeError(
                    f"expected a flat tree of supertags such as (ROOT (NP/N the) (N cat)), found {tree!r}. "
                    "Give the system supertags, or choose another system for this treebank."
                )
            actions.append(EmitMark(tagged.label))
            actions += [EmitWord(leaf.word) for leaf in tagged.children]  # type: ignore[union-attr]
        return [*actions, EOS]

    @staticmethod
    def read(actions: Iterable[Action]) -> Nonterminal:
        """The tree of any tokens: words go under the tag before them; tags without words are ignored."""
        children: list[Tree] = []
        tag: str | None = None
        phrase: list[Tree] = []
        for action in (*actions, EmitMark("")):  # one more mark, to close the last phrase
            if isinstance(action, EmitWord):
                phrase.append(Terminal(action.word))
            elif isinstance(action, EmitMark):
                if phrase:
                    children += phrase if tag is None else [Nonterminal(tag, tuple(phrase))]
                tag, phrase = action.mark, []
        return Nonterminal(ROOT, tuple(children))


class LinTarget(SequenceTarget):
    """Labelled opening and closing brackets among the words."""

    @staticmethod
    def linearise(tree: Nonterminal) -> list[Action]:
        """The tree's brackets and words, then EOS."""
        actions: list[Action] = []
        stack: list[Tree | EmitMark] = [tree]
        while stack:
            node = stack.pop()
            if isinstance(node, Terminal):
                actions.append(EmitWord(node.word))
            elif isinstance(node, EmitMark):
                actions.append(node)
            else:
                actions.append(EmitMark(f"({node.label}"))
                stack.append(EmitMark(f"){node.label}"))
                stack += node.children[::-1]
        return [*actions, EOS]

    @staticmethod
    def read(actions: Iterable[Action]) -> Nonterminal:
        """The tree of any tokens, all its words in order.

        A model may write brackets that do not match. A closing bracket closes the nearest open node with its label
        and all nodes in it, or is ignored if there is none; nodes still open at the end are closed; a node without
        words is left out; and anything other than one tree under ROOT is put under a ROOT.
        """
        open_nodes: list[tuple[str, list[Tree]]] = [(ROOT, [])]

        def close() -> None:
            label, children = open_nodes.pop()
            if children:
                open_nodes[-1][1].append(Nonterminal(label, tuple(children)))

        for action in actions:
            if isinstance(action, EmitWord):
                open_nodes[-1][1].append(Terminal(action.word))
            elif isinstance(action, EmitMark):
                bracket, label = action.mark[0], action.mark[1:]
                if bracket == "(":
                    open_nodes.append((label, []))
                elif any(label == other for other, _ in open_nodes[1:]):
                    while open_nodes[-1][0] != label:
                        close()
                    close()
        while len(open_nodes) > 1:
            close()
        tops = open_nodes[0][1]
        if len(tops) == 1 and isinstance(tops[0], Nonterminal) and tops[0].label == ROOT:
            return tops[0]
        return Nonterminal(ROOT, tuple(tops))
