"""How an experiment's progress is shown: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from trdec.experiment.plan import Plan, Run, Stage
from trdec.experiment.run import ExperimentProgress, Failure, progress
from trdec.files import read_lines

DOING: dict[Stage, str] = {"train": "training", "translate": "translating", "score": "scoring"}


class PlainExperimentDisplay:
    """A line when a stage starts and when it ends."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        pass

    def skipped(self, run: Run, stage: Stage) -> None:
        """Say that the stage was done before."""
        self._say(f"{run.name}: {DOING[stage]} was finished before")

    def started(self, run: Run, stage: Stage) -> None:
        """Say what starts."""
        self._say(f"{run.name}: {DOING[stage]}")

    def finished(self, run: Run, stage: Stage, record: dict[str, Any]) -> None:
        """Say what ended, and how."""
        self._say(f"{run.name}: {_outcome(stage, record)}")

    def failed(self, failure: Failure) -> None:
        """Say what failed; the reason is listed at the end."""
        self._say(f"{failure.run.name}: {DOING[failure.stage]} failed")


class LiveExperimentDisplay:
    """A table with a line for each run, redrawn every second."""

    def __init__(self, plan: Plan, console: Console) -> None:
        self._plan = plan
        self._lines = sum(1 for _ in read_lines(plan.test[0]))
        self._guard = threading.Lock()
        self._doing: dict[str, tuple[Stage, float, int]] = {}
        self._said: dict[str, str] = {}
        self._live = Live(console=console, get_renderable=self.table, refresh_per_second=1)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, traceback)

    def skipped(self, run: Run, stage: Stage) -> None:
        """Note that the stage was done before."""
        self._note(run, "trained before" if stage == "train" else "finished before")

    def started(self, run: Run, stage: Stage) -> None:
        """Follow the stage from now on."""
        before = progress(run, stage, self._lines).done if stage == "train" else 0
        with self._guard:
            self._doing[run.name] = (stage, time.monotonic(), before)

    def finished(self, run: Run, stage: Stage, record: dict[str, Any]) -> None:
        """Note how it went."""
        self._note(run, _outcome(stage, record))

    def failed(self, failure: Failure) -> None:
        """Note that it failed."""
        self._note(failure.run, f"[red]{DOING[failure.stage]} failed[/red]")

    def _note(self, run: Run, text: str) -> None:
        with self._guard:
            self._doing.pop(run.name, None)
            self._said[run.name] = text

    def table(self) -> Table:
        """All runs: waiting, running with a bar and the time left, or done."""
        table = Table(box=None, pad_edge=False)
        for column in ("run", "", "", "left"):
            table.add_column(column, no_wrap=True)
        with self._guard:
            doing, said = dict(self._doing), dict(self._said)
        for run in self._plan.runs:
            if run.name not in doing:
                table.add_row(run.name, said.get(run.name, "[dim]waiting[/dim]"), "", "")
                continue
            stage, began, before = doing[run.name]
            now = progress(run, stage, self._lines)
            bar = ProgressBar(total=now.total, completed=now.done, width=30)
            table.add_row(run.name, f"{DOING[stage]} {now.done:,}/{now.total:,}", bar, _left(now, began, before))
        return table


def _outcome(stage: Stage, record: dict[str, Any]) -> str:
    """How a stage went, in a few words."""
    if stage == "score":
        total, tree = record["total"], record["tree"]
        return f"{total['nats_per_sentence']:.1f} nats per dev sentence, {100 * tree['share']:.0f}% for the tree"
    duration = timedelta(seconds=round(record["seconds"]))
    if stage == "train":
        return f"trained in {duration}, dev perplexity {record['dev_perplexity']['all']:.2f}"
    return f"translated {record['sentences']:,} lines in {duration}"


def _left(now: ExperimentProgress, began: float, before: int) -> str:
    if now.done <= before:
        return "-:--:--"
    seconds = (time.monotonic() - began) / (now.done - before) * max(0, now.total - now.done)
    return str(timedelta(seconds=round(seconds)))
