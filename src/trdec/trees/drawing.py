"""Drawings of trees: as text for a terminal, and as SVG."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from xml.sax.saxutils import escape

from rich.cells import cell_len

from trdec.tokenisers import WORD_START
from trdec.trees.tree import Nonterminal, Terminal, Tree, fold

_GAP = 2
_NOT_SHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class _Size(NamedTuple):
    """How wide a part of a tree is drawn, and the column of its top's middle."""

    width: int
    middle: int


class _Block(NamedTuple):
    """A drawn part of a tree: lines that are all as wide as its size says."""

    size: _Size
    lines: list[str]


def draw(tree: Nonterminal, width: int) -> Iterator[str]:
    """The lines of the drawing: spread out if that fits into `width`, otherwise an outline."""
    if spread_width(tree) <= width:
        yield from spread(tree)
    else:
        yield from outline(tree)


def spread_width(tree: Tree) -> int:
    """The cells that `spread` needs from left to right."""
    return fold(tree, lambda leaf: _name_size(leaf.word), _over_size).width


def spread(tree: Nonterminal) -> list[str]:
    """The tree from the top down, each node over the middle of its children."""
    block = fold(tree, lambda leaf: _name(leaf.word), lambda node, blocks: _over(node.label, blocks))
    return [line.rstrip() for line in block.lines]


def outline(tree: Nonterminal) -> Iterator[str]:
    """One line per node, indented under its parent; adjacent words share a line."""
    stack: list[tuple[Tree | str, str, str]] = [(tree, "", "")]
    while stack:
        node, first, rest = stack.pop()
        if isinstance(node, str):
            yield f"{first}{_visible(node)}"
            continue
        assert isinstance(node, Nonterminal)
        if all(isinstance(child, Terminal) for child in node.children):
            words = " ".join(child.word for child in node.children)  # type: ignore[union-attr]
            yield f"{first}{_visible(node.label)}  {_visible(words)}"
            continue
        yield f"{first}{_visible(node.label)}"
        items = _runs(node.children)
        for position, item in reversed(list(enumerate(items))):
            last = position == len(items) - 1
            stack.append((item, rest + ("└── " if last else "├── "), rest + ("    " if last else "│   ")))


def _runs(children: tuple[Tree, ...]) -> list[Nonterminal | str]:
    """The children with each run of words as one text."""
    items: list[Nonterminal | str] = []
    was_word = False
    for child in children:
        if isinstance(child, Nonterminal):
            items.append(child)
        elif was_word:
            items[-1] = f"{items[-1]} {child.word}"
        else:
            items.append(child.word)
        was_word = isinstance(child, Terminal)
    return items


def _visible(text: str) -> str:
    """The text as a terminal may show it: without what would move its cursor, change its colours or end a line."""
    return _NOT_SHOWN.sub("\ufffd", text)


def _name_size(text: str) -> _Size:
    width = max(1, cell_len(_visible(text)))  # a mark that combines with nothing takes a cell of its own
    return _Size(width, (width - 1) // 2)


def _padded(text: str) -> str:
    shown = _visible(text)
    return shown if cell_len(shown) else f"{shown} "


def _name(text: str) -> _Block:
    return _Block(_name_size(text), [_padded(text)])


def dim_word_starts(line: str) -> str:
    """The line of a drawing, with the mark that begins a word dim, as terminals show it."""
    return line.replace(WORD_START, f"\x1b[2m{WORD_START}\x1b[22m")


class _Joint:
    """Where a label stands over parts of a tree that are drawn side by side."""

    def __init__(self, label: str, parts: list[_Size]) -> None:
        self.middles: list[int] = []
        offset = 0
        for part in parts:
            self.middles.append(offset + part.middle)
            offset += part.width + _GAP
        self.below = offset - _GAP
        self.middle = (self.middles[0] + self.middles[-1]) // 2
        name = _name_size(label)
        # The label may reach further than what it stands over, on either side.
        self.left = max(0, name.middle - self.middle)
        self.right = max(0, self.middle - name.middle + name.width - self.below)
        self.size = _Size(self.left + self.below + self.right, self.left + self.middle)
        self.indent = self.size.middle - name.middle


def _over_size(node: Nonterminal, parts: list[_Size]) -> _Size:
    return _Joint(node.label, parts).size if parts else _name_size(node.label)


def _over(label: str, blocks: list[_Block]) -> _Block:
    """The label, the lines down from it, and the blocks side by side."""
    if not blocks:
        return _name(label)
    joint = _Joint(label, [block.size for block in blocks])
    height = max(len(block.lines) for block in blocks)
    rows = [
        (" " * _GAP).join(block.lines[row] if row < len(block.lines) else " " * block.size.width for block in blocks)
        for row in range(height)
    ]
    below = [_branches(joint.middles, joint.middle, joint.below), *rows]
    top = " " * joint.indent + _padded(label)
    top += " " * (joint.size.width - cell_len(top))
    return _Block(joint.size, [top, *(" " * joint.left + line + " " * joint.right for line in below)])


def _branches(middles: list[int], middle: int, width: int) -> str:
    if len(middles) == 1:
        cells = [" "] * width
        cells[middle] = "│"
        return "".join(cells)
    cells = ["─" if middles[0] <= column <= middles[-1] else " " for column in range(width)]
    for column in middles:
        cells[column] = "┬"
    cells[middles[0]], cells[middles[-1]] = "┌", "┐"
    cells[middle] = {"─": "┴", "┬": "┼", "┌": "├", "┐": "┤"}[cells[middle]]
    return "".join(cells)


FONT = 14
MARGIN = 16.0
GAP = 12.0
"""Between the columns of neighbouring words."""

GREEN, DARK, GREY, LIGHT = "#1f6f54", "#222222", "#767676", "#b8b8b8"

_CELL = 0.64  # the width of a narrow character, in font sizes: room for the broader of common fonts
_ROW, _LEAST_ROW, _TALLEST = 44.0, 18.0, 1200.0  # deep trees have lower rows, so that they fit a screen
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
class TreeLayout:
    """The positions of everything in a drawn tree."""

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
    """The width of a text at most; wide characters count twice."""
    return cell_len(text) * font * _CELL


def lay_out(tree: Nonterminal, word_widths: Sequence[float] | None = None, left: float = MARGIN) -> TreeLayout:
    """The tree from `left` on, each word as wide as it needs or as `word_widths` asks."""
    asked = iter(word_widths) if word_widths is not None else None

    def leaf(terminal: Terminal) -> _Span:
        width = text_width(terminal.word)
        return _Span(terminal.word, True, 0, width if asked is None else max(width, next(asked)), [])

    top = fold(tree, leaf, _node)
    row = max(_LEAST_ROW, min(_ROW, _TALLEST / max(1, top.level)))
    nodes = list(_nodes(top, left, row))
    return TreeLayout(nodes, [n for n in nodes if n.is_word], row, left + top.width, MARGIN + FONT + top.level * row)


def tree_elements(layout: TreeLayout) -> Iterator[str]:
    """The lines and names of a tree."""
    yield f'<g fill="none" stroke="{GREY}">'
    for node in layout.nodes:
        if node.parent is not None:
            x, y = node.parent
            # Diagonal to the next row, then vertical, so that no line crosses a name.
            yield f'<path d="M{x:.1f} {y + 5:.1f}L{node.x:.1f} {y + layout.row - FONT:.1f}V{node.y - FONT:.1f}"/>'
    yield "</g>"
    yield from names([n for n in layout.nodes if not n.is_word], "label", f'fill="{GREEN}"')
    yield from names(layout.words, "word", f'fill="{DARK}" font-weight="bold"')


def names(nodes: Sequence[Node], kind: str, style: str) -> Iterator[str]:
    """The names of some nodes, in one style."""
    yield f'<g text-anchor="middle" {style}>'
    for node in nodes:
        yield f'<text class="{kind}" x="{node.x:.1f}" y="{node.y:.1f}">{svg_text(node.name)}</text>'
    yield "</g>"


def document(width: float, height: float, elements: Iterable[str]) -> str:
    """A whole SVG file, styled by attributes alone so that one page may hold several."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif" font-size="{FONT}">'
    )
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *elements, "</svg>", ""])


def svg_text(text: str) -> str:
    """The text escaped for SVG, with the mark that begins a word in a light colour."""
    return xml_text(text).replace(WORD_START, f'<tspan fill="{LIGHT}">{WORD_START}</tspan>')


def xml_text(text: str) -> str:
    """The text escaped for XML; characters that XML forbids become the replacement character."""
    return escape(_NOT_XML.sub("\ufffd", text))


def _node(node: Nonterminal, children: list[_Span]) -> _Span:
    level = 1 + max((child.level for child in children), default=0)
    return _Span(node.label, False, level, max(text_width(node.label), _shifted_below(children)), children)


def _shifted_below(children: list[_Span]) -> float:
    return sum(child.width for child in children) + GAP * max(0, len(children) - 1)


def _nodes(top: _Span, left: float, row: float) -> Iterator[Node]:
    """Every node, a parent before its children, left before right."""
    bottom = MARGIN + FONT + top.level * row
    stack: list[tuple[_Span, float, tuple[float, float] | None]] = [(top, left, None)]
    while stack:
        span, begin, parent = stack.pop()
        x, y = begin + span.width / 2, bottom - span.level * row
        yield Node(span.name, span.is_word, x, y, span.width, parent)
        begin += (span.width - _shifted_below(span.children)) / 2
        places = []
        for child in span.children:
            places.append((child, begin, (x, y)))
            begin += child.width + GAP
        stack.extend(reversed(places))
