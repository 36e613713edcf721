"""`trdec export`: a trained model without its data and checkpoints, as a folder or an archive."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeGuard

import typer

from trdec.cli.options import say

if TYPE_CHECKING:
    from trdec.systems import System


def export_command(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model directory, as `trdec train` writes it.")],
    output: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help="A new folder, or an archive if it ends in .tar.gz, .tgz or .zip.")
    ],
    licence: Annotated[
        str | None, typer.Option("--license", "--licence", help="The model's licence, such as cc-by-4.0.")
    ] = None,
) -> None:
    """Write what translating needs, with a manifest and a model card, ready to share."""
    from trdec.errors import TrdecError
    from trdec.translation.export import export_model

    scores: dict[str, float] = {}
    remark = None
    try:
        scores = dev_scores(model)
    except TrdecError as error:  # a model whose configuration cannot be read is not exported either
        remark = f"{error} So the model card has no scores."
    export_model(model, output, scores, translate_line, licence)
    if remark is not None:
        say(f"WARNING: {remark}")
    files = [output] if output.is_file() else [path for path in output.rglob("*") if path.is_file()]
    say(f"{output}: {sum(path.stat().st_size for path in files) / 1e6:.1f} MB; fill in its README.md before sharing it")
    print(output)


def dev_scores(model: Path) -> dict[str, float]:
    """What a model's weights scored on dev in training; where they are a mean, what the best of them scored."""
    from trdec.configuration import load_saved_configuration
    from trdec.training.loop import LOG
    from trdec.training.observers import JsonLines

    rows = [row for row in JsonLines(model / LOG).rows() if row.get("event") == "dev"]
    if not rows:
        return {}
    training = load_saved_configuration(model).training
    key, sign = ("bleu", -1) if training.metric == "bleu" else ("loss", 1)
    best = min(rows, key=lambda row: sign * row[key] if _is_number(row.get(key)) else math.inf)
    row = rows[-1] if training.final_weights == "last" else best
    whose = "best single weights' " if training.final_weights == "average" else ""
    found = {f"{whose}{name}": row.get(key) for key, name in (("bleu", "dev BLEU"), ("loss", "dev loss"))}
    return {name: round(value, 2) for name, value in found.items() if _is_number(value)}


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, float | int)  # null, if it was not finite


def translate_line(system: System, name: str) -> str:
    """The command that translates with a model of this system and name, as a shell reads it."""
    allowed = [part for code in dict.fromkeys(system.foreign_code) for part in ("--allow", code)]
    parses = [] if system.source_annotation is None else ["--source-trees", "source.trees"]
    return shlex.join(["trdec", "translate", name, *allowed, *parses])
