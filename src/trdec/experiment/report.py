"""The report of an experiment: Markdown, a page of HTML, and JSON for machines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from trdec.evaluation.markdown import escaped, table_markdown
from trdec.evaluation.page import Section, page, table_section
from trdec.experiment.parts import Part, parts
from trdec.experiment.plan import Plan
from trdec.experiment.results import Results, collect
from trdec.experiment.samples import Sample, samples
from trdec.text.lines import writing
from trdec.trees.drawing import draw
from trdec.trees.svg import tree_svg

SAMPLES = "Translations and their trees"
WIDTH = 110
TALLEST = 40
"""Columns and lines that a tree may take in the Markdown report."""


@dataclass(frozen=True, slots=True)
class Written:
    """Where the report is."""

    markdown: Path
    html: Path
    json: Path


def write_report(plan: Plan, failures: Mapping[str, str], command: str) -> Written:
    """Write the report on all finished runs; `failures` are the reasons of the others, by name."""
    results = collect(plan)
    content = list(parts(results, failures, command))
    chosen = samples(results)
    folder = plan.directory
    (folder / "figures").mkdir(exist_ok=True)
    for name, svg in (figure for part in content for figure in part.figures):
        _write(folder / "figures" / f"{name}.svg", _standing_alone(svg))
    written = Written(folder / "report.md", folder / "report.html", folder / "report.json")
    title = plan.experiment.title
    _write(written.markdown, "\n".join(_markdown(title, content, chosen)) + "\n")
    sections = [_section(part) for part in content]
    if chosen:
        sections.insert(-1, Section(SAMPLES, "\n".join(map(_sample_html, chosen)), "samples"))
    _write(written.html, page(title, sections))
    _write(written.json, json.dumps(report_json(results, failures, command), indent=2, ensure_ascii=False) + "\n")
    return written


def report_json(results: Results, failures: Mapping[str, str], command: str) -> dict[str, Any]:
    """Every number of the report; what may differ between two runs of the same experiment is under `runs`."""
    return {
        "title": results.plan.experiment.title,
        "command": command,
        "comparison": results.comparison.to_json(),
        "failures": dict(failures),
        "runs": [
            {
                "system": result.run.system,
                "seed": result.run.seed,
                "commands": {stage: f"trdec {' '.join(words)}" for stage, words in result.run.commands.items()},
                "training": {key: value for key, value in result.training.items() if key != "depends_on"},
                "translating": {key: value for key, value in result.translating.items() if key != "depends_on"},
            }
            for result in results.results
        ],
    }


def _markdown(title: str, content: Sequence[Part], chosen: Sequence[Sample]) -> Iterator[str]:
    yield f"# {escaped(title)}"
    for number, part in enumerate(content):
        if chosen and number == len(content) - 1:
            yield from ("", f"## {SAMPLES}", *(line for sample in chosen for line in _sample_markdown(sample)))
        yield from ("", f"## {part.title}")
        yield from (line for text in part.text for line in ("", escaped(text)))
        yield from (line for name, _ in part.figures for line in ("", f"![{name}](figures/{name}.svg)"))
        for table in part.tables:
            yield from ("", *table_markdown(table))
        if part.code:
            yield from ("", "```text", *part.code, "```")


def _sample_markdown(sample: Sample) -> Iterator[str]:
    yield from ("", f"### Line {sample.line:,}", "")
    yield f"- source: {escaped(sample.source)}"
    yield f"- reference: {escaped(sample.reference)}"
    for system, text, tree in sample.translations:
        yield from ("", f"{escaped(system)}: {escaped(text) or '(nothing)'}")
        if tree is not None:
            yield from ("", "```text", *_short(list(draw(tree, WIDTH))), "```")


def _short(lines: list[str]) -> list[str]:
    """The drawing of a tree, cut where it would fill the page."""
    return lines if len(lines) <= TALLEST else [*lines[:TALLEST], "..."]


def _section(part: Part) -> Section:
    html = [f"<p>{escape(text)}</p>" for text in part.text]
    html += [f"<figure>\n{svg}</figure>" for _, svg in part.figures]
    html += [table_section(table) for table in part.tables]
    if part.code:
        html.append("<pre>" + escape("\n".join(part.code)) + "</pre>")
    return Section(part.title, "\n".join(html), re.sub(r"[^a-z]+", "-", part.title.lower()).strip("-"))


def _sample_html(sample: Sample) -> str:
    html = [f"<h3>Line {sample.line:,}</h3>\n<dl>"]
    html.append(f"<dt>source</dt><dd>{escape(sample.source)}</dd>")
    html.append(f"<dt>reference</dt><dd>{escape(sample.reference)}</dd>")
    for system, text, tree in sample.translations:
        html.append(f"<dt>{escape(system)}</dt><dd>{escape(text) or '<em>nothing</em>'}</dd>")
        if tree is not None:
            html.append(f'<dd><div class="scroll">{tree_svg(tree)}</div></dd>')
    return "\n".join([*html, "</dl>"])


def _standing_alone(svg: str) -> str:
    """A figure as a file of its own: black on white, whatever is around it."""
    return svg.replace("<svg ", '<svg style="background: white; color: black" ', 1) + "\n"


def _write(path: Path, text: str) -> None:
    with writing(path) as stream:
        stream.write(text)
