"""`trdec compare`: how several systems differ on one test set."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trdec.cli.evaluate import BleuTokeniser, NoTerOption, TokeniseOption, chosen_bleu_tokeniser
from trdec.cli.options import JsonOption

if TYPE_CHECKING:
    from trdec.evaluation.scores import Output


def compare_command(
    reference: Annotated[Path, typer.Argument(metavar="REF", help="The reference translations.")],
    systems: Annotated[
        list[str],
        typer.Argument(
            metavar="SYSTEM...",
            help="FILE or NAME=FILE, at least two; the others are compared with the first. "
            "The same NAME several times is one system trained with several seeds.",
        ),
    ],
    html: Annotated[
        Path | None, typer.Option("--html", help="Also write a page with the figures to this file.")
    ] = None,
    as_json: JsonOption = False,
    tokenise: TokeniseOption = BleuTokeniser.auto,
    samples: Annotated[
        int, typer.Option("--samples", min=1, max=100_000, help="Samples of the paired bootstrap.")
    ] = 1000,
    trials: Annotated[
        int, typer.Option("--trials", min=1, max=100_000, help="Trials of approximate randomisation.")
    ] = 10_000,
    seed: Annotated[int, typer.Option("--seed", min=1, max=2**63 - 1, help="The seed of both tests.")] = 12345,
    buckets: Annotated[
        str, typer.Option("--buckets", help="The longest reference, in words, in each bucket but the last.")
    ] = "10,20,30,40",
    examples: Annotated[int, typer.Option("--examples", min=0, help="How many differing sentences to show.")] = 10,
    training_text: Annotated[
        Path | None,
        typer.Option(
            "--training-text",
            help="The target side of the training text: adds the accuracy of rare and frequent words.",
        ),
    ] = None,
    no_ter: NoTerOption = False,
    no_significance: Annotated[bool, typer.Option("--no-significance", help="Leave out both tests.")] = False,
) -> None:
    """Compare systems: scores, significance, BLEU by length, lengths, words, and the sentences that differ most.

    Markdown is written to standard output, or JSON with --json.
    """
    from trdec.errors import UsageError
    from trdec.evaluation.comparison import ComparisonOptions, compare
    from trdec.evaluation.report import comparison_markdown
    from trdec.evaluation.scores import file_name, read_references
    from trdec.evaluation.word_accuracy import bleu_splitter, count_words
    from trdec.files import STANDARD, read_lines, writing

    if html is not None and str(html) == STANDARD:
        raise UsageError("--html needs a file: standard output is taken by the Markdown or JSON.")
    references = read_references(reference)
    options = ComparisonOptions(
        tokenise=chosen_bleu_tokeniser(tokenise, references),
        significance=not no_significance,
        samples=samples,
        trials=trials,
        seed=seed,
        boundaries=_boundaries(buckets),
        examples=examples,
        ter=not no_ter,
    )
    outputs = [_output(system, references, file_name(reference)) for system in systems]
    names = dict.fromkeys(output.system for output in outputs)
    if len(names) < 2:
        raise UsageError(
            f"expected at least two systems to compare, found 1: {', '.join(names)}. "
            "To score one system by itself use: trdec evaluate"
        )
    with _spinner():
        counts = None
        if training_text is not None:
            counts = count_words((line.text for line in read_lines(training_text)), bleu_splitter(options.tokenise))
        comparison = compare(references, outputs, options, training_counts=counts)
    if html is not None:
        from trdec.evaluation.report import comparison_sections, page

        title = f"{len(comparison.systems)} systems on {comparison.sentences:,} sentences"
        with writing(html) as stream:
            stream.write(page(title, comparison_sections(comparison)))
        print(f"Wrote {html}", file=sys.stderr)
    if as_json:
        print(json.dumps(comparison.to_json(), ensure_ascii=False, indent=2))
    else:
        print(comparison_markdown(comparison), end="")


def _output(argument: str, references: list[str], reference_name: str) -> Output:
    """The output that FILE or NAME=FILE names; an existing file may have = in its name."""
    from trdec.errors import UsageError
    from trdec.evaluation.scores import read_output

    name, equals, file = argument.partition("=")
    if not equals or Path(argument).exists():
        return read_output(argument, argument, references, reference_name)
    if not name or not file:
        raise UsageError(f"expected FILE or NAME=FILE for a system, found {argument!r}.")
    return read_output(name, file, references, reference_name)


def _boundaries(text: str) -> tuple[int, ...]:
    from trdec.errors import UsageError

    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise UsageError(
            f"expected lengths separated by commas for --buckets (such as 10,20,30), found {text!r}."
        ) from error


def _spinner() -> contextlib.AbstractContextManager[object]:
    """A spinner on a terminal: the tests take a second or two per pair."""
    if not sys.stderr.isatty():
        return contextlib.nullcontext()
    from rich.console import Console

    return Console(stderr=True).status("comparing")
