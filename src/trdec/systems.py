"""A system is five plain values: its trees, what is done to them, a target, an encoder and a decoder.

The eight systems of the paper's table 2 are rows of `SYSTEMS`; any other is the same five keys in a configuration file,
and two more if the source has trees as well.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from trdec.errors import UntrustedCodeError, UsageError
from trdec.extensions import did_you_mean, is_extension, load_extension, unknown_name
from trdec.targets import TARGETS
from trdec.targets.target import Target
from trdec.trees.builders import BUILDERS
from trdec.trees.by_name import transform_called
from trdec.trees.transforms import TRANSFORMS
from trdec.trees.tree import Nonterminal

CONSTITUENCY = "constituency"
DEPENDENCY = "dependency"
SUPERTAGS = "supertags"

ANNOTATIONS: dict[str, str] = {CONSTITUENCY: "penn", DEPENDENCY: "conllu", SUPERTAGS: "ccg"}
"""The trees that are read from a file, and its format; all others are built from the words."""

TRANSFORMERS = frozenset(("transformer", "tree-transformer"))
"""The encoders and decoders of the package that are Transformers."""

TREES = (*ANNOTATIONS, *BUILDERS)
"""The kinds of tree that have a name: read from a file, or built from the words."""

ENCODER_NAMES = ("lstm", "transformer", "tree-lstm")
DECODER_NAMES = ("tree", "sequence", "tree-transformer", "transformer")
"""The encoders and decoders that have a name; their classes are in `trdec.model`, which needs torch."""

TREE_ENCODER_NAMES = ("tree-lstm",)
"""Those encoders that read trees; the others read sequences, and a source's tree as brackets among its pieces."""


def source_key(kind: str) -> str:
    """The key of a corpus that names the file of such trees of its source: `source_constituency`."""
    return f"source_{kind}"


def transformed(tree: Nonterminal, transforms: Sequence[str]) -> Nonterminal:
    """The tree after these transforms, in this order."""
    return reduce(lambda changed, name: transform_called(name)(changed), transforms, tree)


def _known(name: str, names: Sequence[str] | dict[str, Any], what: str, form: str) -> str:
    if mistake := unknown_name(name, names, what, form):
        raise ValueError(mistake)
    return name


class System(BaseModel):
    """One way to translate, said in five keys, and two more if the source has trees as well."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    trees: Annotated[tuple[str, ...], Field(min_length=1)] = Field(
        description=f"The kinds of tree that are learnt: {', '.join(ANNOTATIONS)} (read from the corpus's files), "
        f"{', '.join(BUILDERS)} (built from the words), or a function of your own as module:function. "
        "With several kinds, each sentence is trained on once in each."
    )
    transforms: tuple[str, ...] = Field(
        default=(),
        description=f"What is done to each tree, in this order: {', '.join(TRANSFORMS)}, "
        "or a function of your own as module:function.",
    )
    target: str = Field(
        default="derivation",
        description=f"How a tree is written as actions: {', '.join(TARGETS)}, or a class of your own as module:Class.",
    )
    encoder: str = Field(
        default="lstm",
        description=f"What reads the source: {', '.join(ENCODER_NAMES)}, or a class of your own as module:Class.",
    )
    decoder: str = Field(
        default="tree",
        description="What chooses the next action: tree (TrDec's two RNNs), sequence (the attentional LSTM that writes "
        "sequences), tree-transformer or transformer (the same two without recurrence), or a class of your own as "
        "module:Class.",
    )

    source_trees: str | None = Field(
        default=None,
        description="The kind of tree that the source has, named as `trees` are; without it, the source is its pieces. "
        "An encoder that reads sequences reads the tree as brackets among the pieces.",
    )
    source_transforms: tuple[str, ...] = Field(
        default=(), description="What is done to each tree of the source, named as `transforms` are."
    )

    @field_validator("trees", "transforms", "source_transforms", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @field_validator("trees")
    @classmethod
    def _known_trees(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(_known(name, TREES, "a kind of tree", "module:function") for name in names)

    @field_validator("source_trees")
    @classmethod
    def _known_source_trees(cls, name: str | None) -> str | None:
        return name and _known(name, TREES, "a kind of tree", "module:function")

    @field_validator("transforms", "source_transforms")
    @classmethod
    def _known_transforms(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(_known(name, TRANSFORMS, "a transform", "module:function") for name in names)

    @field_validator("target")
    @classmethod
    def _known_target(cls, name: str) -> str:
        return _known(name, TARGETS, "a target", "module:Class")

    @field_validator("encoder")
    @classmethod
    def _known_encoder(cls, name: str) -> str:
        return _known(name, ENCODER_NAMES, "an encoder", "module:Class")

    @field_validator("decoder")
    @classmethod
    def _known_decoder(cls, name: str) -> str:
        return _known(name, DECODER_NAMES, "a decoder", "module:Class")

    @model_validator(mode="after")
    def _trees_for_the_encoder(self) -> Self:
        if self.source_trees is None and self.encoder in TREE_ENCODER_NAMES:
            raise ValueError(
                f"the encoder {self.encoder} reads trees, but the source has none. Say which with source_trees, for "
                "example source_trees: binary-1, or choose another encoder."
            )
        if self.source_trees is None and self.source_transforms:
            raise ValueError(
                f"source_transforms is {', '.join(self.source_transforms)}, but the source has no trees. Say which "
                "with source_trees, or leave source_transforms out."
            )
        return self

    @model_serializer(mode="wrap")
    def _without_what_is_not_used(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Its keys; those of source trees only if it has some, so that other files are what they were before them."""
        found: dict[str, Any] = handler(self)
        unused = () if self.source_trees else ("source_trees", "source_transforms")
        return {key: value for key, value in found.items() if key not in unused}

    def transform(self, tree: Nonterminal) -> Nonterminal:
        """The tree as the target takes it."""
        return transformed(tree, self.transforms)

    @property
    def reads_trees(self) -> bool:
        """Whether its encoder reads the source's tree as a tree, not as a sequence with brackets."""
        if self.source_trees is None or self.encoder in ENCODER_NAMES:
            return self.encoder in TREE_ENCODER_NAMES
        return bool(getattr(load_extension(self.encoder), "reads_trees", False))

    @property
    def source_annotation(self) -> str | None:
        """The key of a corpus that names the file of the source's trees, if they are read from one."""
        return source_key(self.source_trees) if self.source_trees in ANNOTATIONS else None

    @property
    def target_class(self) -> type[Target[Any]]:
        """The class that writes the trees."""
        if self.target in TARGETS:
            return TARGETS[self.target]
        found = load_extension(self.target)
        if not (isinstance(found, type) and issubclass(found, Target)):
            raise UsageError(
                f"{self.target}: expected a class that inherits from trdec.targets.target.Target, "
                f"found {found.__name__ if isinstance(found, type) else f'a {type(found).__name__}'}."
            )
        return found

    @property
    def has_transformers(self) -> bool:
        """Whether its encoder or its decoder is one of the package's Transformers."""
        return not TRANSFORMERS.isdisjoint((self.encoder, self.decoder))

    @property
    def extensions(self) -> tuple[str, ...]:
        """What it names from outside the package that prepared data depend on."""
        source = (*([self.source_trees] if self.source_trees else []), *self.source_transforms)
        return tuple(name for name in (*self.trees, *self.transforms, self.target, *source) if is_extension(name))

    @property
    def foreign_code(self) -> tuple[str, ...]:
        """Everything that it names from outside the package."""
        return (*self.extensions, *(name for name in (self.encoder, self.decoder) if is_extension(name)))

    def check_allowed(self, allow: Collection[str], file: Path) -> None:
        """Refuse code from outside the package that a model's file names and its user does not; nothing is imported."""
        for name in allow:
            if not is_extension(name):
                raise UsageError(f"expected `allow` to name code as module:attribute, found {name!r}.")
        if refused := [name for name in dict.fromkeys(self.foreign_code) if name not in allow]:
            raise UntrustedCodeError(
                f"{file}: this model names code that is not part of trdec and would run with your rights: "
                f"{', '.join(refused)}. Nothing was imported. If you know this code and trust it, name it yourself: "
                + " ".join(f"`allow` {name}" for name in refused)
            )


SYSTEMS: dict[str, System] = {
    "seq2seq": System(trees=("flat",), target="seq2seq", decoder="sequence"),
    "ccg": System(trees=(SUPERTAGS,), target="ccg", decoder="sequence"),
    "ccg-null": System(trees=(SUPERTAGS,), transforms=("null-labels",), target="ccg", decoder="sequence"),
    "lin": System(trees=(CONSTITUENCY,), transforms=("strip-tags",), target="lin", decoder="sequence"),
    "trdec-con": System(trees=(CONSTITUENCY,), transforms=("strip-tags",)),
    "trdec-con-null": System(trees=(CONSTITUENCY,), transforms=("strip-tags", "null-labels")),
    "trdec-dep": System(trees=(DEPENDENCY,)),
    "trdec-binary": System(trees=("binary-1", "binary-2")),
}
"""The eight systems of the paper's table 2, by name."""


def system_called(name: str) -> System:
    """The system of this name."""
    if name not in SYSTEMS:
        raise UsageError(
            f"expected a system, one of {', '.join(SYSTEMS)}; found {name!r}.{did_you_mean(name, SYSTEMS)}"
        )
    return SYSTEMS[name]


def system_name(system: System) -> str:
    """The name of the row that the system equals, or its five values: `right-branching/derivation/tree`."""
    for name, row in SYSTEMS.items():
        if row == system:
            return name
    encoder = [system.encoder] if system.encoder != System.model_fields["encoder"].default else []
    trees, transforms = "+".join(system.trees), ["+".join(system.transforms)] if system.transforms else []
    source = ["+".join([f"source-{system.source_trees}", *system.source_transforms])] if system.source_trees else []
    return "/".join([*source, trees, *transforms, system.target, *encoder, system.decoder])


def system_or_keys(system: System) -> str | dict[str, Any]:
    """What a file says of the system: the name of its row, or its five keys."""
    name = system_name(system)
    return name if name in SYSTEMS else system.model_dump(mode="json")


def system_of_version_1(name: str, transforms: Sequence[str], trees: Sequence[str]) -> System:
    """The system that older files said as a name, transforms after its own, and other trees without its transforms."""
    row = system_called(name)
    own = {"trees": tuple(trees)} if trees else {"trees": row.trees, "transforms": row.transforms}
    keys = row.model_dump() | {"transforms": ()} | own
    return System.model_validate(keys | {"transforms": (*keys["transforms"], *transforms)})
