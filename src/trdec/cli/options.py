"""Options that several commands share, declared once."""

from __future__ import annotations

import difflib
from enum import StrEnum
from functools import reduce
from pathlib import Path
from typing import Annotated

import typer

from trdec.cli.messages import OnError
from trdec.files import STANDARD
from trdec.trees.transforms import TRANSFORMS, Transform, limit_depth

STANDARD_STREAM = Path(STANDARD)
"""The default of an input or output: standard input or standard output."""


class TreeFormat(StrEnum):
    """How trees are written in a file."""

    penn = "penn"
    brackets = "brackets"
    conllu = "conllu"
    ccg = "ccg"


def _known_transforms(names: list[str] | None) -> list[str]:
    for name in names or ():
        if name not in TRANSFORMS:
            close = difflib.get_close_matches(name, TRANSFORMS, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise typer.BadParameter(f"expected one of {', '.join(TRANSFORMS)}; found {name!r}.{hint}")
    return names or []


InputArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The file to read; - is standard input.")]
InputOption = Annotated[Path | None, typer.Option("--input", "-i", help="The file to read, in place of FILE.")]
OutputOption = Annotated[Path, typer.Option("--output", "-o", help="The file to write; - is standard output.")]
FormatOption = Annotated[
    TreeFormat,
    typer.Option(
        "--from",
        help="penn: brackets, with labels cleaned up (NP-SBJ-1 becomes NP) and traces removed; "
        "brackets: labels as they are; conllu: dependencies; ccg: a line of supertags for each line of --text.",
    ),
]
TextOption = Annotated[
    Path | None, typer.Option("--text", help="The sentences themselves: trees take over their spelling.")
]
OnErrorOption = Annotated[
    OnError,
    typer.Option(
        "--on-error",
        help="At a sentence that cannot be read: stop, skip it, or mark it with (()) so that lines stay aligned.",
    ),
]
TransformOption = Annotated[
    list[str] | None,
    typer.Option(
        "--transform",
        metavar="NAME",
        callback=_known_transforms,
        help=f"Transform each tree: {', '.join(TRANSFORMS)}. May be repeated; transforms apply in the order given.",
    ),
]
MaxDepthOption = Annotated[
    int | None, typer.Option("--max-depth", min=1, help="Dissolve nodes deeper than this, after all transforms.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Write JSON.")]


def chosen_input(argument: Path, option: Path | None) -> Path:
    """The file to read, named in either of the two ways."""
    if option is not None and str(argument) != STANDARD:
        raise typer.BadParameter(f"the input is named twice: {argument} and --input {option}")
    return option or argument


def chosen_transform(names: list[str] | None, max_depth: int | None = None) -> Transform:
    """All transforms asked for as one, in the order given."""
    chosen = [TRANSFORMS[name] for name in names or ()]
    if max_depth is not None:
        chosen.append(lambda tree: limit_depth(tree, max_depth))
    return lambda tree: reduce(lambda done, transform: transform(done), chosen, tree)
