"""A target from outside the package: brackets without labels among the words. Nothing in trdec is changed.

    (ROOT (NULL (NULL The cat) (NULL sleeps .)))   is written   ( ( The cat ) ( sleeps . ) )

Train it from the directory that this file is in, with this in a configuration file:

    system: {trees: binary-1, target: add_a_target:BracketTarget, decoder: sequence}
"""

from collections.abc import Iterable

from trdec.targets.actions import EOS, Action, EmitMark
from trdec.targets.sequence import LinTarget, SequenceTarget
from trdec.trees.tree import NULL, Nonterminal


class BracketTarget(SequenceTarget):
    """The words of a tree, with ( and ) around each node below ROOT."""

    @staticmethod
    def linearise(tree: Nonterminal) -> list[Action]:
        """Brackets and words, then EOS."""
        inside = LinTarget.linearise(tree)[1:-2]  # without (ROOT, )ROOT and EOS
        return [*(EmitMark(action.mark[0]) if isinstance(action, EmitMark) else action for action in inside), EOS]

    @staticmethod
    def read(actions: Iterable[Action]) -> Nonterminal:
        """The tree of any tokens, every label NULL: a model may write nonsense, and its words are kept."""
        labelled = [EmitMark(action.mark + NULL) if isinstance(action, EmitMark) else action for action in actions]
        return LinTarget.read(labelled)
