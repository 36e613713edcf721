"""One sentence's place in a treebank file: its tree, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from trdec.errors import Place, TrdecError
from trdec.trees.tree import Nonterminal


@dataclass(frozen=True, slots=True)
class Entry:
    """What a treebank file holds for one sentence.

    With neither tree nor error, the parser said that it found no tree. Errors are held, not raised, so that
    a reader can go on to the next sentence; whoever wants to stop raises them.
    """

    place: Place
    tree: Nonterminal | None
    error: TrdecError | None = None
    was_projective: bool = True
