"""`trdec prepare`: encode a corpus once, for training to use."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trdec.cli.options import JsonOption

if TYPE_CHECKING:
    from trdec.data.prepare import PreparationProgress


def prepare_command(
    configuration_file: Annotated[
        Path, typer.Argument(metavar="CONFIG.yaml", help="The configuration that training takes.")
    ],
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Keys to change, such as system=seq2seq.")
    ] = None,
    workers: Annotated[int, typer.Option("--workers", min=0, help="Processes to use; 0 is one per processor.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Learn subwords, extract the grammar and encode the corpora into OUTPUT, unless that is done already."""
    from trdec.configuration import load_configuration
    from trdec.data.prepare import prepare

    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    configuration = load_configuration(configuration_file, overrides or [])
    workers = workers or os.cpu_count() or 1
    with preparing() as progress:
        made = prepare(configuration.located_data, configuration.system, configuration.output, workers, progress)
    if as_json:
        print(json.dumps(made.report.to_json(), ensure_ascii=False, indent=2))
    else:
        for line in made.report.lines():
            print(line)


@contextlib.contextmanager
def preparing() -> Iterator[PreparationProgress | None]:
    """A bar on standard error if that is a terminal, otherwise nothing."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, int] = {}

        def show(task: str, done: int, total: int) -> None:
            if task not in tasks:
                tasks[task] = bar.add_task(task, total=total)
            bar.update(tasks[task], completed=done)  # type: ignore[arg-type]  # rich's number is an int with a name

        yield show
