"""An experiment shown to the user: bars and a table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.table import Table

from trdec.experiment.plan import Plan, Run, Stage
from trdec.experiment.run import Failure, progress
from trdec.files import count_lines
from trdec.progress import ProgressDisplay

DOING: dict[Stage, str] = {
    "train": "training",
    "tune": "tuning the search",
    "dev": "translating dev",
    "score": "scoring",
    "translate": "translating",
}


class ExperimentDisplay:
    """A bar for each stage that runs, looked up every second; a table of all runs, or a line for each that changes."""

    def __init__(self, plan: Plan, console: Console) -> None:
        self._plan = plan
        self._lines = {stage: count_lines(plan.text(stage)[0]) for stage in DOING}
        self._guard = threading.Lock()
        self._running: dict[str, tuple[Run, Stage]] = {}
        self._said: dict[str, str] = {}
        self._display = ProgressDisplay(console, below=self.table)
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._display.__enter__()
        self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended.set()
        self._display.__exit__(kind, error, traceback)

    def skipped(self, run: Run, stage: Stage) -> None:
        """Say that the stage was done before."""
        self._say(run, f"{DOING[stage]} was finished before")

    def started(self, run: Run, stage: Stage) -> None:
        """Say what starts, and follow it from now on."""
        self._say(run, DOING[stage])
        with self._guard:
            self._running[_task(run, stage)] = (run, stage)

    def finished(self, run: Run, stage: Stage, record: dict[str, Any]) -> None:
        """Say what ended, and how."""
        self._end(run, stage, _outcome(stage, record))

    def failed(self, failure: Failure) -> None:
        """Say what failed; the reason is listed at the end."""
        self._end(failure.run, failure.stage, f"{DOING[failure.stage]} failed")

    def _end(self, run: Run, stage: Stage, text: str) -> None:
        with self._guard:
            self._running.pop(_task(run, stage), None)
            self._display.remove(_task(run, stage))
        self._say(run, text)

    def _say(self, run: Run, text: str) -> None:
        self._said[run.name] = text
        if not self._display.is_live:
            self._display.print(f"{run.name}: {text}")

    def _watch(self) -> None:
        while not self._ended.wait(1.0):
            for task, (run, stage) in list(self._running.items()):
                now = progress(run, stage, self._lines[stage])
                with self._guard:
                    if task in self._running:  # it may have ended meanwhile
                        self._display(task, now.done, now.total)

    def table(self) -> Table:
        """All runs: waiting, running or done."""
        table = Table("run", "", box=None, pad_edge=False)
        said = dict(self._said)
        for run in (*self._plan.runs, *self._plan.ensembles):
            table.add_row(run.name, said.get(run.name, "[dim]waiting[/dim]"))
        return table


def _task(run: Run, stage: Stage) -> str:
    return f"{run.name}: {DOING[stage]}"


def _outcome(stage: Stage, record: dict[str, Any]) -> str:
    """How a stage went, in a few words."""
    if stage == "score":
        total, tree = record["total"], record["tree"]
        return f"{total['nats_per_sentence']:.1f} nats per dev sentence, {100 * tree['share']:.0f}% for the tree"
    if stage == "tune":
        chosen = record["chosen"]
        search = f"beam {chosen['beam_size']}, length power {chosen['length_power']:g}"
        return f"best on dev: {search}, BLEU {chosen['bleu']['score']:.2f}"
    duration = timedelta(seconds=round(record["seconds"]))
    if stage == "train":
        perplexity = record["dev_perplexity"]["all"]
        return f"trained in {duration}, dev perplexity {'not finite' if perplexity is None else f'{perplexity:.2f}'}"
    return f"translated {record['sentences']:,} lines in {duration}"
