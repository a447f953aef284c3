"""DescribeLogStreams, FilterLogEvents and Logs Insights of the stub against what AWS documents of them."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from benchmarks.account import Faults, Running, streams_of
from tests.benchmarks.sample import ACCOUNT, BEGAN_MS, GROUP, MINUTE_MS, NOW_MS
from tests.benchmarks.stub import code, stream_names

SECOND = BEGAN_MS // 1000
STREAMS = {stream.name: stream for stream in streams_of(ACCOUNT)}


def filtered(logs: Any, **asked: Any) -> list[dict[str, Any]]:
    pages = logs.get_paginator("filter_log_events").paginate(logGroupName=GROUP, **asked)
    return [event for page in pages for event in page["events"]]


def test_streams_come_by_name_fifty_a_page_and_names_sort_as_text(aws: Running, logs: Any) -> None:
    found = stream_names(logs, "wide/")
    assert len(found) == 60
    assert found == sorted(found)
    assert found[1].startswith("wide/algo-10-")
    assert aws.counts().calls == {"DescribeLogStreams": 2}
    assert stream_names(logs, "wide/", PaginationConfig={"PageSize": 7}) == found
    assert stream_names(logs, "wide/", descending=True) == found[::-1]


def test_a_prefix_without_its_slash_finds_other_jobs(logs: Any) -> None:
    assert stream_names(logs, "job-a/") == [f"job-a/algo-1-{SECOND}"]
    assert len(stream_names(logs, "job-a")) == 2


def test_restarts_and_late_nodes_add_streams_as_time_goes(aws: Running, logs: Any) -> None:
    counts = []
    for minute in (0, 1, 4, 6):
        aws.set_clock(BEGAN_MS + minute * MINUTE_MS)
        counts.append(len(stream_names(logs, "restarted/")) if minute else 0)
    assert counts == [0, 1, 2, 4]
    last = stream_names(logs, "restarted/")
    assert last == [f"restarted/algo-{n}-{SECOND + s}" for n, s in ((1, 0), (1, 300), (2, 180), (2, 300))]


def test_the_last_event_time_lags_and_the_ingestion_time_does_not(aws: Running, logs: Any) -> None:
    aws.set_clock(BEGAN_MS + 30 * MINUTE_MS)
    (row,) = logs.describe_log_streams(logGroupName=GROUP, logStreamNamePrefix="late/")["logStreams"]
    assert row["firstEventTimestamp"] == BEGAN_MS
    assert row["lastEventTimestamp"] <= BEGAN_MS + 10 * MINUTE_MS
    assert row["lastIngestionTime"] >= BEGAN_MS + 29 * MINUTE_MS
    assert row["storedBytes"] == 0
    aws.set_clock(BEGAN_MS + 10 * MINUTE_MS)
    (row,) = logs.describe_log_streams(logGroupName=GROUP, logStreamNamePrefix="late/")["logStreams"]
    assert "lastEventTimestamp" not in row


def test_order_by_last_event_time_needs_no_prefix(logs: Any) -> None:
    pages = logs.get_paginator("describe_log_streams").paginate(
        logGroupName=GROUP, orderBy="LastEventTime", descending=True
    )
    times = [row["lastEventTimestamp"] for page in pages for row in page["logStreams"]]
    assert times == sorted(times, reverse=True)
    assert len(times) == len(STREAMS)
    with pytest.raises(ClientError) as caught:
        logs.describe_log_streams(logGroupName=GROUP, logStreamNamePrefix="a", orderBy="LastEventTime")
    assert code(caught.value) == ("InvalidParameterException", 400)


def test_the_group_is_made_with_the_first_line(aws: Running, logs: Any) -> None:
    aws.set_clock(BEGAN_MS - MINUTE_MS)
    with pytest.raises(ClientError) as caught:
        logs.describe_log_streams(logGroupName=GROUP)
    assert code(caught.value) == ("ResourceNotFoundException", 400)
    aws.set_clock(NOW_MS)
    aws.set_faults(Faults(no_group=True))
    with pytest.raises(ClientError, match="log group does not exist"):
        logs.filter_log_events(logGroupName=GROUP)


def test_a_filter_gives_all_streams_of_a_prefix_by_time(aws: Running, logs: Any) -> None:
    events = filtered(logs, logStreamNamePrefix="big/")
    times = [event["timestamp"] for event in events]
    assert times == sorted(times)
    assert aws.counts().calls["FilterLogEvents"] > 3
    for name in stream_names(logs, "big/"):
        assert [event["message"] for event in events if event["logStreamName"] == name] == STREAMS[name].texts()
    assert len({event["eventId"] for event in events}) == len(events)
    page = logs.filter_log_events(logGroupName=GROUP, logStreamNamePrefix="big/", interleaved=True)
    assert page["searchedLogStreams"] == []
    assert {event["logStreamName"] for event in page["events"]} == set(stream_names(logs, "big/"))


def test_a_filter_by_names_and_times_includes_both_ends(logs: Any) -> None:
    name = f"short/algo-1-{SECOND}"
    times = STREAMS[name].times.tolist()
    events = filtered(logs, logStreamNames=[name], startTime=times[10], endTime=times[20], limit=3)
    assert [event["message"] for event in events] == STREAMS[name].texts()[10:21]


@pytest.mark.parametrize(("pattern", "lines"), [("error", 30), ('"fine 8"', 1), ("fine Größe", 0), ("Größe error", 30)])
def test_terms_and_phrases_filter(logs: Any, pattern: str, lines: int) -> None:
    events = filtered(logs, logStreamNamePrefix="job-a-2/", filterPattern=pattern)
    assert len(events) == lines


@pytest.mark.parametrize(
    "asked",
    [
        {"logStreamNames": ["a"], "logStreamNamePrefix": "a"},
        {"filterPattern": "{$.a=1}"},
        {"nextToken": "b/0/s"},
    ],
)
def test_filters_that_are_refused(logs: Any, asked: dict[str, Any]) -> None:
    with pytest.raises(ClientError) as caught:
        logs.filter_log_events(logGroupName=GROUP, **asked)
    assert code(caught.value) == ("InvalidParameterException", 400)


def test_a_filter_of_a_running_job_ends_at_what_is_there(aws: Running, logs: Any) -> None:
    aws.set_clock(BEGAN_MS + 30 * MINUTE_MS)
    before = filtered(logs, logStreamNamePrefix="late/")
    assert max(event["ingestionTime"] for event in before) <= BEGAN_MS + 30 * MINUTE_MS
    aws.set_clock(NOW_MS)
    assert 0 < len(before) < len(filtered(logs, logStreamNamePrefix="late/")) == 3600


def test_a_query_runs_completes_and_pages(logs: Any) -> None:
    asked = {"queryString": "fields @message", "startTime": SECOND, "endTime": SECOND + 60, "limit": 10_400}
    query = logs.start_query(logGroupName=GROUP, **asked)["queryId"]
    statuses = [logs.get_query_results(queryId=query)["status"] for _ in range(2)]
    page = logs.get_query_results(queryId=query)
    assert [*statuses, page["status"]] == ["Scheduled", "Running", "Complete"]
    assert page["results"][0][0] == {"field": "@message", "value": "fields @message 0"}
    rest = logs.get_query_results(queryId=query, nextToken=page["nextToken"])
    assert (len(page["results"]), len(rest["results"]), "nextToken" in rest) == (10_000, 400, False)
    assert page["statistics"]["bytesScanned"] > 0
    with pytest.raises(ClientError) as caught:
        logs.get_query_results(queryId="none")
    assert code(caught.value)[0] == "ResourceNotFoundException"
