"""Training shown to the user: a live display on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table

from trdec.training.interfaces import Row
from trdec.training.metrics import ALL


class Clock:
    """An estimate of the time left, from the updates so far."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._began = (now(), 0)
        self._last = 0

    def begin(self, update: int, max_updates: int) -> None:
        """Start counting after this update."""
        self._began = (self._now(), update)
        self._last = max_updates

    def left(self, update: int) -> str:
        """The time left, as h:mm:ss."""
        began, first = self._began
        if update <= first:
            return "-:--:--"
        seconds = (self._now() - began) / (update - first) * max(0, self._last - update)
        return str(timedelta(seconds=round(seconds)))


def describe_perplexity(row: Row) -> str:
    """`12.30 (rule 3.10, word 50.21)`: the perplexity of all actions and of each kind."""
    values = dict(row["perplexity"])
    every = values.pop(ALL)
    kinds = ", ".join(f"{kind} {value:.2f}" for kind, value in values.items())
    return f"{every:.2f} ({kinds})"


def describe_training(row: Row, left: str) -> str:
    """A training row of the log as text."""
    skipped = f", {row['skipped']} skipped" if row["skipped"] else ""
    return (
        f"update {row['update']}, epoch {row['epoch']}: loss {row['loss']:.2f}, "
        f"perplexity {describe_perplexity(row)}, {row['words_per_second']:.0f} words/s, "
        f"{row['actions_per_second']:.0f} actions/s, rate {row['learning_rate']:.2g}, "
        f"gradient {row['gradient_norm']:.2f}{skipped}, {left} left"
    )


def describe_validation(row: Row) -> str:
    """A validation row of the log as text."""
    bleu = f", BLEU {row['bleu']:.2f}" if "bleu" in row else ""
    best = ", among the best" if row["best"] else ""
    return f"update {row['update']}, dev: loss {row['loss']:.2f}, perplexity {describe_perplexity(row)}{bleu}{best}"


class PlainDisplay:
    """Writes lines."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._clock = Clock()

    def begin(self, update: int, max_updates: int) -> None:
        """Start the clock."""
        self._clock.begin(update, max_updates)

    def advance(self, update: int) -> None:
        """Nothing to write for each update."""

    def training(self, row: Row) -> None:
        """Write the line."""
        self._write(describe_training(row, self._clock.left(row["update"])))

    def validation(self, row: Row) -> None:
        """Write the line."""
        self._write(describe_validation(row))

    def note(self, text: str) -> None:
        """Write the text."""
        self._write(text)

    def end(self) -> None:
        """Nothing to close."""


class LiveDisplay:
    """A progress bar and a table that change in place; validations and notes scroll by above them."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._clock = Clock()
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]} left"),
            console=console,
        )
        self._task = self._progress.add_task("training", total=None, left="-:--:--")
        self._train: Row | None = None
        self._dev: Row | None = None
        self._live = Live(console=console, refresh_per_second=4, transient=True)

    def begin(self, update: int, max_updates: int) -> None:
        """Start the display."""
        self._clock.begin(update, max_updates)
        self._progress.update(self._task, completed=update, total=max_updates)
        self._live.start()
        self._live.update(self._draw())

    def advance(self, update: int) -> None:
        """Move the bar."""
        self._progress.update(self._task, completed=update, left=self._clock.left(update))

    def training(self, row: Row) -> None:
        """Show the numbers."""
        self._train = row
        self._live.update(self._draw())

    def validation(self, row: Row) -> None:
        """Show the numbers, and print a line above."""
        self._dev = row
        self._console.print(describe_validation(row), highlight=False, markup=False)
        self._live.update(self._draw())

    def note(self, text: str) -> None:
        """Print a line above."""
        self._console.print(text, highlight=False, markup=False)

    def end(self) -> None:
        """Remove the display."""
        self._live.stop()

    def _draw(self) -> Group:
        table = Table("", "loss", "perplexity by kind of action", "words/s", "rate", "skipped", box=None)
        if self._train is not None:
            row = self._train
            speed, rate = f"{row['words_per_second']:.0f}", f"{row['learning_rate']:.2g}"
            skipped = str(row["skipped"])
            table.add_row("train", f"{row['loss']:.2f}", describe_perplexity(row), speed, rate, skipped)
        if self._dev is not None:
            table.add_row("dev", f"{self._dev['loss']:.2f}", describe_perplexity(self._dev), "", "", "")
        return Group(self._progress, table)
