"""`trdec trees`: build, convert, check, count and draw target trees."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trdec.cli.options import (
    STANDARD_STREAM,
    FormatOption,
    InputArgument,
    InputOption,
    JsonOption,
    MaxDepthOption,
    OnError,
    OnErrorOption,
    OutputOption,
    Problems,
    TextOption,
    TransformOption,
    TreeFormat,
    WrittenFormat,
    chosen_input,
    chosen_transform,
    counted,
    say,
)
from trdec.errors import TextFormatError, TreeShapeError
from trdec.extensions import is_extension
from trdec.files import read_lines, split_words, writing
from trdec.trees import treebank
from trdec.trees.brackets import NO_TREE, write
from trdec.trees.builders import BUILDERS
from trdec.trees.by_name import builder_called
from trdec.trees.tree import NULL, Nonterminal, words

if TYPE_CHECKING:
    from trdec.targets.actions import Action

trees_app = typer.Typer(no_args_is_help=True, help="Build, convert, check, count and draw target trees.")


def _kind(name: str) -> str:
    if name not in BUILDERS and not is_extension(name):
        raise typer.BadParameter(f"expected one of {', '.join(BUILDERS)}, or module:function; found {name!r}")
    return name


_KINDS = "\n\n".join(f"{name}: {builder.description}" for name, builder in BUILDERS.items())
_OWN = "module:function: your own function from a list of words to a tree over them"


@trees_app.command("build", help=f"Build a tree over each line of text.\n\nKinds:\n\n{_KINDS}\n\n{_OWN}")
def build_command(
    kind: Annotated[str, typer.Argument(callback=_kind, help="The kind of tree.", metavar="KIND")],
    file: InputArgument = STANDARD_STREAM,
    input_file: InputOption = None,
    output: OutputOption = STANDARD_STREAM,
    seed: Annotated[int, typer.Option(help="The seed of random trees.")] = 1,
    transforms: TransformOption = None,
    on_error: OnErrorOption = OnError.stop,
) -> None:
    """Build a tree over each line of text."""
    builder, transform = builder_called(kind), chosen_transform(transforms)
    generator = Random(seed)
    problems = Problems(on_error)
    with writing(output) as stream:
        for line in read_lines(chosen_input(file, input_file)):
            if sentence := split_words(line.text):
                stream.write(write(transform(builder(sentence, generator))) + "\n")
                continue
            problems(
                TextFormatError(
                    f"{line.place}: expected a sentence, found an empty line. Remove it from every parallel file."
                )
            )
            if on_error is OnError.mark:
                stream.write(NO_TREE + "\n")
    problems.summarise()


@trees_app.command("convert")
def convert_command(
    file: InputArgument = STANDARD_STREAM,
    input_file: InputOption = None,
    output: OutputOption = STANDARD_STREAM,
    source_format: FormatOption = TreeFormat.penn,
    target_format: Annotated[
        WrittenFormat,
        typer.Option(
            "--to",
            help="brackets: one tree per line; conllu: dependency trees only, since no others have heads; "
            "json: one object per line.",
        ),
    ] = WrittenFormat.brackets,
    text: TextOption = None,
    transforms: TransformOption = None,
    max_depth: MaxDepthOption = None,
    on_error: OnErrorOption = OnError.stop,
) -> None:
    """Read trees in any format and write them in another; each sentence without a tree is marked as such."""
    transform = chosen_transform(transforms, max_depth)
    writer = treebank.WRITERS[target_format]
    problems = Problems(on_error)
    crossing = 0
    with writing(output) as stream:
        for entry in treebank.read(source_format, chosen_input(file, input_file), text):
            error = entry.error
            written = writer.without_tree
            if entry.tree is not None:
                try:
                    written = writer.write(transform(entry.tree))
                except TreeShapeError as found:
                    error = TreeShapeError(f"{entry.place}: {found}")
            if error is not None:
                problems(error)
            crossing += not entry.was_projective
            if error is None or on_error is OnError.mark:
                stream.write(written)
    problems.summarise()
    if crossing:
        say(f"{counted(crossing, 'tree', 'trees')} had crossing arcs, which were lifted.")


@trees_app.command("check")
def check_command(
    file: InputArgument = STANDARD_STREAM,
    input_file: InputOption = None,
    source_format: FormatOption = TreeFormat.penn,
    text: TextOption = None,
) -> None:
    """Read every tree, report what is wrong, and exit with status 1 if anything is."""
    problems = Problems(OnError.skip)
    trees = failures = crossing = 0
    for entry in treebank.read(source_format, chosen_input(file, input_file), text):
        if entry.error is not None:
            problems(entry.error)
        elif entry.tree is None:
            failures += 1
        else:
            trees += 1
            crossing += not entry.was_projective
    print(f"{counted(trees, 'tree is', 'trees are')} good.")
    if text is not None and trees:
        print(f"Each has as many words as its line of {text}.")
    if failures:
        print(f"{counted(failures, 'sentence has', 'sentences have')} no tree: the parser found none.")
    if crossing:
        print(f"{counted(crossing, 'tree has', 'trees have')} crossing arcs, which are lifted when trees are used.")
    if problems.count:
        print(f"{counted(problems.count, 'sentence', 'sentences')} cannot be read.")
        raise typer.Exit(1)


@trees_app.command("stats")
def stats_command(
    file: InputArgument = STANDARD_STREAM,
    input_file: InputOption = None,
    source_format: FormatOption = TreeFormat.penn,
    text: TextOption = None,
    transforms: TransformOption = None,
    max_depth: MaxDepthOption = None,
    subwords: Annotated[
        Path | None,
        typer.Option("--subwords", help="Split words into the pieces of this sentencepiece model, after transforms."),
    ] = None,
    as_json: JsonOption = False,
    on_error: OnErrorOption = OnError.stop,
) -> None:
    """Count trees, words, depths, labels, rules, and the actions a sentence takes in each target."""
    from trdec.trees.statistics import TreebankStatistics

    transform = chosen_transform(transforms, max_depth)
    split = None
    if subwords is not None:
        from trdec.text import Subwords
        from trdec.trees.transforms import segment

        split = Subwords.load(subwords).split
    problems = Problems(on_error)
    statistics = TreebankStatistics(_linearisers())
    for entry in treebank.read(source_format, chosen_input(file, input_file), text):
        if entry.error is not None:
            problems(entry.error)
        if entry.tree is None:
            statistics.add(entry)
            continue
        tree = transform(entry.tree)
        statistics.add(replace(entry, tree=tree if split is None else segment(tree, split)))
    _print_statistics(statistics.to_json(), as_json)
    problems.summarise()


@trees_app.command("show")
def show_command(
    file: InputArgument = STANDARD_STREAM,
    input_file: InputOption = None,
    source_format: FormatOption = TreeFormat.penn,
    text: TextOption = None,
    first: Annotated[int | None, typer.Option("--first", min=1, help="Show this many trees only.")] = None,
    only: Annotated[int | None, typer.Option("--number", min=1, help="Show the tree of this sentence only.")] = None,
    svg: Annotated[
        Path | None, typer.Option("--svg", help="Write a picture of the first tree shown to this file.")
    ] = None,
    width: Annotated[
        int | None,
        typer.Option("--width", min=1, help="Draw at most this many columns wide, in place of the terminal's width."),
    ] = None,
) -> None:
    """Draw trees in the terminal, or the first of them as an SVG picture."""
    from shutil import get_terminal_size

    from rich.console import Console

    from trdec.trees.drawing import dim_word_starts, draw, tree_svg

    # As rich decides: on a terminal, or anywhere with FORCE_COLOR, and nowhere with NO_COLOR.
    console = Console()
    in_colour = console.color_system is not None and not console.no_color

    columns = width or get_terminal_size((100, 24)).columns
    shown = 0
    for number, entry in enumerate(treebank.read(source_format, chosen_input(file, input_file), text), start=1):
        if only is not None and number != only:
            continue
        if entry.error is not None:
            raise entry.error
        if shown:
            print()
        shown += 1
        if entry.tree is None:
            print(f"{entry.place}: the parser found no tree.")
        elif svg is not None:
            with writing(svg) as stream:
                stream.write(tree_svg(entry.tree))
            return
        else:
            for row in draw(entry.tree, columns):
                print(dim_word_starts(row) if in_colour else row)
        if shown == first or number == only:
            break
    if shown == 0:
        raise TextFormatError(
            f"expected a tree to show, found {'none in the input' if only is None else f'no sentence {only}'}."
        )
    if svg is not None:
        raise TextFormatError(f"{svg}: expected a tree to draw, found only sentences without one. Choose others.")


def _linearisers() -> dict[str, Callable[[Nonterminal], list[Action]]]:
    from trdec.targets.derivation import DerivationTarget
    from trdec.targets.sequence import CcgTarget, LinTarget, Seq2SeqTarget
    from trdec.trees.supertags import from_tags

    def ccg(tree: Nonterminal) -> list[Action]:
        # A supertag precedes each word, whatever the tree.
        sentence = words(tree)
        return CcgTarget.linearise(from_tags(sentence, [NULL] * len(sentence)))

    return {
        "derivation": DerivationTarget.linearise,
        "lin": LinTarget.linearise,
        "ccg": ccg,
        "seq2seq": Seq2SeqTarget.linearise,
    }


def _print_statistics(figures: dict[str, Any], as_json: bool) -> None:
    """The figures as JSON, as a table on a terminal, or as aligned plain lines."""
    if as_json:
        print(json.dumps(figures, ensure_ascii=False, indent=2))
        return
    actions = figures["actions_per_sentence"].items()
    rows = [
        ("trees", f"{figures['trees']:,}"),
        ("sentences without a tree", f"{figures['sentences_without_tree']:,}"),
        ("sentences that cannot be read", f"{figures['sentences_unreadable']:,}"),
        ("trees with crossing arcs", f"{figures['trees_with_crossing_arcs']:,}"),
        ("words", f"{figures['words']:,}"),
        ("words per sentence", f"{figures['words_per_sentence']:.1f}"),
        ("depth, mean", f"{figures['depth']['mean']:.1f}"),
        ("depth, greatest", f"{figures['depth']['max']:,}"),
        ("labels", f"{figures['labels']:,}"),
        ("rules", f"{figures['rules']:,}"),
        ("rules seen once", f"{figures['rules_seen_once']:,}"),
        *((f"actions per sentence, {target}", f"{mean:.1f}") for target, mean in actions),
    ]
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table

        table = Table(show_header=False)
        table.add_column(style="bold")
        table.add_column(justify="right")
        for row in rows:
            table.add_row(*row)
        Console().print(table)
    else:
        for name, figure in rows:
            print(f"{name:32}{figure:>12}")
