"""The attention of translations as one page of heatmaps that needs nothing else: tables in HTML, no scripts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from trdec.pictures.picture import FAINTEST
from trdec.trees.svg import xml_text

if TYPE_CHECKING:
    from trdec.search.attention import AttentionRow
    from trdec.search.translation import Translation

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
</style>
</head>
<body>
<h1>Attention</h1>
<p>A row for each action, a column for each piece of the source: the darker, the more it was looked at. Point at a cell
for its share.</p>
"""

TAIL = "</body>\n</html>\n"

_CAPTIONS = {"rule": "rule RNN", "word": "word RNN", "sequence": "decoder"}
_GAP = '<td class="gap"></td>'


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
        yield f"<tr><th></th>{_GAP.join(captions)}</tr>"
    pieces = "".join(f'<th class="piece">{xml_text(piece)}</th>' for piece in attention.source)
    yield f"<tr><th></th>{_GAP.join([pieces] * len(rnns))}</tr>"
    for _, rows in groupby(attention.rows, lambda row: row.action):
        yield _action(width, {row.rnn: row for row in rows}, rnns)
    yield "</table>"


def _action(width: int, rows: dict[str, AttentionRow], rnns: Sequence[str]) -> str:
    some = next(iter(rows.values()))
    parts = [_cells(rows[rnn]) if rnn in rows else "<td></td>" * width for rnn in rnns]
    return f'<tr><th class="{some.kind}">{xml_text(some.text)}</th>{_GAP.join(parts)}</tr>'


def _cells(row: AttentionRow) -> str:
    return "".join(
        f'<td title="{weight:.2f}" style="background: rgb(31 111 84 / {weight:.2f})"></td>'
        if weight >= FAINTEST
        else "<td></td>"
        for weight in row.weights
    )
