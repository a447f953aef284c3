"""Many accounts as one list: each pair by itself, later looks ask for what changed, a pair that fails keeps its rows."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from monitor.accounts import Account, AccountRegion
from monitor.errors import NotAllowed, TrainwatchError, Unreachable
from monitor.fetch.source import JobQuery, JobQueryResult
from monitor.model import JobSummary
from monitor.review import across
from monitor.review.across import AcrossWatch, Sweep
from monitor.review.archived import Source

NOW = datetime(2026, 11, 24, 12, 0, tzinfo=UTC)
QUERY = JobQuery(limit=100)


@dataclass
class Pair:
    """One account in one region, as a source; what it was asked is kept."""

    jobs_: list[JobSummary] = field(default_factory=list)
    error: TrainwatchError | Exception | None = None
    waits: threading.Event | None = None
    asked: list[JobQuery] = field(default_factory=list)

    def find(self, query: JobQuery) -> JobQueryResult:
        self.asked.append(query)
        if self.waits is not None:
            self.waits.wait(10)
        if self.error is not None:
            raise self.error
        return JobQueryResult(tuple(self.jobs_[: query.limit]))


def _where(name: str, region: str = "us-east-1") -> AccountRegion:
    return AccountRegion(Account(name, (region,)), region)


def _sweep(pairs: dict[AccountRegion, Pair]) -> Sweep:
    return Sweep(lambda where: cast(Source, pairs[where]))


def _job(name: str, hours: float, status: str = "InProgress") -> JobSummary:
    return JobSummary(name, status, NOW - timedelta(hours=hours))


def test_jobs_of_one_name_are_kept_apart_and_the_newest_come_first() -> None:
    one, other = _where("one"), _where("other")
    pairs = {one: Pair([_job("a", 1), _job("b", 3)]), other: Pair([_job("a", 2)])}
    found = _sweep(pairs).list_jobs([*pairs], QUERY, NOW)
    assert [(row.where.account.name, row.job.name) for row in found.rows] == [
        ("one", "a"),
        ("other", "a"),
        ("one", "b"),
    ]
    assert found.answered == 2


def test_what_fails_is_named_whatever_it_fails_by_and_hides_nothing() -> None:
    pairs = {
        _where("ok"): Pair([_job("a", 1)]),
        _where("refused"): Pair(error=NotAllowed("AWS does not allow it.", "Have it allowed.")),
        _where("down"): Pair(error=Unreachable("Nothing answers.")),
        _where("odd"): Pair(error=ZeroDivisionError("a bug")),
    }
    found = _sweep(pairs).list_jobs([*pairs], QUERY, NOW)
    assert [row.job.name for row in found.rows] == ["a"]
    assert [one.where.account.name for one in found.missing] == ["refused", "down", "odd"]
    assert found.answered == 1


def test_a_later_look_is_one_call_for_what_changed() -> None:
    where, pair = _where("one"), Pair([_job("a", 1), _job("b", 3)])
    sweep = _sweep({where: pair})
    sweep.list_jobs([where], QUERY, NOW)
    pair.jobs_ = [replace(_job("a", 1), status="Failed"), _job("c", 0)]
    found = sweep.list_jobs([where], QUERY, NOW + timedelta(minutes=1))
    assert [(row.job.name, row.job.status) for row in found.rows] == [
        ("c", "InProgress"),
        ("a", "Failed"),
        ("b", "InProgress"),
    ]
    assert len(pair.asked) == 2
    since = pair.asked[1].modified_after
    assert since is not None
    assert since < NOW


def test_a_query_that_a_change_may_leave_is_asked_as_a_whole() -> None:
    where, pair = _where("one"), Pair([_job("a", 1)])
    sweep, query = _sweep({where: pair}), replace(QUERY, status="InProgress")
    sweep.list_jobs([where], query, NOW)
    pair.jobs_ = []
    assert sweep.list_jobs([where], query, NOW + timedelta(minutes=1)).rows == ()
    assert [each.modified_after for each in pair.asked] == [None, None]


def test_a_pair_that_fails_keeps_its_rows_and_is_let_be_for_a_minute() -> None:
    where, pair = _where("one"), Pair([_job("a", 1)])
    sweep = _sweep({where: pair})
    sweep.list_jobs([where], QUERY, NOW)
    pair.error = Unreachable("Nothing answers.")
    for seconds in (20, 40):
        found = sweep.list_jobs([where], QUERY, NOW + timedelta(seconds=seconds))
        assert [row.job.name for row in found.rows] == ["a"]
        assert [one.rows_of for one in found.missing] == [NOW]
    assert len(pair.asked) == 2
    pair.error = None
    found = sweep.list_jobs([where], QUERY, NOW + timedelta(seconds=90))
    assert found.missing == ()


def test_one_that_is_slow_to_fail_keeps_no_other_waiting() -> None:
    slow = Pair(waits=threading.Event(), error=Unreachable("Nothing answers."))
    pairs = {_where("slow"): slow} | {
        _where(f"a{number}"): Pair([_job("a", 1)]) for number in range(3 * across.AT_ONCE)
    }
    watch = AcrossWatch([*pairs], lambda where: cast(Source, pairs[where]), 100)
    deadline = time.monotonic() + 10
    while len((seen := watch.snapshot()).across.rows) < len(pairs) - 1 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(seen.across.rows) == len(pairs) - 1
    assert seen.is_first
    cast(Any, slow.waits).set()
    while watch.snapshot().is_first and time.monotonic() < deadline:
        time.sleep(0.01)
    assert [one.where.account.name for one in watch.snapshot().across.missing] == ["slow"]
