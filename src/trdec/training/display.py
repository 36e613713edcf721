"""Training shown to the user: a bar and a table on a terminal, plain lines elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.table import Table

from trdec.progress import ProgressDisplay
from trdec.training.interfaces import Row
from trdec.training.metrics import ALL

TRAINING = "training"


def describe_perplexity(row: Row) -> str:
    """`12.30 (rule 3.10, word 50.21)`: the perplexity of all actions and of each kind."""
    values = dict(row["perplexity"])
    every = values.pop(ALL)
    kinds = ", ".join(f"{kind} {value:.2f}" for kind, value in values.items())
    return f"{every:.2f} ({kinds})"


def describe_training(row: Row, left: str | None) -> str:
    """A training row of the log as text, and the time left if it is known."""
    skipped = f", {row['skipped']} skipped" if row["skipped"] else ""
    return (
        f"update {row['update']}, epoch {row['epoch']}: loss {row['loss']:.2f}, "
        f"perplexity {describe_perplexity(row)}, {row['words_per_second']:.0f} words/s, "
        f"{row['actions_per_second']:.0f} actions/s, rate {row['learning_rate']:.2g}, "
        f"gradient {row['gradient_norm']:.2f}{skipped}" + (f", {left} left" if left else "")
    )


def describe_validation(row: Row) -> str:
    """A validation row of the log as text."""
    bleu = f", BLEU {row['bleu']:.2f}" if "bleu" in row else ""
    best = ", among the best" if row["best"] else ""
    return f"update {row['update']}, dev: loss {row['loss']:.2f}, perplexity {describe_perplexity(row)}{bleu}{best}"


class TrainingDisplay:
    """An observer that shows a training from its preparation to its end, while it is entered as a context.

    On a terminal, bars and a table change in place, and validations and notes scroll by above them.
    """

    def __init__(self, console: Console) -> None:
        self._display = ProgressDisplay(console, below=self._table)
        self._max_updates = 0
        self._train: Row | None = None
        self._dev: Row | None = None

    def __enter__(self) -> Self:
        self._display.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._display.__exit__(kind, error, traceback)

    def begin(self, update: int, max_updates: int) -> None:
        """Show the bar."""
        self._max_updates = max_updates
        self._display(TRAINING, update, max_updates)

    def advance(self, update: int) -> None:
        """Move the bar."""
        self._display(TRAINING, update, self._max_updates)

    def progress(self, task: str, done: int, total: int | None) -> None:
        """Show a bar for the task."""
        self._display(task, done, total)

    def training(self, row: Row) -> None:
        """Show the numbers, in the table or on a line."""
        self._train = row
        if not self._display.is_live:
            self._display.print(describe_training(row, self._display.left(TRAINING)))

    def validation(self, row: Row) -> None:
        """Show the numbers, and print a line."""
        self._dev = row
        self._display.print(describe_validation(row))

    def note(self, text: str) -> None:
        """Print a line."""
        self._display.print(text)

    def end(self) -> None:
        """Remove the bar."""
        self._display.remove(TRAINING)

    def _table(self) -> RenderableType:
        if self._train is None and self._dev is None:
            return ""
        table = Table("", "loss", "perplexity by kind of action", "words/s", "rate", "skipped", box=None)
        if self._train is not None:
            row = self._train
            speed, rate = f"{row['words_per_second']:.0f}", f"{row['learning_rate']:.2g}"
            skipped = str(row["skipped"])
            table.add_row("train", f"{row['loss']:.2f}", describe_perplexity(row), speed, rate, skipped)
        if self._dev is not None:
            table.add_row("dev", f"{self._dev['loss']:.2f}", describe_perplexity(self._dev), "", "", "")
        return table
