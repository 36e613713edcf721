"""The figure of how systems learn."""

from __future__ import annotations

from typing import Any

from trdec.evaluation.figures import picture, styles
from trdec.experiment.results import Results

KIND = "word"
"""The kind of action that every system has, and that means the same in all."""


def training_curves(results: Results) -> str:
    """Dev perplexity of subwords over updates: a line for each seed, a colour for each system."""

    from matplotlib.ticker import LogLocator, NullFormatter

    def draw(axes: Any) -> None:
        for style, system in zip(styles(), results.systems(), strict=False):
            for number, result in enumerate(results.of(system)):
                points = [(row["update"], row["perplexity"].get(KIND)) for row in result.training["curve"]]
                known = [(update, value) for update, value in points if value is not None]
                label = system if number == 0 else None
                updates, values = [update for update, _ in known], [value for _, value in known]
                axes.plot(updates, values, label=label, **{**style, "linewidth": 1.3, "markersize": 4})
        axes.set(xlabel="updates", ylabel="dev perplexity of subwords", yscale="log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")  # 20, not a power of ten
        axes.yaxis.set_minor_formatter(NullFormatter())

    return picture("curves", "Dev perplexity of subwords over updates", draw)
