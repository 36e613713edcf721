"""What is seen of a task while it is under way."""

from __future__ import annotations

import io
import re
import time

from rich.console import Console

from trdec.progress import ProgressDisplay, data_size


def _wait(stream: io.StringIO, text: str) -> None:
    deadline = time.monotonic() + 10
    while text not in stream.getvalue():
        assert time.monotonic() < deadline, stream.getvalue()
        time.sleep(0.01)


def test_elsewhere_than_on_a_terminal_a_line_comes_now_and_then_even_if_nothing_moves() -> None:
    stream = io.StringIO()
    with ProgressDisplay(Console(file=stream), pause=0.05) as progress:
        progress("encoding", 0, 29_000)
        progress("encoding", 500, 29_000)
        progress("encoding", 1000, 29_000)
        _wait(stream, "left")
        seen = stream.getvalue().count("\n")
        deadline = time.monotonic() + 10
        while stream.getvalue().count("\n") < seen + 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert re.search(r"^encoding: 1,000 of 29,000, [\d,.]+/s, \d:\d\d:\d\d left$", stream.getvalue(), re.MULTILINE)
    assert "\r" not in stream.getvalue()
    after = stream.getvalue()
    time.sleep(0.2)
    assert stream.getvalue() == after


def test_no_line_comes_while_other_lines_do() -> None:
    stream = io.StringIO()
    with ProgressDisplay(Console(file=stream), pause=30) as progress:
        progress("encoding", 500, 29_000)
        progress.print("a [long] line " + "x" * 200)
    assert stream.getvalue() == "a [long] line " + "x" * 200 + "\n"


def test_a_finished_task_makes_room_for_the_next_and_never_claims_that_no_time_is_left() -> None:
    stream = io.StringIO()
    with ProgressDisplay(Console(file=stream), pause=0.05) as progress:
        for update in range(4):
            progress("training", update, 3)
        assert progress.left("training") is None
        progress("validating", 1, 7)
        _wait(stream, "validating: 1 of 7")
        assert progress.left("training") is None
    assert "training:" not in stream.getvalue()
    assert "0:00:00 left" not in stream.getvalue()


def test_a_resumed_task_is_judged_by_what_was_done_since() -> None:
    with ProgressDisplay(Console(file=io.StringIO())) as progress:
        progress("training", 1000, 1600)
        assert progress.left("training") is None
        time.sleep(0.1)
        progress("training", 1001, 1600)
        hours, minutes, seconds = map(int, (progress.left("training") or "").split(":"))
    assert 599 * 0.1 <= 3600 * hours + 60 * minutes + seconds < 599 * 2


def test_a_terminal_shows_bars() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=120)
    with ProgressDisplay(console, data_size, below=lambda: "below the bars") as progress:
        progress("corpus.tgz", 0, None)
        progress("corpus.tgz", 1_500_000, 3_000_000)
        _wait(stream, "1.5 MB of 3.0 MB")
        progress.print("above")
        progress.remove("corpus.tgz")
    for text in ("corpus.tgz", "below the bars", "above"):
        assert text in stream.getvalue()
