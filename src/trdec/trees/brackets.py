"""Bracketed trees as text, on one line or many: parse and write are inverses.

A word or label is written as it is, except where it would be read as something else: round brackets are
`-LRB-` and `-RRB-` as in the Penn treebank, and a backslash escapes a literal `-LRB-`, `-RRB-` or
backslash. Reading also accepts the treebank's `\\/` and `\\*` for `/` and `*`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from trdec.errors import Place, TreeFormatError, TreeShapeError, excerpt
from trdec.files import WHITESPACE, Line
from trdec.trees.tree import ROOT, Entry, Nonterminal, Terminal, Tree

FAILURES = ("SENTENCE_SKIPPED_OR_UNPARSABLE", "SENTENCE_SKIPPED", "PARSE_FAILED", "NULL", "None", "null")
"""Lines that parsers write in place of a tree they could not find."""

NO_TREE = "(())"
"""The line written in place of a missing tree."""

_TOKEN = re.compile(f"[()]|[^{WHITESPACE}()]+")
_SPACE = re.compile(f"[{WHITESPACE}]")
_ESCAPED = re.compile(r"\\([\\/*-])|-(L|R)RB-")
_TO_ESCAPE = re.compile(r"\\|-(?=[LR]RB-)")
# Possessive, since no other division into the three parts could match: backtracking would take quadratic time.
_EMPTY = re.compile(f"[({WHITESPACE}]*+[^{WHITESPACE}()]*+[){WHITESPACE}]*+")


def write(tree: Nonterminal) -> str:
    """The tree on one line: (ROOT (S (NP The cat) (VP eats (NP fish)) .))."""
    parts: list[str] = []
    stack: list[Tree | None] = [tree]  # None: a bracket to close
    while stack:
        node = stack.pop()
        if node is None:
            parts.append(")")
        elif isinstance(node, Terminal):
            parts.append(f" {_escape(node.word)}")
        else:
            parts.append(f" ({_escape(node.label)}")
            if not node.children:
                parts.append(" ")
            stack.append(None)
            stack.extend(reversed(node.children))
    return "".join(parts)[1:]


def parse(text: str, place: Place | None = None) -> Nonterminal:
    """The tree that the brackets describe; a bracket without a label is a ROOT."""
    found = place or Place("<text>", 1)
    open_nodes: list[tuple[str, list[Tree]]] = []
    after_opening = False
    top: Nonterminal | None = None
    for number, token in enumerate(_TOKEN.findall(text), start=1):
        if top is not None:
            raise TreeFormatError(
                f"{found}: {excerpt(token)} at token {number} follows the end of the tree. "
                "Each line must hold one bracketed tree: check the brackets before it."
            )
        if token == "(":
            if after_opening:  # an unlabelled bracket around this one
                open_nodes.append((ROOT, []))
            after_opening = True
        elif token == ")":
            if after_opening or not open_nodes:
                raise TreeFormatError(
                    f"{found}: ')' at token {number} "
                    + ("closes a bracket that holds nothing." if after_opening else "closes nothing.")
                    + " Each line must hold one bracketed tree, every node of it over at least one word."
                )
            label, children = open_nodes.pop()
            if not children:
                raise TreeFormatError(
                    f"{found}: the node {excerpt(label)} that ends at token {number} holds no words. "
                    f"Every node must have words below it; write {NO_TREE} for a sentence without a tree."
                )
            node = Nonterminal(label, tuple(children))
            if open_nodes:
                open_nodes[-1][1].append(node)
            else:
                top = node
        elif after_opening:
            open_nodes.append((_unescape(token), []))
            after_opening = False
        elif open_nodes:
            open_nodes[-1][1].append(Terminal(_unescape(token)))
        else:
            raise TreeFormatError(
                f"{found}: expected '(' at token {number}, found {excerpt(token)}. "
                f"Each line must hold one bracketed tree; write {NO_TREE} for a sentence without one."
            )
    if top is None:
        raise TreeFormatError(
            f"{found}: {len(open_nodes) + after_opening} brackets are never closed. Each tree needs as many ')' as '('."
        )
    return top


def read_brackets(lines: Iterable[Line]) -> Iterator[Entry]:
    """An entry for each tree of a file, whether a tree is on one line or spans many.

    A bracket in the first column always starts a tree. Blank lines separate trees in a file whose first tree
    spans several lines or is followed by a blank line; any other file must have one tree per line, and a blank line
    is an error.
    """
    chunk: list[str] = []
    start: Place | None = None  # of the open chunk
    open_brackets = 0
    trees = 0
    blanks_separate_trees = False
    leading_blank: Place | None = None
    for line in lines:
        text = line.text
        if start is not None and text.startswith("("):
            yield _unclosed(start, open_brackets, line.place.line)
            start, chunk, open_brackets = None, [], 0
        if start is None:
            stripped = text.strip(WHITESPACE)
            if not stripped:
                if trees == 0:
                    leading_blank = leading_blank or line.place
                elif trees == 1:
                    blanks_separate_trees = True
                elif not blanks_separate_trees:
                    yield _blank(line.place)
                continue
            start = line.place
            if stripped in FAILURES or (_EMPTY.fullmatch(stripped) and stripped.count("(") == stripped.count(")") > 0):
                if trees == 0 and leading_blank is not None:
                    yield _blank(leading_blank)
                trees += 1
                yield Entry(start, None)
                start = None
                continue
        chunk.append(text)
        open_brackets += text.count("(") - text.count(")")
        if open_brackets <= 0:
            if trees == 0 and len(chunk) > 1:
                blanks_separate_trees = True
            if trees == 0 and leading_blank is not None and not blanks_separate_trees:
                yield _blank(leading_blank)
            trees += 1
            yield _entry("\n".join(chunk), start)
            start, chunk, open_brackets = None, [], 0
    if start is not None:
        yield _unclosed(start, open_brackets, None)


def _entry(text: str, place: Place) -> Entry:
    try:
        return Entry(place, parse(text, place))
    except TreeFormatError as error:
        return Entry(place, None, error)


def _blank(place: Place) -> Entry:
    return Entry(
        place,
        None,
        TreeFormatError(
            f"{place}: expected a bracketed tree, found an empty line. "
            f"Write {NO_TREE} for a sentence without a tree, or remove the line from every parallel file."
        ),
    )


def _unclosed(place: Place, open_brackets: int, before: int | None) -> Entry:
    where = "the end of the file" if before is None else f"the tree that starts on line {before}"
    return Entry(
        place,
        None,
        TreeFormatError(
            f"{place}: the tree that starts here is missing {open_brackets} ')' before {where}. "
            "Each tree needs as many ')' as '('; every line of a tree but its first must be indented."
        ),
    )


def _escape(name: str) -> str:
    if not name or _SPACE.search(name):
        raise TreeShapeError(
            f"expected a word or label without whitespace, found {excerpt(name)}: it cannot be bracketed"
        )
    if "(" in name or ")" in name:
        # Every hyphen is escaped here, so that none can join a bracket's -LRB- into another reading.
        return re.sub(r"[\\-]", r"\\\g<0>", name).replace("(", "-LRB-").replace(")", "-RRB-")
    if "\\" in name or "RB-" in name:
        return _TO_ESCAPE.sub(r"\\\g<0>", name)
    return name


def _unescape(token: str) -> str:
    if "\\" not in token and "RB-" not in token:
        return token
    return _ESCAPED.sub(lambda match: match[1] or ("(" if match[2] == "L" else ")"), token)
