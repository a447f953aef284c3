"""One operation's answers are damaged: that part is a gap that passes, and the rest is there as ever."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.httpsession import URLLib3Session

from benchmarks.account import Account, Faults, Running, running
from benchmarks.account import Job as Planned
from monitor.archive.cache import is_final
from monitor.aws.calls import MOST_EMPTY
from monitor.aws.clients import Clients
from monitor.errors import CannotDo, Unreachable
from monitor.fetch.account import AwsSource
from monitor.fetch.source import JobQuery
from monitor.model import Report
from monitor.review import Reviewer
from tests.aws.damaged import DAMAGES, MAIN
from tests.aws.fake import never_wait

BEGAN_MS = 1_772_611_200_000
NOW_MS = BEGAN_MS + 3 * 3_600_000
NOW = datetime.fromtimestamp(NOW_MS / 1000, UTC)
NODES, LINES = 2, 300
JOB = Planned(name="bench", started_ms=BEGAN_MS, nodes=NODES, minutes=20.0, lines_per_minute=LINES / 20)
TOKENS = {"GetLogEvents": ("nextForwardToken", "nextBackwardToken"), "FilterLogEvents": ("nextToken",)}


@pytest.fixture(scope="module")
def stub() -> Iterator[Running]:
    with running(Account(jobs=(JOB,), now_ms=NOW_MS, latency_ms=0.1, quotas=())) as aws:
        yield aws


Damaged = Callable[[str, Callable[[dict[str, Any]], bytes]], None]


def _connect(patch: pytest.MonkeyPatch, stub: Running) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        patch.delenv(name)
    for name, value in stub.environment.items():
        patch.setenv(name, value)
    never_wait(patch)
    patch.setattr("monitor.aws.calls.Pacer.wait", lambda *_: None)
    stub.set_faults(Faults())
    stub.set_clock(NOW_MS)
    stub.reset()


@pytest.fixture(scope="module")
def whole(stub: Running) -> Report:
    """What a review says where nothing is damaged."""
    with pytest.MonkeyPatch.context() as patch:
        _connect(patch, stub)
        return reviewed()


@pytest.fixture
def damaged(stub: Running, monkeypatch: pytest.MonkeyPatch) -> Damaged:
    """Makes every answer to one operation what a function makes of its body."""
    _connect(monkeypatch, stub)

    def damage(operation: str, change: Callable[[dict[str, Any]], bytes]) -> None:
        send = URLLib3Session.send

        def changed(session: URLLib3Session, request: Any) -> AWSResponse:
            answer = send(session, request)
            asked = f"{request.headers.get('X-Amz-Target', b'')!r} {request.url}"
            if operation in asked:
                answer.status_code = 200
                body = change(json.loads(answer.content))
                answer._content = body
                answer.headers["content-length"] = str(len(body))
            return answer

        monkeypatch.setattr(URLLib3Session, "send", changed)

    return damage


def reviewed() -> Report:
    return Reviewer(AwsSource(Clients()), "bench").review(NOW)


@pytest.mark.parametrize("kind", ["nothing", "an empty object", "text in place of the list", "numbers in the list"])
@pytest.mark.parametrize("operation", ["GetMetricData", "GetLogEvents", "DescribeLogStreams"])
def test_the_rest_of_a_review_is_there(operation: str, kind: str, whole: Report, damaged: Damaged) -> None:
    damaged(operation, lambda body: DAMAGES[kind](body, MAIN[operation]))
    report = reviewed()
    gaps = [gap for gap in report.run.gaps if "does not answer like AWS" in gap.why]
    assert gaps
    assert all(gap.transient for gap in gaps)
    assert not any("no metrics" in gap.why for gap in report.run.gaps)
    if operation == "GetMetricData":
        assert report.run.logs.lines == whole.run.logs.lines > 0
    else:
        assert len(report.run.metrics) == len(whole.run.metrics) > 0
    assert not is_final(report.run, NOW)


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_job_that_cannot_be_described_is_one_sentence(kind: str, damaged: Damaged) -> None:
    damaged("DescribeTrainingJob", lambda body: DAMAGES[kind](body, "SecondaryStatusTransitions"))
    with pytest.raises(Unreachable, match="does not answer like AWS"):
        reviewed()


@pytest.mark.parametrize("kind", DAMAGES)
def test_jobs_are_listed_where_they_cannot_be_searched(kind: str, damaged: Damaged) -> None:
    source = AwsSource(Clients())
    damaged("Search", lambda body: DAMAGES[kind](body, "Results"))
    found = source.find(JobQuery())
    assert [job.name for job in found.jobs] == ["bench"]
    assert "does not answer like AWS" in found.gaps[0].why


def _one_series(change: dict[str, Any]) -> Callable[[dict[str, Any]], bytes]:
    def changed(body: dict[str, Any]) -> bytes:
        body["MetricDataResults"][0].update(change)
        return json.dumps(body).encode()

    return changed


@pytest.mark.parametrize("values", [[1.0], [1.0] * 999, [float("nan")] * 20, [float("inf")] * 20])
def test_one_damaged_series_costs_itself(values: list[float], whole: Report, damaged: Damaged) -> None:
    damaged("GetMetricData", _one_series({"Values": values}))
    run = reviewed().run
    (gap,) = [gap for gap in run.gaps if gap.what == "metrics"]
    assert gap.why == "CloudWatch does not answer like AWS: of 1 of 10 metric series, times and values do not fit."
    assert gap.transient
    assert len(run.metrics) == len(whole.run.metrics) * 9 // 10


@pytest.mark.parametrize("operation", ["GetLogEvents", "FilterLogEvents"])
@pytest.mark.parametrize("goes_round", [False, True])
def test_tokens_that_lead_nowhere_come_to_an_end(operation: str, goes_round: bool, damaged: Damaged) -> None:
    calls = iter(range(10**9))
    kept: list[dict[str, Any]] = []

    def again(body: dict[str, Any]) -> bytes:
        number = next(calls)
        kept.append(body)
        token = f"token-{number % 7 if goes_round else number}"
        events = kept[0]["events"] if goes_round else []
        return json.dumps({"events": events, **dict.fromkeys(TOKENS[operation], token)}).encode()

    damaged(operation, again)
    reader = AwsSource(Clients()).logs(AwsSource(Clients()).job("bench"))
    list(reader.newest())
    list(reader.read())
    # Both streams, and a look again at what they left.
    assert next(calls) < 8 * MOST_EMPTY
    gaps = reader.gaps
    assert gaps or operation == "FilterLogEvents"
    assert all(gap.transient for gap in gaps)


def test_a_damaged_archive_listing_is_no_empty_archive(damaged: Damaged, tmp_path: Path) -> None:
    source = AwsSource(Clients())
    damaged("ListTrainingJobs", lambda body: b"{}")
    with pytest.raises(CannotDo, match="does not answer like AWS"):
        source.jobs(replace(JobQuery(), limit=5))
