"""`trdec toy`: write a corpus in the toy language."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def toy_command(
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write to; created if missing.")],
    sentences: Annotated[
        int,
        typer.Option("--sentences", min=1, max=100_000_000, help="Training sentences; dev and test get a tenth each."),
    ] = 2000,
    seed: Annotated[int, typer.Option(help="The seed; another seed gives another corpus.")] = 1,
) -> None:
    """Write parallel text in an invented language and English, with trees, dependencies and supertags."""
    from trdec.corpora.toy.generate import write_corpus

    write_corpus(output, sentences, seed)
