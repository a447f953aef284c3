"""A look at what is new costs the same whatever the number of streams, and misses nothing that comes late."""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from datetime import UTC, datetime

import pytest

from benchmarks.account import Account, running
from benchmarks.account import Job as Planned
from monitor.aws.clients import Clients
from monitor.fetch.account import AwsSource
from monitor.model import LogPage

MINUTE_MS = 60_000
PAGE_LINES = 7_000
"""At least so many of the stub's lines fill a page."""


def marks(page: LogPage) -> list[str]:
    return [line.rpartition(" ")[2] for line in page.lines]


@pytest.mark.parametrize(("nodes", "newest_first"), [(4, False), (4, True), (64, True)])
def test_refreshes(nodes: int, newest_first: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    now_ms = round(time.time()) * 1000
    job = Planned(
        name="bench",
        started_ms=now_ms - 5 * MINUTE_MS,
        nodes=nodes,
        minutes=12.0,
        lines_per_minute=300.0,
        late_share=0.05,
        late_ms=40_000,
        disorder_ms=5_000,
        restarts=(8.0,),
        late_nodes=((2, 6.0),),
    )
    monkeypatch.setattr("monitor.aws.calls.Pacer.wait", lambda *_: None)
    with running(Account(jobs=(job,), now_ms=now_ms, latency_ms=0.0, quotas=())) as aws:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            monkeypatch.delenv(name)
        for name, value in aws.environment.items():
            monkeypatch.setenv(name, value)
        source = AwsSource(Clients())
        reader = source.logs(source.job("bench"))
        found: Counter[str] = Counter()
        if newest_first:
            found.update(mark for page in reader.newest() for mark in marks(page))
            assert 0 < sum(aws.counts().calls.values()) <= 8
        found.update(mark for page in reader.read() for mark in marks(page))
        for third in range(1, 34):
            aws.advance(1 / 3)
            aws.reset()
            new = Counter(mark for page in reader.read() for mark in marks(page))
            found.update(new)  # "+=" would go over all lines of before, each time
            calls = aws.counts().calls
            source.metrics(source.job("bench"), datetime.fromtimestamp(now_ms / 1000 + 20 * third, UTC))
            # Streams that are new are read from their heads, which takes calls of their own.
            if third > 12 or third < 3:
                assert set(calls) <= {"FilterLogEvents"}
                assert sum(calls.values()) <= 3 + math.ceil(sum(new.values()) / PAGE_LINES)
            assert aws.counts().calls["GetMetricData"] == 1
        assert reader.gaps == ()
    assert set(found.values()) == {1}
    written = Counter(mark.split("=")[1].rpartition(".")[0] for mark in found)
    # Every stream's lines are there without a hole: their numbers run from 0.
    for stream, count in written.items():
        assert f"id={stream}.{count - 1}" in found
    assert sum(written.values()) == nodes * 12 * 300 - 6 * 300
