"""`trdec score`: how probable a model finds given translations."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trdec.cli.options import STANDARD_STREAM, AllowOption, OutputOption
from trdec.cli.translate import OutputFormat

if TYPE_CHECKING:
    from trdec.translation.scoring import Scored

SCORED_TOGETHER = 200
"""Lines that are read, scored and written at a time."""


def score_command(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model directory, as `trdec train` writes it.")],
    source: Annotated[Path, typer.Option("--source", help="The source sentences, one per line.")],
    target: Annotated[Path, typer.Option("--target", help="Their translations, one per line.")],
    trees: Annotated[
        Path | None,
        typer.Option("--trees", help="The translations' trees as `trdec translate --trees` writes them, one per line."),
    ] = None,
    annotation: Annotated[
        Path | None,
        typer.Option("--annotation", help="The translations' parses, in the form that the model was trained on."),
    ] = None,
    output: OutputOption = STANDARD_STREAM,
    output_format: Annotated[
        OutputFormat, typer.Option("--format", help="text: the sums; json: also every action.")
    ] = OutputFormat.text,
    threads: Annotated[int, typer.Option("--threads", min=1, help="Processor cores to use.")] = 1,
    allow: AllowOption = None,
) -> None:
    """Write the log-probability of each translation, and of each kind of action in it.

    If no trees are given, the kinds that the model was trained on are built; of several, the most probable counts. A
    translation that the model cannot write has the log-probability -inf.
    """
    import torch

    from trdec.errors import UsageError
    from trdec.files import writing
    from trdec.translation.model_directory import load_model
    from trdec.translation.scoring import Scorer

    if trees is not None and annotation is not None:
        raise UsageError("trees are given twice, by --trees and by --annotation. Choose one.")
    torch.set_num_threads(threads)
    codec, network, _ = load_model(model, allow=allow or ())
    scorer = Scorer(network, codec)
    problems: Counter[str] = Counter()
    pairs = scorer.pairs(source, target, trees, annotation)
    with writing(output) as stream:
        while window := list(islice(pairs, SCORED_TOGETHER)):
            for scored in scorer.score(window):
                stream.write(_line(scored, output_format) + "\n")
                if scored.problem is not None:
                    problems[scored.problem] += 1
    for problem, count in islice(problems.items(), 20):
        print(f"{count} x {problem}", file=sys.stderr)


def _line(scored: Scored, output_format: OutputFormat) -> str:
    if output_format is OutputFormat.json:
        return json.dumps(_content(scored), ensure_ascii=False)
    if scored.forced is None:
        return "-inf"
    kinds = (f"{kind} {log_prob:.4f} ({count})" for kind, (count, log_prob) in scored.forced.by_kind().items())
    return "\t".join((f"{scored.forced.log_prob:.4f}", *kinds))


def _content(scored: Scored) -> dict[str, Any]:
    if scored.forced is None:
        return {"log_prob": None, "problem": scored.problem}
    return {
        "log_prob": scored.forced.log_prob,
        "kinds": dict(_kinds(scored)),
        "tree": scored.brackets,
        "actions": [action._asdict() for action in scored.forced.actions],
    }


def _kinds(scored: Scored) -> Iterator[tuple[str, dict[str, float]]]:
    assert scored.forced is not None
    for kind, (count, log_prob) in scored.forced.by_kind().items():
        yield kind, {"count": count, "log_prob": log_prob}
