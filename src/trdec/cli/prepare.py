"""`trdec prepare`: encode a corpus once, for training to use."""

from __future__ import annotations

import json
import logging
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from trdec.cli.options import DaskOption, JsonOption, complete_keys, standard_error


def prepare_command(
    configuration_file: Annotated[
        Path, typer.Argument(metavar="CONFIG.yaml", help="The configuration that training takes.")
    ],
    overrides: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KEY=VALUE]...", help="Keys to change, such as system=seq2seq.", autocompletion=complete_keys
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option("--workers", min=0, max=1024, help="Processes to use; 0 is one per processor.")
    ] = 0,
    dask: DaskOption = None,
    as_json: JsonOption = False,
) -> None:
    """Learn subwords, extract the grammar and encode the corpora into OUTPUT, unless that is done already."""
    from trdec.configuration import load_configuration
    from trdec.data.prepare import prepare
    from trdec.data.workers import workers_of
    from trdec.progress import ProgressDisplay

    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    configuration = load_configuration(configuration_file, overrides or [])
    data, system = configuration.located_data, configuration.system
    processes = workers or os.cpu_count() or 1
    with workers_of(dask, processes) as them, ProgressDisplay(standard_error()) as progress:
        made = prepare(data, system, configuration.output, them, progress)
    if as_json:
        print(json.dumps(made.report.to_json(), ensure_ascii=False, indent=2))
    else:
        for line in made.report.lines():
            print(line)
