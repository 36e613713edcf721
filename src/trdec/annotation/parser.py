"""What a parser is to us, and which one a person chose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Protocol

from trdec.errors import AnnotationError

DEPENDENCY = "dependency"
CONSTITUENCY = "constituency"


@dataclass(frozen=True, slots=True)
class ParserChoice:
    """A parser as it is asked for on the command line."""

    package: str
    kind: str
    language: str = "en"
    model: str | None = None
    raw: bool = False  # whether the parser finds the words; if not, white space parts them


class Parser(Protocol):
    """Sentences in, entries of a treebank file out."""

    format_name: str  # as `trdec trees --from` calls it
    without_tree: str  # the entry of a sentence that has none
    identity: str  # the package and the model with their versions: another identity, other trees

    def parse(self, sentences: Sequence[str]) -> list[str]:
        """The entry of each sentence, with all its line ends; no sentence is empty."""


def imported(package: str) -> ModuleType:
    """A package that not everybody has."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise AnnotationError(
            f"the package {package} is not installed. Install it with: pip install 'trdec[parse]' "
            f"(or only this one: pip install {package})"
        ) from error
