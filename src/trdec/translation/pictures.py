"""Drawings of translations: a tree above its words' attention as SVG, and all attention as HTML heatmaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from trdec.data.source_form import SOURCE_END
from trdec.tokenisers import WORD_START
from trdec.trees import drawing
from trdec.trees.drawing import GREEN, GREY, MARGIN, Node, TreeLayout, document, svg_text, text_width, xml_text

if TYPE_CHECKING:
    from trdec.translation.attention import AttentionRow, TranslationAttention
    from trdec.translation.translation import Translation


FAINTEST = 0.005
"""Weights below this are not drawn."""

_SMALL = 11  # the font of pieces
_ROW = 20.0
_NARROWEST = 24.0
_LINE, _FAINT_LINE = "#c8c8c8", "#eeeeee"  # before a word, and before another piece of it


class Column(NamedTuple):
    """The attention of one piece of a word, and where it is drawn."""

    row: AttentionRow
    left: float
    width: float


def picture(translation: Translation) -> str:
    """The tree above its words; below them, a column for each piece of a word and a row for each of the source.

    Without attention, which not every decoder has, it is just the tree; without a tree, as for an empty line, it is
    empty.
    """
    tree, attention = translation.tree, translation.attention
    if tree is None:
        return document(2 * MARGIN, 2 * MARGIN, ())
    if attention is None or not attention.rows:
        return drawing.tree_svg(tree)
    words = attention.of_words()
    beginning = 2 * MARGIN + max(text_width(piece) for piece in attention.source)
    layout = drawing.lay_out(tree, [sum(map(_least_width, rows)) for rows in words], beginning)
    words_of_pieces = any(len(rows) > 1 for rows in words)
    top = layout.bottom + (_SMALL + 20 if words_of_pieces else 12)
    bottom = top + _ROW * len(attention.source)

    def elements() -> Iterator[str]:
        yield f"<title>{xml_text(translation.text)}</title>"
        yield from drawing.tree_elements(layout)
        yield from _grid(attention.source, layout, beginning, top)
        for word, rows in zip(layout.words, words, strict=True):
            columns = list(_columns(word, rows))
            if len(columns) > 1:
                labels = [Node(row.text, True, left + width / 2, top - 8, 0, None) for row, left, width in columns]
                yield from drawing.names(labels, "piece", f'fill="{GREY}" font-size="{_SMALL}"')
            yield f'<g fill="{GREEN}">'
            for column in columns:
                yield from _picture_cells(column, attention, top)
            yield "</g>"

    return document(layout.right + MARGIN, bottom + MARGIN, elements())


def _least_width(row: AttentionRow) -> float:
    return max(_NARROWEST, text_width(row.text, _SMALL) + 4)


def _columns(word: Node, rows: Sequence[AttentionRow]) -> Iterator[Column]:
    """The columns of a word's pieces: each as wide as it needs to be, the remaining width shared evenly."""
    least = [_least_width(row) for row in rows]
    more = (word.width - sum(least)) / len(least)
    left = word.x - word.width / 2
    for row, width in zip(rows, least, strict=True):
        yield Column(row, left, width + more)
        left += width + more


def _grid(source: Sequence[str], layout: TreeLayout, left: float, top: float) -> Iterator[str]:
    """A line above and below each row, and the source pieces before them."""
    for number, piece in enumerate([*source, SOURCE_END]):
        colour = _LINE if piece == SOURCE_END or piece.startswith(WORD_START) else _FAINT_LINE
        yield f'<path d="M{left:.1f} {top + _ROW * number:.1f}H{layout.right:.1f}" stroke="{colour}"/>'
    yield '<g text-anchor="end" fill="#222222">'
    for number, piece in enumerate(source):
        y = top + _ROW * number + _ROW / 2 + 5
        yield f'<text class="source" x="{left - 8:.1f}" y="{y:.1f}">{svg_text(piece)}</text>'
    yield "</g>"


def _picture_cells(column: Column, attention: TranslationAttention, top: float) -> Iterator[str]:
    for number, (piece, weight) in enumerate(zip(attention.source, column.row.weights, strict=True)):
        if weight >= FAINTEST:
            yield (
                f'<rect x="{column.left + 1:.1f}" y="{top + _ROW * number + 1:.1f}" width="{column.width - 2:.1f}" '
                f'height="{_ROW - 2:.1f}" fill-opacity="{weight:.2f}">'
                f"<title>{xml_text(f'{column.row.text} - {piece}: {weight:.2f}')}</title></rect>"
            )


HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Attention</title>
<style>
:root { color-scheme: light dark }
body { font: 14px Helvetica, Arial, sans-serif; margin: 2em }
h2 { font-size: 16px; margin: 2.5em 0 0.8em }
table { border-collapse: collapse }
td { min-width: 20px; height: 20px; padding: 0; border: 1px solid rgb(128 128 128 / 0.25) }
th { font-weight: normal; padding: 2px 8px; text-align: right; white-space: nowrap }
th.piece { writing-mode: vertical-rl; vertical-align: bottom; padding: 6px 0 }
th.rnn { text-align: center; font-style: italic }
td.gap { border: 0; min-width: 24px }
.word { font-weight: bold }
.rule, .mark { color: #2a8c6b }
.eop, .eos, .number { color: #808080 }
.start { color: rgb(128 128 128 / 0.6) }
</style>
</head>
<body>
<h1>Attention</h1>
<p>A row for each action, a column for each piece of the source: the darker, the more attention. Hover over a cell
to see its weight.</p>
"""

TAIL = "</body>\n</html>\n"

_CAPTIONS = {"rule": "rule RNN", "word": "word RNN", "sequence": "decoder", "transformer": "Transformer"}
_HEATMAP_GAP = '<td class="gap"></td>'


def heatmap(number: int, translation: Translation) -> str:
    """The heatmap of the translation of this line: the RNNs' tables side by side, a row for each action."""
    return "\n".join(_lines(number, translation)) + "\n"


def _lines(number: int, translation: Translation) -> Iterator[str]:
    yield f'<h2 id="line-{number}"><span class="number">{number}</span> {xml_text(translation.text)}</h2>'
    attention = translation.attention
    if attention is None or not attention.rows:
        return
    rnns = attention.rnns
    width = len(attention.source)
    yield "<table>"
    if len(rnns) > 1:
        captions = [f'<th class="rnn" colspan="{width}">{_CAPTIONS[rnn]}</th>' for rnn in rnns]
        yield f"<tr><th></th>{_HEATMAP_GAP.join(captions)}</tr>"
    pieces = "".join(f'<th class="piece">{_html_piece(piece)}</th>' for piece in attention.source)
    yield f"<tr><th></th>{_HEATMAP_GAP.join([pieces] * len(rnns))}</tr>"
    for _, rows in groupby(attention.rows, lambda row: row.action):
        yield _action(width, {row.rnn: row for row in rows}, rnns)
    yield "</table>"


def _action(width: int, rows: dict[str, AttentionRow], rnns: Sequence[str]) -> str:
    some = next(iter(rows.values()))
    parts = [_heatmap_cells(rows[rnn]) if rnn in rows else "<td></td>" * width for rnn in rnns]
    return f'<tr><th class="{some.kind}">{_html_piece(some.text)}</th>{_HEATMAP_GAP.join(parts)}</tr>'


def _html_piece(piece: str) -> str:
    return xml_text(piece).replace(WORD_START, f'<span class="start">{WORD_START}</span>')


def _heatmap_cells(row: AttentionRow) -> str:
    return "".join(
        f'<td title="{weight:.2f}" style="background: rgb(31 111 84 / {weight:.2f})"></td>'
        if weight >= FAINTEST
        else "<td></td>"
        for weight in row.weights
    )
