"""Newest first and head first are one path: the same report in the end, and no report on the way that breaks.

Some jobs of each kind a day; ``python -m benchmarks both_ways`` has all of them, and larger ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest

from benchmarks.account import Running, running
from benchmarks.planted.catalogue import FAULTS, Ticket, scenario
from benchmarks.reading.accounts import account
from benchmarks.reading.served import Served, ServedSource, account_of, of_scenario, of_story
from benchmarks.reading.ways import EVERY_PAGE, both_ways, differences, shown
from monitor.aws.clients import Clients
from monitor.demo.stories import STORIES
from monitor.parse.assemble import assemble
from monitor.review import Reviewer, Snapshot, Watch
from tests.drawn import drawn

NOW = datetime(2026, 11, 18, 12, 34, 56, tzinfo=UTC)
# Of each fault a job of few hosts and lines; 0 where it is not named.
NUMBERS = {
    "cuda-out-of-memory": 6, "host-out-of-memory": 7, "data-error": 4, "nan-loss": 2, "stopped-by-user": 6,
    "long-initialization": 7, "slow-node": 5, "checkpoint-stall": 6, "checkpoint-overdue": 7, "one-gpu-in-use": 2,
    "slow-steps": 1, "low-gpu-utilization": 4, "small-batch": 6, "cpu-bottleneck": 7, "communication-bound": 4,
    "gpu-memory-pressure": 1, "gpu-memory-growth": 7, "host-memory-growth": 5, "idle-gpus": 6, "efa-not-in-use": 7,
    "node-timing-unobservable": 1, "no-step-lines": 1, "metrics-unavailable": 4, "coarse-metrics": 6,
}  # fmt: skip
LINES_A_PAGE = 2000
MINUTE = timedelta(minutes=1)
WATCHED = 2

pytestmark = pytest.mark.xdist_group("both-ways")


@cache
def planted(fault: str) -> Served:
    return of_scenario(scenario(Ticket(fault, NUMBERS.get(fault, 0))))


@cache
def told(place: int) -> Served:
    return of_story(STORIES[place], NOW)


@cache
def of_number(number: int) -> Served:
    return account(number, most_lines=600, most_nodes=4)


JOBS: dict[str, Callable[[], Served]] = (
    {fault: lambda fault=fault: planted(fault) for fault in drawn(FAULTS, 2)}  # type: ignore[misc]
    | {
        f"demo {STORIES[place].base_name} {place}": lambda place=place: told(place)
        for place in drawn(range(len(STORIES)), 2)
    }
    | {f"random {number}": lambda number=number: of_number(number) for number in drawn(range(30), 2)}
)


@pytest.fixture(scope="module")
def aws() -> Iterator[Running]:
    jobs = {job.name: job for job in (told(WATCHED), *(make() for make in JOBS.values()))}
    with running(account_of(tuple(jobs.values()), LINES_A_PAGE), prepared=False) as stub, stub.environed():
        yield stub


@pytest.mark.parametrize("name", JOBS)
def test_both_ways_end_in_one_report(name: str, aws: Running) -> None:
    job = JOBS[name]()
    looks = (job.now - 5 * MINUTE, job.now) if job.is_running and name.startswith("random") else ()
    outcome = both_ways(job, aws, looks)
    assert outcome.troubles == ()
    assert outcome.reports >= (2 if job.lines else 1)
    # What metrics show stays true where the rest of the log names its cause; all else waits for the rest.
    assert set(outcome.withdrawn) <= {"host-memory-growth", "low-gpu-utilization"}


def test_what_a_watch_shows_comes_to_the_same(aws: Running) -> None:
    job = told(WATCHED)
    aws.set_clock(job.now.timestamp() * 1000)

    def source() -> ServedSource:
        return ServedSource(job, Clients(), lambda: job.now)

    watch = Watch(source(), pace=EVERY_PAGE)
    seen: list[Snapshot] = []
    while not seen or seen[-1].working:
        found = watch.snapshot(job.name)
        assert found.error is None
        if not seen or found is not seen[-1]:
            seen.append(found)
            if found.report is not None:
                shown(found.report)
        time.sleep(0.01)
    last = seen[-1].report
    assert last is not None
    whole = Reviewer(source(), job.name).review(last.reviewed_at)
    assert list(differences(last, whole)) == []


def test_where_the_last_table_fails_another_look_reads_the_log_again(
    aws: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = next(each for make in JOBS.values() if not (each := make()).is_running and each.lines)
    aws.set_clock(job.now.timestamp() * 1000)
    later = job.now + timedelta(days=1)

    def reviewer() -> Reviewer:
        return Reviewer(ServedSource(job, Clients(), lambda: job.now), job.name)

    def without_room(*rows: Any, **more: Any) -> None:
        assemble(*rows, **more)
        raise MemoryError

    tried = reviewer()
    with monkeypatch.context() as patch:
        patch.setattr("monitor.review.reviewer.assemble", without_room)
        with pytest.raises(MemoryError):
            tried.review(later)
    assert list(differences(reviewer().review(later), tried.review(later))) == []


@pytest.mark.parametrize("name", JOBS)
def test_a_second_look_at_a_job_that_is_over_reads_no_line_again(name: str, aws: Running) -> None:
    job = JOBS[name]()
    aws.set_clock(job.now.timestamp() * 1000)
    reviewer = Reviewer(ServedSource(job, Clients(), lambda: job.now), job.name)
    first = reviewer.review(job.now)
    later = job.now + timedelta(days=1)
    again = reviewer.review(job.now)
    assert list(differences(first, again)) == []
    if not job.is_running:
        over = reviewer.review(later)
        aws.reset()
        assert list(differences(over, reviewer.review(later))) == []
        assert not aws.counts().calls.get("GetLogEvents")
