"""`trdec export`: a trained model without its data and checkpoints, as a folder or an archive."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    from trdec.training.loop import LOG
    from trdec.training.observers import JsonLines
    from trdec.translation.export import export_model

    rows = [row for row in JsonLines(model / LOG).rows() if row.get("event") == "dev" and row.get("best")]
    scores: dict[str, float] = {}
    for key, name, best in (("bleu", "dev BLEU", max), ("loss", "dev loss", min)):
        if found := [row[key] for row in rows if isinstance(row.get(key), float | int)]:
            scores[name] = round(best(found), 2)
    export_model(model, output, scores, translate_line, licence)
    files = [output] if output.is_file() else [path for path in output.rglob("*") if path.is_file()]
    say(f"{output}: {sum(path.stat().st_size for path in files) / 1e6:.1f} MB; fill in its README.md before sharing it")
    print(output)


def translate_line(system: System, name: str) -> str:
    """The command that translates with a model of this system and name, as a shell reads it."""
    allowed = [part for code in dict.fromkeys(system.foreign_code) for part in ("--allow", code)]
    parses = [] if system.source_annotation is None else ["--source-trees", "source.trees"]
    return shlex.join(["trdec", "translate", name, *allowed, *parses])
