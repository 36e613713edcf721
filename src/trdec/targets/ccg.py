"""CCG: a supertag before each word of the translation, as Nadejde et al. (2017) interleave them."""

from __future__ import annotations

from collections.abc import Iterable

from trdec.errors import TreeShapeError
from trdec.targets.actions import EOS, Action, EmitMark, EmitWord
from trdec.targets.sequence import SequenceTarget
from trdec.trees.tree import ROOT, Nonterminal, Terminal, Tree


class CcgTarget(SequenceTarget):
    """A flat tree of tags as tag, word, tag, word; a segmented word's pieces follow its one tag."""

    @staticmethod
    def marks_of(tree: Nonterminal) -> list[str]:
        """The marks that writing the tree needs."""
        return [child.label for child in tree.children if isinstance(child, Nonterminal)]

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
        """The tree of any tokens: words go to the tag before them; tags without words say nothing."""
        children: list[Tree] = []
        tag: str | None = None
        phrase: list[Tree] = []
        for action in (*actions, EmitMark("")):  # one mark more, to close the last phrase
            if isinstance(action, EmitWord):
                phrase.append(Terminal(action.word))
            elif isinstance(action, EmitMark):
                if phrase:
                    children += phrase if tag is None else [Nonterminal(tag, tuple(phrase))]
                tag, phrase = action.mark, []
        return Nonterminal(ROOT, tuple(children))
