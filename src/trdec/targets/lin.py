"""LIN: the bracketed tree as a row of tokens, as Aharoni and Goldberg (2017) linearise it.

(ROOT (S (NP The cat) (VP sleeps))) is written (ROOT (S (NP The cat )NP (VP sleeps )VP )S )ROOT.
"""

from __future__ import annotations

from collections.abc import Iterable

from trdec.targets.actions import EOS, Action, EmitMark, EmitWord
from trdec.targets.sequence import SequenceTarget
from trdec.trees.tree import ROOT, Nonterminal, Terminal, Tree, labels


class LinTarget(SequenceTarget):
    """Brackets with their labels, opening and closing, among the words."""

    @staticmethod
    def marks_of(tree: Nonterminal) -> list[str]:
        """The marks that writing the tree needs."""
        return [mark for label in labels(tree) for mark in (f"({label}", f"){label}")]

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

        A model may write nonsense: a closing bracket closes the nearest open node of its label and all in
        it, or says nothing if there is none; what is still open at the end is closed; a node without words
        is left out; and what is not one tree under ROOT is put under one.
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
