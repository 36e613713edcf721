"""Lines of prose fit on a screen, so that a change of a document can be read as a difference of lines."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from test_links import DOCUMENTS, REPOSITORY, prose

WIDTH = 120
GENERATED = {"docs/configuration.md", "docs/experiments.md"}


def too_long(text: str) -> Iterator[str]:
    """Lines outside tables and fenced blocks that could be broken before the margin."""
    for line in prose(text):
        if len(line) > WIDTH and not line.lstrip().startswith("|"):
            whole_code = re.sub(r"`[^`]+`", lambda code: code[0].replace(" ", "_"), line.strip())
            if len(textwrap.wrap(whole_code, WIDTH, break_long_words=False, break_on_hyphens=False)) > 1:
                yield line


def test_lines_of_prose_fit_on_a_screen() -> None:
    wrong = [
        f"{name}: {line}"
        for document in DOCUMENTS
        if (name := str(document.relative_to(REPOSITORY))) not in GENERATED and document.name != "report.md"
        for line in too_long(document.read_text(encoding="utf-8"))
    ]
    assert wrong == []


def test_long_lines_are_noticed() -> None:
    long = "word " * 30
    code = f"`{long.strip()}`"
    assert list(too_long(f"{long}\n| {long} |\n```\n{long}\n```\n{code}\nshort\n* {long}")) == [long, f"* {long}"]
