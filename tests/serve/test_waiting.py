"""Which lines share a batch, and in which order requests have their turns."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trdec.serve.jobs import ROWS_AT_ONCE, Answer, Job, LineSettings, WaitingJobs, WaitingLine

NARROW, WIDE = LineSettings(beam_size=5), LineSettings(beam_size=ROWS_AT_ONCE // 4)


def _job(lines: int, settings: LineSettings = NARROW) -> Job:
    return Job(settings, [WaitingLine(str(number)) for number in range(lines)], lambda _: None)


def _waiting(*jobs: Job) -> WaitingJobs:
    waiting = WaitingJobs()
    for job in jobs:
        waiting.add(job)
    return waiting


@given(st.lists(st.tuples(st.integers(1, 300), st.sampled_from([NARROW, WIDE])), min_size=1, max_size=8))
def test_every_line_has_one_turn_in_a_batch_of_equal_settings(sizes: list[tuple[int, LineSettings]]) -> None:
    jobs = [_job(size, settings) for size, settings in sizes]
    waiting = _waiting(*jobs)
    taken = []
    while waiting:
        batch = waiting.take()
        assert len({job.settings for job, _ in batch}) == 1
        assert 1 <= len(batch) <= ROWS_AT_ONCE // batch[0][0].settings.beam_size
        taken += batch
    assert waiting.num_lines == 0
    assert sorted((jobs.index(job), number) for job, number in taken) == [
        (place, number) for place, job in enumerate(jobs) for number in range(len(job.lines))
    ]


def test_whatever_waits_goes_together() -> None:
    waiting = _waiting(_job(3), _job(4, WIDE), _job(2))
    assert len(waiting.take()) == 5
    assert len(waiting.take()) == 4


def test_a_long_text_does_not_hold_up_a_short_one() -> None:
    long, short, other = _job(1000), _job(2), _job(1, WIDE)
    waiting = _waiting(long, short, other)
    batch = waiting.take()
    assert [number for job, number in batch if job is short] == [0, 1]
    assert len(batch) == ROWS_AT_ONCE // 5
    assert [job for job, _ in waiting.take()] == [other]


def test_a_job_that_cost_a_process_is_alone_and_first() -> None:
    guilty, innocent = _job(2), _job(2)
    waiting = _waiting(guilty, innocent)
    batch = waiting.take()
    guilty.attempts = innocent.attempts = 1
    waiting.put_back(batch)
    waiting.add(_job(1))
    assert waiting.take() == [(guilty, 0), (guilty, 1)]
    assert waiting.take() == [(innocent, 0), (innocent, 1)]
    assert waiting.num_lines == 1


def test_a_job_that_left_has_no_turn() -> None:
    left, stays = _job(2), _job(3)
    waiting = _waiting(left, stays)
    waiting.remove(left)
    waiting.remove(left)
    assert {id(job) for job, _ in waiting.take()} == {id(stays)}


def test_whoever_waits_is_told_once() -> None:
    told: list[Job] = []
    job = Job(NARROW, [WaitingLine("a")], told.append)
    job.results[0] = Answer(("b",))
    assert job.open
    job.finish()
    job.finish()
    assert told == [job]
    assert not job.open
