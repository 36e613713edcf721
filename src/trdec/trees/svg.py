"""A tree drawn as an SVG picture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from xml.sax.saxutils import escape

from rich.cells import cell_len

from trdec.trees.tree import Nonterminal, Terminal, fold

_CELL, _ROW, _GAP, _MARGIN, _FONT = 8.5, 46.0, 14.0, 16.0, 14


class _Span(NamedTuple):
    """A node, the width of what stands under it (or of its name, if wider), and its children's spans."""

    name: str
    is_word: bool
    width: float
    children: list[_Span]


class _Place(NamedTuple):
    """Where a node's name stands, and where its parent's does."""

    span: _Span
    x: float
    y: float
    parent: tuple[float, float] | None


def svg(tree: Nonterminal) -> str:
    """The picture: every node over the middle of what it spans, words in bold, labels in green."""
    top = fold(tree, _leaf, _node)
    places = list(_places(top))
    width, height = top.width + 2 * _MARGIN, max(place.y for place in places) + _MARGIN
    lines = [
        f'<line x1="{place.parent[0]:.1f}" y1="{place.parent[1] + 6:.1f}" '
        f'x2="{place.x:.1f}" y2="{place.y - _FONT:.1f}"/>'
        for place in places
        if place.parent is not None
    ]
    names = [
        f'<text class="{"word" if place.span.is_word else "label"}" x="{place.x:.1f}" y="{place.y:.1f}">'
        f"{escape(place.span.name)}</text>"
        for place in places
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="{_FONT}">\n'
        "<style>text{text-anchor:middle}.label{fill:#1f6f54}.word{fill:#222;font-weight:bold}"
        "line{stroke:#999;stroke-width:1.2}</style>\n"
        '<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(lines + names) + "\n</svg>\n"
    )


def _leaf(leaf: Terminal) -> _Span:
    return _Span(leaf.word, True, cell_len(leaf.word) * _CELL, [])


def _node(node: Nonterminal, children: list[_Span]) -> _Span:
    return _Span(node.label, False, max(cell_len(node.label) * _CELL, _below(children)), children)


def _below(children: list[_Span]) -> float:
    return sum(child.width for child in children) + _GAP * max(0, len(children) - 1)


def _places(top: _Span) -> Iterator[_Place]:
    stack: list[tuple[_Span, float, int, tuple[float, float] | None]] = [(top, _MARGIN, 0, None)]
    while stack:
        span, left, level, parent = stack.pop()
        x, y = left + span.width / 2, _MARGIN + _FONT + level * _ROW
        yield _Place(span, x, y, parent)
        left += (span.width - _below(span.children)) / 2
        for child in span.children:
            stack.append((child, left, level + 1, (x, y)))
            left += child.width + _GAP
