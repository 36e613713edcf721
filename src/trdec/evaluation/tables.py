"""A comparison as tables of text, the same for every way of showing them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from trdec.evaluation.comparison import Comparison, SystemRow
from trdec.evaluation.lengths import ByLength, LengthRow
from trdec.evaluation.scores import NO_TER
from trdec.evaluation.significance import LEVELS, Significance
from trdec.evaluation.trees import Agreement
from trdec.evaluation.word_accuracy import FREQUENCY_GROUPS
from trdec.trees.builders import BUILDERS

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

_BALANCED = frozenset(("binary-1", "binary-2"))

LEAST_SHAPED = 0.05
"""The least share of a system's trees for which the shape of a builder is shown: short trees have many shapes."""


@dataclass(frozen=True, slots=True)
class Table:
    """Cells of text under a header, and notes below them."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    best: frozenset[tuple[int, int]] = frozenset()
    """The cells (row, column) that stand out."""


def scores_table(comparison: Comparison) -> Table:
    """The paper's table of results: BLEU with deviation and mark, chrF++, TER, length ratio, tests."""
    systems, tested = comparison.systems, comparison.options.significance
    header = ("system", "seeds", "BLEU", "chrF++", "TER", "length ratio", "gain", "p bootstrap", "p randomisation")
    rows = [tuple(_scores_row(row, row is systems[0])) for row in systems]
    means = [row.mean for row in systems]
    best = frozenset((number, 2) for number, mean in enumerate(means) if mean == max(means))
    left_out = {*(() if _has_ter(comparison) else ("TER",)), *(() if tested else ("p bootstrap", "p randomisation"))}
    kept = [column for column, name in enumerate(header) if name not in left_out]
    shown, *cells = (tuple(row[column] for column in kept) for row in (header, *rows))
    return Table(shown, tuple(cells), tuple(_scores_notes(comparison)), best)


def _has_ter(comparison: Comparison) -> bool:
    return comparison.systems[0].ter_mean is not None


def _scores_row(row: SystemRow, is_first: bool) -> Iterator[str]:
    yield row.name
    yield str(len(row.scores))
    yield with_deviation(row.mean, row.std) + _mark(row.paired)
    yield with_deviation(row.chrf_mean, row.chrf_std)
    yield EMPTY_CELL if row.ter_mean is None else with_deviation(row.ter_mean, row.ter_std) + _mark(row.paired_ter)
    yield f"{row.length_ratio:.3f}"
    yield EMPTY_CELL if is_first else f"{row.difference:+.2f}"
    yield f"{row.paired.p_bootstrap:.4f}" if row.paired else EMPTY_CELL
    yield f"{row.paired.p_randomisation:.4f}" if row.paired else EMPTY_CELL


def _mark(paired: Significance | None) -> str:
    return paired.mark if paired else ""


def _scores_notes(comparison: Comparison) -> Iterator[str]:
    options = comparison.options
    first = comparison.systems[0].name
    several = any(len(row.scores) > 1 for row in comparison.systems)
    if several:
        yield "Means over seeds ± sample standard deviations."
    if _has_ter(comparison):
        yield "TER counts edits per 100 words of the reference: lower is better. The gain and the p-values are BLEU's."
        if comparison.word_tokeniser != "none":
            yield "In TER every Chinese character is a word."
    elif options.ter:
        yield NO_TER
    if options.significance:
        yield from marks_notes(first, options.samples, options.trials, options.seed, several)
    else:
        yield f"The gain is over {first}; significance was not tested."
    yield from unpaired_notes((row.name, row.unpaired) for row in comparison.systems)


def marks_notes(first: str, samples: int, trials: int, seed: int, several: bool) -> Iterator[str]:
    """What marks mean; several seeds need a word more."""
    marks = ", ".join(f"{mark} p < {level:g}" for level, mark in reversed(LEVELS))
    yield (
        f"{marks}: the difference from {first} by paired bootstrap ({samples:,} samples) and by "
        f"approximate randomisation ({trials:,} trials) both, seed {seed}."
    )
    if several:
        yield "Seeds are tested pair by pair: p is the largest over the pairs, and a mark needs all of them."


def unpaired_notes(systems: Iterable[tuple[str, Sequence[str]]]) -> Iterator[str]:
    """Which outputs a system's gain and tests leave out, and that it has no mark: a sentence for each such set."""
    lacking: dict[tuple[str, ...], list[str]] = {}
    for system, unpaired in systems:
        if unpaired:
            lacking.setdefault(tuple(unpaired), []).append(system)
    for unpaired, names in lacking.items():
        verb = "has no mark, and its gain is" if len(names) == 1 else "have no marks, and their gains are"
        of = "is no output of the same seed as" if len(unpaired) == 1 else "are no outputs of the same seeds as"
        yield f"{_listed(names)} {verb} over equal seeds only: there {of} {'; '.join(unpaired)}."


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def ter_table(comparison: Comparison) -> Table | None:
    """The tests of TER; None if there are none."""
    first = comparison.systems[0]
    tested = [(row.name, row.ter_mean, row.paired_ter) for row in comparison.systems]
    header = ("system", "TER", "difference", "p bootstrap", "p randomisation")
    rows = tuple(
        (
            name,
            f"{mean:.2f}{paired.mark}",
            f"{paired.difference:+.2f}",
            f"{paired.p_bootstrap:.4f}",
            f"{paired.p_randomisation:.4f}",
        )
        for name, mean, paired in tested
        if mean is not None and paired is not None
    )
    if not rows:
        return None
    return Table(header, rows, (f"The difference is from {first.name}; below 0 is better. Tests are those of BLEU.",))


def buckets_table(comparison: ByLength) -> Table:
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
    return Table(header, (counts, *rows), (note, *_words_notes(comparison)))


def _words_notes(comparison: ByLength) -> Iterator[str]:
    """What a word is, where it is not what stands between spaces."""
    if comparison.word_tokeniser != "none":
        yield f"Words are those that sacreBLEU's tokeniser {comparison.word_tokeniser} finds."


def _bucket(bleu: float | None, gain: float | None, is_first: bool) -> str:
    if bleu is None or gain is None:
        return EMPTY_CELL
    return f"{bleu:.2f}" if is_first else f"{bleu:.2f} ({gain:+.2f})"


def lengths_table(comparison: ByLength) -> Table:
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
    return Table(header, rows, (note, *_words_notes(comparison)))


def _group(low: int | None, high: int | None) -> str:
    if low is None:
        return f"≤ {high}"
    return f"≥ {low}" if high is None else f"{low} to {high}"


def length_agreement_table(comparison: ByLength) -> Table:
    """How often translations have the reference's length, how far they are from it, and which length they overuse."""
    header = ("system", "exact length", "mean distance", "ratio", "most overused length", "translations", "references")
    rows = tuple(
        (
            row.name,
            f"{100 * row.histogram.share(0, 0):.1f}%",
            f"{row.histogram.mean_absolute:.2f}",
            f"{row.lengths.ratio:.3f}",
            *_overused(row),
        )
        for row in comparison.systems
    )
    notes = (
        "Exact length: translations with exactly as many words as the reference. Distance: words more or fewer.",
        "The most overused length is the one that most exceeds its number of references.",
        *_words_notes(comparison),
    )
    return Table(header, rows, notes)


def _overused(row: LengthRow) -> tuple[str, str, str]:
    found, every = row.lengths.overused, f"{row.lengths.sentences:,}"
    if found is None:
        return EMPTY_CELL, EMPTY_CELL, EMPTY_CELL
    return f"{found.length} words", f"{found.outputs:,} of {every}", f"{found.references:,} of {every}"


def word_accuracy_table(comparison: Comparison) -> Table | None:
    """F1, precision and recall of words by their frequency in the training text; None if that is unknown."""
    first = comparison.systems[0]
    if first.words is None:
        return None
    seeds = len(first.scores)
    shown = [number for number in range(len(FREQUENCY_GROUPS)) if _occurs(comparison, number)]
    header = ("system", *(FREQUENCY_GROUPS[number].label for number in shown), "all words")
    expected = [*(first.words.groups[number].expected for number in shown), first.words.total.expected]
    counts = ("words in the reference", *(f"{count // seeds:,}" for count in expected))
    rows = [
        (row.name, *(_accuracy(agreement) for agreement in (*(row.words.groups[n] for n in shown), row.words.total)))
        for row in comparison.systems
        if row.words is not None
    ]
    note = (
        "F1 of words by how often they occur in the training text, in brackets precision and recall. A word matches "
        "if the reference of its sentence has it, at most as often as there."
    )
    return Table(header, (counts, *rows), (note,))


def _occurs(comparison: Comparison, group: int) -> bool:
    agreements = [row.words.groups[group] for row in comparison.systems if row.words is not None]
    return any(agreement.found or agreement.expected for agreement in agreements)


def _accuracy(words: Agreement) -> str:
    if not words.found and not words.expected:
        return EMPTY_CELL
    precision = f"{100 * words.precision:.1f}" if words.found else EMPTY_CELL
    recall = f"{100 * words.recall:.1f}" if words.expected else EMPTY_CELL
    return f"{100 * words.f1:.1f} ({precision}, {recall})"


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


def shapes_table(comparison: Comparison) -> Table | None:
    """How many trees are just what a builder makes of their words; None where no system writes such trees."""
    scores = ((row.name, row.trees) for row in comparison.systems)
    found = [(name, trees) for name, trees in scores if trees is not None and trees.three_words_or_more]
    builders = [name for name in BUILDERS if any(trees.shape_share(name) >= LEAST_SHAPED for _, trees in found)]
    if not builders:
        return None
    rows = tuple(
        (
            name,
            f"{100 * trees.shaped_share:.1f}%",
            *(f"{100 * trees.shape_share(builder):.1f}%" for builder in builders),
        )
        for name, trees in found
    )
    notes = [
        "The share of trees, of those with three or more words, that have the shape a builder gives to the same words, "
        "whatever the labels. A short tree may have the shapes of several builders. A builder has a column if "
        f"{100 * LEAST_SHAPED:.0f}% of a system's trees have its shape; random builders and your own have none."
    ]
    if not _BALANCED.isdisjoint(builders):
        notes.append(
            "The first rules of a balanced tree plan roughly how many words there will be: where the whole tree has "
            "the shape of its builder, the plan was kept."
        )
    return Table(("system", "any builder", *builders), rows, tuple(notes))


def signatures(comparison: Comparison) -> list[tuple[str, str]]:
    """What was computed, and its sacreBLEU signature."""
    scores = comparison.systems[0].scores[0]
    found = [(metric.name, metric.signature) for metric in (scores.bleu, scores.chrf, scores.ter) if metric]
    paired = [(row.paired, row.paired_ter) for row in comparison.systems if row.paired]
    if paired:
        for of, tested in zip(("", " of TER"), paired[0], strict=True):
            if tested:
                pair = tested.pairs[0]
                found.append((f"paired bootstrap{of}", pair.signature_bootstrap))
                found.append((f"approximate randomisation{of}", pair.signature_randomisation))
    return found


def with_deviation(mean: float, deviation: float | None) -> str:
    """21.10, or 21.10 ± 0.57."""
    return f"{mean:.2f}" if deviation is None else f"{mean:.2f} ± {deviation:.2f}"
