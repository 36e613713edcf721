"""The report of an experiment, in Markdown, HTML and JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from html import escape
from pathlib import Path
from statistics import fmean
from typing import Any

from trdec.configuration.values import write_yaml
from trdec.evaluation.comparison import Comparison
from trdec.evaluation.figures import FIGURES, standing_alone
from trdec.evaluation.report import Content, Section, contents, escaped, page, table_markdown, table_section
from trdec.evaluation.tables import EMPTY_CELL, Table, signatures
from trdec.experiment.counts import KeptCounts, counts_of, replace_counts
from trdec.experiment.plan import Plan, shell_command
from trdec.experiment.results import Results, Sample, collect, samples, training_curves
from trdec.files import writing
from trdec.systems import system_name
from trdec.targets.actions import KINDS
from trdec.trees.drawing import draw, tree_svg

SAMPLES = "Translations and their trees"
WIDTH = 110
TALLEST = 40
"""Columns and lines that a tree may take in the Markdown report."""


@dataclass(frozen=True, slots=True)
class ReportFiles:
    """The files of a report."""

    markdown: Path
    html: Path
    json: Path
    counts: Path
    """What BLEU counted, without the text: see `trdec table`."""
    kept: KeptCounts | None = None
    """The counts that were there, if they have runs that these have not."""


def write_report(plan: Plan, failures: Mapping[str, str], command: str, asked: Plan | None = None) -> ReportFiles:
    """Write the report on all finished runs; `failures` says why the others failed, by name.

    Of a plan that covers more than what was asked for, the latter decides whether dev or test is shown.
    """
    results = collect(plan, asked)
    content = list(report_sections(results, failures, command))
    chosen = samples(results)
    folder = plan.directory
    (folder / "figures").mkdir(exist_ok=True)
    for name, svg in (figure for section in content for figure in section.figures):
        _write_text(folder / "figures" / f"{name}.svg", standing_alone(svg))
    reports = (folder / "report.md", folder / "report.html", folder / "report.json")
    written = ReportFiles(*reports, counts=folder / "counts.json")
    title = plan.experiment.title
    _write_text(written.markdown, "\n".join(_markdown(title, content, chosen)) + "\n")
    sections = [_html_section(section) for section in content]
    if chosen:
        sections.insert(-1, Section(SAMPLES, "\n".join(map(_sample_html, chosen)), "samples"))
    _write_text(written.html, page(title, sections))
    _write_text(written.json, json.dumps(report_json(results, failures, command), indent=2, ensure_ascii=False) + "\n")
    return replace(written, kept=replace_counts(written.counts, counts_of(plan, results.comparison.options.tokenise)))


def report_json(results: Results, failures: Mapping[str, str], command: str) -> dict[str, Any]:
    """Every number of the report; what may differ between two repetitions of an experiment is under `runs`."""
    return {
        "title": results.plan.experiment.title,
        "command": command,
        "comparison": results.comparison.to_json(),
        "failures": dict(failures),
        "runs": [
            {
                "system": result.run.system,
                "seed": result.run.seed,
                "commands": {stage: shell_command(words) for stage, words in result.run.commands.items()},
                "training": {key: value for key, value in result.training.items() if key != "depends_on"},
                "translating": {key: value for key, value in result.translating.items() if key != "depends_on"},
                "loss": result.loss and {key: value for key, value in result.loss.items() if key != "depends_on"},
            }
            for result in results.results
        ],
        "ensembles": None if results.ensembles_compared is None else results.ensembles_compared.to_json(),
    }


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A heading, and below it paragraphs, figures (name and SVG), tables and lines to copy."""

    title: str
    text: tuple[str, ...] = ()
    figures: tuple[tuple[str, str], ...] = ()
    tables: tuple[Table, ...] = ()
    code: tuple[str, ...] = ()


def report_sections(results: Results, failures: Mapping[str, str], command: str) -> Iterator[ReportSection]:
    """Everything but the sample translations, in the order of the report."""
    compared = {content.anchor: content for content in contents(results.comparison)}
    yield _scores(results, compared["scores"].table)
    if results.ensembles_compared is not None:
        yield _ensembles(results, results.ensembles_compared)
    if failures:
        yield ReportSection("Runs that failed", tuple(f"{name}: {reason}" for name, reason in failures.items()))
    analyses, last = ("ter", "gain", "lengths", "length-agreement", "words"), ("trees", "shapes", "pairs")
    if any(result.tuning for result in results.results):
        yield _searches(results)
    yield from (_compared(compared[anchor], results.comparison) for anchor in analyses if anchor in compared)
    yield ReportSection(
        "Training",
        ("Dev perplexity of subwords, the only kind of action that all systems share, over updates.",),
        (("training-curves", training_curves(results)),),
        (_perplexities(results),),
    )
    if any(result.loss for result in results.results):
        yield ReportSection("Tree and words in the loss", tables=(_losses(results),))
    yield _budget(results)
    yield ReportSection("Size and speed", tables=(_speed(results),))
    yield from (_compared(compared[anchor], results.comparison) for anchor in last if anchor in compared)
    yield _provenance(results, command)


def _compared(content: Content, comparison: Comparison) -> ReportSection:
    figures = ((content.figure, FIGURES[content.figure](comparison)),) if content.figure else ()
    return ReportSection(content.title, figures=figures, tables=(content.table,))


def _scores(results: Results, table: Table) -> ReportSection:
    experiment, comparison = results.plan.experiment, results.comparison
    _, target = results.plan.text(results.stage)
    table = _with_dev(table, [[result.dev for result in results.of(system)] for system in results.systems()])
    if experiment.published and not results.is_dev:  # the two texts need not be equally hard
        published = [experiment.published.get(system) for system in results.systems()]
        cells = [EMPTY_CELL if score is None else f"{score:.2f}" for score in published]
        rows = tuple((*row, cell) for row, cell in zip(table.rows, cells, strict=True))
        note = "Published scores are the paper's: where corpus or test differ from its, only their order is comparable."
        table = replace(table, header=(*table.header, "published"), rows=rows, notes=(*table.notes, note))
    systems, seeds = len(results.systems()), len(experiment.seeds)
    decoding = experiment.decoding
    search = "beam and length power as chosen on dev" if decoding.is_tuned else f"beam {decoding.beam_size[0]}"
    text = (
        f"{systems} {'system' if systems == 1 else 'systems'}, {seeds} {'seed' if seeds == 1 else 'seeds'}; scored on "
        f"{target.name}, {comparison.sentences:,} sentences, {search}.",
    )
    quoted = tuple(f"{name}: {signature}" for name, signature in signatures(comparison))
    return ReportSection("Scores", text, tables=(table,), code=quoted)


def _with_dev(table: Table, on_dev: Sequence[Sequence[float | None]]) -> Table:
    """The table with a column for the mean of each row's scores on dev, if all of them have such."""
    known = [[bleu for bleu in row if bleu is not None] for row in on_dev]
    if not all(row and len(row) == len(given) for row, given in zip(known, on_dev, strict=True)):
        return table
    rows = tuple((*row, f"{fmean(own):.2f}") for row, own in zip(table.rows, known, strict=True))
    return replace(table, header=(*table.header, "dev BLEU"), rows=rows)


def _ensembles(results: Results, comparison: Comparison) -> ReportSection:
    table = next(content.table for content in contents(comparison) if content.anchor == "scores")
    table = _with_dev(table, [[ensemble.dev] for ensemble in results.ensembles])
    text = "All seeds of a system translate together, with the search of the first seed's model."
    return ReportSection("Ensembles", (text,), tables=(table,))


def _searches(results: Results) -> ReportSection:
    rows = []
    for result in results.results:
        if result.tuning is not None:
            chosen = result.tuning["chosen"]
            figures = (f"{chosen['bleu']['score']:.2f}", f"{chosen['length_ratio']:.3f}", f"{chosen['seconds']:.0f}")
            search = (str(chosen["beam_size"]), f"{chosen['length_power']:g}")
            rows.append((result.run.system, str(result.run.seed), *search, *figures))
    header = ("system", "seed", "beam", "length power", "dev BLEU", "length ratio", "seconds for dev")
    text = "The beam and the length power that were best on dev, of those that the experiment names."
    if results.is_dev:
        text += " The scores above are on the same text, which flatters them a little."
    return ReportSection("How each run searches", (text,), tables=(Table(header, tuple(rows)),))


def _perplexities(results: Results) -> Table:
    kinds = list(dict.fromkeys(kind for result in results.results for kind in result.training["dev_perplexity"]))
    rows = []
    for system in results.systems():
        cells = [system, f"{results.mean(system, lambda result: result.training['best_update']):,.0f}"]
        for kind in kinds:
            found = [result.training["dev_perplexity"].get(kind) for result in results.of(system)]
            known = [value for value in found if value is not None]
            cells.append(f"{sum(known) / len(known):.2f}" if known else EMPTY_CELL)
        rows.append(tuple(cells))
    note = "Dev perplexity by kind of action at the best update, mean over seeds. Kinds differ between systems."
    return Table(("system", "best update", *kinds), tuple(rows), (note,))


def _losses(results: Results) -> Table:
    found = {system: [result.loss for result in results.of(system) if result.loss] for system in results.systems()}
    kinds = [
        kind for kind in KINDS.values() if any(kind in loss["kinds"] for losses in found.values() for loss in losses)
    ]
    rows = []
    for system, losses in found.items():
        if not losses:
            rows.append((system, *[EMPTY_CELL] * (3 + len(kinds))))
            continue
        pairs = f"{losses[0]['sentences']:,} of {losses[0]['sentences'] + losses[0]['left_out']:,}"
        parts = [_loss([loss["kinds"][kind] for loss in losses if kind in loss["kinds"]]) for kind in kinds]
        tree = _loss([loss["tree"] for loss in losses])
        total = fmean(loss["total"]["nats_per_sentence"] for loss in losses)
        rows.append((system, pairs, f"{total:.2f}", tree, *parts))
    notes = (
        "Negative log-probability of the dev references and their trees, in nats per sentence, and the share of each "
        "part; means over seeds. The tree is everything but the words. Pairs that a system cannot write are left out.",
    )
    return Table(("system", "dev pairs", "nats per sentence", "tree", *kinds), tuple(rows), notes)


def _loss(parts: Sequence[Mapping[str, float]]) -> str:
    if not parts:
        return EMPTY_CELL
    nats, share = (fmean(part[name] for part in parts) for name in ("nats_per_sentence", "share"))
    return f"{nats:.2f} ({100 * share:.0f}%)"


def _budget(results: Results) -> ReportSection:
    header = ("system", "updates", "examples", "tree versions", "times each pair was seen", "actions per update")
    rows = []
    for system in results.systems():
        updates = results.mean(system, lambda result: result.training["updates"])
        examples = results.mean(system, lambda result: result.training["sentences"])
        actions = results.mean(system, lambda result: result.training["actions"])
        figures = (f"{updates:,.0f}", f"{examples:,.0f}", str(results.tree_versions(system)))
        rows.append((system, *figures, f"{examples / results.pairs:.2f}", f"{actions / updates:,.0f}"))
    changed = {row.name: row.changes for row in results.plan.experiment.systems if row.changes}
    alike = [run.training for run in results.plan.runs if run.system not in changed]
    whose = "All systems that are not named below" if changed else "All systems"
    text = [
        *(
            f"{whose} were given the same training: {training.training.max_updates:,} updates with batches of "
            f"{training.batches.batch_size:,} {training.batches.batch_type}, the same network size, learning rate, "
            "schedule and subwords; none was tuned separately."
            for training in alike[:1]
        ),
        f"The training text has {results.pairs:,} sentence pairs.",
        *(f"{name} has changes of its own: {_said(changes)}." for name, changes in changed.items()),
        "A system with two tree versions (trdec-binary) has each pair twice among its examples, once with each tree. "
        "The budget is in updates, so it does not see more pairs than the others: it sees each tree half as often.",
    ]
    said = {run.system: system_name(run.training.system) for run in results.plan.runs}
    if own := [f"{name} is {system}" for name, system in said.items() if name != system]:
        text.append(f"Trees, transforms, target and decoder: {'; '.join(own)}.")
    if any(run.training.batches.batch_type == "actions" for run in results.plan.runs):
        text.append("Batches are counted in actions: systems with longer derivations see fewer pairs per update.")
    return ReportSection("What each system was given", tuple(text), tables=(Table(header, tuple(rows)),))


def _said(changes: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {write_yaml(value)}" for key, value in changes.items())


def _speed(results: Results) -> Table:
    header = ("system", "parameters", "training time", "actions/s", "pairs/s", "translating, sentences/s")
    rows = []
    for system in results.systems():
        seconds = results.mean(system, lambda result: result.training["seconds"])
        actions = results.mean(system, lambda result: result.training["actions"] / result.training["seconds"])
        pairs = results.mean(system, lambda result: result.training["sentences"] / result.training["seconds"])
        rate = results.mean(system, lambda result: result.translating["sentences"] / result.translating["seconds"])
        size = results.mean(system, lambda result: result.training["parameters"])
        time = str(timedelta(seconds=round(seconds)))
        rows.append((system, f"{size:,.0f}", time, f"{actions:,.0f}", f"{pairs:,.1f}", f"{rate:,.1f}"))
    note = "One thread per run, as many runs at a time as were asked for; translation times include loading."
    return Table(header, tuple(rows), (note,))


def _provenance(results: Results, command: str) -> ReportSection:
    versions = results.results[0].training["versions"]
    listed = ", ".join(f"{name} {value}" for name, value in versions.items())
    runs = [result.run for result in results.results] + [ensemble.run for ensemble in results.ensembles]
    commands = [shell_command(stage) for run in runs for stage in run.commands.values()]
    text = ("The first command wrote this report and ran the others.", f"Versions: {listed}.")
    return ReportSection("Commands and versions", text, code=(command, *commands))


def _markdown(title: str, content: Sequence[ReportSection], chosen: Sequence[Sample]) -> Iterator[str]:
    yield f"# {escaped(title)}"
    for number, section in enumerate(content):
        if chosen and number == len(content) - 1:
            yield from ("", f"## {SAMPLES}", *(line for sample in chosen for line in _sample_markdown(sample)))
        yield from ("", f"## {section.title}")
        yield from (line for text in section.text for line in ("", escaped(text)))
        yield from (line for name, _ in section.figures for line in ("", f"![{name}](figures/{name}.svg)"))
        for table in section.tables:
            yield from ("", *table_markdown(table))
        if section.code:
            yield from ("", "```text", *section.code, "```")


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


def _html_section(section: ReportSection) -> Section:
    html = [f"<p>{escape(text)}</p>" for text in section.text]
    html += [f"<figure>\n{svg}</figure>" for _, svg in section.figures]
    html += [table_section(table) for table in section.tables]
    if section.code:
        html.append("<pre>" + escape("\n".join(section.code)) + "</pre>")
    return Section(section.title, "\n".join(html), re.sub(r"[^a-z]+", "-", section.title.lower()).strip("-"))


def _sample_html(sample: Sample) -> str:
    html = [f"<h3>Line {sample.line:,}</h3>\n<dl>"]
    html.append(f"<dt>source</dt><dd>{escape(sample.source)}</dd>")
    html.append(f"<dt>reference</dt><dd>{escape(sample.reference)}</dd>")
    for system, text, tree in sample.translations:
        html.append(f"<dt>{escape(system)}</dt><dd>{escape(text) or '<em>nothing</em>'}</dd>")
        if tree is not None:
            html.append(f'<dd><div class="scroll">{tree_svg(tree)}</div></dd>')
    return "\n".join([*html, "</dl>"])


def _write_text(path: Path, text: str) -> None:
    with writing(path) as stream:
        stream.write(text)
