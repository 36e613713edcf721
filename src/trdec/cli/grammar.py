"""`trdec grammar`: extract a grammar from trees, and measure how much of other trees it covers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from trdec.cli.options import (
    STANDARD_STREAM,
    FormatOption,
    InputArgument,
    InputOption,
    MaxDepthOption,
    OnError,
    OnErrorOption,
    OutputOption,
    Problems,
    TextOption,
    TransformOption,
    TreeFormat,
    chosen_input,
    chosen_transform,
    counted,
)
from trdec.files import read_lines, writing
from trdec.trees import treebank
from trdec.trees.grammar import Grammar, coverage

grammar_app = typer.Typer(no_args_is_help=True, help="Extract grammars from trees and measure what they cover.")


@grammar_app.command("extract")
def extract_command(
    file: InputArgument = STANDARD_STREAM,
    input_file: InputOption = None,
    output: OutputOption = STANDARD_STREAM,
    source_format: FormatOption = TreeFormat.penn,
    text: TextOption = None,
    min_count: Annotated[int, typer.Option("--min-count", min=1, help="Leave out rules seen less often.")] = 1,
    transforms: TransformOption = None,
    max_depth: MaxDepthOption = None,
    on_error: OnErrorOption = OnError.stop,
) -> None:
    """Write every rule of the trees and its count, most frequent first."""
    problems = Problems(on_error)
    trees = treebank.good_trees(treebank.read(source_format, chosen_input(file, input_file), text), problems)
    grammar = Grammar.from_trees(map(chosen_transform(transforms, max_depth), trees), min_count)
    with writing(output) as stream:
        for line in grammar.write():
            stream.write(line + "\n")
    problems.summarise()


@grammar_app.command("coverage")
def coverage_command(
    grammar_file: Annotated[Path, typer.Argument(metavar="GRAMMAR", help="A grammar that `extract` wrote.")],
    file: InputArgument = STANDARD_STREAM,
    input_file: InputOption = None,
    source_format: FormatOption = TreeFormat.penn,
    text: TextOption = None,
    first: Annotated[int, typer.Option("--first", min=0, help="Show this many of the unseen rules.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON, with every unseen rule.")] = False,
    transforms: TransformOption = None,
    max_depth: MaxDepthOption = None,
    on_error: OnErrorOption = OnError.stop,
) -> None:
    """Count the trees that need a rule missing from the grammar, and list those rules."""
    problems = Problems(on_error)
    grammar = Grammar.read(read_lines(grammar_file))
    trees = treebank.good_trees(treebank.read(source_format, chosen_input(file, input_file), text), problems)
    found = coverage(grammar, map(chosen_transform(transforms, max_depth), trees))
    unseen = sorted(found.unseen.items(), key=lambda item: (-item[1], item[0]))
    if as_json:
        content = {
            "trees": found.trees,
            "covered": found.covered,
            "uncovered": found.uncovered,
            "unseen_rules": {str(rule): count for rule, count in unseen},
        }
        print(json.dumps(content, ensure_ascii=False, indent=2))
    else:
        print(
            f"{found.uncovered} of {counted(found.trees, 'tree', 'trees')} need a rule "
            f"that is not among the grammar's {len(grammar)}."
        )
        rules = counted(len(unseen), "rule is", "rules are")
        print(f"{rules} unseen" + (", needed by the most trees:" if unseen and first else "."))
        for rule, count in unseen[:first]:
            print(f"{count:6}  {rule}")
    problems.summarise()
