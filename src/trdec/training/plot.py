"""Losses over updates, as a picture in the model directory."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from typing import Any

from trdec.errors import FileError
from trdec.training.kinds import ALL
from trdec.training.log import JsonLines
from trdec.training.protocols import Row


class LossPlot:
    """Draws the log after looks at dev, at most once in a while, and at the end."""

    def __init__(self, path: Path, log: JsonLines, pause: float = 30.0) -> None:
        self._path = path
        self._log = log
        self._pause = pause
        self._drawn = -math.inf

    def begin(self, update: int, max_updates: int) -> None:
        """Nothing to draw yet."""

    def advance(self, update: int) -> None:
        """Nothing to draw for each update."""

    def training(self, row: Row) -> None:
        """Drawn with the next look at dev."""

    def validation(self, row: Row) -> None:  # noqa: ARG002  (the log has it)
        """Draw, unless that was done a moment ago."""
        if time.monotonic() - self._drawn >= self._pause:
            self._draw()

    def note(self, text: str) -> None:
        """Texts are not drawn."""

    def end(self) -> None:
        """Draw a last time."""
        self._draw()

    def _draw(self) -> None:
        rows = list(self._log.rows())
        if rows:
            draw_losses(rows, self._path)
        self._drawn = time.monotonic()


def draw_losses(rows: list[dict[str, Any]], path: Path) -> None:
    """Write a PNG: loss a sentence on the left, dev perplexity by kind of action on the right."""
    from matplotlib.figure import Figure  # without pyplot: no window system, no global state

    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for event in ("train", "dev"):
        points = [(row["update"], row["loss"]) for row in rows if row["event"] == event and row["loss"] is not None]
        left.plot(*_columns(points), label=event, marker="." if event == "dev" else None)
    left.set(xlabel="update", ylabel="loss a sentence")
    dev = [row for row in rows if row["event"] == "dev"]
    for kind in dict.fromkeys(kind for row in dev for kind in row["perplexity"]):
        found = [(row["update"], row["perplexity"].get(kind)) for row in dev]
        points = [(update, value) for update, value in found if value is not None]
        right.plot(*_columns(points), label=kind, marker=".", color="black" if kind == ALL else None)
    right.set(xlabel="update", ylabel="dev perplexity", yscale="log")
    for axes in (left, right):
        if axes.lines:
            axes.legend()
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        figure.savefig(temporary, format="png", dpi=100)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise FileError(
            f"{path}: cannot be written: {error.strerror}. Make room, or set training.plot=false."
        ) from error


def _columns(points: list[tuple[int, float]]) -> tuple[list[int], list[float]]:
    return [update for update, _ in points], [value for _, value in points]
