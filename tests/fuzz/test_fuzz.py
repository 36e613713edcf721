"""The fuzzer notices what it is there to notice, and every target stands a few cases in every test run."""

from __future__ import annotations

import os
import time
from random import Random

import pytest

from fuzz.coverage import fuzz_by_coverage
from fuzz.harness import Cases, Limits, Target, fuzz, problem
from fuzz.mutation import LONGEST, mutate
from fuzz.targets import all_targets
from trdec.errors import TreeFormatError

TARGETS = all_targets()


@pytest.mark.parametrize("name", TARGETS)
def test_a_few_cases_raise_only_our_own_errors(name: str) -> None:
    cases = Cases(TARGETS[name], seed=2)
    begin, number = time.process_time(), 0
    while number < 300 and time.process_time() - begin < 2:
        assert problem(TARGETS[name], cases[number])[0] is None, f"case {number}: {cases[number]!r}"
        number += 1


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_good_input(name: str) -> None:
    for seed in TARGETS[name].seeds():
        TARGETS[name].run(seed)


def _seeds() -> list[bytes]:
    return [b"good", b"refused", b"bad", b"good too"]


def _refuse(data: bytes) -> None:
    if data == b"refused":
        raise TreeFormatError("no tree")


def _raise(data: bytes) -> None:
    _refuse(data)
    if data == b"bad":
        raise ValueError("not ours")


def _hang(data: bytes) -> None:
    while data == b"bad":
        time.sleep(1)


def _compute_without_end(data: bytes) -> None:
    while data == b"bad":
        pass


def _take_long(data: bytes) -> None:
    if data == b"bad":
        end = time.process_time() + 0.6
        while time.process_time() < end:
            pass


def _grow(data: bytes) -> None:
    if data == b"bad":
        len(b"x" * (60 << 20))


def _grow_without_end(data: bytes) -> None:
    if data == b"bad":
        bytearray(1 << 42)


def _die(data: bytes) -> None:
    if data == b"bad":
        os._exit(11)


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (_raise, "ValueError: not ours"),
        (_hang, "did not end: it computed for 0.0 seconds and waited for 1."),
        (_compute_without_end, "did not end: it computed for 1."),
        (_take_long, "seconds, more than 0.5"),
        (_grow, "MB, more than 20"),
        (_grow_without_end, "MemoryError"),
        (_die, "exit code 11"),
    ],
)
def test_a_broken_promise_is_noticed_and_the_next_cases_run(run: object, reason: str) -> None:
    target = Target("bad", run, _seeds)  # type: ignore[arg-type]
    outcome = fuzz(target, 1, 60, cases=4, limits=Limits(0.5, 20 << 20))
    assert [(failure.case, failure.data) for failure in outcome.failures] == [(2, b"bad")]
    assert reason in outcome.failures[0].reason
    assert outcome.cases == 4


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (_raise, "ValueError: not ours"),
        (_compute_without_end, "did not end: it computed for 1."),
        (_grow, "MB, more than 20"),
        (_die, "exit code 11"),
    ],
)
def test_atheris_finds_a_broken_promise(run: object, reason: str) -> None:
    pytest.importorskip("atheris", reason="atheris is not installed")
    target = Target("bad", run, _seeds)  # type: ignore[arg-type]
    outcome = fuzz_by_coverage(target, 1, 10, limits=Limits(0.5, 20 << 20))
    assert [failure.data for failure in outcome.failures] == [b"bad"]
    assert reason in outcome.failures[0].reason


def test_atheris_counts_cases_and_what_they_reach() -> None:
    pytest.importorskip("atheris", reason="atheris is not installed")
    outcome = fuzz_by_coverage(TARGETS["brackets"], 1, 20, cases=300)
    assert outcome.cases == 300
    assert outcome.failures == []
    assert outcome.refused > 10
    assert outcome.reached is not None
    assert outcome.reached[1] >= outcome.reached[0] > 50


def test_our_own_errors_are_counted_and_are_no_failures() -> None:
    outcome = fuzz(Target("good", _refuse, _seeds), 1, 60, cases=4)
    assert (outcome.cases, outcome.refused, outcome.failures) == (4, 1, [])


def test_a_case_depends_on_its_number_and_the_seed_alone() -> None:
    target = TARGETS["brackets"]
    one, same, other = Cases(target, 1), Cases(target, 1), Cases(target, 2)
    list(map(one.__getitem__, range(90, 100)))
    assert one[100] == same[100]
    assert [one[number] for number in range(100, 120)] != [other[number] for number in range(100, 120)]


def test_mutations_keep_within_the_greatest_length() -> None:
    for number in range(2000):
        assert len(mutate(b"(S a)" * 5000, [b"(S a)"], [b"x" * 5000], Random(number))) <= LONGEST
