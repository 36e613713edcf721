"""`trdec data`: get public corpora, and parse text."""

from __future__ import annotations

import logging
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from trdec.cli.options import DaskOption, counted, say, standard_error, with_flags

data_app = typer.Typer(help="Get public corpora, and parse text.", no_args_is_help=True)


class ParserPackage(StrEnum):
    """The package that parses."""

    spacy = "spacy"
    stanza = "stanza"


class TreeKind(StrEnum):
    """The kind of tree that is found."""

    dependency = "dependency"
    constituency = "constituency"


@data_app.command("parse")
def parse_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Text, one sentence per line.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to write: CoNLL-U, or one bracketed tree per line.")
    ],
    package: Annotated[
        ParserPackage, typer.Option("--with", help="The parser; only stanza finds constituency trees.")
    ] = (ParserPackage.spacy),
    kind: Annotated[TreeKind, typer.Option("--kind", help="Dependencies as CoNLL-U, or constituents in brackets.")] = (
        TreeKind.dependency
    ),
    language: Annotated[str, typer.Option("--language", help="The language of the text, by its code.")] = "en",
    model: Annotated[
        str | None,
        typer.Option("--model", help="A model's name or folder, in place of the language's default."),
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Let the parser split the words; otherwise they are separated by whitespace.")
    ] = False,
    text_output: Annotated[
        Path | None,
        typer.Option("--text-output", help="With --raw: also write the words that the parser found, as text."),
    ] = None,
    batch: Annotated[int, typer.Option("--batch", min=1, max=100_000, help="Sentences parsed together.")] = 64,
    restart: Annotated[
        bool, typer.Option("--restart", help="Start over: discard an unfinished parse, replace a finished one.")
    ] = False,
    dask: DaskOption = None,
) -> None:
    """Parse each line of a text file. After an interruption, the same command resumes."""
    from trdec.corpora.parse import annotate, check_files, discard
    from trdec.corpora.parsers import ParserChoice, load_parser
    from trdec.data.workers import workers_of
    from trdec.errors import UsageError
    from trdec.progress import ProgressDisplay

    if text_output is not None and not raw:
        raise UsageError("without --raw the words are those of the input, and --text-output would only copy it.")
    check_files(file, output, text_output, restart)
    choice = ParserChoice(package.value, kind.value, language, model, raw)
    parser = load_parser(choice)
    if restart:
        discard(output)
    with workers_of(dask) as workers, ProgressDisplay(standard_error()) as progress:
        sentences = annotate(parser, choice, file, output, text_output, batch, progress, workers)
    say(f"{output}: {counted(sentences, 'sentence', 'sentences')}, parsed by {parser.identity}.")


@data_app.command("get")
def get_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A corpus that `trdec data list` lists.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The folder to unpack to; data/NAME by default.")
    ] = None,
    url: Annotated[
        str | None, typer.Option("--url", help="Another address to download from; NAME may then be any name.")
    ] = None,
    sha256: Annotated[str | None, typer.Option("--sha256", help="The checksum that the archive must have.")] = None,
    unverified: Annotated[
        bool, typer.Option("--no-verify", help="Download what has no known checksum, without checking it.")
    ] = False,
) -> None:
    """Download a public corpus, check it and unpack it. After an interruption, the same command resumes."""
    from trdec.corpora import catalogue
    from trdec.corpora.download import download, mirrored, require_checksums, with_checksum
    from trdec.errors import UsageError
    from trdec.progress import ProgressDisplay, data_size

    logging.basicConfig(level=logging.WARNING, handlers=[_Warnings()])
    if url is not None:
        corpus = mirrored(catalogue.find(name), url) if catalogue.is_listed(name) else catalogue.unlisted(name, url)
    else:
        corpus = catalogue.find(name)
    if sha256 is not None:
        if unverified:
            raise UsageError("--sha256 asks to check the archive, and --no-verify not to. Give one of them.")
        corpus = with_checksum(corpus, sha256)
    if not unverified:
        require_checksums(corpus)
    folder = output or Path("data") / name
    with ProgressDisplay(standard_error(), data_size) as progress:
        is_new = download(corpus, folder, progress)
    if not is_new:
        say(f"{folder}: was there already.")
    print(folder)
    print(f"# licence: {corpus.licence}")
    if corpus.citation:
        print(f"# cite: {corpus.citation}")
    if advice := _advice(corpus.name, folder):
        print("\n".join(["# what to do next:", *advice]))


@data_app.command("list")
def list_command() -> None:
    """List the corpora that can be downloaded by name."""
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


_KFTT = "{folder}/kftt-data-1.0/data/tok"
_PARSE_ENGLISH = (
    "trdec data parse {folder}/train.en --raw --output {folder}/train.tok.en.conllu --text-output {folder}/train.tok.en"
)
_ADVICE = {
    "kftt": (
        f"trdec data parse {_KFTT}/kyoto-train.cln.en --output {_KFTT}/train.en.conllu",
        f"trdec data parse {_KFTT}/kyoto-dev.en --output {_KFTT}/dev.en.conllu",
        f"trdec train CONFIG.yaml system=trdec-dep folder={_KFTT}  # with the names of these files",
    ),
    "iwslt14-de-en": (
        "# leave out the lines of markup; dev and test are in the *.xml files, a sentence in each <seg>",
        "for l in de en; do grep -v '^<' {folder}/de-en/train.tags.de-en.$l > {folder}/train.$l; done",
        _PARSE_ENGLISH,
    ),
    "multi30k-de-en": (
        "# tokenise and parse the English side; the other side needs only a tokeniser",
        _PARSE_ENGLISH,
    ),
    "tatoeba": ("# keep some lines for dev and test: the corpus comes in one piece",),
}


def _advice(name: str, folder: Path) -> list[str]:
    """What to do next with a corpus, one command or comment per line."""
    known = "tatoeba" if name.startswith("tatoeba-") else name
    return [line.format(folder=folder) for line in _ADVICE.get(known, ())]


class _Warnings(logging.Handler):
    """Says the library's warnings, with flags in place of arguments."""

    def emit(self, record: logging.LogRecord) -> None:
        say(with_flags(record.getMessage()))
