"""Opening a job shows what is newest after a fixed few calls; the rest fills in behind, and ends as if read at once."""

from __future__ import annotations

import os
import time

import pandas as pd
import pytest

from benchmarks.account import Account, Running, running
from benchmarks.account import Job as Planned
from monitor.aws.clients import Clients
from monitor.fetch.account import AwsSource
from monitor.review import Snapshot, Watch, review

MINUTE_MS = 60_000
# At 40 ms a call twelve calls one after the other take half a second.
MOST_CALLS = 12


def _account(monkeypatch: pytest.MonkeyPatch, aws: Running) -> AwsSource:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in aws.environment.items():
        monkeypatch.setenv(name, value)
    return AwsSource(Clients())


def _job(nodes: int, minutes: float, ended: bool) -> tuple[Planned, int]:
    now_ms = round(time.time()) * 1000
    started_ms = now_ms - round((minutes + (30.0 if ended else 0.0)) * MINUTE_MS)
    return Planned(
        name="bench",
        started_ms=started_ms,
        nodes=nodes,
        minutes=minutes if ended else 10 * minutes,
        lines_per_minute=60.0,
    ), now_ms


@pytest.mark.parametrize("ended", [False, True])
@pytest.mark.parametrize("nodes", [4, 64])
def test_the_first_picture_takes_few_calls_whatever_the_number_of_nodes(
    nodes: int, ended: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, now_ms = _job(nodes, 20.0, ended)
    with running(Account(jobs=(job,), now_ms=now_ms, latency_ms=0.0)) as aws:
        source = _account(monkeypatch, aws)
        aws.reset()
        # What comes behind the first picture waits, so that its calls can be told apart.
        monkeypatch.setattr("monitor.fetch.logs.reader.JobLogs.read", _waiting(aws))
        watch = Watch(source)
        shown = _first(watch)
        assert shown.report is not None
        assert sum(aws.counts().calls.values()) <= MOST_CALLS
        assert shown.report.job.status == ("Completed" if ended else "InProgress")
        assert shown.report.steps is not None
        assert shown.report.steps.median_s is not None
        assert len([stats for stats in shown.report.nodes if stats.gpu_utilization]) == nodes
        assert any("Still reading older logs" in gap.why for gap in shown.report.run.gaps)
        # Of a line whose number is not known yet there is its order.
        assert (shown.report.run.steps["line"] < 0).all()


def test_in_the_end_it_is_the_report_of_all_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    job, now_ms = _job(3, 30.0, True)
    with running(Account(jobs=(job,), now_ms=now_ms, latency_ms=0.0)) as aws:
        source = _account(monkeypatch, aws)
        whole = review("bench", source)
        watch = Watch(_account(monkeypatch, aws))
        shown = _first(watch)
        while shown.working:
            time.sleep(0.05)
            shown = watch.snapshot("bench")
        assert shown.error is None
        assert shown.report is not None
        assert shown.report.run.gaps == whole.run.gaps
        columns = ["stream", "line", "step"]
        found, expected = (
            frame.sort_values(columns, ignore_index=True) for frame in (shown.report.run.steps, whole.run.steps)
        )
        pd.testing.assert_frame_equal(found, expected)
        events, expected_events = shown.report.run.events, whole.run.events
        pd.testing.assert_frame_equal(events, expected_events)
        assert [phase.name for phase in shown.report.phases] == [phase.name for phase in whole.phases]


def _waiting(aws: Running):  # type: ignore[no-untyped-def]
    def read(self: object):  # type: ignore[no-untyped-def]
        time.sleep(20)
        yield from ()

    return read


def _first(watch: Watch) -> Snapshot:
    deadline = time.monotonic() + 90
    while True:
        shown = watch.snapshot("bench")
        assert shown.error is None, shown.error
        if shown.report is not None:
            return shown
        assert time.monotonic() < deadline, shown.progress
        time.sleep(0.01)
