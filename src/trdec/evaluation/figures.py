"""The figures of a comparison, the paper's two among them, as SVG pictures in the colour of the surrounding text."""

from __future__ import annotations

import io
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from xml.sax.saxutils import quoteattr

from trdec.evaluation.comparison import Comparison
from trdec.evaluation.lengths import ByLength
from trdec.evaluation.word_accuracy import FREQUENCY_GROUPS

WIDEST = 15
"""Differences of length beyond this share a point."""

LONGEST = 80
"""So do sentences of this many words or more."""

# Okabe and Ito's colours, which colour-blind readers can tell apart, without black and yellow, which vanish on
# dark or light paper. Markers and dashes differ too, for print without colour.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#8C8C8C")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_DASHES = ("-", "--", "-.", ":")

# Drawn in this colour, then written as `currentColor`: the picture suits light and dark pages.
_INK = "#010203"

_SETTINGS: dict[Any, Any] = {
    "text.parse_math": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "trdec",
    "font.family": "sans-serif",
    "font.size": 11,
    "legend.fontsize": 10,
    "text.color": _INK,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "legend.frameon": False,
}


def gain_by_length(comparison: ByLength) -> str:
    """BLEU of every system minus that of the first, by the length of the reference."""

    def draw(axes: Any) -> None:
        first, *others = comparison.systems
        shown = [number for number, bucket in enumerate(comparison.buckets) if bucket.sentences]
        positions = range(len(shown))
        axes.axhline(0, color=_INK, linewidth=1)
        for style, row in zip(styles(1), others, strict=False):
            gains = [math.nan if (gain := row.gains[number]) is None else gain for number in shown]
            axes.plot(positions, gains, label=_plain(row.name), **style)
        buckets = [comparison.buckets[number] for number in shown]
        labels = [f"{bucket.label}\nn = {len(bucket.sentences):,}" for bucket in buckets]
        axes.set_xticks(positions, labels)
        axes.set_xlim(-0.4, len(shown) - 0.6)
        axes.set(xlabel="words in the reference", ylabel=f"BLEU gain over {_plain(first.name)}")

    return save_figure("gain", "BLEU gain over the first system by length of the reference", draw)


def length_difference_figure(comparison: ByLength) -> str:
    """The share of sentences by how many more words a translation has than its reference."""

    def draw(axes: Any) -> None:
        reach = max(abs(difference) for row in comparison.systems for difference in row.histogram.counts)
        widest = max(1, min(WIDEST, reach))
        positions = range(-widest, widest + 1)
        axes.axvline(0, color=_INK, linewidth=0.8, alpha=0.5)
        for style, row in zip(styles(0), comparison.systems, strict=False):
            shares = [
                100 * row.histogram.share(None if at == -widest else at, None if at == widest else at)
                for at in positions
            ]
            axes.plot(positions, shares, label=_plain(row.name), **{**style, "markersize": 3.5})
        ends = (f"≤ {-widest}", f"≥ {widest}") if reach > widest else (str(-widest), str(widest))
        inner = [tick for tick in range(-10, 11, 5) if -widest < tick < widest]
        axes.set_xticks([-widest, *inner, widest], [ends[0], *map(str, inner), ends[1]])
        axes.set_ylim(bottom=0)
        axes.set(xlabel="words more than the reference", ylabel="% of sentences")

    return save_figure("lengths", "Distribution of the difference of length from the reference", draw)


def output_length_figure(comparison: ByLength) -> str:
    """The share of translations, and of references, that have each number of words."""

    def draw(axes: Any) -> None:
        references = comparison.systems[0].lengths.references
        every = [references, *(row.lengths.outputs for row in comparison.systems)]
        reach = max(length for counts in every for length in counts)
        longest = min(LONGEST, reach)
        positions = range(longest + 1)
        axes.plot(positions, _shares(references, longest), label="reference", color=_INK, linewidth=1.2)
        for style, row in zip(styles(0), comparison.systems, strict=False):
            shares = _shares(row.lengths.outputs, longest)
            axes.plot(positions, shares, label=_plain(row.name), **{**style, "linewidth": 1.2, "markersize": 3})
        axes.set_ylim(bottom=0)
        last = f" (the last point: {longest} or more)" if reach > longest else ""
        axes.set(xlabel=f"words{last}", ylabel="% of sentences")

    return save_figure("words", "Lengths of the translations and of the references", draw)


def _shares(counts: Mapping[int, int], longest: int) -> list[float]:
    """The percentage of each length; longer ones count as the longest."""
    grouped = Counter[int]()
    for length, count in counts.items():
        grouped[min(length, longest)] += count
    return [100 * grouped[length] / grouped.total() for length in range(longest + 1)]


def word_accuracy_figure(comparison: Comparison) -> str:
    """F1 of words by how often the training text has them."""

    def draw(axes: Any) -> None:
        for style, row in zip(styles(0), comparison.systems, strict=False):
            groups = row.words.groups if row.words else ()
            shown = [100 * words.f1 if words.found or words.expected else math.nan for words in groups]
            axes.plot(range(len(shown)), shown, label=_plain(row.name), **style)
        axes.set_xticks(range(len(FREQUENCY_GROUPS)), [group.label for group in FREQUENCY_GROUPS])
        axes.set_ylim(bottom=0)
        axes.set(xlabel="occurrences of the word in the training text", ylabel="F1 of words, %")

    return save_figure("accuracy", "F1 of words by their frequency in the training text", draw)


LENGTH_FIGURES: dict[str, Callable[[ByLength], str]] = {
    "gain-by-length": gain_by_length,
    "length-differences": length_difference_figure,
    "output-lengths": output_length_figure,
}
"""The figures that need no more than lengths, by name."""

FIGURES: dict[str, Callable[[Comparison], str]] = {**LENGTH_FIGURES, "word-accuracy": word_accuracy_figure}
"""The figures of a comparison by name."""


def standing_alone(svg: str) -> str:
    """A figure for a file of its own: black on white."""
    return svg.replace("<svg ", '<svg style="background: white; color: black" ', 1) + "\n"


def styles(start: int = 0) -> Iterator[dict[str, Any]]:
    """A look for each system, the same in all figures; colours come round again with other markers and dashes."""
    number = start
    while True:
        yield {
            "color": _COLOURS[number % len(_COLOURS)],
            "marker": _MARKERS[number % len(_MARKERS)],
            "linestyle": _DASHES[number % len(_DASHES)],
            "linewidth": 1.8,
            "markersize": 6,
        }
        number += 1


def _plain(name: str) -> str:
    """The name, kept in the legend even if it begins with _, which matplotlib would hide."""
    return f"\u200b{name}" if name.startswith("_") else name


def save_figure(name: str, description: str, draw: Callable[[Any], None]) -> str:
    """What `draw` plots on the given axes, with a legend above; the name makes the picture's ids unique."""
    import matplotlib
    from matplotlib.figure import Figure  # without pyplot: no window system, no global state

    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # whatever the user's own settings are, the picture is the same
        matplotlib.rcParams.update(_SETTINGS)
        figure = Figure(figsize=(5.4, 4.0), layout="constrained")
        axes = figure.subplots()
        draw(axes)
        axes.grid(axis="y", color=_INK, alpha=0.15, linewidth=0.8)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=3, handlelength=2.8)
        stream = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(stream, format="svg", transparent=True, metadata=nothing)
    return _inline(stream.getvalue(), name, description)


def _inline(document: str, name: str, description: str) -> str:
    """The picture as an element of a page, as wide as there is room, with unique ids."""
    svg = document[document.index("<svg") :]
    svg = re.sub(r'(<svg [^>]*?)width="[^"]*" height="[^"]*"', r"\1", svg, count=1)
    svg = svg.replace("<svg ", f'<svg role="img" aria-label={quoteattr(description)} ', 1)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", svg)
    return re.sub(r"font-family: [^;\"]*", "font-family: sans-serif", svg).replace(_INK, "currentColor")
