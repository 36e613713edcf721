"""The words alone: what an ordinary attentional sequence-to-sequence model generates."""

from __future__ import annotations

from collections.abc import Iterable

from trdec.targets.actions import EOS, Action, EmitWord
from trdec.targets.sequence import SequenceTarget
from trdec.trees.flat import flat
from trdec.trees.tree import Nonterminal, words


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
