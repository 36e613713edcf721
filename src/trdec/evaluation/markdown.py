"""A comparison as Markdown, as GitHub shows it and as a terminal can be read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from trdec.evaluation.comparison import Comparison
from trdec.evaluation.contents import contents
from trdec.evaluation.tables import Table, signatures

# What Markdown, or the HTML inside it, would read as something else.
_SPECIAL = re.compile(r"[\\`*_\[\]|~]|<(?=[A-Za-z/!?])|&(?=[A-Za-z#])")


def comparison_markdown(comparison: Comparison) -> str:
    """The whole comparison: a section for each table, the sentences that differ most, the signatures."""
    return "\n".join(_lines(comparison)) + "\n"


def _lines(comparison: Comparison) -> Iterator[str]:
    yield f"# {len(comparison.systems)} systems on {comparison.sentences:,} sentences"
    for content in contents(comparison):
        yield from ("", f"## {content.title}", "", *table_markdown(content.table))
    if comparison.different:
        yield from ("", "## Sentences that differ most", *_differences(comparison))
    yield from ("", "## Signatures", "")
    yield from (f"- {name}: `{signature}`" for name, signature in signatures(comparison))


def table_markdown(table: Table) -> Iterator[str]:
    """The lines of the table, its columns aligned, and its notes."""
    rows = [
        [f"**{escaped(cell)}**" if (number, column) in table.best else escaped(cell) for column, cell in enumerate(row)]
        for number, row in enumerate(table.rows)
    ]
    header = [escaped(cell) for cell in table.header]
    widths = [max(3, *(cell_len(row[column]) for row in [header, *rows])) for column in range(len(header))]
    yield _row(header, widths)
    yield "| " + " | ".join(_rule(column, width) for column, width in enumerate(widths)) + " |"
    yield from (_row(row, widths) for row in rows)
    for note in table.notes:
        yield from ("", escaped(note))


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (_padded(column, cell, width) for column, (cell, width) in enumerate(zip(cells, widths, strict=True)))
    return "| " + " | ".join(padded) + " |"


def _padded(column: int, cell: str, width: int) -> str:
    space = " " * (width - cell_len(cell))
    return cell + space if column == 0 else space + cell  # names to the left, figures to the right


def _rule(column: int, width: int) -> str:
    return "-" * width if column == 0 else "-" * (width - 1) + ":"


def _differences(comparison: Comparison) -> Iterator[str]:
    names = [row.name for row in comparison.systems]
    for difference in comparison.different:
        yield from ("", f"### Line {difference.index:,}, chrF++ {difference.spread:.1f} apart", "")
        yield f"- reference: {escaped(difference.reference)}"
        for name, text, score in zip(names, difference.texts, difference.scores, strict=True):
            yield f"- {escaped(name)} ({score:.1f}): {escaped(text) or '(nothing)'}"


def escaped(text: str) -> str:
    """The text as Markdown that is read as this text, in a paragraph, a list or a table."""
    return _SPECIAL.sub(r"\\\g<0>", text)
