"""A report as one HTML file that needs no network: sections, tables, and a comparison told with both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape

from trdec.evaluation.comparison import Comparison
from trdec.evaluation.contents import contents
from trdec.evaluation.figures import FIGURES
from trdec.evaluation.page_style import STYLE
from trdec.evaluation.tables import Table, signatures
from trdec.text.lines import split_words


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page: its title as text, its content as HTML, and the name that links lead to."""

    title: str
    html: str
    anchor: str


def page(title: str, sections: Sequence[Section]) -> str:
    """The whole HTML file: title, contents, sections."""
    links = "\n".join(
        f'<li><a href="#{escape(section.anchor)}">{escape(section.title)}</a></li>' for section in sections
    )
    content = "\n".join(
        f'<section id="{escape(section.anchor)}">\n<h2>{escape(section.title)}</h2>\n{section.html}\n</section>'
        for section in sections
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n"
        f"<header><h1>{escape(title)}</h1></header>\n"
        f'<div class="layout">\n<nav aria-label="Contents"><ol>\n{links}\n</ol></nav>\n'
        f"<main>\n{content}\n</main>\n</div>\n</body>\n</html>\n"
    )


def table_html(
    header: Sequence[str], rows: Sequence[Sequence[str]], best: frozenset[tuple[int, int]] = frozenset()
) -> str:
    """A table of text that scrolls by itself where it is wider than the screen; cells of `best` stand out."""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    body = "\n".join(
        "<tr>"
        + "".join(
            f"<td><strong>{escape(cell)}</strong></td>" if (number, column) in best else f"<td>{escape(cell)}</td>"
            for column, cell in enumerate(row)
        )
        + "</tr>"
        for number, row in enumerate(rows)
    )
    return f'<div class="scroll"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>'


def comparison_sections(comparison: Comparison) -> list[Section]:
    """The sections of a comparison, those without content left out."""
    return list(_sections(comparison))


def _sections(comparison: Comparison) -> Iterator[Section]:
    for content in contents(comparison):
        figure = f"<figure>\n{FIGURES[content.figure](comparison)}</figure>\n" if content.figure else ""
        yield Section(content.title, figure + table_section(content.table), content.anchor)
    if comparison.different:
        yield Section("Sentences that differ most", _differences(comparison), "differences")
    items = (f"<dt>{escape(name)}</dt><dd><code>{escape(text)}</code></dd>" for name, text in signatures(comparison))
    yield Section("Signatures", "<dl>\n" + "\n".join(items) + "\n</dl>", "signatures")


def table_section(table: Table) -> str:
    """The table and its notes."""
    notes = (f'<p class="note">{escape(note)}</p>' for note in table.notes)
    return "\n".join((table_html(table.header, table.rows, table.best), *notes))


def _differences(comparison: Comparison) -> str:
    parts = ['<p class="note">Words that the reference does not have in that place are marked.</p>']
    for difference in comparison.different:
        parts.append(f"<h3>Line {difference.index:,}, chrF++ {difference.spread:.1f} apart</h3>\n<dl>")
        parts.append(f"<dt>reference</dt><dd>{escape(difference.reference)}</dd>")
        for row, text, score in zip(comparison.systems, difference.texts, difference.scores, strict=True):
            marked = _marked(text, difference.reference) or "<em>nothing</em>"
            parts.append(f"<dt>{escape(row.name)}, {score:.1f}</dt><dd>{marked}</dd>")
        parts.append("</dl>")
    return "\n".join(parts)


def _marked(text: str, reference: str) -> str:
    """The text with those words marked that a shortest edit of the reference would put in."""
    words = split_words(text)
    matcher = SequenceMatcher(None, split_words(reference), words, autojunk=False)
    parts = []
    for kind, _, _, start, end in matcher.get_opcodes():
        if start < end:
            run = escape(" ".join(words[start:end]))
            parts.append(run if kind == "equal" else f"<mark>{run}</mark>")
    return " ".join(parts)
