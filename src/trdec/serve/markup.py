"""HTML as text nodes to translate, and the markup between them."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from html.parser import HTMLParser

from trdec.serve.sentences import SplitText, joined

# Parsers disagree about broken markup, so what could open a tag is no text; Python reads no number of any length.
_LEFT_ALONE = re.compile("<|&#[xX]?[0-9A-Fa-f]{9}")


class _Places(HTMLParser):
    """Where text and markup begin in a document."""

    def __init__(self, document: str) -> None:
        super().__init__(convert_charrefs=False)
        self._lines = [0]
        for line in document.split("\n"):
            self._lines.append(self._lines[-1] + len(line) + 1)
        self.found: list[tuple[int, bool]] = []
        """The place of each piece, and whether it is text."""
        self.feed(document)
        self.close()

    def _add(self, text: bool) -> None:
        line, column = self.getpos()
        self.found.append((self._lines[line - 1] + column, text))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self._add(False)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self._add(False)

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002
        self._add(False)

    def handle_data(self, data: str) -> None:  # noqa: ARG002
        self._add(self.cdata_elem is None)

    def handle_entityref(self, name: str) -> None:  # noqa: ARG002
        self._add(self.cdata_elem is None)

    def handle_charref(self, name: str) -> None:  # noqa: ARG002
        self._add(self.cdata_elem is None)

    def handle_comment(self, data: str) -> None:  # noqa: ARG002
        self._add(False)

    def handle_decl(self, decl: str) -> None:  # noqa: ARG002
        self._add(False)

    def handle_pi(self, data: str) -> None:  # noqa: ARG002
        self._add(False)

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """Take `<![...>` for a comment, as browsers do; Python's parser gives up at some of them."""
        return self.parse_bogus_comment(i, report)

    def unknown_decl(self, data: str) -> None:  # noqa: ARG002
        self._add(False)


def text_nodes(document: str) -> list[tuple[bool, str]]:
    """The document in pieces, which together are the document: whether each is text, and the piece as written."""
    places = _Places(document).found
    pieces: list[tuple[bool, str]] = []
    for (start, text), (end, _) in zip([(0, False), *places], [*places, (len(document), False)], strict=True):
        piece = document[start:end]
        if pieces and pieces[-1][0] == text:
            pieces[-1] = (text, pieces[-1][1] + piece)
        elif piece:
            pieces.append((text, piece))
    return pieces


def split_html(document: str, split: Callable[[str], SplitText]) -> SplitText:
    """The sentences of the document's text nodes, split by `split`; tags and comments stay as they are in the gaps."""
    parts: list[SplitText] = []
    for text, piece in text_nodes(document):
        found = split(html.unescape(piece)) if text and not _LEFT_ALONE.search(piece) else None
        parts.append(found.escaped() if found is not None and found.sentences else SplitText((), (piece,)))
    return joined(parts)


def escape_text(text: str) -> str:
    """Text as HTML."""
    return html.escape(text, quote=False)
