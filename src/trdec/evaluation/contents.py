"""What a comparison has to show, in order: the same for every way of showing it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from trdec.evaluation.comparison import Comparison
from trdec.evaluation.tables import Table, buckets_table, lengths_table, pairs_table, scores_table, trees_table


@dataclass(frozen=True, slots=True)
class Content:
    """A table with its title, the name that links lead to, and the figure that goes with it, if any."""

    title: str
    anchor: str
    table: Table
    figure: str | None = None


def contents(comparison: Comparison) -> Iterator[Content]:
    """Everything about this comparison that is a table."""
    candidates: tuple[tuple[str, str, Callable[[Comparison], Table | None], str | None], ...] = (
        ("Scores", "scores", scores_table, None),
        (
            "BLEU by length of the reference",
            "gain",
            buckets_table,
            "gain-by-length" if len(comparison.systems) > 1 else None,
        ),
        ("Length of the translation", "lengths", lengths_table, "length-differences"),
        ("Pairs of seeds", "pairs", pairs_table, None),
        ("Trees of the translations", "trees", trees_table, None),
    )
    for title, anchor, make, figure in candidates:
        table = make(comparison)
        if table is not None:
            yield Content(title, anchor, table, figure)
