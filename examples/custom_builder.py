"""A tree kind of your own, in a file of your own: nothing in trdec is changed.

    trdec trees build custom_builder:clauses sentences.txt | trdec trees show
    trdec train my.yaml system=trdec-binary data.trees=custom_builder:clauses

from the directory that this file is in. Here a conjunction begins a clause, clauses stand side by side, and each is
balanced inside, as the paper's algorithm 1 has it.
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
