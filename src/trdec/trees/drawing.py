"""A tree drawn for a terminal: spread out under its top where there is room, as an outline where not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rich.cells import cell_len

from trdec.trees.tree import Nonterminal, Terminal, Tree, fold

_GAP = 2


class _Size(NamedTuple):
    """How wide a part of a tree is drawn, and the column of its top's middle."""

    width: int
    middle: int


class _Block(NamedTuple):
    """A drawn part of a tree: lines that are all as wide as its size says."""

    size: _Size
    lines: list[str]


def draw(tree: Nonterminal, width: int) -> Iterator[str]:
    """The lines of the drawing, none wider than `width` unless an outline cannot help it."""
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


def _name_size(text: str) -> _Size:
    width = cell_len(text)
    return _Size(width, (width - 1) // 2 if width else 0)


def _name(text: str) -> _Block:
    return _Block(_name_size(text), [text])


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
    top = " " * joint.indent + label
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
