"""From the parser a person chose to one that parses."""

from __future__ import annotations

from collections.abc import Callable

from trdec.annotation import spacy_parser, stanza_parser
from trdec.annotation.parser import CONSTITUENCY, DEPENDENCY, Parser, ParserChoice
from trdec.errors import UsageError

_LOADERS: dict[tuple[str, str], Callable[[ParserChoice], Parser]] = {
    ("spacy", DEPENDENCY): spacy_parser.load,
    ("stanza", DEPENDENCY): stanza_parser.load_dependency,
    ("stanza", CONSTITUENCY): stanza_parser.load_constituency,
}


def load(choice: ParserChoice) -> Parser:
    """The parser, its model in memory; AnnotationError says how to install what is missing."""
    if (choice.package, choice.kind) not in _LOADERS:
        able = sorted(package for package, kind in _LOADERS if kind == choice.kind)
        raise UsageError(f"{choice.package} finds no {choice.kind} trees. Choose --with {' or '.join(able)}.")
    return _LOADERS[choice.package, choice.kind](choice)
