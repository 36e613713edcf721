"""`trdec tokenise` and `trdec detokenise`: lines as words, and words as lines again."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from trdec.cli.options import STANDARD_STREAM, InputArgument, OutputOption
from trdec.errors import UsageError
from trdec.files import read_lines, split_words, writing
from trdec.tokenisers import Tokeniser, chosen_tokeniser, language_problem


class TokeniserChoice(StrEnum):
    """How text becomes words."""

    unicode = "unicode"
    icu = "icu"
    sacremoses = "sacremoses"
    none = "none"


TokeniserOption = Annotated[
    TokeniserChoice,
    typer.Option("--tokeniser", help="As `data.tokeniser`. With unicode and icu, text comes back exactly."),
]
LanguageOption = Annotated[
    str | None,
    typer.Option("--language", help="The code of the language; needed for sacremoses, and to use ICU's dictionaries."),
]


def tokenise_command(
    file: InputArgument = STANDARD_STREAM,
    output: OutputOption = STANDARD_STREAM,
    tokeniser: TokeniserOption = TokeniserChoice.unicode,
    language: LanguageOption = None,
) -> None:
    """Write the words of each line, separated by spaces; with unicode, a word after a space begins with \u2581."""
    split = _chosen(tokeniser, language).split
    _each_line(file, output, lambda line: " ".join(split(line)))


def detokenise_command(
    file: InputArgument = STANDARD_STREAM,
    output: OutputOption = STANDARD_STREAM,
    tokeniser: TokeniserOption = TokeniserChoice.unicode,
    language: LanguageOption = None,
) -> None:
    """Write the raw text of each line of words that `trdec tokenise` wrote."""
    join = _chosen(tokeniser, language).join
    _each_line(file, output, lambda line: join(split_words(line)))


def _chosen(tokeniser: TokeniserChoice, language: str | None) -> Tokeniser:
    if problem := language_problem(tokeniser.value, language):
        raise UsageError(f"--language: {problem}")
    return chosen_tokeniser(tokeniser.value, language)


def _each_line(file: Path, output: Path, change: Callable[[str], str]) -> None:
    with writing(output) as stream:
        for line in read_lines(file):
            stream.write(f"{change(line.text)}\n")
            stream.flush()
