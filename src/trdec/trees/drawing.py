"""A tree drawn for a terminal: spread out under its top where there is room, as an outline where not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rich.cells import cell_len

from trdec.trees.tree import Nonterminal, Terminal, Tree, fold

_GAP = 2


class _Block(NamedTuple):
    """A drawn part of a tree: its lines, all `width` cells wide, and the column of its top's middle."""

    lines: list[str]
    width: int
    middle: int


def draw(tree: Nonterminal, width: int) -> Iterator[str]:
    """The lines of the drawing, none wider than `width` unless an outline cannot help it."""
    if spread_width(tree) <= width:
        yield from spread(tree)
    else:
        yield from outline(tree)


def spread_width(tree: Tree) -> int:
    """The cells that `spread` needs from left to right."""
    return fold(
        tree,
        lambda leaf: cell_len(leaf.word),
        lambda node, widths: max(cell_len(node.label), sum(widths) + _GAP * (len(widths) - 1)),
    )


def spread(tree: Nonterminal) -> list[str]:
    """The tree from the top down, each node over the middle of its children."""
    block = fold(tree, lambda leaf: _name(leaf.word), lambda node, blocks: _over(node.label, blocks))
    return [line.rstrip() for line in block.lines]


def outline(tree: Nonterminal) -> Iterator[str]:
    """One line a node, indented under its parent; words side by side share a line."""
    stack: list[tuple[Tree | str, str, str]] = [(tree, "", "")]
    while stack:
        node, first, rest = stack.pop()
        if isinstance(node, str):
            yield f"{first}{node}"
            continue
        assert isinstance(node, Nonterminal)
        if all(isinstance(child, Terminal) for child in node.children):
            yield f"{first}{node.label}  {' '.join(child.word for child in node.children)}"  # type: ignore[union-attr]
            continue
        yield f"{first}{node.label}"
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


def _name(text: str) -> _Block:
    width = cell_len(text)
    return _Block([text], width, (width - 1) // 2 if width else 0)


def _over(label: str, blocks: list[_Block]) -> _Block:
    """The label, the lines down from it, and the blocks side by side."""
    if not blocks:
        return _name(label)
    height = max(len(block.lines) for block in blocks)
    middles: list[int] = []
    offset = 0
    for block in blocks:
        middles.append(offset + block.middle)
        offset += block.width + _GAP
    width = offset - _GAP
    rows = [
        (" " * _GAP).join(block.lines[row] if row < len(block.lines) else " " * block.width for block in blocks)
        for row in range(height)
    ]
    middle = (middles[0] + middles[-1]) // 2
    branches = _branches(middles, middle, width)
    # The label may be wider than what it stands over, on either side.
    label_width = cell_len(label)
    start = middle - (label_width - 1) // 2
    left = max(0, -start)
    right = max(0, start + label_width - width)
    lines = [" " * max(0, start) + label + " " * max(0, width - start - label_width), branches, *rows]
    padded = [lines[0], *(" " * left + line + " " * right for line in lines[1:])]
    total = width + left + right
    padded[0] = padded[0] + " " * (total - cell_len(padded[0]))
    return _Block(padded, total, middle + left)


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
