"""A comparison written as Markdown and as an HTML page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape

from rich.cells import cell_len

from trdec.evaluation.comparison import Comparison
from trdec.evaluation.figures import FIGURES
from trdec.evaluation.lengths import ByLength
from trdec.evaluation.tables import (
    Table,
    buckets_table,
    length_agreement_table,
    lengths_table,
    pairs_table,
    scores_table,
    shapes_table,
    signatures,
    ter_table,
    trees_table,
    word_accuracy_table,
)
from trdec.files import split_words


@dataclass(frozen=True, slots=True)
class Content:
    """A table with its title, the anchor for links, and the name of its figure, if any."""

    title: str
    anchor: str
    table: Table
    figure: str | None = None


def contents(comparison: Comparison) -> Iterator[Content]:
    """The tables of this comparison."""
    yield Content("Scores", "scores", scores_table(comparison))
    if (ter := ter_table(comparison)) is not None:
        yield Content("Significance of TER", "ter", ter)
    yield from length_contents(comparison)
    candidates: tuple[tuple[str, str, Callable[[Comparison], Table | None], str | None], ...] = (
        ("Words by frequency in the training text", "words", word_accuracy_table, "word-accuracy"),
        ("Pairs of seeds", "pairs", pairs_table, None),
        ("Trees of the translations", "trees", trees_table, None),
        ("Shapes of the trees", "shapes", shapes_table, None),
    )
    for title, anchor, make, figure in candidates:
        table = make(comparison)
        if table is not None:
            yield Content(title, anchor, table, figure)


def length_contents(comparison: ByLength) -> Iterator[Content]:
    """The tables that need no more than lengths: those of the paper's figures 4 and 5, and what follows from them."""
    gain = "gain-by-length" if len(comparison.systems) > 1 else None
    yield Content("BLEU by length of the reference", "gain", buckets_table(comparison), gain)
    yield Content("Length of the translation", "lengths", lengths_table(comparison), "length-differences")
    agreement = length_agreement_table(comparison)
    yield Content("Agreement with the reference's length", "length-agreement", agreement, "output-lengths")


# What Markdown, or the HTML inside it, would interpret.
_SPECIAL = re.compile(r"[\\`*_\[\]|~]|<(?=[A-Za-z/!?])|&(?=[A-Za-z#])")


def comparison_markdown(comparison: Comparison) -> str:
    """The whole comparison: a section for each table, the sentences that differ most, the signatures."""
    return "\n".join(_lines(comparison)) + "\n"


def _lines(comparison: Comparison) -> Iterator[str]:
    yield f"# {len(comparison.systems)} systems on {comparison.sentences:,} sentences"
    for content in contents(comparison):
        yield from ("", f"## {content.title}", "", *table_markdown(content.table))
    if comparison.different:
        yield from ("", "## Sentences that differ most", *_markdown_differences(comparison))
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


def _markdown_differences(comparison: Comparison) -> Iterator[str]:
    names = [row.name for row in comparison.systems]
    for difference in comparison.different:
        yield from ("", f"### Line {difference.index:,}, chrF++ {difference.spread:.1f} apart", "")
        yield f"- reference: {escaped(difference.reference)}"
        for name, text, score in zip(names, difference.texts, difference.scores, strict=True):
            yield f"- {escaped(name)} ({score:.1f}): {escaped(text) or '(nothing)'}"


def escaped(text: str) -> str:
    """The text escaped for Markdown, in a paragraph, a list or a table."""
    return _SPECIAL.sub(r"\\\g<0>", text)


STYLE = """
:root {
  color-scheme: light dark;
  --paper: #fcfcfa; --ink: #1d2126; --quiet: #5b6570; --line: #d9dde1; --band: #f1f3f4;
  --accent: #00567f; --mark: #ffe3b3;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14181c; --ink: #e7eaec; --quiet: #9aa5af; --line: #333b43; --band: #1c2227;
    --accent: #7cc4ef; --mark: #5a4312;
  }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 1.05rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
header { padding: 2.5rem 1.25rem 1rem; max-width: 78rem; margin: auto; }
h1 { font-size: clamp(1.6rem, 4vw, 2.5rem); line-height: 1.2; margin: 0; letter-spacing: -0.015em; text-wrap: balance; }
h2 { font-size: 1.4rem; line-height: 1.3; margin: 0 0 1rem; }
h3 { font-size: 1.05rem; margin: 2rem 0 0.5rem; }
.layout { max-width: 78rem; margin: auto; padding: 0 1.25rem 4rem; }
nav ol { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; }
nav a { color: var(--accent); text-decoration: none; }
nav a:hover, nav a:focus-visible { text-decoration: underline; }
main { min-width: 0; }
section { padding: 2rem 0; border-top: 1px solid var(--line); }
nav + main section:first-child { margin-top: 1.25rem; }
figure { margin: 0 0 1.5rem; max-width: 46rem; }
figure svg { display: block; width: 100%; height: auto; }
.scroll { overflow-x: auto; -webkit-overflow-scrolling: touch; margin: 0 0 0.75rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; min-width: min(100%, 34rem); }
th, td { padding: 0.4rem 0.7rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--quiet); border-bottom-width: 2px; white-space: normal; vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; padding-left: 0.4rem; }
tbody tr:hover { background: var(--band); }
td strong { color: var(--accent); }
.note { color: var(--quiet); font-size: 0.92rem; margin: 0.35rem 0; max-width: 60rem; }
code { font: 0.88em ui-monospace, "SF Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
pre {
  font: 0.82rem/1.6 ui-monospace, "SF Mono", Menlo, Consolas, monospace; background: var(--band);
  padding: 0.8rem 1rem; border-radius: 0.4rem; white-space: pre-wrap; overflow-wrap: anywhere;
}
dl { margin: 0; }
dt { color: var(--quiet); font-size: 0.92rem; }
dd { margin: 0 0 0.6rem; overflow-wrap: anywhere; }
mark { background: var(--mark); color: inherit; border-radius: 0.2em; padding: 0 0.15em; }
@media (min-width: 64rem) {
  .layout { display: grid; grid-template-columns: 13rem minmax(0, 1fr); gap: 3rem; }
  nav { position: sticky; top: 2rem; align-self: start; padding-top: 2rem; }
  nav ol { flex-direction: column; gap: 0.5rem; }
  nav + main section:first-child { margin-top: 0; }
}
@media print { nav { display: none; } .layout { display: block; } section { break-inside: avoid; } }
""".strip()


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a page: its title as text, its content as HTML, and the anchor for links."""

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
    """A table that scrolls by itself where it is wider than the screen; cells in `best` stand out."""
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
    """The sections of a comparison, without empty ones."""
    return list(_sections(comparison))


def _sections(comparison: Comparison) -> Iterator[Section]:
    for content in contents(comparison):
        figure = f"<figure>\n{FIGURES[content.figure](comparison)}</figure>\n" if content.figure else ""
        yield Section(content.title, figure + table_section(content.table), content.anchor)
    if comparison.different:
        yield Section("Sentences that differ most", _page_differences(comparison), "differences")
    items = (f"<dt>{escape(name)}</dt><dd><code>{escape(text)}</code></dd>" for name, text in signatures(comparison))
    yield Section("Signatures", "<dl>\n" + "\n".join(items) + "\n</dl>", "signatures")


def table_section(table: Table) -> str:
    """The table and its notes."""
    notes = (f'<p class="note">{escape(note)}</p>' for note in table.notes)
    return "\n".join((table_html(table.header, table.rows, table.best), *notes))


def _page_differences(comparison: Comparison) -> str:
    has_spaces = comparison.word_tokeniser == "none"
    split, between = (split_words, " ") if has_spaces else (_characters, "")
    what = "Words" if has_spaces else "Characters"
    parts = [f'<p class="note">{what} that the reference does not have in that place are marked.</p>']
    for difference in comparison.different:
        parts.append(f"<h3>Line {difference.index:,}, chrF++ {difference.spread:.1f} apart</h3>\n<dl>")
        parts.append(f"<dt>reference</dt><dd>{escape(difference.reference)}</dd>")
        for row, text, score in zip(comparison.systems, difference.texts, difference.scores, strict=True):
            marked = _marked(split(text), split(difference.reference), between) or "<em>nothing</em>"
            parts.append(f"<dt>{escape(row.name)}, {score:.1f}</dt><dd>{marked}</dd>")
        parts.append("</dl>")
    return "\n".join(parts)


def _characters(text: str) -> list[str]:
    """What a reader takes for a character: a letter with all its marks."""
    import regex  # slow to import

    found: list[str] = regex.findall(r"\X", text)
    return found


def _marked(words: Sequence[str], reference: Sequence[str], between: str) -> str:
    """The words, joined, with those marked that a shortest edit of the reference would insert."""
    matcher = SequenceMatcher(None, reference, words, autojunk=False)
    parts = []
    for kind, _, _, start, end in matcher.get_opcodes():
        if start < end:
            run = escape(between.join(words[start:end]))
            parts.append(run if kind == "equal" else f"<mark>{run}</mark>")
    return between.join(parts)
