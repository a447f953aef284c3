"""Lines are read again around any moment: whole, in time, and in a bounded number of calls."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from monitor.aws.clients import Clients
from monitor.errors import NoData, NotAllowed
from monitor.fetch.logs import events as log_span
from monitor.fetch.logs.events import GROUP, MOST_CALLS, read_span
from monitor.model import Job, LogRequest, LogSpan
from tests.aws.fake import not_allowed
from tests.fetch.log_service import START_MS, CloudWatchLogs
from tests.fetch.sample import job

BEGUN = datetime.fromtimestamp(START_MS / 1000, UTC)
MIN = timedelta(minutes=1)


def ended(minutes: int = 60, **fields: Any) -> Job:
    """The job of the service's streams."""
    return job(CreationTime=BEGUN - 2 * MIN, TrainingStartTime=BEGUN, TrainingEndTime=BEGUN + minutes * MIN, **fields)


def running() -> Job:
    return job(
        CreationTime=BEGUN - 2 * MIN, TrainingStartTime=BEGUN, TrainingEndTime=None, TrainingJobStatus="InProgress"
    )


def cluster(nodes: int, lines: int, every_s: float, page: int = 10_000) -> CloudWatchLogs:
    service = CloudWatchLogs(page=page)
    for node in range(1, nodes + 1):
        for number in range(lines):
            at_ms = START_MS + round(number * every_s * 1000) + node
            service.write(f"vit/algo-{node}-1700000000", f"{node} says {number}", at_ms=at_ms)
    return service


def asked(service: CloudWatchLogs) -> int:
    return service.clients.times_asked("filter_log_events")


def texts(*spans: LogSpan) -> list[str]:
    return [line.text for span in spans for line in span.lines]


def written(service: CloudWatchLogs) -> Counter[str]:
    return Counter(text for lines in service.written.values() for text in lines)


@pytest.mark.parametrize("nodes", [1, 64, 256])
def test_the_end_of_a_log_takes_a_few_calls_whatever_the_number_of_nodes(nodes: int) -> None:
    service = cluster(nodes, 60, 60.0)
    span = read_span(service.clients, ended(), LogRequest())
    assert asked(service) <= 5
    assert {line.stream for line in span.lines} == set(service.streams)
    assert [line.time_ms for line in span.lines] == sorted(line.time_ms for line in span.lines)
    assert texts(span)[-1] == f"{nodes} says 59"
    assert not span.newer


def test_a_sparse_log_of_weeks_is_found_in_a_bounded_number_of_calls() -> None:
    service = cluster(2, 4, 7 * 86_400.0)
    span = read_span(service.clients, ended(22 * 1440), LogRequest())
    assert len(span.lines) == 8
    assert not span.older
    assert asked(service) <= MOST_CALLS


@pytest.mark.parametrize(("page", "most"), [(10_000, 10_000), (7, 40), (50, 30)])
def test_going_older_and_newer_gives_each_line_once(page: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_span, "MOST_LINES", most)
    monkeypatch.setattr(log_span, "_ENOUGH", most // 2)
    service = cluster(4, 90, 20.0, page)
    spans = [read_span(service.clients, ended(), LogRequest())]
    while spans[0].older:
        spans.insert(0, read_span(service.clients, ended(), LogRequest(end=_moment(spans[0].from_ms))))
        assert spans[0].to_ms == spans[1].from_ms
    assert Counter(texts(*spans)) == written(service)
    spans = [read_span(service.clients, ended(), LogRequest(start=BEGUN - 2 * MIN))]
    while spans[-1].newer:
        spans.append(read_span(service.clients, ended(), LogRequest(start=_moment(spans[-1].to_ms))))
    assert Counter(texts(*spans)) == written(service)


def _moment(time_ms: int) -> datetime:
    return datetime.fromtimestamp(time_ms / 1000, UTC)


def test_around_a_moment_stands_what_came_before_and_after() -> None:
    service = cluster(4, 600, 1.0)
    span = read_span(service.clients, ended(), LogRequest(at=BEGUN + 5 * MIN))
    said = texts(span)
    assert said.index("1 says 300") > 20
    assert said[-1] == "4 says 599"
    assert asked(service) <= 4


def test_one_node_is_read_alone_but_not_where_all_write_into_one_stream() -> None:
    service = cluster(12, 20, 10.0)
    own = read_span(service.clients, ended(), LogRequest(node="algo-1"))
    assert {line.stream for line in own.lines} == {"vit/algo-1-1700000000"}
    mpi = ended(HyperParameters={"sagemaker_mpi_enabled": "true"})
    assert mpi.launcher == "mpi"
    assert len({line.stream for line in read_span(service.clients, mpi, LogRequest(node="algo-1")).lines}) == 12


def test_too_much_in_too_few_calls_says_what_is_missing() -> None:
    service = cluster(2, 30, 0.1)
    service.empty = set(range(1, 500))
    span = read_span(service.clients, ended(), LogRequest())
    assert asked(service) <= MOST_CALLS
    assert not span.lines
    assert span.gap is not None
    assert "12 calls" in span.gap.why


def test_following_finds_what_is_new_and_what_is_late_and_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_span.time, "time", lambda: START_MS / 1000 + 600)
    service = cluster(3, 60, 10.0)
    first = read_span(service.clients, running(), LogRequest())
    calls = asked(service)
    service.write("vit/algo-2-1700000000", "new", at_ms=START_MS + 601_000)
    service.write("vit/algo-3-1700000000", "late", at_ms=START_MS + 585_000)
    second = read_span(service.clients, running(), LogRequest(), first)
    assert asked(service) == calls + 1
    assert Counter(texts(second)) == Counter(texts(first)) + Counter(["new", "late"])
    assert texts(second)[-1] == "new"
    kept = sum(one is other for one, other in zip(first.lines, second.lines, strict=False))
    assert kept > len(first.lines) - 20, "what is old is the same lines"


def test_a_job_that_wrote_nothing_and_a_group_that_is_not_there_are_empty() -> None:
    service = CloudWatchLogs()
    assert read_span(service.clients, ended(), LogRequest()).lines == ()

    def absent(**_: Any) -> dict[str, Any]:
        raise NoData("The specified log group does not exist.")

    service.clients.methods["filter_log_events"] = absent
    span = read_span(service.clients, ended(), LogRequest())
    assert (span.lines, span.older, span.newer) == ((), False, False)


def test_a_refusal_is_raised() -> None:
    service = CloudWatchLogs()
    service.clients.methods["filter_log_events"] = not_allowed("logs:FilterLogEvents")
    with pytest.raises(NotAllowed, match="logs:FilterLogEvents"):
        read_span(service.clients, ended(), LogRequest())


def test_lines_as_an_account_serves_them(account: Clients) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    logs = account.client("logs")
    logs.create_log_group(logGroupName=GROUP)
    for node in (1, 2):
        name = f"vit/algo-{node}-1700000000"
        logs.create_log_stream(logGroupName=GROUP, logStreamName=name)
        stamps = [round((now - timedelta(minutes=30 - each)).timestamp() * 1000) + node for each in range(30)]
        events = [{"timestamp": stamp, "message": f"{node} at {place}\nand more"} for place, stamp in enumerate(stamps)]
        logs.put_log_events(logGroupName=GROUP, logStreamName=name, logEvents=events)
    done = job(CreationTime=now - 40 * MIN, TrainingStartTime=now - 35 * MIN, TrainingEndTime=now)
    span = read_span(account, done, LogRequest())
    assert texts(span)[:4] == ["1 at 0", "and more", "2 at 0", "and more"]
    assert len(span.lines) == 120
    assert texts(read_span(account, done, LogRequest(node="algo-2", end=now - 29 * MIN)))[-2:] == ["2 at 0", "and more"]
