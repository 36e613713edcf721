"""`trdec score`: how probable a model finds given translations."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trdec.cli.options import (
    STANDARD_STREAM,
    AllowOption,
    OutputOption,
    SourceTreesOption,
    ThreadsOption,
    standard_error,
)
from trdec.cli.translate import OutputFormat

if TYPE_CHECKING:
    from trdec.translation.scoring import Candidate, Scored, Scorer

SCORED_TOGETHER = 200
"""Lines that are read, scored and written at a time."""


def score_command(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model directory, or an archive of `trdec export`.")],
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
    source_trees: SourceTreesOption = None,
    output: OutputOption = STANDARD_STREAM,
    output_format: Annotated[
        OutputFormat, typer.Option("--format", help="text: the sums; json: also every action; or the summary as JSON.")
    ] = OutputFormat.text,
    summary: Annotated[
        bool, typer.Option("--summary", help="Write only how much of the loss is of which kind, over all translations.")
    ] = False,
    threads: ThreadsOption = 1,
    allow: AllowOption = None,
) -> None:
    """Write the log-probability of each translation, and of each kind of action in it; or a summary.

    If no trees are given, the kinds that the model was trained on are built; of several, the most probable counts. A
    translation that the model cannot write has the log-probability -inf.
    """
    import torch

    from trdec.errors import UsageError
    from trdec.files import count_lines, text_file, writing
    from trdec.progress import ProgressDisplay
    from trdec.translation.model_directory import load_model
    from trdec.translation.scoring import Scorer

    if trees is not None and annotation is not None:
        raise UsageError("trees are given twice, by --trees and by --annotation. Choose one.")
    torch.set_num_threads(min(threads, os.cpu_count() or 1))
    codec, network, _ = load_model(model, allow=allow or ())
    scorer = Scorer(network, codec)
    problems: Counter[str] = Counter()
    total = count_lines(source) if text_file(source)[0].is_file() else None
    with writing(output) as stream, ProgressDisplay(standard_error()) as progress:
        pairs = scorer.pairs(source, target, trees, annotation, source_trees)
        every = _noting(problems, _scored(scorer, pairs, lambda done: progress("scoring", done, total)))
        lines = _summary(every, output_format) if summary else (_line(scored, output_format) for scored in every)
        stream.writelines(f"{line}\n" for line in lines)
    for problem, count in islice(problems.items(), 20):
        print(f"{count} x {problem}", file=sys.stderr)


def _scored(scorer: Scorer, pairs: Iterator[Candidate], progress: Callable[[int], None]) -> Iterator[Scored]:
    done = 0
    while window := list(islice(pairs, SCORED_TOGETHER)):
        yield from scorer.score(window)
        done += len(window)
        progress(done)


def _noting(problems: Counter[str], every: Iterable[Scored]) -> Iterator[Scored]:
    """The same, with their problems counted."""
    for scored in every:
        if scored.problem is not None:
            problems[scored.problem] += 1
        yield scored


def _summary(every: Iterable[Scored], output_format: OutputFormat) -> Iterator[str]:
    """A table of the kinds of actions; or one JSON object."""
    from trdec.translation.loss_by_kind import loss_by_kind

    found = loss_by_kind(every)
    if output_format is OutputFormat.json:
        yield json.dumps(found.to_json(), indent=2)
        return
    yield f"{'':8}{'actions':>12}{'nats/action':>13}{'nats/sentence':>15}{'share':>9}"
    for name, loss in {**found.kinds, "tree": found.tree, "words": found.words, "all": found.total}.items():
        each = loss.nats / loss.actions if loss.actions else 0.0
        share = f"{100 * found.share(loss):.1f}%"
        yield f"{name:8}{loss.actions:>12,}{each:>13.4f}{found.per_sentence(loss):>15.3f}{share:>9}"
    yield f"{found.sentences:,} of {found.sentences + found.left_out:,} translations; the tree is everything but words"


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
