"""Several processes translate as one does, and their errors and ends are noticed."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
from collections.abc import Iterator
from functools import partial

import pytest

from support.model_directory import trained
from trdec import errors
from trdec.errors import OutOfMemoryError, SearchError, TrainingInterrupted, TrdecError, UsageError
from trdec.search.beam import BeamSettings
from trdec.search.sampling import SamplingSettings
from trdec.translation.demands import Demands
from trdec.translation.translator import Translator
from trdec.translation.workers import Workers


@pytest.fixture(scope="module")
def lines() -> list[str]:
    text = (trained().parent / "toy" / "train.vel").read_text(encoding="utf-8").splitlines()
    return ["", *text[:9], " ", *text[9:12]]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load(trained())


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with Workers(2, partial(Translator.load, trained())) as found:
        yield found


@pytest.mark.parametrize(
    "settings", [BeamSettings(3, 2), SamplingSettings(samples=2, seed=3)], ids=["beam search", "sampling"]
)
def test_they_translate_as_one_process_does(
    translator: Translator, workers: Workers, lines: list[str], settings: BeamSettings | SamplingSettings
) -> None:
    demands = Demands(prefixes=["" if number % 2 else "The" for number in range(len(lines))])
    alone, together = (
        list(translator.stream(lines, settings, 2, demands=demands, attention=True, workers=them))
        for them in (None, workers)
    )
    assert [each.to_json() for each in together] == [each.to_json() for each in alone]
    assert [each.tree for each in together] == [each.tree for each in alone]


def test_their_errors_are_those_of_one_process(translator: Translator, workers: Workers, lines: list[str]) -> None:
    with pytest.raises(SearchError, match="line 2: no translation"):
        list(translator.stream(lines, batch_size=1, demands=Demands(words=9000), workers=workers))
    with pytest.raises(UsageError, match="only 3 prefixes for at least 4 lines"):
        list(translator.stream(lines, batch_size=1, demands=Demands(prefixes=[""] * 3), workers=workers))
    assert [each.text for each in translator.stream(lines, workers=workers)] == [
        each.text for each in translator.translate(lines)
    ]


def test_a_process_that_is_killed_is_an_error_and_not_a_wait(translator: Translator, lines: list[str]) -> None:
    before = multiprocessing.active_children()
    with Workers(1, partial(Translator.load, trained())) as workers:
        list(translator.stream(lines[:2], workers=workers))
        (process,) = (each for each in multiprocessing.active_children() if each not in before)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(OutOfMemoryError, match="`jobs`"):
            list(translator.stream(lines, batch_size=1, workers=workers))


def test_every_error_of_a_translation_passes_from_process_to_process() -> None:
    made: list[TrdecError] = [SearchError(4)]
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, TrdecError)]
    made += [kind("what happened") for kind in kinds if kind not in (SearchError, TrainingInterrupted)]
    for error in made:
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
