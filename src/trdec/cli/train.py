"""`trdec train`: train a model, or resume training it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trdec.cli.messages import say
from trdec.cli.prepare import preparing

if TYPE_CHECKING:
    from trdec.configuration import Configuration
    from trdec.data.codec import Codec
    from trdec.model.translation_model import TranslationModel
    from trdec.training.interfaces import Observer


def train_command(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="A YAML file; configs/ has recipes.")],
    overrides: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="Keys of the file to change, such as model.hidden_size=256."),
    ] = None,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Processes that prepare the data.")] = 1,
) -> None:
    """Train the model that a configuration describes; after an interruption, the same command resumes."""
    from trdec.configuration import load_configuration
    from trdec.errors import TrainingInterrupted
    from trdec.training.loop import WORST
    from trdec.training.trainer import train

    configuration = load_configuration(config, overrides or ())
    try:
        bleu = dev_bleu if configuration.training.metric == "bleu" else None
        outcome = train(configuration, _display(), bleu, workers, preparing())
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


def dev_bleu(model: TranslationModel[Any], codec: Codec, configuration: Configuration) -> float:
    """BLEU of greedy translations of the dev set, against its files as they are."""
    from sacrebleu import corpus_bleu

    from trdec.files import read_lines
    from trdec.translation.translator import Translator

    dev = configuration.located_data.dev
    device = next(model.parameters()).device.type
    translations = Translator(model, codec, device=device).translate(
        (line.text for line in read_lines(dev.source)), beam_size=1
    )
    references = [line.text for line in read_lines(dev.target)]
    tokenise = "none" if configuration.data.target_language is None else "13a"
    return corpus_bleu([found.text for found in translations], [references], tokenize=tokenise, force=True).score


def _display() -> Observer:
    from rich.console import Console

    from trdec.training.display import LiveDisplay, PlainDisplay

    console = Console(stderr=True)
    return LiveDisplay(console) if console.is_terminal else PlainDisplay(say)
