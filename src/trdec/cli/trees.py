"""`trdec trees`: build, convert, check, count and draw target trees."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Annotated

import typer

from trdec.cli.options import (
    BareLeavesOption,
    BinariseOption,
    FormatOption,
    InputArgument,
    InputOption,
    MaxDepthOption,
    NullLabelsOption,
    OnError,
    OnErrorOption,
    OutputOption,
    Problems,
    StripTagsOption,
    TextOption,
    TreeFormat,
    WrapWordsOption,
    chosen_input,
    chosen_transforms,
    counted,
)
from trdec.errors import TextFormatError
from trdec.extensions import is_extension
from trdec.files import STANDARD, read_lines, split_words, writing
from trdec.trees import treebank
from trdec.trees.brackets import NO_TREE, write
from trdec.trees.builders import BUILDERS
from trdec.trees.by_name import builder_called

app = typer.Typer(no_args_is_help=True, help="Build, convert, check, count and draw target trees.")

Standard = Path(STANDARD)


def _kind(name: str) -> str:
    if name not in BUILDERS and not is_extension(name):
        raise typer.BadParameter(f"expected one of {', '.join(BUILDERS)}, or module:function; found {name!r}")
    return name


_KINDS = "\n\n".join(f"{name}: {builder.description}" for name, builder in BUILDERS.items())
_OWN = "module:function: one of your own, from a list of words to a tree over them"


@app.command(help=f"Build a tree over each line of text.\n\nKinds:\n\n{_KINDS}\n\n{_OWN}")
def build(
    kind: Annotated[str, typer.Argument(callback=_kind, help="The kind of tree.", metavar="KIND")],
    file: InputArgument = Standard,
    input_file: InputOption = None,
    output: OutputOption = Standard,
    seed: Annotated[int, typer.Option(help="Where random trees start from.")] = 1,
    wrap_words: WrapWordsOption = False,
    on_error: OnErrorOption = OnError.stop,
) -> None:
    """Build a tree over each line of text."""
    builder = builder_called(kind)
    generator = Random(seed)
    problems = Problems(on_error)
    transforms = chosen_transforms(False, False, wrap_words, False, False, None)
    with writing(output) as stream:
        for line in read_lines(chosen_input(file, input_file)):
            words = split_words(line.text)
            if not words:
                problems(
                    TextFormatError(
                        f"{line.place}: expected a sentence, found an empty line. Remove it from every file beside "
                        "this one, or leave it out with --on-error skip (or mark)."
                    )
                )
                if on_error is OnError.mark:
                    stream.write(NO_TREE + "\n")
                continue
            tree = builder(words, generator)
            for transform in transforms:
                tree = transform(tree)
            stream.write(write(tree) + "\n")
    _say(problems.summary())


@app.command()
def convert(
    file: InputArgument = Standard,
    input_file: InputOption = None,
    output: OutputOption = Standard,
    source_format: FormatOption = TreeFormat.penn,
    text: TextOption = None,
    strip_tags: StripTagsOption = False,
    null_labels: NullLabelsOption = False,
    wrap_words: WrapWordsOption = False,
    bare_leaves: BareLeavesOption = False,
    binarise: BinariseOption = False,
    max_depth: MaxDepthOption = None,
    on_error: OnErrorOption = OnError.stop,
) -> None:
    """Read trees in any format and write them in brackets, one a line; (()) where the parser found none."""
    transforms = chosen_transforms(strip_tags, null_labels, wrap_words, bare_leaves, binarise, max_depth)
    problems = Problems(on_error)
    crossing = 0
    with writing(output) as stream:
        for entry in treebank.read(source_format, chosen_input(file, input_file), text):
            if entry.error is not None:
                problems(entry.error)
                if on_error is OnError.mark:
                    stream.write(NO_TREE + "\n")
                continue
            if entry.tree is None:
                stream.write(NO_TREE + "\n")
                continue
            crossing += not entry.was_projective
            tree = entry.tree
            for transform in transforms:
                tree = transform(tree)
            stream.write(write(tree) + "\n")
    _say(problems.summary())
    if crossing:
        _say([f"{counted(crossing, 'tree', 'trees')} had crossing arcs, which were lifted."])


@app.command()
def check(
    file: InputArgument = Standard,
    input_file: InputOption = None,
    source_format: FormatOption = TreeFormat.penn,
    text: TextOption = None,
) -> None:
    """Read every tree, say what is wrong with which, and end with 1 if anything is."""
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


@app.command()
def stats(
    file: InputArgument = Standard,
    input_file: InputOption = None,
    source_format: FormatOption = TreeFormat.penn,
    text: TextOption = None,
    strip_tags: StripTagsOption = False,
    null_labels: NullLabelsOption = False,
    wrap_words: WrapWordsOption = False,
    bare_leaves: BareLeavesOption = False,
    binarise: BinariseOption = False,
    max_depth: MaxDepthOption = None,
    subwords: Annotated[
        Path | None, typer.Option("--subwords", help="Cut words into the pieces of this sentencepiece model first.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    on_error: OnErrorOption = OnError.stop,
) -> None:
    """Count trees, words, depths, labels, rules, and the actions a sentence takes in each target."""
    from trdec.cli.statistics import TreebankStatistics, print_statistics

    transforms = chosen_transforms(strip_tags, null_labels, wrap_words, bare_leaves, binarise, max_depth)
    if subwords is not None:
        from trdec.text import Subwords
        from trdec.trees.transforms import segment

        split = Subwords.load(subwords).split
        transforms.append(lambda tree: segment(tree, split))
    problems = Problems(on_error)
    statistics = TreebankStatistics()
    for entry in treebank.read(source_format, chosen_input(file, input_file), text):
        if entry.error is not None:
            problems(entry.error)
            statistics.unreadable += 1
        elif entry.tree is None:
            statistics.failures += 1
        else:
            statistics.crossing += not entry.was_projective
            tree = entry.tree
            for transform in transforms:
                tree = transform(tree)
            statistics.add(tree)
    print_statistics(statistics, json)
    _say(problems.summary())


@app.command()
def show(
    file: InputArgument = Standard,
    input_file: InputOption = None,
    source_format: FormatOption = TreeFormat.penn,
    text: TextOption = None,
    first: Annotated[int | None, typer.Option("--first", min=1, help="Show this many trees only.")] = None,
    line: Annotated[int | None, typer.Option("--number", min=1, help="Show the tree of this sentence only.")] = None,
    svg: Annotated[
        Path | None, typer.Option("--svg", help="Write a picture of the first tree shown to this file.")
    ] = None,
    width: Annotated[
        int | None, typer.Option("--width", min=1, help="Draw at most this wide, in place of the terminal's width.")
    ] = None,
) -> None:
    """Draw trees in the terminal, or the first of them as an SVG picture."""
    from shutil import get_terminal_size

    from trdec.trees.drawing import draw, tree_svg

    columns = width or get_terminal_size((100, 24)).columns
    shown = 0
    for number, entry in enumerate(treebank.read(source_format, chosen_input(file, input_file), text), start=1):
        if line is not None and number != line:
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
                print(row)
        if shown == first or number == line:
            break
    if shown == 0:
        raise TextFormatError(
            f"expected a tree to show, found {'none in the input' if line is None else f'no sentence {line}'}."
        )


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, file=sys.stderr)
