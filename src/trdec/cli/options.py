"""What several commands share: options declared once, and the messages of the library with the flags people type."""

from __future__ import annotations

import difflib
import re
import sys
from enum import StrEnum
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trdec.errors import TrdecError
from trdec.files import STANDARD
from trdec.trees.transforms import TRANSFORMS, Transform, limit_depth

if TYPE_CHECKING:
    from rich.console import Console

FLAGS = {
    "allow": "--allow",
    "annotation": "--annotation",
    "batch_size": "--batch",
    "beam_size": "--beam-size",
    "checksum": "--sha256",
    "dask": "--dask",
    "device": "--device",
    "folder": "--output",
    "length_power": "--length-power",
    "max_extra": "--max-extra",
    "max_ratio": "--max-ratio",
    "min_ratio": "--min-ratio",
    "model": "--model",
    "n_best": "--n-best",
    "output": "--output",
    "package": "--with",
    "precision": "--precision",
    "restart": "--restart",
    "scale": "--scale",
    "source_trees": "--source-trees",
    "temperature": "--temperature",
    "text": "--text",
    "trees": "--trees",
    "unverified": "--no-verify",
    "url": "--url",
}
"""The flag for each argument that the library names, in backticks, in a message."""


SourceTreesOption = Annotated[
    Path | None,
    typer.Option(
        "--source-trees",
        help="Parses of the source lines, for a model that reads them: in the form it was trained on, brackets one "
        "tree per line.",
    ),
]


def with_flags(message: str) -> str:
    """The message, with flags for the arguments that it names."""
    return re.sub(r"`(\w+)`", lambda found: FLAGS.get(found[1], found[0]), message)


def explain_error(error: TrdecError) -> str:
    """The error's kind and message, then its notes on lines of their own."""
    notes = getattr(error, "__notes__", [])
    return "\n".join([f"{type(error).__name__}: {with_flags(str(error))}", *notes])


def say(line: str) -> None:
    """Write a line to standard error at once: commands that run side by side share it."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def standard_error() -> Console:
    """The console on which progress is shown."""
    from rich.console import Console

    return Console(stderr=True)


def counted(number: int, one: str, several: str) -> str:
    """The number with what it counts: 1 tree is, 2 trees are."""
    return f"{number} {one if number == 1 else several}"


class OnError(StrEnum):
    """What happens to a sentence that cannot be read."""

    stop = "stop"
    skip = "skip"
    mark = "mark"


class Problems:
    """Sentences that could not be read: shown on standard error as they come, and counted."""

    SHOWN = 20

    def __init__(self, policy: OnError) -> None:
        self.policy = policy
        self.count = 0

    def __call__(self, error: TrdecError) -> None:
        """Stop at the error, or show and count it."""
        if self.policy is OnError.stop:
            error.add_note("Leave such sentences out with --on-error skip, or keep their lines with --on-error mark.")
            raise error
        self.count += 1
        if self.count <= self.SHOWN:
            say(explain_error(error))
        elif self.count == self.SHOWN + 1:
            say("... further errors are counted, not shown")

    def summarise(self) -> None:
        """Say how many there were, if any."""
        if self.count:
            what = "skipped" if self.policy is OnError.skip else "marked (())"
            number = counted(self.count, "sentence that could not be read was", "sentences that could not be read were")
            say(f"{number} {what}.")


STANDARD_STREAM = Path(STANDARD)
"""The default of an input or output: standard input or standard output."""


class TreeFormat(StrEnum):
    """How trees are written in a file."""

    penn = "penn"
    brackets = "brackets"
    conllu = "conllu"
    json = "json"
    ccg = "ccg"


class WrittenFormat(StrEnum):
    """How trees are written to a file."""

    brackets = "brackets"
    conllu = "conllu"
    json = "json"


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
        "brackets: labels as they are; conllu: dependencies; json: one object per line; "
        "ccg: a line of supertags for each line of --text.",
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
AllowOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allow",
        metavar="MODULE:NAME",
        help="Let the model use this code, which is not part of trdec; may be repeated. Without it, such a model is "
        "refused.",
    ),
]


def _complete_systems(incomplete: str) -> list[str]:
    from trdec.systems import SYSTEMS

    return [name for name in SYSTEMS if name.startswith(incomplete)]


def complete_keys(incomplete: str) -> list[str]:
    """The keys of a configuration that begin like this, for a shell that completes `key=value`."""
    from trdec.configuration import Configuration
    from trdec.configuration.document import dotted_names
    from trdec.systems import SYSTEMS

    choices = [f"system={name}" for name in SYSTEMS] + [f"{name}=" for name in dotted_names(Configuration)]
    return [choice for choice in choices if choice.startswith(incomplete)]


SystemOption = Annotated[
    str, typer.Option("--system", metavar="NAME", help="What to train.", autocompletion=_complete_systems)
]
ThreadsOption = Annotated[int, typer.Option("--threads", min=1, max=1024, help="Processor cores to use.")]
DaskOption = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="SCHEDULER",
        help="Work on the workers of this Dask scheduler, such as tcp://host:8786, and not here.",
    ),
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
