"""Options that several commands share, declared once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from trdec.errors import TrdecError
from trdec.files import STANDARD
from trdec.trees.transforms import Transform, bare_leaves, binarise, limit_depth, null_labels, strip_tags, wrap_words


class TreeFormat(StrEnum):
    """How trees are written in a file."""

    penn = "penn"
    brackets = "brackets"
    conllu = "conllu"
    ccg = "ccg"


class OnError(StrEnum):
    """What becomes of a sentence that cannot be read."""

    stop = "stop"
    skip = "skip"
    mark = "mark"


InputArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The file to read; - is standard input.")]
InputOption = Annotated[Path | None, typer.Option("--input", "-i", help="The file to read, in place of FILE.")]
OutputOption = Annotated[Path, typer.Option("--output", "-o", help="The file to write; - is standard output.")]
FormatOption = Annotated[
    TreeFormat,
    typer.Option(
        "--from",
        help="penn: brackets with labels cleaned up (NP-SBJ-1 is NP, traces go); "
        "brackets: labels as they are; conllu: dependencies; ccg: a line of supertags beside --text.",
    ),
]
TextOption = Annotated[Path | None, typer.Option("--text", help="The sentences themselves: trees take their spelling.")]
OnErrorOption = Annotated[
    OnError,
    typer.Option(
        "--on-error",
        help="A sentence that cannot be read: stop there, skip it, or mark it with (()) so that lines stay aligned.",
    ),
]
StripTagsOption = Annotated[bool, typer.Option("--strip-tags", help="Take out part-of-speech nodes.")]
NullLabelsOption = Annotated[bool, typer.Option("--null-labels", help="Make every label below ROOT NULL.")]
WrapWordsOption = Annotated[bool, typer.Option("--wrap-words", help="Give every word a NULL node of its own.")]
BareLeavesOption = Annotated[
    bool, typer.Option("--bare-leaves", help="Dependency trees as the paper's released code made them.")
]
BinariseOption = Annotated[bool, typer.Option("--binarise", help="At most two symbols a rule, branching right.")]
MaxDepthOption = Annotated[int | None, typer.Option("--max-depth", min=1, help="Dissolve nodes deeper than this.")]


def chosen_input(argument: Path, option: Path | None) -> Path:
    """The file to read, named in either of the two ways."""
    if option is not None and str(argument) != STANDARD:
        raise typer.BadParameter(f"the input is named twice: {argument} and --input {option}")
    return option or argument


def chosen_transforms(
    strip: bool, null: bool, wrap: bool, bare: bool, binary: bool, max_depth: int | None
) -> list[Transform]:
    """The transforms asked for, always in this order."""
    flags = ((strip, strip_tags), (null, null_labels), (wrap, wrap_words), (bare, bare_leaves), (binary, binarise))
    chosen: list[Transform] = [transform for wanted, transform in flags if wanted]
    if max_depth is not None:
        chosen.append(lambda tree: limit_depth(tree, max_depth))
    return chosen


def counted(number: int, one: str, several: str) -> str:
    """The number with what it counts: 1 tree is, 2 trees are."""
    return f"{number} {one if number == 1 else several}"


class Problems:
    """Sentences that could not be read: shown on standard error as they come, counted for the end."""

    SHOWN = 20

    def __init__(self, policy: OnError) -> None:
        self.policy = policy
        self.count = 0

    def __call__(self, error: TrdecError) -> None:
        """Stop at the error, or show and count it."""
        if self.policy is OnError.stop:
            raise error
        self.count += 1
        if self.count <= self.SHOWN:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
        elif self.count == self.SHOWN + 1:
            print("... further errors are counted, not shown", file=sys.stderr)

    def summary(self) -> Iterator[str]:
        """A line on how many there were, if any."""
        if self.count:
            what = "skipped" if self.policy is OnError.skip else "marked (())"
            number = counted(self.count, "sentence that could not be read was", "sentences that could not be read were")
            yield f"{number} {what}."
