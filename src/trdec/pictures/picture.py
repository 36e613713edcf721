"""A translation as one SVG picture: its tree, and below each word what was looked at to write it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from trdec.search.attention import END
from trdec.trees import svg
from trdec.trees.svg import GREEN, GREY, MARGIN, Layout, Node, document, text_width, xml_text
from trdec.trees.transform import WORD_START

if TYPE_CHECKING:
    from trdec.search.attention import Attention, AttentionRow
    from trdec.search.translation import Translation

FAINTEST = 0.005
"""Weights below this leave no trace."""

_SMALL = 11  # the font of pieces
_ROW = 20.0
_NARROWEST = 24.0
_LINE, _FAINT_LINE = "#c8c8c8", "#eeeeee"  # before a word, and before a further piece of it


class Column(NamedTuple):
    """The attention of one piece of a word, and where it is drawn."""

    row: AttentionRow
    left: float
    width: float


def picture(translation: Translation) -> str:
    """The tree above its words; below them, a column for each piece of a word and a row for each of the source.

    Without attention it is the tree alone; without a tree, as for an empty line, an empty picture.
    """
    tree, attention = translation.tree, translation.attention
    if tree is None:
        return document(2 * MARGIN, 2 * MARGIN, ())
    if attention is None:
        return svg.tree_svg(tree)
    words = attention.of_words()
    beginning = 2 * MARGIN + max(text_width(piece) for piece in attention.source)
    layout = svg.lay_out(tree, [sum(map(_least_width, rows)) for rows in words], beginning)
    words_of_pieces = any(len(rows) > 1 for rows in words)
    top = layout.bottom + (_SMALL + 20 if words_of_pieces else 12)
    bottom = top + _ROW * len(attention.source)

    def elements() -> Iterator[str]:
        yield f"<title>{xml_text(translation.text)}</title>"
        yield from svg.tree_elements(layout)
        yield from _grid(attention.source, layout, beginning, top)
        for word, rows in zip(layout.words, words, strict=True):
            columns = list(_columns(word, rows))
            if len(columns) > 1:
                labels = [Node(row.text, True, left + width / 2, top - 8, 0, None) for row, left, width in columns]
                yield from svg.names(labels, "piece", f'fill="{GREY}" font-size="{_SMALL}"')
            yield f'<g fill="{GREEN}">'
            for column in columns:
                yield from _cells(column, attention, top)
            yield "</g>"

    return document(layout.right + MARGIN, bottom + MARGIN, elements())


def _least_width(row: AttentionRow) -> float:
    return max(_NARROWEST, text_width(row.text, _SMALL) + 4)


def _columns(word: Node, rows: Sequence[AttentionRow]) -> Iterator[Column]:
    """The columns of a word's pieces: each as wide as it must be, what is left over shared out evenly."""
    least = [_least_width(row) for row in rows]
    more = (word.width - sum(least)) / len(least)
    left = word.x - word.width / 2
    for row, width in zip(rows, least, strict=True):
        yield Column(row, left, width + more)
        left += width + more


def _grid(source: Sequence[str], layout: Layout, left: float, top: float) -> Iterator[str]:
    """A line above and below each row, and the source pieces before them."""
    for number, piece in enumerate([*source, END]):
        colour = _LINE if piece == END or piece.startswith(WORD_START) else _FAINT_LINE
        yield f'<path d="M{left:.1f} {top + _ROW * number:.1f}H{layout.right:.1f}" stroke="{colour}"/>'
    yield '<g text-anchor="end" fill="#222222">'
    for number, piece in enumerate(source):
        y = top + _ROW * number + _ROW / 2 + 5
        yield f'<text class="source" x="{left - 8:.1f}" y="{y:.1f}">{xml_text(piece)}</text>'
    yield "</g>"


def _cells(column: Column, attention: Attention, top: float) -> Iterator[str]:
    for number, (piece, weight) in enumerate(zip(attention.source, column.row.weights, strict=True)):
        if weight >= FAINTEST:
            yield (
                f'<rect x="{column.left + 1:.1f}" y="{top + _ROW * number + 1:.1f}" width="{column.width - 2:.1f}" '
                f'height="{_ROW - 2:.1f}" fill-opacity="{weight:.2f}">'
                f"<title>{xml_text(f'{column.row.text} - {piece}: {weight:.2f}')}</title></rect>"
            )
