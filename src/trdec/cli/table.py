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
    systems: Annotated[
        list[str] | None,
        typer.Option(
            "--system", help="Show only this system; may be repeated. The others are compared with the first."
        ),
    ] = None,
    joined: Annotated[
        Path | None, typer.Option("--join", help="Also write the counts of these runs to this one file.")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option("--figures", help="Also draw gains and lengths in this folder, as SVG.")
    ] = None,
) -> None:
    """Show the runs of several experiments, made on several machines or days, as one table with tests.

    An experiment writes its counts.json beside its report: what BLEU counts in each sentence, and nothing of the text.
    Seeds of one system are put together; all systems are compared with the first. BLEU and gains by the length of the
    reference, and the lengths of translations, follow as in the report of an experiment.
    """
    from trdec.evaluation.figures import LENGTH_FIGURES, standing_alone
    from trdec.evaluation.report import length_contents, table_markdown
    from trdec.experiment.counts import Text, read_counts, replace_counts
    from trdec.experiment.counts_table import counts_by_length, counts_tables, join_counts, signature
    from trdec.files import writing

    # Tables of dev show nothing of test, so there test need not fit together.
    texts: tuple[Text, ...] = ("dev", "test") if joined or text is ScoredText.test else ("dev",)
    together = join_counts([(path, read_counts(path)) for path in files], systems or (), texts)
    by_length = counts_by_length(together, text.value)
    contents = list(length_contents(by_length))
    for title, table in (
        *counts_tables(together, text.value),
        *((content.title, content.table) for content in contents),
    ):
        print(f"## {title}\n")
        print("\n".join(table_markdown(table)), end="\n\n")
    print(f"`{signature(together)}`")
    if figures:
        figures.mkdir(parents=True, exist_ok=True)
        for name in (content.figure for content in contents if content.figure):
            path = figures / f"{name}.svg"
            with writing(path) as stream:
                stream.write(standing_alone(LENGTH_FIGURES[name](by_length)))
            say(f"{path}: drawn")
    if joined:
        kept = replace_counts(joined, together)
        say(f"{joined}: the counts of {len(together.runs)} runs and ensembles")
        if kept:
            say(kept.warning(joined))
