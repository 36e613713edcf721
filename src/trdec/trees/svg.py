"""A tree drawn as an SVG picture: its words in one line, every node above what it spans."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from xml.sax.saxutils import escape

from rich.cells import cell_len

from trdec.trees.tree import Nonterminal, Terminal, fold

FONT = 14
MARGIN = 16.0
GAP = 12.0
"""Between the columns of neighbouring words."""

GREEN, DARK, GREY = "#1f6f54", "#222222", "#767676"

_CELL = 0.64  # the width of a narrow character, in font sizes: room for the broader of common fonts
_ROW, _LEAST_ROW, _TALLEST = 44.0, 18.0, 1200.0  # deep trees have lower rows, so that they stay in sight
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Node(NamedTuple):
    """A node's name, the middle of its baseline, the width of its span; where its parent stands, if it has one."""

    name: str
    is_word: bool
    x: float
    y: float
    width: float
    parent: tuple[float, float] | None


@dataclass(frozen=True)
class Layout:
    """Where everything stands."""

    nodes: list[Node]
    words: list[Node]
    """The nodes that are words, left to right."""
    row: float
    """From one level to the next."""
    right: float
    """Where the tree ends."""
    bottom: float
    """The baseline of the words."""


class _Span(NamedTuple):
    """A node, its level above the words, the width of what stands under it, and its children's spans."""

    name: str
    is_word: bool
    level: int
    width: float
    children: list[_Span]


def tree_svg(tree: Nonterminal) -> str:
    """The picture of a tree: words in bold, labels in green, on white."""
    layout = lay_out(tree)
    return document(layout.right + MARGIN, layout.bottom + MARGIN, tree_elements(layout))


def text_width(text: str, font: float = FONT) -> float:
    """The room that a text takes, or less: wide characters count twice."""
    return cell_len(text) * font * _CELL


def lay_out(tree: Nonterminal, word_widths: Sequence[float] | None = None, left: float = MARGIN) -> Layout:
    """The tree from `left` on, its words given the room they need, or more where that is asked for."""
    asked = iter(word_widths) if word_widths is not None else None

    def leaf(terminal: Terminal) -> _Span:
        width = text_width(terminal.word)
        return _Span(terminal.word, True, 0, width if asked is None else max(width, next(asked)), [])

    top = fold(tree, leaf, _node)
    row = max(_LEAST_ROW, min(_ROW, _TALLEST / max(1, top.level)))
    nodes = list(_nodes(top, left, row))
    return Layout(nodes, [n for n in nodes if n.is_word], row, left + top.width, MARGIN + FONT + top.level * row)


def tree_elements(layout: Layout) -> Iterator[str]:
    """The lines and names of a tree."""
    yield f'<g fill="none" stroke="{GREY}">'
    for node in layout.nodes:
        if node.parent is not None:
            x, y = node.parent
            # Aslant down to the next row, then straight: so no line crosses a name.
            yield f'<path d="M{x:.1f} {y + 5:.1f}L{node.x:.1f} {y + layout.row - FONT:.1f}V{node.y - FONT:.1f}"/>'
    yield "</g>"
    yield from names([n for n in layout.nodes if not n.is_word], "label", f'fill="{GREEN}"')
    yield from names(layout.words, "word", f'fill="{DARK}" font-weight="bold"')


def names(nodes: Sequence[Node], kind: str, style: str) -> Iterator[str]:
    """The names of some nodes, in one style."""
    yield f'<g text-anchor="middle" {style}>'
    for node in nodes:
        yield f'<text class="{kind}" x="{node.x:.1f}" y="{node.y:.1f}">{xml_text(node.name)}</text>'
    yield "</g>"


def document(width: float, height: float, elements: Iterable[str]) -> str:
    """A whole SVG file. What it holds is styled by attributes alone, so several may stand in one page."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif" font-size="{FONT}">'
    )
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *elements, "</svg>", ""])


def xml_text(text: str) -> str:
    """The text as XML has it; characters that XML cannot have are shown as the replacement character."""
    return escape(_NOT_XML.sub("\ufffd", text))


def _node(node: Nonterminal, children: list[_Span]) -> _Span:
    level = 1 + max((child.level for child in children), default=0)
    return _Span(node.label, False, level, max(text_width(node.label), _below(children)), children)


def _below(children: list[_Span]) -> float:
    return sum(child.width for child in children) + GAP * max(0, len(children) - 1)


def _nodes(top: _Span, left: float, row: float) -> Iterator[Node]:
    """Every node, a parent before its children, left before right."""
    bottom = MARGIN + FONT + top.level * row
    stack: list[tuple[_Span, float, tuple[float, float] | None]] = [(top, left, None)]
    while stack:
        span, begin, parent = stack.pop()
        x, y = begin + span.width / 2, bottom - span.level * row
        yield Node(span.name, span.is_word, x, y, span.width, parent)
        begin += (span.width - _below(span.children)) / 2
        places = []
        for child in span.children:
            places.append((child, begin, (x, y)))
            begin += child.width + GAP
        stack.extend(reversed(places))
