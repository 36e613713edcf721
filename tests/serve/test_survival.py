"""What the server survives: processes that die, too many requests, clients that leave."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Queue
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest

from support.serving import PATIENCE, Served, wait_until
from trdec.configuration.sections import SearchConfiguration
from trdec.errors import UsageError
from trdec.serve.jobs import Answer, Job, LineFailure, LineSettings, ModelDescription, WaitingLine
from trdec.serve.model_process import answer_lines
from trdec.serve.observation import ServerMetrics
from trdec.serve.runner import LONGEST_PAUSE, ModelRunner, ProcessSettings
from trdec.translation.model_directory import load_model
from trdec.translation.translation import Translation
from trdec.translation.translator import Translator

FISH = "The fish is not small ."


def _ask(served: Served, text: str) -> httpx.Response:
    body = {"q": text, "source": "vel", "target": "en"}
    return served.client.post("/translate", json=body)


def _waiting(served: Served) -> int:
    return served.service.models["vel-en"].runner.waiting_lines


def test_too_many_requests_are_told_when_to_come_again(served: Served, lines: list[str]) -> None:
    with ThreadPoolExecutor(60) as pool:
        with served.stopped_model():
            first = pool.submit(_ask, served, lines[1])
            time.sleep(0.3)  # the stopped process has it; the others wait
            others = [pool.submit(_ask, served, lines[1]) for _ in range(50)]
            wait_until(lambda: sum(future.done() for future in others) >= 10)
        answers = [future.result() for future in (first, *others)]
    refused = [answer for answer in answers if answer.status_code == 429]
    assert len(refused) == 10
    assert all(1 <= int(answer.headers["retry-after"]) <= 60 for answer in refused)
    assert {answer.json()["translatedText"] for answer in answers if answer.status_code == 200} == {FISH}
    assert {answer.status_code for answer in answers} == {200, 429}
    assert _ask(served, lines[1]).status_code == 200


def test_what_nobody_waits_for_leaves_the_queue(served: Served, lines: list[str]) -> None:
    with served.stopped_model(), ThreadPoolExecutor(1) as pool:
        first = pool.submit(_ask, served, lines[1])
        time.sleep(0.3)
        try:
            httpx.post(f"{served.url}/translate", json={"q": lines, "source": "vel", "target": "en"}, timeout=0.5)
        except httpx.ReadTimeout:
            wait_until(lambda: _waiting(served) == 0)
        else:
            raise AssertionError("a stopped process answered")
        os.kill(served.process_id, signal.SIGCONT)
        assert first.result().status_code == 200


def test_requests_survive_the_death_of_the_process(served: Served, lines: list[str]) -> None:
    before = served.process_id
    with ThreadPoolExecutor(4) as pool:
        os.kill(before, signal.SIGSTOP)
        futures = [pool.submit(_ask, served, line) for line in (lines[1], lines[1], lines[0])]
        time.sleep(0.3)  # the stopped process has the first; the others wait
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: served.process_id != before)
        assert served.client.get("/health").status_code == 503
        answers = [future.result() for future in futures]
    assert [answer.status_code for answer in answers] == [200] * 3
    assert answers[0].json() == {"translatedText": FISH}
    wait_until(lambda: served.client.get("/health").status_code == 200)
    assert 'trdec_model_restarts_total{model="vel-en"} 1.0' in served.client.get("/metrics").text


class _Failing(Translator):
    """Fails after the first answers of a batch, and at one line whenever it is asked."""

    asked: list[list[str]]
    wrong: str

    def as_found(self, texts: Any, *others: Any) -> Iterator[list[tuple[int, Translation]]]:
        self.asked.append(list(texts))
        if texts != [self.wrong]:
            yield next(super().as_found(texts, *others))
            if len(texts) == 1:
                return
        raise UsageError("line 1: the prefix is wrong")


def test_a_model_ranks_as_it_was_tuned_unless_a_request_says_otherwise(model: Path) -> None:
    codec, network, _ = load_model(model)
    own = SearchConfiguration(beam_size=3, length_power=0.0)
    translator = Translator([network], codec, own=own)
    line = "a b c d e f"  # unknown to the model, which is unsure

    def scored(power: float | None) -> float:
        settings = LineSettings(beam_size=4, length_power=power, answer="details")
        (((_, answer),),) = answer_lines(translator, settings, [WaitingLine(line)])
        assert isinstance(answer, Answer)
        assert answer.details is not None
        return float(json.loads(answer.details)["score"])

    assert scored(None) == scored(0.0) == pytest.approx(translator.translate([line], 4, length_power=0.0)[0].score)
    assert scored(1.0) != scored(None)


def test_a_batch_that_fails_fails_for_the_guilty_line_alone_and_keeps_what_was_answered(
    model: Path, lines: list[str]
) -> None:
    waiting = [WaitingLine(line) for line in lines]
    *_, last = answer_lines(Translator.load(model), LineSettings(), waiting)
    guilty = last[-1][0]
    translator = _Failing.load(model)
    assert isinstance(translator, _Failing)
    translator.asked, translator.wrong = [], lines[guilty]
    groups = list(answer_lines(translator, LineSettings(demands=("prefix",)), waiting))
    results = dict(pair for group in groups for pair in group)
    assert sorted(number for group in groups for number, _ in group) == [0, 1, 2]
    assert results.pop(guilty) == LineFailure("the prefix is wrong", "request", "prefix")
    assert all(isinstance(result, Answer) for result in results.values())
    answered = {number for number, _ in groups[0]}
    assert translator.asked == [lines, *([lines[number]] for number in range(3) if number not in answered)]


class _Process:
    """A model's process as its runner sees it, with a test in the place of the model."""

    def __init__(self) -> None:
        self.connection, self.runners = multiprocessing.Pipe()
        self.sentinel, self._life = multiprocessing.Pipe()
        self.pid = id(self)
        self.alive = True
        self.looks = 0
        self.connection.send(ModelDescription(None, None, "seq2seq", False))

    def batch(self) -> list[str]:
        """The texts that it is given next."""
        assert self.connection.poll(PATIENCE), "nothing came"
        return [line.text for line in self.connection.recv()[1]]

    def answer(self, lines: int) -> None:
        self.connection.send([(number, Answer(("done",))) for number in range(lines)])

    def is_alive(self) -> bool:
        self.looks += 1
        return self.alive

    def kill(self) -> None:
        self.alive = False
        self._life.close()

    def join(self) -> None:
        """It is gone at once."""


class _Runner(ModelRunner):
    """Its processes are no real ones, time passes when a test says so, and pauses are noted only."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__("a", ProcessSettings((Path("a"),)), 1000, self, lambda _: None)
        monkeypatch.setattr("trdec.serve.runner.LOOK", 0.01)
        monkeypatch.setattr("trdec.serve.runner.time", SimpleNamespace(monotonic=self.clock))
        self.now = 0.0
        self.loading = 0.0
        self.ready_unloaded = False
        self.started: Queue[_Process] = Queue()
        self.batches: Queue[int] = Queue()
        self.pauses: Queue[float] = Queue()
        self.looks = 0

    def clock(self) -> float:
        return self.now

    def batch(self, _: str, lines: int, __: float) -> None:
        self.batches.put(lines)

    def restarted(self, _: str) -> None:
        """Not noted."""

    def _spawn(self) -> Connection:
        process = _Process()
        self._process = cast("Any", process)
        self.ready_unloaded |= self.ready
        self.now += self.loading
        self.started.put(process)
        return process.runners

    def _pause(self, seconds: float) -> None:
        self.pauses.put(seconds)

    def _check_wanted(self, *arguments: Any) -> None:
        self.looks += 1
        super()._check_wanted(*arguments)

    def look(self, process: _Process) -> None:
        """Wait until the runner has looked at its batch once more, or has ended the process."""
        before = self.looks
        wait_until(lambda: self.looks > before + 1 or not process.alive)


@contextlib.contextmanager
def _running(runner: _Runner) -> Iterator[None]:
    runner.start()
    try:
        yield
    finally:
        runner.now += 1e6  # no batch may take so long
        runner.stop()


def _job(*texts: str) -> tuple[Job, threading.Event]:
    """A job, and what is set when it is done."""
    done = threading.Event()
    return Job(LineSettings(), [WaitingLine(text) for text in texts], lambda _: done.set()), done


def test_a_client_that_leaves_while_a_batch_waits_for_others_costs_no_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runner = _Runner(monkeypatch)
    leaves, _ = _job("c")
    leaving: list[Job] = []

    def clock() -> float:
        """Asked last how long the batch still waits for others, while which the only one that waits leaves."""
        now = runner.now
        if leaving:
            runner.cancel(leaving.pop())
            process.looks = 0
            runner.now += 1
        return now

    monkeypatch.setattr("trdec.serve.runner.time", SimpleNamespace(monotonic=clock))
    with _running(runner):
        process = runner.started.get(timeout=PATIENCE)
        runner.submit(_job("a", "b")[0])
        process.batch()
        runner.now = 1
        process.answer(2)
        runner.batches.get(timeout=PATIENCE)
        leaving.append(leaves)
        runner.submit(leaves)
        wait_until(lambda: not leaving and (process.looks > 0 or not process.alive))
        assert process.alive
        runner.submit(_job("d", "e")[0])
        assert process.batch() == ["d", "e"]
        process.answer(2)


def test_a_batch_that_nobody_waits_for_makes_room_after_as_long_as_loading_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runner = _Runner(monkeypatch)
    runner.loading = 5
    (left, _), (stays, done) = _job("long"), _job("short")
    with _running(runner):
        process = runner.started.get(timeout=PATIENCE)
        runner.submit(left)
        assert process.batch() == ["long"]
        runner.now += 4
        runner.submit(stays)
        runner.cancel(left)
        runner.look(process)
        assert process.alive, "loading takes longer than the batch has run"
        runner.now += 2
        another = runner.started.get(timeout=PATIENCE)
        assert not process.alive
        assert another.batch() == ["short"]
        runner.now += 6
        runner.look(another)
        assert another.alive, "somebody waits for this batch"
        another.answer(1)
        assert done.wait(PATIENCE)
    assert stays.attempts == 0
    assert not runner.ready_unloaded
    assert runner.pauses.empty()


def test_a_batch_that_nobody_waits_for_is_finished_if_nobody_else_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = _Runner(monkeypatch)
    left, _ = _job("long")
    with _running(runner):
        process = runner.started.get(timeout=PATIENCE)
        runner.submit(left)
        process.batch()
        runner.cancel(left)
        runner.now += 1
        runner.look(process)
        assert process.alive
        runner.now += 60
        runner.started.get(timeout=PATIENCE)
        assert not process.alive
    assert runner.pauses.empty()


def test_a_batch_that_nobody_waits_for_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = _Runner(monkeypatch)
    left, _ = _job("long")
    stopping = threading.Thread(target=runner.stop)
    with _running(runner):
        process = runner.started.get(timeout=PATIENCE)
        runner.submit(left)
        process.batch()
        runner.cancel(left)
        stopping.start()
        wait_until(lambda: runner._stopping)
        runner.look(process)
        assert not process.alive
    stopping.join()


def test_a_batch_that_somebody_waits_for_is_tried_twice_and_then_the_whole_job_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runner = _Runner(monkeypatch)
    job, done = _job(*map(str, range(200)))
    runner.submit(job)
    with _running(runner):
        for _ in range(2):
            process = runner.started.get(timeout=PATIENCE)
            assert process.batch()[0] == "0"
            process.kill()
        assert done.wait(PATIENCE)
        assert job.lost
        last = runner.started.get(timeout=PATIENCE)
        runner.submit(_job("other")[0])
        assert last.batch() == ["other"]
        last.answer(1)
    assert runner.waiting_lines == 0


def test_a_process_that_cannot_be_started_is_tried_again_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = _Runner(monkeypatch)
    job, done = _job("a")
    runner.submit(job)
    spawn = runner._spawn
    failures = iter(range(1100))

    def failing() -> Connection:
        if next(failures, None) is not None:
            raise OSError(24, "Too many open files")
        return spawn()

    monkeypatch.setattr(runner, "_spawn", failing)
    with _running(runner):
        wait_until(lambda: not runner.started.empty() or not runner._thread.is_alive())
        process = runner.started.get_nowait()
        assert process.batch() == ["a"]
        process.answer(1)
        assert done.wait(PATIENCE)
    pauses = [runner.pauses.get() for _ in range(1100)]
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (0, LONGEST_PAUSE)


def test_a_process_that_cannot_be_started_leaves_no_open_files(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = ModelRunner("a", ProcessSettings((Path("a"),)), 10, ServerMetrics(), lambda _: None)
    made: list[Connection] = []
    context = multiprocessing.get_context("spawn")

    def pipe() -> tuple[Connection, Connection]:
        made.extend(multiprocessing.Pipe())
        return made[0], made[1]

    def failing(_: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(context, "Pipe", pipe)
    monkeypatch.setattr(context.Process, "start", failing)
    with pytest.raises(OSError, match="open files"):
        runner._spawn()
    assert [connection.closed for connection in made] == [True, True]
