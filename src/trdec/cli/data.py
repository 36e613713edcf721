"""`trdec data`: get public corpora, and parse text."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trdec.cli.options import counted

if TYPE_CHECKING:
    from trdec.corpora.download import DownloadProgress

app = typer.Typer(help="Get public corpora, and parse text.", no_args_is_help=True)


class ParserPackage(StrEnum):
    """Who parses."""

    spacy = "spacy"
    stanza = "stanza"


class TreeKind(StrEnum):
    """What is found."""

    dependency = "dependency"
    constituency = "constituency"


@app.command()
def parse(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Text, a sentence a line.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to write: CoNLL-U, or a bracketed tree a line.")
    ],
    package: Annotated[ParserPackage, typer.Option("--with", help="The parser; stanza also knows constituency.")] = (
        ParserPackage.spacy
    ),
    kind: Annotated[TreeKind, typer.Option("--kind", help="Heads as CoNLL-U, or phrases in brackets.")] = (
        TreeKind.dependency
    ),
    language: Annotated[str, typer.Option("--language", help="The language of the text, as parsers call it.")] = "en",
    model: Annotated[
        str | None,
        typer.Option("--model", help="A model's name or folder, if not the language's usual model."),
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Let the parser find the words; otherwise white space parts them.")
    ] = False,
    text_output: Annotated[
        Path | None, typer.Option("--text-output", help="With --raw: also write the words that it found, as text.")
    ] = None,
    batch: Annotated[int, typer.Option("--batch", min=1, help="Sentences parsed together.")] = 64,
    restart: Annotated[
        bool, typer.Option("--restart", help="Begin again: forget what is unfinished, replace what is finished.")
    ] = False,
) -> None:
    """Parse each line of a text file. Run the same command again after an interruption, and it goes on."""
    from trdec.corpora import parse
    from trdec.corpora.parsers import ParserChoice, load_parser
    from trdec.errors import UsageError

    if text_output is not None and not raw:
        raise UsageError("without --raw the words are those of the input: --text-output would be a copy of it.")
    parse.check_files(file, output, restart)
    choice = ParserChoice(package.value, kind.value, language, model, raw)
    parser = load_parser(choice)
    if restart:
        parse.restart(output)
    with _sentence_bar(file) as advance:
        sentences = parse.annotate(parser, choice, file, output, text_output, batch, advance)
    print(f"{output}: {counted(sentences, 'sentence', 'sentences')}, parsed by {parser.identity}.", file=sys.stderr)


@app.command()
def get(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A corpus that `trdec data list` lists.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The folder to unpack to; data/NAME if not given.")
    ] = None,
    url: Annotated[
        str | None, typer.Option("--url", help="Another address to get it from; with this, NAME may be any name.")
    ] = None,
    sha256: Annotated[str | None, typer.Option("--sha256", help="The checksum that the archive must have.")] = None,
) -> None:
    """Download a public corpus, check it and unpack it. After an interruption the same command goes on."""
    from trdec.corpora import catalogue
    from trdec.corpora.download import get as get_corpus
    from trdec.corpora.download import mirrored, with_checksum

    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    if url is not None:
        corpus = mirrored(catalogue.find(name), url) if catalogue.is_listed(name) else catalogue.unlisted(name, url)
    else:
        corpus = catalogue.find(name)
    if sha256 is not None:
        corpus = with_checksum(corpus, sha256)
    folder = output or Path("data") / name
    with _byte_bar() as progress:
        is_new = get_corpus(corpus, folder, progress)
    if not is_new:
        print(f"{folder}: was there already.", file=sys.stderr)
    print(folder)
    print(f"# licence: {corpus.licence}")
    if corpus.citation:
        print(f"# cite: {corpus.citation}")
    if corpus.advice:
        print("# what to do next:")
    for line in corpus.advice:
        print(line.format(folder=folder))


@app.command("list")
def list_corpora() -> None:
    """List the corpora that can be had by name."""
    from trdec.corpora.catalogue import CORPORA, TATOEBA, find

    rows = [(corpus.name, corpus.title, corpus.size, corpus.licence) for corpus in CORPORA.values()]
    tatoeba = find(TATOEBA)
    rows.append(("tatoeba-XX-YY", "any two languages" + tatoeba.title.removeprefix("de-en"), "?", tatoeba.licence))
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table

        table = Table("name", "what it is", "size", "licence")
        for row in rows:
            table.add_row(*row)
        Console().print(table)
    else:
        for row in rows:
            print("\t".join(row))


@contextlib.contextmanager
def _sentence_bar(file: Path) -> Iterator[Callable[[int], None]]:
    """A bar on standard error if that is a terminal, otherwise nothing."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    from trdec.files import count_lines

    columns = (*Bar.get_default_columns()[:2], MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("parsing", total=count_lines(file))
        yield lambda done: bar.update(task, completed=done)


@contextlib.contextmanager
def _byte_bar() -> Iterator[DownloadProgress]:
    """A bar a file on standard error if that is a terminal, otherwise nothing."""
    if not sys.stderr.isatty():
        yield lambda _file, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import DownloadColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    columns = (*Bar.get_default_columns()[:2], DownloadColumn(), TransferSpeedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, int] = {}

        def show(file: str, done: int, total: int | None) -> None:
            if file not in tasks:
                tasks[file] = bar.add_task(file)
            bar.update(tasks[file], completed=done, total=total)  # type: ignore[arg-type]  # rich names its numbers

        yield show
