"""`trdec train`: train a model, or resume its training."""

from __future__ import annotations

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
    from trdec.configuration import load_configuration
    from trdec.errors import TrainingInterrupted
    from trdec.training.display import TrainingDisplay
    from trdec.training.loop import WORST
    from trdec.training.trainer import train

    configuration = load_configuration(config, overrides or ())
    try:
        with TrainingDisplay(standard_error()) as display:
            outcome = train(configuration, display, workers)
    except TrainingInterrupted as interruption:
        say(f"trdec: {interruption}")
        raise typer.Exit(128 + interruption.signal_number) from interruption
    ending = "stopped early" if outcome.stopped_early else "finished"
    skipped = f", {outcome.skipped} batches skipped" if outcome.skipped else ""
    measure = "dev BLEU" if configuration.training.metric == "bleu" else "dev loss"
    best = f"best {measure} {abs(outcome.best_score):.2f} after update {outcome.best_update}"
    if outcome.best_score >= WORST:
        best = f"{measure} was never a finite number"
    say(f"{ending} after {outcome.update} updates; {best}{skipped}")
    print(outcome.weights)
