"""A tree for each line of a text file, a batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from trdec.annotation import work as unfinished_work
from trdec.annotation.parser import Parser, ParserChoice
from trdec.annotation.work import working
from trdec.errors import UsageError
from trdec.text.lines import STANDARD, Line, read_lines, writing
from trdec.trees import treebank
from trdec.trees.tree import words

Progress = Callable[[int], None]
"""Told how many sentences are done, first those that an earlier run did."""


def check_files(source: Path, output: Path, restart: bool) -> None:
    """Raise an error if the files cannot be what they are asked to be, before a model is loaded for nothing."""
    if STANDARD in (str(source), str(output)):
        raise UsageError("a parse that can be resumed needs files with names, not '-'. Name the input and --output.")
    next(read_lines(source), None)
    if output.exists() and output.samefile(source):
        raise UsageError(f"{output}: is the input itself. Choose another --output.")
    if output.exists() and not restart:
        raise UsageError(f"{output}: is there already. Choose another --output, or parse again with --restart.")


def annotate(
    parser: Parser, choice: ParserChoice, source: Path, output: Path, text: Path | None, batch: int, progress: Progress
) -> int:
    """Write the entry of each line, going on after those that an earlier run wrote; return how many there are.

    With `text`, the words of each entry are written there, a sentence a line.
    """
    # Batches begin at the same lines in every run, so that rounding is the same too.
    settings = {**asdict(choice), "parser": parser.identity, "batch": batch}
    lines = read_lines(source)
    with working(output, settings) as work:
        work.resume(lines)
        progress(work.sentences)
        while part := list(islice(lines, batch)):
            work.add(part, _entries(parser, part))
            progress(work.sentences)
        if text is not None:
            _write_words(parser.format_name, work.path, text)
        work.finish()
        return work.sentences


def restart(output: Path) -> None:
    """Forget what an earlier run left unfinished; a finished file stays until another is."""
    unfinished_work.forget(output)


def _entries(parser: Parser, lines: Sequence[Line]) -> list[str]:
    """The entry of each line; a line of white space has no tree."""
    sentences = [line.text for line in lines if line.text.split()]
    parsed: Iterator[str] = iter(parser.parse(sentences) if sentences else ())
    return [next(parsed) if line.text.split() else parser.without_tree for line in lines]


def _write_words(format_name: str, trees: Path, text: Path) -> None:
    with writing(text) as stream:
        for entry in treebank.read(format_name, trees):
            if entry.error is not None:
                raise entry.error
            stream.write(" ".join(words(entry.tree) if entry.tree else ()) + "\n")
