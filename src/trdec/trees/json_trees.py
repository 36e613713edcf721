"""Trees as JSON, one object per line: the words, and the span of each node.

    {"words": ["The", "cat", "sleeps"], "nodes": [{"label": "ROOT", "start": 0, "end": 3},
                                                   {"label": "NP", "start": 0, "end": 2}]}

Nodes are flat, a parent before its children, so that a tree as deep as its sentence is long needs no nested JSON.
"""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Iterable, Iterator

from trdec.errors import Place, TreeFormatError, excerpt
from trdec.files import Line, split_words
from trdec.trees.transforms import rooted
from trdec.trees.tree import Entry, Nonterminal, Terminal, Tree, words

NO_JSON_TREE = "null"
"""The line written in place of a missing tree."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def write_json_tree(tree: Nonterminal) -> str:
    """The tree as a JSON object on one line: `read_json_trees` gives the same tree."""
    nodes = []
    position = 0
    open_nodes: list[dict[str, str | int]] = []
    stack: list[Tree | None] = [tree]  # None: the end of a node
    while stack:
        node = stack.pop()
        if node is None:
            open_nodes.pop()["end"] = position
        elif isinstance(node, Terminal):
            position += 1
        else:
            open_nodes.append({"label": node.label, "start": position, "end": position})
            nodes.append(open_nodes[-1])
            stack.append(None)
            stack.extend(reversed(node.children))
    return json.dumps({"words": words(tree), "nodes": nodes}, ensure_ascii=False)


def read_json_trees(lines: Iterable[Line]) -> Iterator[Entry]:
    """An entry for each line."""
    for line in lines:
        try:
            yield Entry(line.place, _tree(line))
        except TreeFormatError as error:
            yield Entry(line.place, None, error)


def _tree(line: Line) -> Nonterminal | None:
    try:
        content = json.loads(line.text)
    except (ValueError, RecursionError) as error:
        reason = "too deeply nested" if isinstance(error, RecursionError) else str(error)
        raise _not_a_tree(line.place, f"which is not JSON: {reason}", line.text) from None
    if content is None:
        return None
    if not isinstance(content, dict) or not isinstance(content.get("words"), list) or not content["words"]:
        raise _not_a_tree(line.place, "without a list of words", line.text)
    for word in content["words"]:
        if not _is_name(word):
            raise _not_a_tree(line.place, f"with {reprlib.repr(word)} as a word", line.text)
    if not isinstance(content.get("nodes"), list) or not content["nodes"]:
        raise _not_a_tree(line.place, "without a list of nodes", line.text)
    spans = [_span(line, node) for node in content["nodes"]]
    return rooted(_over(line, content["words"], spans))


def _is_name(name: object) -> bool:
    return isinstance(name, str) and split_words(name) == [name] and not _SURROGATE.search(name)


def _span(line: Line, node: object) -> tuple[str, int, int]:
    if isinstance(node, dict):
        label, start, end = node.get("label"), node.get("start"), node.get("end")
        if isinstance(label, str) and _is_name(label) and type(start) is int and type(end) is int:
            return label, start, end
    raise _not_a_tree(line.place, f"with {reprlib.repr(node)} as a node", line.text)


def _over(line: Line, sentence: list[str], spans: list[tuple[str, int, int]]) -> Nonterminal:
    """The tree of the spans; each must lie inside the one before it, or after that has ended."""
    # One entry per open node: its label and end, its children so far, and the next word that it may hold.
    open_nodes: list[tuple[str, int, list[Tree]]] = []
    position = 0

    def fill(children: list[Tree], end: int) -> None:
        nonlocal position
        children += map(Terminal, sentence[position:end])
        position = max(position, end)

    def close() -> Nonterminal:
        label, end, children = open_nodes.pop()
        fill(children, end)
        node = Nonterminal(label, tuple(children))
        if open_nodes:
            open_nodes[-1][2].append(node)
        return node

    for number, (label, start, end) in enumerate(spans):
        while open_nodes and open_nodes[-1][1] <= start:
            close()
        fits = open_nodes and position <= start < end <= open_nodes[-1][1]
        if not (fits or (number == 0 and (start, end) == (0, len(sentence)))):
            span = f"from {reprlib.repr(start)} to {reprlib.repr(end)}"
            raise _not_a_tree(line.place, f"whose node {excerpt(label)} {span} does not fit", line.text)
        if open_nodes:
            fill(open_nodes[-1][2], start)
        open_nodes.append((label, end, []))
    while True:
        top = close()
        if not open_nodes:
            return top


def _not_a_tree(place: Place, but: str, text: str) -> TreeFormatError:
    return TreeFormatError(
        f"{place}: expected words and nodes as JSON, found {excerpt(text)}, {but}. Each node has a label, the number "
        f"of its first word (from 0) as start, and of the word after its last as end; parents come before their "
        f"children, the top over all words first. Write {NO_JSON_TREE} for a sentence without a tree."
    )
