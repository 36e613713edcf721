"""What systems wrote, read from files that hold the references' sentences in the references' order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trdec.errors import TextFormatError
from trdec.text.lines import STANDARD, Line, read_lines
from trdec.trees import brackets, treebank
from trdec.trees.transform import rooted
from trdec.trees.tree import Nonterminal


@dataclass(frozen=True, slots=True)
class Output:
    """A translation of the whole test set by one trained system: several seeds are several outputs."""

    system: str
    name: str
    """The output itself, as messages name it: its file."""
    lines: Sequence[str]
    seed: str | None = None
    trees: Sequence[Nonterminal | None] | None = None


def read_texts(path: Path | str) -> list[str]:
    """The lines of a file; a line may be empty."""
    return [line.text for line in read_lines(path)]


def read_references(path: Path | str) -> list[str]:
    """The lines of a file of references, which must have words."""
    lines = read_texts(path)
    if not any(line.split() for line in lines):
        what = f"{len(lines)} lines without words" if lines else "an empty file"
        raise TextFormatError(
            f"{file_name(path)}: expected reference translations, one a line, found {what}. Check the name of the file."
        )
    return lines


def read_output(system: str, path: Path | str, references: Sequence[str], reference_name: str) -> Output:
    """A system's output; TextFormatError unless it has a line for each reference."""
    lines = read_texts(path)
    check_aligned(file_name(path), len(lines), reference_name, len(references))
    return Output(system, file_name(path), lines)


def read_trees(path: Path | str) -> list[Nonterminal | None]:
    """A tree a line, as `trdec translate --trees` writes them; None where a line cannot be read as a tree."""
    return [_tree(line) for line in read_lines(path)]


def _tree(line: Line) -> Nonterminal | None:
    trees = (entry.tree for entry in brackets.read([line]))  # an empty line has no entry
    tree = next(trees, None)
    return None if tree is None else rooted(tree)


def read_reference_trees(path: Path | str, format_name: str, references: Path | str) -> list[Nonterminal | None]:
    """The trees of the references, spelt as these are; None where the parser found no tree."""
    trees: list[Nonterminal | None] = []
    for entry in treebank.read(format_name, path, references):
        if entry.error is not None:
            raise entry.error
        trees.append(entry.tree)
    return trees


def check_aligned(name: str, count: int, reference_name: str, reference_count: int) -> None:
    """TextFormatError unless the two have equally many lines."""
    if count != reference_count:
        raise TextFormatError(
            f"expected as many lines in both, found {count} in {name} and {reference_count} in {reference_name}. "
            "The two must hold the same sentences in the same order; an empty translation is an empty line."
        )


def file_name(path: Path | str) -> str:
    """The file as messages name it."""
    return "<standard input>" if str(path) == STANDARD else str(path)
