"""The paper's figure 1: the derivation of "_The _cat _eat s _fi sh _." with its tree.

Columns: step, open symbol, the step that opened it, action.
"""

from trdec.targets.derivation import DerivationTarget
from trdec.targets.target import replay
from trdec.trees.brackets import parse
from trdec.trees.grammar import Grammar
from trdec.trees.tree import words

TREE = "(ROOT (S (NP _The _cat) (VP _eat s (NP _fi sh)) (PUNC _.)))"


def main() -> None:
    """Print the derivation."""
    tree = parse(TREE)
    target = DerivationTarget(Grammar.from_trees([tree]), words(tree))
    for number, step in enumerate(replay(target, target.linearise(tree)), start=1):
        # The + of pre+ only says that the phrase is not empty any more.
        print(f"{number:2} {step.symbol.removesuffix('+'):5} {step.parent:2} {step.action}")


if __name__ == "__main__":
    main()
