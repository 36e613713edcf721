"""`trdec grammar`: extract a grammar from trees, and see what of other trees it covers."""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Iterator
from pathlib import Path
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
from trdec.files import STANDARD, read_lines, writing
from trdec.trees import treebank
from trdec.trees.grammar import Grammar
from trdec.trees.grammar import coverage as measure
from trdec.trees.transforms import Transform
from trdec.trees.tree import Nonterminal

app = typer.Typer(no_args_is_help=True, help="Extract grammars from trees and measure what they cover.")

Standard = Path(STANDARD)


def _trees(
    source_format: TreeFormat, file: Path, text: Path | None, transforms: list[Transform], problems: Problems
) -> Iterator[Nonterminal]:
    for tree in treebank.good_trees(treebank.read(source_format, file, text), problems):
        for transform in transforms:
            tree = transform(tree)
        yield tree


@app.command()
def extract(
    file: InputArgument = Standard,
    input_file: InputOption = None,
    output: OutputOption = Standard,
    source_format: FormatOption = TreeFormat.penn,
    text: TextOption = None,
    min_count: Annotated[int, typer.Option("--min-count", min=1, help="Leave out rules seen less often.")] = 1,
    strip_tags: StripTagsOption = False,
    null_labels: NullLabelsOption = False,
    wrap_words: WrapWordsOption = False,
    bare_leaves: BareLeavesOption = False,
    binarise: BinariseOption = False,
    max_depth: MaxDepthOption = None,
    on_error: OnErrorOption = OnError.stop,
) -> None:
    """Write every rule of the trees and its count, most frequent first."""
    transforms = chosen_transforms(strip_tags, null_labels, wrap_words, bare_leaves, binarise, max_depth)
    problems = Problems(on_error)
    trees = _trees(source_format, chosen_input(file, input_file), text, transforms, problems)
    grammar = Grammar.from_trees(trees, min_count)
    with writing(output) as stream:
        for line in grammar.write():
            stream.write(line + "\n")
    for line in problems.summary():
        print(line, file=sys.stderr)


@app.command()
def coverage(
    grammar_file: Annotated[Path, typer.Argument(metavar="GRAMMAR", help="A grammar that `extract` wrote.")],
    file: InputArgument = Standard,
    input_file: InputOption = None,
    source_format: FormatOption = TreeFormat.penn,
    text: TextOption = None,
    first: Annotated[int, typer.Option("--first", min=0, help="Show this many of the unseen rules.")] = 10,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, with every unseen rule.")] = False,
    strip_tags: StripTagsOption = False,
    null_labels: NullLabelsOption = False,
    wrap_words: WrapWordsOption = False,
    bare_leaves: BareLeavesOption = False,
    binarise: BinariseOption = False,
    max_depth: MaxDepthOption = None,
    on_error: OnErrorOption = OnError.stop,
) -> None:
    """Count the trees that need a rule the grammar lacks, and name those rules."""
    transforms = chosen_transforms(strip_tags, null_labels, wrap_words, bare_leaves, binarise, max_depth)
    problems = Problems(on_error)
    grammar = Grammar.read(read_lines(grammar_file))
    found = measure(grammar, _trees(source_format, chosen_input(file, input_file), text, transforms, problems))
    unseen = sorted(found.unseen.items(), key=lambda item: (-item[1], item[0]))
    if json:
        print(
            json_format.dumps(
                {
                    "trees": found.trees,
                    "covered": found.covered,
                    "uncovered": found.uncovered,
                    "unseen_rules": {str(rule): count for rule, count in unseen},
                },
                ensure_ascii=False,
                indent=2,
            )
        )
    else:
        print(
            f"{found.uncovered} of {counted(found.trees, 'tree', 'trees')} need a rule "
            f"that is not among the grammar's {len(grammar)}."
        )
        rules = counted(len(unseen), "rule is", "rules are")
        print(f"{rules} unseen" + (", needed by the most trees:" if unseen and first else "."))
        for rule, count in unseen[:first]:
            print(f"{count:6}  {rule}")
    for line in problems.summary():
        print(line, file=sys.stderr)
