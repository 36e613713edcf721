"""`trdec train`: train a model, or resume its training."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from trdec.cli.options import complete_keys, say, standard_error


def train_command(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="A YAML file; configs/ has recipes.")],
    overrides: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KEY=VALUE]...",
            help="Keys of the file to change, such as model.hidden_size=256.",
            autocompletion=complete_keys,
        ),
    ] = None,
    workers: Annotated[int, typer.Option("--workers", min=1, max=1024, help="Processes that prepare the data.")] = 1,
) -> None:
    """Train the model that a configuration describes; after an interruption, the same command resumes."""
    # Where a process is lost, torch's own warnings would bury the message in call stacks.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")

    from trdec.configuration import load_configuration
    from trdec.errors import TrainingInterrupted
    from trdec.training.display import TrainingDisplay
    from trdec.training.distributed import join_ranks
    from trdec.training.loop import WORST
    from trdec.training.trainer import SILENT, train

    configuration = load_configuration(config, overrides or ())
    with join_ranks(configuration.training.rank_timeout) as ranks:
        try:
            with TrainingDisplay(standard_error()) if ranks.is_first else nullcontext(SILENT) as display:
                outcome = train(configuration, display, workers, ranks)
        except TrainingInterrupted as interruption:
            if ranks.is_first:
                say(f"trdec: {interruption}")
            raise typer.Exit(128 + interruption.signal_number) from interruption
    if not ranks.is_first:
        return
    ending = "stopped early" if outcome.stopped_early else "finished"
    skipped = f", {outcome.skipped} batches skipped" if outcome.skipped else ""
    measure = "dev BLEU" if configuration.training.metric == "bleu" else "dev loss"
    best = f"best {measure} {abs(outcome.best_score):.2f} after update {outcome.best_update}"
    if outcome.best_score >= WORST:
        best = f"{measure} was never a finite number"
    say(f"{ending} after {outcome.update} updates; {best}{skipped}")
    print(outcome.weights)
