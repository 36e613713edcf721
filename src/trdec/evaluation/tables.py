"""A comparison as tables of text, the same for every way of showing them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trdec.evaluation.comparison import Comparison, SystemRow
from trdec.evaluation.significance import LEVELS

EMPTY_CELL = "-"
"""In place of a missing figure, such as the deviation of one seed."""

LENGTH_GROUPS: tuple[tuple[int | None, int | None], ...] = (
    (None, -10),
    (-9, -5),
    (-4, -2),
    (-1, 1),
    (2, 4),
    (5, 9),
    (10, None),
)
"""Differences of length that a table shows as one column."""


@dataclass(frozen=True, slots=True)
class Table:
    """Cells of text under a header, and notes below them."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    best: frozenset[tuple[int, int]] = frozenset()
    """The cells (row, column) that stand out."""


def scores_table(comparison: Comparison) -> Table:
    """The paper's table of results: BLEU with deviation and mark, chrF++, length ratio, tests."""
    systems, tested = comparison.systems, comparison.options.significance
    header = ("system", "seeds", "BLEU", "chrF++", "length ratio", "gain", "p bootstrap", "p randomisation")
    rows = tuple(tuple(_scores_row(row, row is systems[0])) for row in systems)
    means = [row.mean for row in systems]
    best = frozenset((number, 2) for number, mean in enumerate(means) if mean == max(means))
    width = len(header) if tested else len(header) - 2
    return Table(header[:width], tuple(row[:width] for row in rows), tuple(_scores_notes(comparison)), best)


def _scores_row(row: SystemRow, is_first: bool) -> Iterator[str]:
    yield row.name
    yield str(len(row.scores))
    yield with_deviation(row.mean, row.std) + (row.paired.mark if row.paired else "")
    yield with_deviation(row.chrf_mean, row.chrf_std)
    yield f"{row.length_ratio:.3f}"
    yield EMPTY_CELL if is_first else f"{row.difference:+.2f}"
    yield f"{row.paired.p_bootstrap:.4f}" if row.paired else EMPTY_CELL
    yield f"{row.paired.p_randomisation:.4f}" if row.paired else EMPTY_CELL


def _scores_notes(comparison: Comparison) -> Iterator[str]:
    options = comparison.options
    first = comparison.systems[0].name
    several = any(len(row.scores) > 1 for row in comparison.systems)
    if several:
        yield "Means over seeds ± sample standard deviations."
    if options.significance:
        marks = ", ".join(f"{mark} p < {level:g}" for level, mark in reversed(LEVELS))
        yield (
            f"{marks}: the difference from {first} by paired bootstrap ({options.samples:,} samples) and by "
            f"approximate randomisation ({options.trials:,} trials) both, seed {options.seed}."
        )
        if several:
            yield "Seeds are tested pair by pair: p is the largest over the pairs, and a mark needs all of them."
    else:
        yield f"The gain is over {first}; significance was not tested."


def buckets_table(comparison: Comparison) -> Table:
    """BLEU by the length of the reference, and the gain over the first system beside it."""
    first = comparison.systems[0]
    shown = [number for number, bucket in enumerate(comparison.buckets) if bucket.sentences]
    header = ("system", *(f"{comparison.buckets[number].label} words" for number in shown))
    counts = ("sentences", *(f"{len(comparison.buckets[number].sentences):,}" for number in shown))
    rows = tuple(
        (row.name, *(_bucket(row.buckets[number], row.gains[number], row is first) for number in shown))
        for row in comparison.systems
    )
    note = f"BLEU by the number of words in the reference, in brackets the gain over {first.name}."
    return Table(header, (counts, *rows), (note,))


def _bucket(bleu: float | None, gain: float | None, is_first: bool) -> str:
    if bleu is None or gain is None:
        return EMPTY_CELL
    return f"{bleu:.2f}" if is_first else f"{bleu:.2f} ({gain:+.2f})"


def lengths_table(comparison: Comparison) -> Table:
    """How many words more or fewer the translations have: mean, deviation and shares."""
    header = ("system", "mean", "deviation", *(_group(*group) for group in LENGTH_GROUPS))
    rows = tuple(
        (
            row.name,
            f"{row.histogram.mean:+.2f}",
            f"{row.histogram.std:.2f}",
            *(f"{100 * row.histogram.share(*group):.1f}%" for group in LENGTH_GROUPS),
        )
        for row in comparison.systems
    )
    note = "Words of the translation minus words of the reference, and the share of sentences for each difference."
    return Table(header, rows, (note,))


def _group(low: int | None, high: int | None) -> str:
    if low is None:
        return f"≤ {high}"
    return f"≥ {low}" if high is None else f"{low} to {high}"


def pairs_table(comparison: Comparison) -> Table | None:
    """Each pair of seeds that was tested; None if no system has more than one."""
    pairs = [(row.name, pair) for row in comparison.systems if row.paired for pair in row.paired.pairs]
    if len(pairs) < len(comparison.systems):
        return None
    header = ("system", "output", "against", "gain", "p bootstrap", "p randomisation", "sentences that differ")
    rows = tuple(
        (
            name,
            pair.system,
            pair.baseline,
            f"{pair.difference:+.2f}",
            f"{pair.p_bootstrap:.4f}",
            f"{pair.p_randomisation:.4f}",
            f"{pair.differing:,}",
        )
        for name, pair in pairs
    )
    return Table(header, rows)


def trees_table(comparison: Comparison) -> Table | None:
    """Figures on the systems' trees; None if no system has any."""
    found = [(row.name, row.trees) for row in comparison.systems if row.trees is not None]
    if not found:
        return None
    header = ("system", "well-formed", "depth", "nodes", "comparable", "labelled F1", "unlabelled F1")
    rows = tuple(
        (
            name,
            f"{100 * trees.well_formed_share:.1f}%",
            EMPTY_CELL if trees.mean_depth is None else f"{trees.mean_depth:.1f}",
            EMPTY_CELL if trees.mean_nodes is None else f"{trees.mean_nodes:.1f}",
            EMPTY_CELL if trees.comparable is None else f"{trees.comparable:,} of {trees.sentences:,}",
            EMPTY_CELL if trees.labelled is None else f"{100 * trees.labelled.f1:.1f}",
            EMPTY_CELL if trees.unlabelled is None else f"{100 * trees.unlabelled.f1:.1f}",
        )
        for name, trees in found
    )
    note = "A tree can be compared with the reference tree only if both have the same words."
    return Table(header, rows, (note,))


def signatures(comparison: Comparison) -> list[tuple[str, str]]:
    """What was computed, and its sacreBLEU signature."""
    scores = comparison.systems[0].scores[0]
    found = [(metric.name, metric.signature) for metric in (scores.bleu, scores.chrf)]
    tested = [row.paired for row in comparison.systems if row.paired]
    if tested:
        pair = tested[0].pairs[0]
        found.append(("paired bootstrap", pair.signature_bootstrap))
        found.append(("approximate randomisation", pair.signature_randomisation))
    return found


def with_deviation(mean: float, deviation: float | None) -> str:
    """21.10, or 21.10 ± 0.57."""
    return f"{mean:.2f}" if deviation is None else f"{mean:.2f} ± {deviation:.2f}"
