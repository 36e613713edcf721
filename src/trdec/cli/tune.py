"""`trdec tune`: find the beam and the length power with which a model translates dev best."""

from __future__ import annotations

import contextlib
import json
import os
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trdec.cli.options import (
    STANDARD_STREAM,
    AllowOption,
    JsonOption,
    OutputOption,
    SourceTreesOption,
    ThreadsOption,
    say,
    standard_error,
)
from trdec.errors import FileError, UsageError
from trdec.files import text_file, writing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from trdec.configuration import Configuration
    from trdec.training.tuning import Trial


def tune_command(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model directory.")],
    source: Annotated[
        Path | None, typer.Option("--source", help="Source sentences, one per line; the model's dev by default.")
    ] = None,
    target: Annotated[Path | None, typer.Option("--target", help="Their reference translations.")] = None,
    source_trees: SourceTreesOption = None,
    beam_sizes: Annotated[
        list[int] | None, typer.Option("--beam-size", min=1, help="A beam to try; may be repeated; 5, 10 and 20.")
    ] = None,
    length_powers: Annotated[
        list[float] | None,
        typer.Option("--length-power", min=0.0, help="A power to try; may be repeated; 0, 0.5, 1, 1.5 and 2."),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Show what would be chosen; leave the model as it is.")] = False,
    threads: ThreadsOption = 1,
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=1024, help="Processes that share the work.")] = 1,
    allow: AllowOption = None,
    output: OutputOption = STANDARD_STREAM,
    as_json: JsonOption = False,
) -> None:
    """Try beams and length powers on dev, and make the best of them what the model uses from now on.

    Each beam is searched once: a length power only ranks what the search has found. Never tune on a test text.
    """
    import torch

    from trdec.configuration import load_saved_configuration
    from trdec.evaluation.scores import bleu_tokeniser, check_aligned, read_references, read_texts
    from trdec.progress import ProgressDisplay
    from trdec.search.beam import BeamSettings
    from trdec.search.limits import Normalisation
    from trdec.training.tuning import BEAMS, POWERS, best_trial, check_free, set_search, trials
    from trdec.translation.source import ParsedLine, parsed_lines
    from trdec.translation.translator import Translator
    from trdec.translation.workers import Workers

    if not model.is_dir():
        found = "a file" if model.exists() else "nothing"
        raise UsageError(f"{model}: expected a model directory, found {found}. An archive must be unpacked first.")
    if (source is None) != (target is None):
        raise UsageError("a text to tune on needs its source and its references. Give both --source and --target.")
    beams = tuple(dict.fromkeys(beam_sizes or BEAMS))
    powers = tuple(dict.fromkeys(length_powers or POWERS))
    for beam, power in product(beams, powers):
        BeamSettings(beam, normalisation=Normalisation(power))  # refuses what no search takes, before any is begun
    torch.set_num_threads(min(threads, os.cpu_count() or 1))
    load = partial(Translator.load, model, allow=allow or ())
    translator = load()
    configuration = load_saved_configuration(model)
    if source is None or target is None:
        source, target, source_trees = _dev(configuration, model, source_trees)
    texts, references = read_texts(source), read_references(target)
    check_aligned(str(source), len(texts), str(target), len(references))
    lines: list[str | ParsedLine] = [*parsed_lines(translator.codec.system, texts, source_trees, len(texts))]
    tokenise = bleu_tokeniser(references, configuration.data.target_tokeniser != "none")
    total = len(beams) * len(lines)
    if not keep:
        check_free(model)  # before a search that takes long, and again when it has ended
    with contextlib.ExitStack() as opened:
        stream = opened.enter_context(writing(output))
        show = opened.enter_context(ProgressDisplay(standard_error()))
        workers = opened.enter_context(Workers(jobs, load)) if jobs > 1 else None

        def progress(done: int) -> None:
            show("translating dev", done, total)

        with _errors_of_search(model):
            every = list(trials(translator, lines, references, beams, powers, tokenise, progress, workers))
        best = best_trial(every)
        stream.write(_json(every, best) if as_json else _table(every, best))
    if not keep:
        set_search(model, best.search)
        own = f"beam {best.search.beam_size} and length power {best.search.length_power:g}"
        say(f"{model}: translates with {own} from now on, unless told otherwise")


@contextlib.contextmanager
def _errors_of_search(model: Path) -> Iterator[None]:
    """Tells the system's errors in the block from those of the output, which is open all the while."""
    try:
        yield
    except OSError as error:
        name, reason = error.filename or model, error.strerror or error
        raise FileError(f"{name}: dev could not be translated: {reason}. Nothing was changed.") from error


def _dev(configuration: Configuration, model: Path, parses: Path | None) -> tuple[Path, Path, Path | None]:
    """The files of a model's dev: source, references, and parses of the source if it reads such."""
    dev = configuration.located_data.dev
    for path in (dev.source, dev.target):
        if not text_file(path)[0].is_file():
            raise FileError(
                f"{path}: the dev text that {model} was trained with is not there. Change to the directory that it "
                "was trained in, or give another text with --source and --target."
            )
    key = configuration.system.source_annotation
    return dev.source, dev.target, parses or (getattr(dev, key) if key else None)


def _json(every: Sequence[Trial], best: Trial) -> str:
    return json.dumps({"trials": [trial.to_json() for trial in every], "chosen": best.to_json()}, indent=2) + "\n"


def _table(every: Sequence[Trial], best: Trial) -> str:
    lines = [f"{'beam':>6}{'power':>8}{'BLEU':>8}{'length':>8}{'seconds':>9}"]
    for trial in every:
        search, mark = trial.search, "  best" if trial is best else ""
        figures = f"{trial.bleu.score:>8.2f}{trial.length_ratio:>8.3f}{trial.seconds:>9.1f}"
        lines.append(f"{search.beam_size:>6}{search.length_power:>8g}{figures}{mark}")
    return "\n".join([*lines, best.bleu.signature, ""])
