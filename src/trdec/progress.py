"""Progress shown to the user: bars on a terminal, elsewhere a line every so often."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.filesize import decimal
from rich.progress import BarColumn, ProgressColumn, SpinnerColumn, Task, TaskID, TextColumn
from rich.progress import Progress as Bars
from rich.text import Text

Progress = Callable[[str, int, int | None], None]
"""Called with a task, how much of it is done, and how much there is of it, if that is known."""

PAUSE = 15.0
"""Seconds between two lines where there are no bars."""

AVERAGED = 1e9
"""Seconds over which rich averages the rate: its last thousand samples, however long they took."""


def count(amount: float) -> str:
    """A number of things: `12,345`, or `0.4`."""
    return f"{amount:,.0f}" if amount >= 10 or amount == int(amount) else f"{amount:.2g}"


def data_size(amount: float) -> str:
    """A number of bytes: `1.2 MB`."""
    return decimal(int(amount))


class ProgressDisplay:
    """Tasks under way, each with its rate and the time left; a finished one disappears when another one moves.

    On a terminal they are bars, with `below` under them. Elsewhere a line tells of each if nothing else was printed for
    a while, also if the task does not move.
    """

    def __init__(
        self,
        console: Console,
        amount: Callable[[float], str] = count,
        below: Callable[[], RenderableType] | None = None,
        pause: float = PAUSE,
    ) -> None:
        self.is_live = console.is_terminal
        self._console = console
        self._amount = amount
        self._pause = pause
        self._bars = _BarsAbove(console, amount, below)
        self._tasks: dict[str, TaskID] = {}
        self._guard = threading.Lock()
        self._ended = threading.Event()
        self._spoke = time.monotonic()
        self._speaker = threading.Thread(target=self._speak, daemon=True)

    def __enter__(self) -> Self:
        if self.is_live:
            self._bars.start()
        else:
            self._speaker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended.set()
        self._bars.stop()

    def __call__(self, task: str, done: int, total: int | None) -> None:
        """Show how much of a task is done."""
        with self._guard:
            for name in [name for name in self._tasks if name != task and self._task(name).finished]:
                self._bars.remove_task(self._tasks.pop(name))
            if task not in self._tasks:
                self._tasks[task] = self._bars.add_task(task, total=total)
            self._bars.update(self._tasks[task], completed=done, total=total)

    def remove(self, task: str) -> None:
        """Show a task no longer, if it is shown."""
        with self._guard:
            if task in self._tasks:
                self._bars.remove_task(self._tasks.pop(task))

    def left(self, task: str) -> str | None:
        """The time left for a task, as h:mm:ss, if it can be told."""
        with self._guard:
            return _time_left(self._task(task)) if task in self._tasks else None

    def print(self, text: str) -> None:
        """Print a line, above the bars."""
        self._spoke = time.monotonic()
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def _task(self, name: str) -> Task:
        return next(task for task in self._bars.tasks if task.id == self._tasks[name])

    def _speak(self) -> None:
        with contextlib.suppress(OSError):  # whoever read these lines is gone
            while not self._ended.wait(max(0.01, self._spoke + self._pause - time.monotonic())):
                if time.monotonic() - self._spoke >= self._pause:
                    self._tell()

    def _tell(self) -> None:
        with self._guard:
            moving = [self._task(name) for name in self._tasks]
            lines = [f"{task.description}: {describe_task(task, self._amount)}" for task in moving if not task.finished]
        self._spoke = time.monotonic()
        for line in lines:
            self.print(line)


def describe_task(task: Task, amount: Callable[[float], str]) -> str:
    """`1,200 of 29,000, 310/s, 0:01:29 left`; the time taken where the time left is not known."""
    facts = []
    if task.total is None:
        facts += [amount(task.completed)] if task.completed else []
    elif task.total > 1:
        facts.append(f"{amount(task.completed)} of {amount(task.total)}")
    if task.speed:
        facts.append(f"{amount(task.speed)}/s")
    left, taken = _time_left(task), timedelta(seconds=int(task.elapsed or 0))
    return ", ".join([*facts, f"{left} left" if left else f"{taken} so far"])


def _time_left(task: Task) -> str | None:
    if task.finished or task.time_remaining is None:
        return None
    return str(timedelta(seconds=round(task.time_remaining)))


class _Facts(ProgressColumn):
    def __init__(self, amount: Callable[[float], str]) -> None:
        super().__init__()
        self._amount = amount

    def render(self, task: Task) -> Text:
        return Text(describe_task(task, self._amount), no_wrap=True)


class _BarsAbove(Bars):
    """Bars with something below them."""

    def __init__(
        self, console: Console, amount: Callable[[float], str], below: Callable[[], RenderableType] | None
    ) -> None:
        self._below: Callable[[], RenderableType] | None = None  # rich draws once before it is set up
        super().__init__(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            _Facts(amount),
            console=console,
            transient=True,
            redirect_stdout=False,  # what a command writes there is its result
            disable=not console.is_terminal,
            speed_estimate_period=AVERAGED,
        )
        self._below = below

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        if self._below is not None:
            yield self._below()
