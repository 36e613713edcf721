"""`trdec table`: one table of the runs of several experiments."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from trdec.cli.options import say


class ScoredText(StrEnum):
    """The texts that runs are scored on."""

    dev = "dev"
    test = "test"


def table_command(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="COUNTS...", help="The counts.json of experiments; the first has the first system."),
    ],
    text: Annotated[ScoredText, typer.Option("--text", help="Which text's scores to show.")] = ScoredText.test,
    joined: Annotated[
        Path | None, typer.Option("--join", help="Also write the counts of all these runs to this one file.")
    ] = None,
) -> None:
    """Show the runs of several experiments, made on several machines or days, as one table with tests.

    An experiment writes its counts.json beside its report: what BLEU counts in each sentence, and nothing of the text.
    Seeds of one system are put together; all systems are compared with the first.
    """
    from trdec.evaluation.report import table_markdown
    from trdec.experiment.counts import counts_tables, join_counts, read_counts, replace_counts, signature

    read = [(path, read_counts(path)) for path in files]
    together = join_counts(read) if joined else None
    for title, table in counts_tables(read, text.value):
        print(f"## {title}\n")
        print("\n".join(table_markdown(table)), end="\n\n")
    print(f"`{signature(read)}`")
    if joined and together:
        kept = replace_counts(joined, together)
        say(f"{joined}: the counts of {len(together.runs)} runs and ensembles")
        if kept:
            say(kept.warning(joined))
