"""`trdec evaluate`: what a translation scores."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trdec.cli.options import FormatOption, JsonOption, TransformOption, TreeFormat, chosen_transform, say
from trdec.files import STANDARD

if TYPE_CHECKING:
    from trdec.evaluation.scores import Evaluation
    from trdec.evaluation.trees import TreeScores


class BleuTokeniser(StrEnum):
    """How sacreBLEU splits text into words."""

    auto = "auto"
    none = "none"
    mteval_13a = "13a"
    intl = "intl"
    zh = "zh"
    char = "char"
    ja_mecab = "ja-mecab"
    ko_mecab = "ko-mecab"
    flores200 = "flores200"


TokeniseOption = Annotated[
    BleuTokeniser,
    typer.Option(
        "--tokenise", help="sacreBLEU's tokeniser; auto: none if the text is tokenised, else that for its script."
    ),
]


NoTerOption = Annotated[
    bool,
    typer.Option(
        "--no-ter", help="Leave out TER, which takes up to tens of milliseconds per sentence, in Chinese up to seconds."
    ),
]


def chosen_bleu_tokeniser(tokenise: BleuTokeniser, references: Sequence[str]) -> str:
    """The name of sacreBLEU's tokeniser; standard error says what was chosen, or what is wrong with the choice."""
    from trdec.evaluation.scores import bleu_tokeniser, tokenisation_warning

    if tokenise is not BleuTokeniser.auto:
        if warning := tokenisation_warning(references, tokenise.value):
            say(f"WARNING: {warning}")
        return tokenise.value
    chosen = bleu_tokeniser(references)
    if chosen != "none":
        say(f"the reference is raw text: BLEU splits it into words with {chosen}")
    return chosen


def evaluate_command(
    hypotheses: Annotated[Path, typer.Argument(metavar="HYP", help="The translations; - is standard input.")],
    reference: Annotated[Path, typer.Option("--reference", help="The reference translations.")],
    source: Annotated[Path | None, typer.Option("--source", help="The sentences that were translated.")] = None,
    trees: Annotated[
        Path | None,
        typer.Option("--trees", help="The translations' trees as `trdec translate --trees` writes them, one per line."),
    ] = None,
    reference_trees: Annotated[Path | None, typer.Option("--reference-trees", help="The references' trees.")] = None,
    tree_format: FormatOption = TreeFormat.penn,
    transforms: TransformOption = None,
    tokenise: TokeniseOption = BleuTokeniser.auto,
    examples: Annotated[int, typer.Option("--examples", min=0, help="Also show the N worst translations.")] = 0,
    no_ter: NoTerOption = False,
    as_json: JsonOption = False,
) -> None:
    """Score translations: BLEU, chrF++ and TER with their signatures, lengths, and trees where these are given.

    --from and --transform say how reference trees are read: give what the system's own trees were made with.
    """
    from trdec.errors import UsageError
    from trdec.evaluation.scores import (
        NO_TER,
        check_aligned,
        evaluate_texts,
        file_name,
        read_output,
        read_references,
        read_texts,
    )

    if str(reference) == STANDARD:
        raise UsageError("the reference must be a file: only the translations can be read from standard input.")
    if reference_trees is not None and trees is None:
        raise UsageError("--reference-trees has nothing to be compared with. Give the translations' trees as --trees.")
    references = read_references(reference)
    lines = read_output("", hypotheses, references, str(reference)).lines
    sources = None
    if source is not None:
        sources = read_texts(source)
        check_aligned(file_name(source), len(sources), str(reference), len(references))
    tree_scores = None
    if trees is not None:
        tree_scores = _tree_scores(trees, lines, reference, reference_trees, tree_format, transforms)
    chosen = chosen_bleu_tokeniser(tokenise, references)
    found = evaluate_texts(lines, references, sources, tree_scores, chosen, examples, not no_ter)
    if found.scores.ter is None and not no_ter:
        say(NO_TER)
    if as_json:
        print(json.dumps(found.to_json(), ensure_ascii=False, indent=2))
    else:
        _print(found)


def _tree_scores(
    trees: Path,
    lines: Sequence[str],
    reference: Path,
    reference_trees: Path | None,
    tree_format: TreeFormat,
    transforms: list[str] | None,
) -> TreeScores:
    from trdec.evaluation.scores import check_aligned, file_name, read_reference_trees, read_trees
    from trdec.evaluation.trees import score_trees

    found = read_trees(trees)
    check_aligned(file_name(trees), len(found), str(reference), len(lines))
    if reference_trees is None:
        return score_trees(found, lines)
    expected = read_reference_trees(reference_trees, tree_format.value, reference)
    transform = chosen_transform(transforms)
    return score_trees(found, lines, [tree and transform(tree) for tree in expected])


def _print(found: Evaluation) -> None:
    """A table on a terminal, aligned plain lines elsewhere; then the examples."""
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markup import escape
        from rich.table import Table

        table = Table(show_header=False)
        table.add_column(style="bold")
        table.add_column(justify="right")
        table.add_column(style="dim", overflow="fold")
        for row in _rows(found):
            table.add_row(*map(escape, row))
        Console().print(table)
    else:
        for name, figure, remark in _rows(found):
            print(f"{name:24}{figure:>10}  {remark}".rstrip())
    for example in found.worst:
        print(f"\nline {example.index}, chrF++ {example.score:.1f}")
        if example.source is not None:
            print(f"  source      {example.source}".rstrip())
        print(f"  reference   {example.reference}".rstrip())
        print(f"  hypothesis  {example.hypothesis}".rstrip())


def _rows(found: Evaluation) -> Iterator[tuple[str, str, str]]:
    scores = found.scores
    for metric in filter(None, (scores.bleu, scores.chrf, scores.ter)):
        yield metric.name, f"{metric.score:.2f}", metric.signature
    words = f"{scores.hypothesis_words:,} words, {scores.reference_words:,} in the reference"
    yield "length ratio", f"{scores.length_ratio:.3f}", words
    if found.source_words is not None:
        ratio = "-" if found.source_ratio is None else f"{found.source_ratio:.3f}"
        yield "ratio to the source", ratio, f"{found.source_words:,} words in the source"
    yield "sentences", f"{scores.sentences:,}", ""
    if found.trees is not None:
        yield from _tree_rows(found.trees)


def _tree_rows(trees: TreeScores) -> Iterator[tuple[str, str, str]]:
    share = f"{100 * trees.well_formed_share:.1f}%"
    yield "well-formed trees", share, f"{trees.well_formed:,} of {trees.sentences:,} have the translation's words"
    if trees.mean_depth is not None and trees.mean_nodes is not None:
        yield "depth", f"{trees.mean_depth:.1f}", f"mean over {trees.trees:,} trees"
        yield "nodes", f"{trees.mean_nodes:.1f}", ""
    if trees.shaped:
        shapes = ", ".join(f"{name} {count:,}" for name, count in trees.shapes.items())
        remark = f"{trees.shaped:,} of {trees.three_words_or_more:,} trees with three or more words: {shapes}"
        yield "builder-shaped trees", f"{100 * trees.shaped_share:.1f}%", remark
    if trees.comparable is not None:
        remark = f"of {trees.sentences:,} have the reference tree's words; brackets are compared on these alone"
        yield "comparable trees", f"{trees.comparable:,}", remark
    for name, agreement in (("labelled", trees.labelled), ("unlabelled", trees.unlabelled)):
        if agreement is not None:
            both = f"precision {100 * agreement.precision:.1f}, recall {100 * agreement.recall:.1f}"
            yield f"{name} bracket F1", f"{100 * agreement.f1:.1f}", both
