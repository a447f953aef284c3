"""The flow from a source to a report, and the watch that keeps it fresh, on a source made by hand."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Literal

import pandas as pd
import pytest

from monitor.errors import NoSuchJob
from monitor.fetch.source import JobQuery, JobQueryResult
from monitor.model import (
    ApiBill,
    Gap,
    InstanceGroup,
    Job,
    JobSummary,
    LoadProgress,
    LogPage,
    Node,
    Price,
    RawMetrics,
    Transition,
)
from monitor.review import Reviewer, Snapshot, Watch, review

T0 = datetime(2026, 3, 4, 8, 0, tzinfo=UTC)
NOW = T0 + timedelta(hours=1)


class OneJob:
    """A source with one job on two nodes of eight GPUs; its log grows by ``lines`` steps at each read."""

    gives: Literal["pages"] = "pages"
    clients = lines = None

    def __init__(self, status: str = "Completed", lines: int = 20) -> None:
        running = status == "InProgress"
        self.asked: dict[str, int] = {"job": 0, "metrics": 0}
        self.trouble: Exception | None = None
        self.asks: Price | Gap | None = None
        self.priced: list[str] = []
        self.price_late: threading.Event | None = None
        self.written = 0
        self._lines = lines
        self.known = Job(
            "one",
            status=status,
            secondary_status="Training",
            instance_groups=(InstanceGroup("", "ml.test.8xlarge", 2),),
            created=T0,
            started=T0,
            ended=None if running else T0 + timedelta(minutes=50),
            transitions=(Transition("Training", T0, None if running else T0 + timedelta(minutes=50)),),
            nodes=(Node("algo-1", "ml.test.8xlarge"), Node("algo-2", "ml.test.8xlarge")),
        )

    def jobs(self, query: JobQuery) -> tuple[JobSummary, ...]:
        return ()

    def find(self, query: JobQuery) -> JobQueryResult:
        return JobQueryResult(self.jobs(query))

    def beginnings(self) -> dict[str, str]:
        return {}

    def goes_on(self, known: Mapping[str, str]) -> bool:
        return False

    def with_instances(self, summaries: Sequence[JobSummary]) -> tuple[JobSummary, ...]:
        return tuple(summaries)

    def job(self, name: str) -> Job:
        self.asked["job"] += 1
        if self.trouble is not None:
            raise self.trouble
        return self.known

    def logs(self, job: Job) -> Reader:
        return Reader(self)

    def metrics(self, job: Job, now: datetime) -> RawMetrics:
        self.asked["metrics"] += 1
        minutes = pd.date_range(T0, periods=48, freq="min")
        frame = pd.concat(
            pd.DataFrame({"timestamp": minutes, "node": node, "metric": "gpu_utilization", "value": 720.0})
            for node in job.node_names
        )
        return RawMetrics(frame, 60)

    def instance_type(self, name: str) -> Node | None:
        return Node("", name, 8, 96, 40.0, counts_from="ec2")

    def price(self, instance_type: str, job: Job) -> Price | Gap | None:
        self.priced.append(instance_type)
        if self.price_late is not None:
            self.price_late.wait(10)
        return self.asks

    def profiled(self, job: Job) -> None:
        return None

    def endpoint(self) -> str | None:
        return None

    def bill(self) -> ApiBill:
        return ApiBill({"DescribeTrainingJob": self.asked["job"]}, 0.0)


class Reader:
    def __init__(self, source: OneJob) -> None:
        self._source = source
        self.gaps: tuple[Gap, ...] = ()
        self.numbering: dict[str, int | None] = {}
        self.progress: LoadProgress | None = None

    def newest(self) -> Iterator[LogPage]:
        yield from ()

    def read(self) -> Iterator[LogPage]:
        first = self._source.written + 1
        steps = range(first, first + self._source._lines)
        self._source.written += self._source._lines
        yield LogPage.of(
            "one/algo-1-1",
            "algo-1",
            first,
            [f"step={n} step_time_s=2.0" for n in steps],
            tuple(int((T0 + timedelta(minutes=5, seconds=2 * n)).timestamp() * 1000) for n in steps),
        )


def test_unknown_types_are_normalised_by_what_ec2_says() -> None:
    report = review("one", OneJob(), NOW)
    assert [stats.gpu_utilization.mean for stats in report.nodes if stats.gpu_utilization] == [90.0, 90.0]
    assert report.job.nodes[0].counts_from == "ec2"
    assert report.steps is not None
    assert report.steps.median_s == 2.0
    assert report.api_total.calls == {"DescribeTrainingJob": 1}


def test_a_second_review_reads_only_what_is_new_and_metrics_once_a_minute() -> None:
    source = OneJob("InProgress")
    reviewer = Reviewer(source, "one")
    assert len(reviewer.review(NOW).run.steps) == 20
    again = reviewer.review(NOW + timedelta(seconds=20))
    assert list(again.run.steps["step"]) == list(range(1, 41))
    assert source.asked["metrics"] == 1
    reviewer.review(NOW + timedelta(seconds=80))
    assert source.asked["metrics"] == 2


def test_a_user_price_gives_cost() -> None:
    from monitor.settings import Settings

    source = OneJob()
    report = Reviewer(source, "one", Settings({"ml.test.8xlarge": 36.0})).review(NOW)
    assert report.cost.usd == pytest.approx(2 * 36.0 * 50 / 60)
    assert report.cost.price_source == "settings file"


def _until(check: Callable[[], bool], within_s: float = 60.0) -> None:
    deadline = time.monotonic() + within_s
    while not check():
        assert time.monotonic() < deadline, "it did not come to be"
        time.sleep(0.01)


def test_the_watch_answers_at_once_and_fills_in_behind() -> None:
    watch = Watch(OneJob(), refresh_s=0.01)
    first = watch.snapshot("one")
    assert first.report is None
    assert first.working
    _until(lambda: watch.snapshot("one").report is not None)
    assert not watch.snapshot("one").working


def test_a_finished_job_is_read_once() -> None:
    source = OneJob()
    watch = Watch(source, refresh_s=0.01)
    _until(lambda: watch.snapshot("one").report is not None)
    time.sleep(0.1)
    watch.snapshot("one")
    time.sleep(0.05)
    assert source.asked["job"] == 1


def test_a_running_job_is_read_again_while_somebody_asks() -> None:
    source = OneJob("InProgress")
    watch = Watch(source, refresh_s=0.01)
    _until(lambda: _steps(watch.snapshot("one")) >= 60)


def test_trouble_keeps_the_last_good_report_and_is_got_over() -> None:
    source = OneJob("InProgress")
    watch = Watch(source, refresh_s=0.01)
    _until(lambda: watch.snapshot("one").report is not None)
    source.trouble = NoSuchJob("It is gone.")
    _until(lambda: watch.snapshot("one").error is not None)
    assert watch.snapshot("one").report is not None
    source.trouble = None
    _until(lambda: watch.snapshot("one").error is None)


def test_an_error_of_our_own_is_said_and_does_not_leave_the_page_waiting() -> None:
    source = OneJob()
    source.trouble = ZeroDivisionError("oops")
    watch = Watch(source, refresh_s=0.01)
    _until(lambda: watch.snapshot("one").error is not None)
    assert "ZeroDivisionError" in str(watch.snapshot("one").error)


def test_a_job_that_just_ended_is_read_once_more_for_its_late_lines() -> None:
    source = OneJob()
    source.known = replace(source.known, ended=datetime.now(UTC))
    watch = Watch(source, refresh_s=0.01)
    _until(lambda: watch.snapshot("one").report is not None and source.asked["job"] >= 2)


def test_jobs_that_nobody_looks_at_any_more_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    from monitor.review import watch as watching

    monkeypatch.setattr(watching, "REMEMBERED", 2)
    monkeypatch.setattr(watching, "FORGET_AFTER_S", 0.05)
    source = OneJob()
    watch = Watch(source, refresh_s=0.01)
    for name in ("one", "two", "three", "four"):
        _until(lambda name=name: watch.snapshot(name).report is not None)  # type: ignore[misc]
        time.sleep(0.03)
    _until(lambda: watch.snapshot("five").report is not None and len(watch._watched) <= 3)
    asked = source.asked["job"]
    # The one that was asked for last is still known; the first is read again.
    assert watch.snapshot("five").report is not None
    assert watch.snapshot("one").report is None
    _until(lambda: watch.snapshot("one").report is not None)
    assert source.asked["job"] == asked + 1


class Ordered(OneJob):
    """Notes who is read, one after the other; the first is held until ``go``."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()
        self.read: list[str] = []

    def job(self, name: str) -> Job:
        self.read.append(name)
        self.go.wait(5)
        return super().job(name)


def test_what_is_looked_at_is_reviewed_before_what_was_asked_for_earlier() -> None:
    source = Ordered()
    watch = Watch(source, refresh_s=60, parallel=1)
    for name, urgency in (("held", 5), ("background", 9), ("second", 2), ("first", 1), ("opened", 0)):
        watch.snapshot(name, urgency)
        _until(lambda: source.read == ["held"])
    source.go.set()
    _until(lambda: len(source.read) == 5)
    assert source.read == ["held", "opened", "first", "second", "background"]


def test_who_is_no_longer_asked_for_gives_up_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    from monitor.review import watch as watching

    source = Ordered()
    watch = Watch(source, refresh_s=60, parallel=1)
    watch.snapshot("held")
    _until(lambda: source.read == ["held"])
    for place in range(50):
        watch.snapshot(f"scrolled-past-{place}", place)
    monkeypatch.setattr(watching, "GIVE_UP_S", 0.2)
    time.sleep(0.3)
    watch.snapshot("in-view", 99)
    source.go.set()
    _until(lambda: watch.snapshot("in-view", 99).report is not None)
    assert source.read == ["held", "in-view"]
    _until(lambda: watch.snapshot("scrolled-past-7").report is not None)


def test_no_more_jobs_than_allowed_are_reviewed_at_once() -> None:
    others = set(threading.enumerate())
    source = Ordered()
    watch = Watch(source, refresh_s=60, parallel=4)
    names = [f"job-{place}" for place in range(20)]
    for name in names:
        watch.snapshot(name)
    _until(lambda: len(source.read) == 4)
    time.sleep(0.05)
    assert len(source.read) == 4
    assert sum(thread.name.startswith("watch ") for thread in set(threading.enumerate()) - others) == 4
    source.go.set()
    _until(lambda: all(watch.snapshot(name).report is not None for name in names))


def _steps(snapshot: Snapshot) -> int:
    return 0 if snapshot.report is None else len(snapshot.report.run.steps)
