"""A job as an account would show it at a moment, and the account that does: logs from the stub, the rest as it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pandas as pd

from benchmarks.account import Account, Written
from benchmarks.account import Job as Planned
from benchmarks.planted.scenario import Scenario
from benchmarks.planted.source import metrics_of
from monitor.aws.clients import Clients
from monitor.demo.describe import describe
from monitor.demo.logs import streams
from monitor.demo.measurements import host_minutes
from monitor.demo.story import Story, schedule
from monitor.fetch.account import AwsSource
from monitor.fetch.jobs import job_of
from monitor.fetch.logs.reader import JobLogs
from monitor.fetch.metrics.hosts import period_s, raw_frame
from monitor.model import Gap, Job, Price, RawMetrics
from monitor.model.host_metrics import HOST_METRIC_NAMES

_METRIC_OF = {theirs: ours for ours, theirs in HOST_METRIC_NAMES.items()}
_PUBLISHED_AFTER = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Served:
    """One job."""

    name: str
    answer: dict[str, Any]
    """Of DescribeTrainingJob."""
    streams: tuple[Written, ...]
    metrics: RawMetrics
    now: datetime
    """When it is looked at."""

    @property
    def lines(self) -> int:
        return sum(len(stream.lines) for stream in self.streams)

    @property
    def is_running(self) -> bool:
        return bool(self.answer["TrainingJobStatus"] == "InProgress")

    def planned(self) -> Planned:
        """The job for the stub, whose own answers about it are not asked for."""
        began_ms = min((stream.lines[0][0] for stream in self.streams if stream.lines), default=0)
        return Planned(name=self.name, started_ms=began_ms, written=self.streams)


def of_scenario(scenario: Scenario) -> Served:
    """A simulated job."""
    streams = tuple(Written(stream.name, stream.lines) for stream in scenario.streams)
    return Served(scenario.plan.name, scenario.answer, streams, metrics_of(scenario), scenario.now)


def of_story(story: Story, now: datetime) -> Served:
    """A sample job of the demo."""
    job = schedule(story, now)
    written = []
    for stream in streams(job):
        lines = []
        for at, text in stream.events():
            if at > now:
                break
            lines.append((round(at.timestamp() * 1000), text))
        written.append(Written(stream.name, tuple(lines)))
    rows = []
    for point in host_minutes(job, now):
        if point.timestamp + _PUBLISHED_AFTER > now:
            break
        rows += [(point.timestamp, point.node, _METRIC_OF[name], value) for name, value in point.values.items()]
    metrics = RawMetrics(raw_frame(rows), period_s(job.started or job.created, now))
    return Served(job.name, dict(describe(job)), tuple(written), metrics, now)


def account_of(jobs: tuple[Served, ...], page_lines: int) -> Account:
    """An account that holds these jobs' logs, on pages of so many lines at most."""
    return Account(
        jobs=tuple(job.planned() for job in jobs),
        now_ms=round(max(job.now for job in jobs).timestamp() * 1000),
        latency_ms=0.0,
        quotas=(),
        page_events=page_lines,
    )


class ServedSource(AwsSource):
    """The account of a served job at a moment that can be set: its logs are read as any account's."""

    def __init__(self, served: Served, clients: Clients, clock: Callable[[], datetime]) -> None:
        super().__init__(clients)
        self._served = served
        self._now = clock

    def job(self, name: str) -> Job:
        return job_of(self._served.answer)

    def logs(self, job: Job) -> JobLogs:
        return JobLogs(self.clients, job, lambda: self._now().timestamp())

    def metrics(self, job: Job, now: datetime) -> RawMetrics:
        found = self._served.metrics
        there = found.frame["timestamp"] <= pd.Timestamp(now - _PUBLISHED_AFTER)
        return RawMetrics(found.frame[there].reset_index(drop=True), found.period_s, found.gaps)

    def price(self, instance_type: str, job: Job) -> Price | Gap | None:
        return Price(12.5, "a price of this benchmark")
