"""A text or an HTML document as sentences to translate, and what stands between them."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import accumulate, pairwise

from trdec.tokenisers import primary

_LINE_ENDS = re.compile("([\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+)")
_UNUSUAL_SPACE = re.compile(r"[^\S\0-\x7f]")
_BREAKS = re.compile(r"[,;:،؛、，；：]?\s+|[、，；：]")

_WITHOUT_SPACES = ("ja", "yue", "zh")
"""Languages in which no space stands between sentences."""


@dataclass(frozen=True, slots=True)
class SplitText:
    """Sentences, and the gaps around them: one more than there are sentences."""

    sentences: tuple[str, ...]
    gaps: tuple[str, ...]

    def join(self, translations: Sequence[str]) -> str:
        """The text with a translation in the place of each sentence."""
        pairs = zip(self.gaps, (*translations, ""), strict=True)
        return "".join(part for pair in pairs for part in pair)

    def escaped(self) -> SplitText:
        """The same with gaps as HTML."""
        return SplitText(self.sentences, tuple(html.escape(gap, quote=False) for gap in self.gaps))


def whole_text(text: str) -> SplitText:
    """The text as one sentence, or none if it has no letters or digits."""
    if not any(map(str.isalnum, text)):
        return SplitText((), (text,))
    inner = text.strip()
    before, after = text.split(inner, 1)
    return SplitText((inner,), (before, after))


def joined(parts: Sequence[SplitText]) -> SplitText:
    """Several texts side by side as one."""
    sentences: list[str] = []
    gaps = [""]
    for part in parts:
        first, *others = part.gaps
        gaps[-1] += first
        gaps += others
        sentences += part.sentences
    return SplitText(tuple(sentences), tuple(gaps))


def split_text(text: str, source: str, target: str, longest: int) -> SplitText:
    """The text's sentences; line breaks and spaces between them are kept as gaps.

    A sentence of more than `longest` characters is cut at a comma or a space, or there, if it has neither.
    """
    parts: list[SplitText] = []
    for number, line in enumerate(_LINE_ENDS.split(text)):
        if number % 2:
            parts.append(SplitText((), (line,)))
            continue
        found = [whole_text(piece) for sentence in _segmented(line, source) for piece in cut(sentence, longest)]
        parts.append(_spaced(joined(found), target))
    return joined(parts)


def _segmented(line: str, language: str) -> list[str]:
    """The sentences of a line; the line itself if sentencex cannot split it."""
    import sentencex

    # It panics at spaces of several bytes before a full stop ("A\u00a0.").
    plain = _UNUSUAL_SPACE.sub(" ", line)
    try:
        found = list(sentencex.segment(primary(language), plain))
    except BaseException as error:
        # Its panic has no class that could be named here, and would end more than this request, as it is no Exception.
        if type(error).__name__ != "PanicException":
            raise
        return [line]
    if "".join(found) != plain:
        return [line]
    ends = list(accumulate(map(len, found)))
    return [line[start:end] for start, end in pairwise([0, *ends])]


def _spaced(line: SplitText, target: str) -> SplitText:
    """The sentences of a line with such spaces between them as the target language has."""
    if not line.sentences:
        return line
    first, *between, last = line.gaps
    if primary(target) in _WITHOUT_SPACES:
        between = [gap.replace(" ", "") for gap in between]
    else:
        between = [gap or " " for gap in between]
    return SplitText(line.sentences, (first, *between, last))


def cut(sentence: str, longest: int) -> Iterator[str]:
    """The sentence in parts of at most `longest` characters, each cut after the last comma or space it holds."""
    start = 0
    while len(sentence) - start > longest:
        ends = [found.end() for found in _BREAKS.finditer(sentence, start, start + longest)]
        end = ends[-1] if ends else start + longest
        yield sentence[start:end]
        start = end
    yield sentence[start:]


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
