"""Observers that write what happens in training: JSON lines, a plot, TensorBoard events."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trdec.errors import FileError, TrainingError
from trdec.files import replacing_file, synchronise, unreadable, write_errors
from trdec.training.interfaces import Row
from trdec.training.metrics import ALL

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class JsonLines:
    """A log of one JSON object per line, which can be cut back to where a checkpoint left it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, row: Row) -> None:
        """Append a line; numbers that are not finite become null."""
        with write_errors(self.path), self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(_finite(row), ensure_ascii=False, allow_nan=False) + "\n")

    def size(self) -> int:
        """The length of the file, once all of it is on disk."""
        if not self.path.exists():
            return 0
        synchronise(self.path)
        return self.path.stat().st_size

    def truncate(self, size: int) -> None:
        """Cut the file back to this length."""
        if self.path.exists() and self.path.stat().st_size > size:
            os.truncate(self.path, size)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The lines so far, without one that a full disk cut short; FileError if one is damaged."""
        for number, line in enumerate(self._lines(), 1):
            row = _row(line)
            if row is None:
                raise FileError(f"{self.path}, line {number}: expected a JSON object, found something else.")
            yield row

    def undamaged_rows(self) -> list[dict[str, Any]]:
        """The lines so far that can be read."""
        return [row for line in self._lines() if (row := _row(line)) is not None]

    def last(self) -> dict[str, Any] | None:
        """The newest complete line, even while another process is writing."""
        return next((row for line in reversed(self._lines()) if (row := _row(line)) is not None), None)

    def _lines(self) -> list[bytes]:
        try:
            return self.path.read_bytes().split(b"\n")[:-1] if self.path.exists() else []
        except OSError as error:
            raise unreadable(self.path, error) from error


def _row(line: bytes) -> dict[str, Any] | None:
    """The object that a line of the log holds; None if it is damaged."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


class LossPlot:
    """Draws the log after validations, at most once in `pause` seconds, and at the end."""

    def __init__(self, path: Path, log: JsonLines, pause: float = 30.0) -> None:
        self._path = path
        self._log = log
        self._pause = pause
        self._drawn = -math.inf

    def begin(self, update: int, max_updates: int) -> None:
        """Nothing to draw yet."""

    def advance(self, update: int) -> None:
        """Nothing to draw for each update."""

    def progress(self, task: str, done: int, total: int | None) -> None:
        """Nothing to draw between updates."""

    def training(self, row: Row) -> None:
        """Drawn at the next validation."""

    def validation(self, row: Row) -> None:  # noqa: ARG002  (the log has it)
        """Draw, unless the last drawing is recent."""
        if time.monotonic() - self._drawn >= self._pause:
            self._draw()

    def note(self, text: str) -> None:
        """Notes are not drawn."""

    def end(self) -> None:
        """Draw a last time."""
        self._draw()

    def _draw(self) -> None:
        rows = self._log.undamaged_rows()
        if rows:
            draw_losses(rows, self._path)
        self._drawn = time.monotonic()


def draw_losses(rows: list[dict[str, Any]], path: Path) -> None:
    """Write a PNG: loss per sentence on the left, dev perplexity by kind of action on the right."""
    from matplotlib.figure import Figure  # without pyplot: no window system, no global state

    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for event in ("train", "dev"):
        points = [(row["update"], row["loss"]) for row in rows if row["event"] == event and row["loss"] is not None]
        left.plot(*_columns(points), label=event, marker="." if event == "dev" else None)
    left.set(xlabel="update", ylabel="loss per sentence")
    dev = [row for row in rows if row["event"] == "dev"]
    for kind in dict.fromkeys(kind for row in dev for kind in row["perplexity"]):
        found = [(row["update"], row["perplexity"].get(kind)) for row in dev]
        points = [(update, value) for update, value in found if value is not None]
        right.plot(*_columns(points), label=kind, marker=".", color="black" if kind == ALL else None)
    right.set(xlabel="update", ylabel="dev perplexity", yscale="log")
    for axes in (left, right):
        if axes.lines:
            axes.legend()
    with write_errors(path, "Make room, or set training.plot=false."), replacing_file(path) as temporary:
        figure.savefig(temporary, format="png", dpi=100)


def _columns(points: list[tuple[int, float]]) -> tuple[list[int], list[float]]:
    return [update for update, _ in points], [value for _, value in points]


class TensorBoard:
    """Writes every number of the log as a scalar."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise TrainingError(
                "training.tensorboard needs the package tensorboard, which is not installed. "
                "Install it with: pip install 'trdec[tensorboard]', or set training.tensorboard=false."
            ) from error
        self._folder = folder
        self._make = SummaryWriter
        self._writer: SummaryWriter | None = None

    def begin(self, update: int, max_updates: int) -> None:  # noqa: ARG002
        """Open the file, and void what was written after this update."""
        with write_errors(self._folder, "Make room, or set training.tensorboard=false."):
            self._writer = self._make(str(self._folder), purge_step=update + 1)

    def advance(self, update: int) -> None:
        """Nothing to show between lines of the log."""

    def progress(self, task: str, done: int, total: int | None) -> None:
        """Nothing to show between lines of the log."""

    def training(self, row: Row) -> None:
        """Show the training numbers."""
        self._write("train", row)

    def validation(self, row: Row) -> None:
        """Show the dev numbers."""
        self._write("dev", row)

    def _write(self, group: str, row: Row) -> None:
        if self._writer is not None:
            for name, value in _numbers(row):
                self._writer.add_scalar(f"{group}/{name}", value, row["update"])

    def note(self, text: str) -> None:
        """Notes are not numbers."""

    def end(self) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()


def _numbers(row: Row) -> list[tuple[str, Any]]:
    numbers = [(name, value) for name, value in row.items() if isinstance(value, int | float) and name != "update"]
    return numbers + [(f"perplexity/{kind}", value) for kind, value in row.get("perplexity", {}).items()]
