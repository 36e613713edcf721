"""One table of the runs of several experiments, with tests, from the counts that each left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

from trdec.errors import UsageError
from trdec.evaluation.counts import CountedBLEU, CountedByLength, counted_by_length
from trdec.evaluation.scores import Output
from trdec.evaluation.significance import PairedTests, Significance, pair_seeds, without_partner
from trdec.evaluation.tables import EMPTY_CELL, Table, marks_notes, unpaired_notes, with_deviation
from trdec.experiment.counts import CountedRun, CountsFile, Text


def counts_tables(content: CountsFile, text: Text) -> Iterator[tuple[str, Table]]:
    """The table of all runs, and that of all ensembles if there are any, each with its title; the content is joined."""
    published = content.published if text == "test" else {}
    yield "Runs", _table(_single(content, text), text, content.tokenise, published)
    if ensembles := [run for run in content.runs if text in run.counts and len(run.seeds) > 1]:
        yield "Ensembles", _table(ensembles, text, content.tokenise, {})


def counts_by_length(content: CountsFile, text: Text) -> CountedByLength:
    """All runs but ensembles, by the length of references and translations."""
    systems: dict[str, list[Output]] = {}
    for output in _outputs(_single(content, text), text):
        systems.setdefault(output.system, []).append(output)
    return counted_by_length(systems, content.tokenise)


def _single(content: CountsFile, text: Text) -> list[CountedRun]:
    """The runs of one model each that were scored on this text, of which there must be some."""
    single = [run for run in content.runs if text in run.counts and len(run.seeds) == 1]
    if not single:
        raise UsageError(
            f"expected runs of one model that were scored on {text}, found none. Choose the other `text`, or counts of "
            "another experiment."
        )
    return single


def join_counts(
    files: Sequence[tuple[Path, CountsFile]],
    systems: Sequence[str] = (),
    texts: Sequence[Text] = ("dev", "test"),
) -> CountsFile:
    """The runs of several files as one content: systems in the order of the files, and in each its seeds in order.

    Systems that are named are chosen, in the order of their names. Only what is chosen must fit together. Dev and test
    of one run may stand in two files.
    """
    _check_names(files, systems)
    files = [(path, _chosen(content, systems, texts)) for path, content in files]
    _check_same_text(files)
    _check_recipes(files)
    joined: dict[str, tuple[Path, CountedRun]] = {}
    for path, content in files:
        for run in content.runs:
            joined[run.name] = path, _one_run(*joined[run.name], path, run) if run.name in joined else run
    order = list(dict.fromkeys((*systems, *(run.system for _, run in joined.values()))))
    runs = sorted(
        (run for _, run in joined.values()), key=lambda run: (len(run.seeds) > 1, order.index(run.system), run.seeds)
    )
    first = files[0][1]
    return CountsFile(
        title=first.title,
        tokenise=first.tokenise,
        texts={name: text for _, content in files for name, text in content.texts.items()},
        published={system: score for _, content in files for system, score in content.published.items()},
        runs=tuple(runs),
    )


def _check_names(files: Sequence[tuple[Path, CountsFile]], systems: Sequence[str]) -> None:
    there = list(dict.fromkeys(run.system for _, content in files for run in content.runs))
    for system in systems:
        if system not in there:
            raise UsageError(f"expected a system that was counted, one of {', '.join(there)}; found {system!r}.")


def _chosen(content: CountsFile, systems: Sequence[str], texts: Sequence[Text]) -> CountsFile:
    runs: list[CountedRun] = []
    for run in content.runs:
        counts = {text: lines for text, lines in run.counts.items() if text in texts}
        if counts and (not systems or run.system in systems):
            runs.append(run.model_copy(update={"counts": counts}))
    there = {text: named for text, named in content.texts.items() if any(text in run.counts for run in runs)}
    return content.model_copy(update={"runs": tuple(runs), "texts": there})


def _one_run(one_path: Path, one: CountedRun, other_path: Path, other: CountedRun) -> CountedRun:
    """A run whose texts were counted in two files."""
    if one.counts.keys() & other.counts.keys():
        raise UsageError(f"{one.name} is both in {one_path} and in {other_path}. Leave one of the two out.")
    own, others = ({key: value for key, value in run if value is not None and key != "counts"} for run in (one, other))
    for key in ("beam_size", "length_power"):
        if key in own and key in others and own[key] != others[key]:
            raise UsageError(
                f"{one.name} was searched with the {key.replace('_', ' ')} {own[key]:g} in {one_path} and with "
                f"{others[key]:g} in {other_path}: these are not dev and test of one run. Leave one of the two out."
            )
    return CountedRun(**others | own, counts=one.counts | other.counts)


def signature(content: CountsFile) -> str:
    """sacreBLEU's signature of the scores."""
    return str(CountedBLEU(content.tokenise).get_signature())


def _check_same_text(files: Sequence[tuple[Path, CountsFile]]) -> None:
    first_path, first = files[0]
    for path, content in files[1:]:
        if content.tokenise != first.tokenise:
            raise UsageError(
                f"{first_path} has BLEU with the tokeniser {first.tokenise}, {path} with {content.tokenise}: their "
                "scores cannot stand in one table."
            )
    names: tuple[Text, ...] = ("dev", "test")
    for name in names:
        of_files = [
            (path, (content.texts[name].checksum, content.texts[name].sentences))
            for path, content in files
            if name in content.texts
        ]
        for path, found in of_files[1:]:
            if found != of_files[0][1]:
                raise UsageError(
                    f"{of_files[0][0]} and {path} were scored on different texts: each has its own {name}."
                )


def _check_recipes(files: Sequence[tuple[Path, CountsFile]]) -> None:
    seen: dict[str, tuple[str, Path]] = {}
    for path, content in files:
        for run in content.runs:
            recipe, before = seen.setdefault(run.system, (run.recipe, path))
            if recipe != run.recipe:
                raise UsageError(
                    f"{run.system} was trained with one configuration in {before} and with another in {path}: these "
                    "are not seeds of one system. Leave one of the two out."
                )


@dataclass(frozen=True)
class _Row:
    """One system: its runs, their scores on the text that is shown, and how it differs from the first system."""

    system: str
    runs: Sequence[CountedRun]
    scores: Sequence[float]
    paired: Significance | None


def _table(runs: Sequence[CountedRun], text: Text, tokenise: str, published: dict[str, float]) -> Table:
    metric = CountedBLEU(tokenise)
    tests = PairedTests(metric)
    by_system: dict[str, list[CountedRun]] = {}
    for run in runs:
        by_system.setdefault(run.system, []).append(run)
    rows: list[_Row] = []
    for system, own in by_system.items():
        scores = [metric.of(run.counts[text]) for run in own]
        first = rows[0] if rows else None
        theirs, ours = _outputs(first.runs if first else (), text), _outputs(own, text)
        pairs = pair_seeds(theirs, ours) if first else []
        paired = tests.test_pairs(pairs, without_partner([*theirs, *ours], pairs)) if pairs else None
        rows.append(_Row(system, own, scores, paired))

    def on_dev(row: _Row) -> str:
        return _cell([metric.of(run.counts["dev"]) for run in row.runs if "dev" in run.counts])

    def tested(shown: Callable[[Significance], str]) -> Callable[[_Row], str]:
        return lambda row: EMPTY_CELL if row.paired is None else shown(row.paired)

    columns: dict[str, Callable[[_Row], str]] = {
        "system": lambda row: row.system,
        "seeds": lambda row: ", ".join(_joined(run.seeds) for run in row.runs),
        f"{text} BLEU": lambda row: _cell(row.scores, row.paired),
        **({"dev BLEU": on_dev} if text != "dev" else {}),
        "gain": tested(lambda paired: f"{paired.difference:+.2f}"),
        "p bootstrap": tested(lambda paired: f"{paired.p_bootstrap:.4f}"),
        "p randomisation": tested(lambda paired: f"{paired.p_randomisation:.4f}"),
        **_search_columns(runs),
        "minutes to train": lambda row: _mean([run.seconds for run in row.runs], 60, "{:.0f}"),
        "parameters": lambda row: _mean([run.parameters for run in row.runs], 1_000_000, "{:.1f} M"),
    }
    if published:
        columns["published"] = lambda row: f"{published[row.system]:.2f}" if row.system in published else EMPTY_CELL
    means = [fmean(row.scores) for row in rows]
    several = len(rows) < len(runs)
    notes = ["Means over seeds ± sample standard deviations."] if several else []
    if len(rows) > 1:
        notes += marks_notes(rows[0].system, tests.samples, tests.trials, tests.seed, several)
    notes += unpaired_notes((row.system, row.paired.untested) for row in rows if row.paired)
    if mixed := [row.system for row in rows if len({(run.beam_size, run.length_power) for run in row.runs}) > 1]:
        notes.append(
            f"Runs of {', '.join(mixed)} were searched in different ways: beams or length powers are listed in the "
            "order of the seeds."
        )
    return Table(
        tuple(columns),
        tuple(tuple(cell(row) for cell in columns.values()) for row in rows),
        tuple(notes),
        frozenset((number, 2) for number, mean in enumerate(means) if mean == max(means)),
    )


def _search_columns(runs: Sequence[CountedRun]) -> dict[str, Callable[[_Row], str]]:
    """How each row was searched, as far as that is known of any run."""
    columns: dict[str, Callable[[_Row], str]] = {
        "beam": lambda row: _each([run.beam_size for run in row.runs]),
        "length power": lambda row: _each([run.length_power for run in row.runs]),
    }
    is_known = any(run.beam_size is not None or run.length_power is not None for run in runs)
    return columns if is_known else {}


def _outputs(runs: Sequence[CountedRun], text: Text) -> list[Output]:
    return [Output(run.system, run.name, run.counts[text], _joined(run.seeds)) for run in runs]


def _joined(seeds: Sequence[int]) -> str:
    return "+".join(map(str, seeds))


def _cell(scores: Sequence[float], paired: Significance | None = None) -> str:
    if not scores:
        return EMPTY_CELL
    deviation = stdev(scores) if len(scores) > 1 else None
    return with_deviation(fmean(scores), deviation) + (paired.mark if paired else "")


def _each(values: Sequence[float | None]) -> str:
    """The value that all have, or the value of each."""
    cells = [
        EMPTY_CELL if value is None else f"{value:g}" if isinstance(value, float) else str(value) for value in values
    ]
    return cells[0] if len(set(cells)) == 1 else ", ".join(cells)


def _mean(values: Sequence[float | None], unit: float, form: str) -> str:
    known = [value / unit for value in values if value is not None]
    return form.format(fmean(known)) if known else EMPTY_CELL
