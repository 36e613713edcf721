"""The eight systems of the paper's table 2, as rows: a system is its treebanks, a target and a decoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from trdec.targets.derivation import DerivationTarget
from trdec.targets.sequence import CcgTarget, LinTarget, Seq2SeqTarget
from trdec.targets.target import Target
from trdec.trees.transforms import Transform, null_labels, strip_tags
from trdec.trees.tree import Nonterminal

CONSTITUENCY = "constituency"
DEPENDENCY = "dependency"
SUPERTAGS = "supertags"

ANNOTATIONS: dict[str, str] = {CONSTITUENCY: "penn", DEPENDENCY: "conllu", SUPERTAGS: "ccg"}
"""The trees that are read from a file, and its format; all others are built from the words."""


@dataclass(frozen=True, slots=True)
class Treebank:
    """Where a sentence's tree comes from (an annotation, or a builder's name) and what is done to it."""

    kind: str
    transforms: tuple[Transform, ...] = ()

    def transform(self, tree: Nonterminal) -> Nonterminal:
        """The tree as the system's target takes it."""
        for transform in self.transforms:
            tree = transform(tree)
        return tree


@dataclass(frozen=True, slots=True)
class System:
    """One way to translate. With several treebanks, each sentence is trained on once in each."""

    treebanks: tuple[Treebank, ...]
    target: type[Target[Any]]
    decoder: Literal["tree", "sequence"]


SYSTEMS: dict[str, System] = {
    "seq2seq": System((Treebank("flat"),), Seq2SeqTarget, "sequence"),
    "ccg": System((Treebank(SUPERTAGS),), CcgTarget, "sequence"),
    "ccg-null": System((Treebank(SUPERTAGS, (null_labels,)),), CcgTarget, "sequence"),
    "lin": System((Treebank(CONSTITUENCY, (strip_tags,)),), LinTarget, "sequence"),
    "trdec-con": System((Treebank(CONSTITUENCY, (strip_tags,)),), DerivationTarget, "tree"),
    "trdec-con-null": System((Treebank(CONSTITUENCY, (strip_tags, null_labels)),), DerivationTarget, "tree"),
    "trdec-dep": System((Treebank(DEPENDENCY),), DerivationTarget, "tree"),
    "trdec-binary": System((Treebank("binary-1"), Treebank("binary-2")), DerivationTarget, "tree"),
}
