"""A kind of tree from outside the package: nothing in trdec is changed.

Look at the trees, from the directory that this file is in:

    trdec trees build add_a_tree_kind:clauses sentences.txt | trdec trees show

Train on them, with this in a configuration file:

    system: {trees: add_a_tree_kind:clauses}

Here a conjunction begins a clause, clauses stand side by side, and each is balanced inside, as in the paper's
algorithm 1.
"""

from collections.abc import Sequence

from trdec.trees.builders import version_1
from trdec.trees.tree import Nonterminal, Tree

CONJUNCTIONS = {"and", "because", "but", "if", "or", "that", "when", "while"}


def clauses(words: Sequence[str]) -> Tree:
    """A CLAUSE for each part of the sentence that begins with a conjunction, or begins it."""
    starts = [place for place, word in enumerate(words) if place == 0 or word.lower() in CONJUNCTIONS]
    parts = [words[start:end] for start, end in zip(starts, [*starts[1:], len(words)], strict=True)]
    return Nonterminal("ROOT", tuple(Nonterminal("CLAUSE", (version_1(part),)) for part in parts))
