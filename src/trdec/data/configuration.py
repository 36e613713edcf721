"""What is trained on, as a person writes it down: files, subwords, filters and batches."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from trdec.systems import ANNOTATIONS
from trdec.text.paths import at_home
from trdec.text.subwords import Kind
from trdec.trees.builders import BUILDERS
from trdec.trees.own_builder import is_own
from trdec.trees.transform import bare_leaves, binarise, null_labels, strip_tags, wrap_words
from trdec.trees.tree import Nonterminal

TRANSFORMS: dict[str, Callable[[Nonterminal], Nonterminal]] = {
    "strip-tags": strip_tags,
    "null-labels": null_labels,
    "wrap-words": wrap_words,
    "bare-leaves": bare_leaves,
    "binarise": binarise,
}
"""What can be done to trees beyond what their system does."""

TransformName = Literal["strip-tags", "null-labels", "wrap-words", "bare-leaves", "binarise"]

TREES = (*ANNOTATIONS, *BUILDERS)
"""The kinds of trees that have a name: read from a file, or built from the words."""


def check_kind(name: str) -> None:
    """Refuse what neither is a kind of tree nor could be a function of one's own; nothing is imported."""
    if name not in TREES and not is_own(name):
        close = difflib.get_close_matches(name, TREES, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(
            f"expected a kind of tree, one of {', '.join(TREES)}, or a function of your own as module:function; "
            f"found {name!r}.{hint}"
        )


Length = Annotated[int, Field(ge=1)]


class _Configuration(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    _paths = field_validator("*", mode="after")(at_home)


class CorpusConfiguration(_Configuration):
    """The files of one corpus, aligned line by line."""

    source: Path = Field(description="Source sentences, one a line.")
    target: Path = Field(description="Their translations, one a line.")
    constituency: Path | None = Field(
        default=None,
        description="Penn-style trees of the translations, for the systems that learn constituency trees.",
    )
    dependency: Path | None = Field(
        default=None, description="Dependency trees of the translations in CoNLL-U, for the systems that learn those."
    )
    supertags: Path | None = Field(
        default=None, description="A CCG supertag for each word of the translations, for the systems that learn those."
    )


class SubwordConfiguration(_Configuration):
    """Where one language's subwords come from."""

    model: Path | None = Field(
        default=None,
        description="A sentencepiece model to use; without one, a model is learnt from the training text.",
    )
    kind: Kind = Field(default="bpe", description="How a model is learnt where none is given: bpe or unigram.")
    size: int = Field(default=4000, ge=1, description="How many pieces to learn where no model is given.")


class FilterConfiguration(_Configuration):
    """Which training pairs are left out; dev keeps every pair that can be encoded. Lengths are in pieces."""

    max_source_length: Length | None = Field(
        default=250, description="Leave out training pairs with more source pieces than this."
    )
    max_target_length: Length | None = Field(
        default=250, description="Leave out training pairs with more target pieces than this, not counting the tree."
    )
    max_ratio: Annotated[float, Field(ge=1)] | None = Field(
        default=9.0, description="Leave out training pairs one side of which has more than this many times the pieces."
    )
    remove_duplicates: bool = Field(
        default=False, description="Leave out training pairs that stood in the files before; they are counted anyway."
    )


class BatchConfiguration(_Configuration):
    """How much is trained on at once."""

    batch_type: Literal["actions", "sentences"] = Field(
        default="actions",
        description="What batch_size counts: actions (source pieces and target steps together, padding aside) "
        "or sentences.",
    )
    batch_size: int = Field(
        default=800,
        ge=1,
        description="The most that a batch holds; a longer example is a batch of its own. "
        "The paper's or-en system was trained with about 800 actions.",
    )


class DataConfiguration(_Configuration):
    """Everything between text files and numbers."""

    train: CorpusConfiguration = Field(description="What is trained on.")
    dev: CorpusConfiguration = Field(description="What progress is measured on.")
    source_language: str | None = Field(
        default=None,
        description="The source language's code (de): its text is raw and tokenised here. "
        "Without it, text is tokenised already: white space parts words.",
    )
    target_language: str | None = Field(
        default=None,
        description="The target language's code (en): its text is raw, tokenised here and detokenised in translations. "
        "Without it, text is tokenised already: white space parts words.",
    )
    source_subwords: SubwordConfiguration = Field(
        default=SubwordConfiguration(), description="The pieces of source words."
    )
    target_subwords: SubwordConfiguration = Field(
        default=SubwordConfiguration(), description="The pieces of target words."
    )
    filters: FilterConfiguration = Field(
        default=FilterConfiguration(), description="Which training pairs are left out."
    )
    min_rule_count: int = Field(
        default=1,
        ge=1,
        description="Leave out rules (or marks, such as supertags) seen less often in training, "
        "and the trees that need them.",
    )
    trees: tuple[str, ...] = Field(
        default=(),
        description=f"Which trees to learn in place of the system's own, any of {', '.join(TREES)}, "
        "or a function of your own as module:function; each sentence is trained on once in each. Nothing is done to "
        "them but what `data.transforms` says.",
    )
    transforms: tuple[TransformName, ...] = Field(
        default=(),
        description="What is done to each tree after what its system does, in this order: strip-tags, null-labels, "
        "wrap-words, bare-leaves, binarise.",
    )

    @field_validator("trees", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @field_validator("trees")
    @classmethod
    def _known_trees(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            check_kind(name)
        return names
