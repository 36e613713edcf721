"""A text as sentences to translate, and what stands between them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trdec.tokenisers import primary

_LINE_ENDS = re.compile("([\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+)")
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

    try:
        return list(sentencex.segment(primary(language), line))
    except BaseException as error:
        # Some characters of several bytes beside a full stop are too much for it ("A\u00a0."). Its panic has no class
        # that could be named here, and would end more than this request, as it is no Exception.
        if type(error).__name__ != "PanicException":
            raise
        return [line]


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
