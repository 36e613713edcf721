"""What the server survives: processes that die, too many requests, clients that leave."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.serving import Served, wait_until
from trdec.configuration.sections import SearchConfiguration
from trdec.errors import UsageError
from trdec.serve.jobs import Answer, LineFailure, LineSettings, WaitingLine
from trdec.serve.model_process import answer_lines
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
