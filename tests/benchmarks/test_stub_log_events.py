"""GetLogEvents of the stub against what AWS documents of it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from botocore.exceptions import ClientError

from benchmarks.account import Account, Running, running, streams_of
from tests.benchmarks.sample import ACCOUNT, BEGAN_MS, GROUP, JOBS, MINUTE_MS, NOW_MS, job
from tests.benchmarks.stub import clients, code, read

STREAMS = {stream.name: stream for stream in streams_of(ACCOUNT)}
BIG = f"big/algo-1-{BEGAN_MS // 1000}"
SHORT = f"short/algo-1-{BEGAN_MS // 1000}"
ODD = f"job-a-2/algo-1-{BEGAN_MS // 1000}"
LATE = f"late/algo-1-{BEGAN_MS // 1000}"
MIXED = f"mixed/algo-1-{BEGAN_MS // 1000}"


def messages(pages: list[list[dict[str, Any]]]) -> list[str]:
    return [event["message"] for page in pages for event in page]


@pytest.mark.parametrize("stream", [BIG, SHORT, ODD, MIXED])
def test_forward_reading_gives_every_event_once_and_ends_with_the_same_token(logs: Any, stream: str) -> None:
    pages = read(logs, stream)
    assert messages(pages) == STREAMS[stream].texts()
    assert pages[-1] == []
    times = [event["timestamp"] for page in pages for event in page]
    assert times == sorted(times)
    assert all(event["ingestionTime"] > 0 for page in pages for event in page)


def test_a_page_holds_a_megabyte_or_ten_thousand_events(logs: Any) -> None:
    of_big = read(logs, BIG)
    for page, following in pairwise(of_big):
        size = sum(len(event["message"].encode()) + 26 for event in page)
        assert size <= 1_048_576
        if following:
            assert size + len(following[0]["message"].encode()) + 26 > 1_048_576
    assert len(of_big) == 3
    assert [len(page) for page in read(logs, SHORT)] == [10_000, 2_000, 0]
    assert [len(page) for page in read(logs, SHORT, limit=7_000)] == [7_000, 5_000, 0]


def test_without_start_from_head_the_newest_come_first_page_by_page(logs: Any) -> None:
    asked = {"logGroupName": GROUP, "logStreamName": SHORT, "limit": 5_000}
    told = logs.get_log_events(**asked)
    pages = [told["events"]]
    while True:
        token = told["nextBackwardToken"]
        told = logs.get_log_events(**asked, nextToken=token)
        pages.insert(0, told["events"])
        if told["nextBackwardToken"] == token:
            break
    assert [len(page) for page in pages] == [0, 2_000, 5_000, 5_000]
    assert messages(pages) == STREAMS[SHORT].texts()


def test_the_forward_token_of_the_newest_page_gives_only_what_is_new(aws: Running, logs: Any) -> None:
    aws.set_clock(BEGAN_MS + 5 * MINUTE_MS)
    asked = {"logGroupName": GROUP, "logStreamName": SHORT}
    told = logs.get_log_events(**asked, limit=10)
    assert len(told["events"]) == 10
    aws.advance(1)
    more = logs.get_log_events(**asked, startFromHead=True, nextToken=told["nextForwardToken"])
    assert len(more["events"]) == 1200
    assert more["events"][0]["message"].split() == ["1", str(int(told["events"][-1]["message"].split()[1]) + 1)]


def test_start_time_is_included_and_end_time_is_not(logs: Any) -> None:
    times = STREAMS[SHORT].times.tolist()
    pages = read(logs, SHORT, startTime=times[100], endTime=times[200])
    assert messages(pages) == STREAMS[SHORT].texts()[100:200]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"nextToken": "f/123/s"}, "InvalidParameterException"),
        ({"limit": 10_001}, "InvalidParameterException"),
        ({"logStreamName": "none/algo-1-1"}, "ResourceNotFoundException"),
        ({"logGroupName": "/aws/other"}, "ResourceNotFoundException"),
    ],
)
def test_what_aws_refuses(logs: Any, more: dict[str, Any], expected: str) -> None:
    with pytest.raises(ClientError) as caught:
        logs.get_log_events(**{"logGroupName": GROUP, "logStreamName": SHORT} | more)
    assert code(caught.value) == (expected, 400)


def test_a_forward_token_needs_start_from_head(logs: Any) -> None:
    asked = {"logGroupName": GROUP, "logStreamName": SHORT}
    token = logs.get_log_events(**asked, startFromHead=True)["nextForwardToken"]
    with pytest.raises(ClientError, match="startFromHead"):
        logs.get_log_events(**asked, nextToken=token)


def test_tokens_live_for_a_day(aws: Running, logs: Any) -> None:
    asked = {"logGroupName": GROUP, "logStreamName": SHORT, "startFromHead": True}
    token = logs.get_log_events(**asked)["nextForwardToken"]
    aws.advance(24 * 60 - 1)
    assert logs.get_log_events(**asked, nextToken=token)["events"]
    aws.advance(2)
    with pytest.raises(ClientError) as caught:
        logs.get_log_events(**asked, nextToken=token)
    assert code(caught.value) == ("InvalidParameterException", 400)


def test_a_running_job_grows_and_nothing_is_read_before_it_is_there(aws: Running, logs: Any) -> None:
    aws.set_clock(BEGAN_MS + 2 * MINUTE_MS)
    before = messages(read(logs, SHORT))
    assert 0 < len(before) < 2 * 1200
    aws.advance(3)
    after = messages(read(logs, SHORT))
    assert after[: len(before)] == before
    assert len(after) - len(before) == 3 * 1200


def test_late_events_take_their_place_by_time_where_a_reader_of_tokens_has_passed(aws: Running, logs: Any) -> None:
    stream = STREAMS[LATE]
    late = stream.ingested - stream.times > 90_000
    assert 0.05 < late.mean() < 0.15
    asked = {"logGroupName": GROUP, "logStreamName": LATE, "startFromHead": True}
    aws.set_clock(BEGAN_MS + 30 * MINUTE_MS)
    first = logs.get_log_events(**asked)
    passed = {event["message"] for event in first["events"]}
    aws.set_clock(NOW_MS)
    rest = logs.get_log_events(**asked, nextToken=first["nextForwardToken"])["events"]
    whole = messages(read(logs, LATE))
    lost = set(whole) - passed - {event["message"] for event in rest}
    assert whole == stream.texts()
    assert lost
    assert len(passed) + len(rest) + len(lost) == len(whole)


def test_events_out_of_order_are_read_by_their_time(logs: Any) -> None:
    found = [int(message.split()[1]) for message in messages(read(logs, MIXED))]
    assert found != sorted(found)
    assert sorted(found) == list(range(60))


def test_empty_pages_in_the_middle_have_a_new_token() -> None:
    account = Account(
        jobs=(job("gappy", minutes=30.0, lines_per_minute=1200.0),),
        now_ms=NOW_MS,
        latency_ms=0.0,
        quotas=(),
        empty_page_every=2,
    )
    (stream,) = streams_of(account)
    with running(account, prepared=False) as aws:
        pages = read(clients(aws)("logs"), stream.name, limit=9_000)
    sizes = [len(page) for page in pages]
    assert 0 in sizes[:-1]
    assert messages(pages) == stream.texts()


def test_the_same_values_give_the_same_account() -> None:
    again = {stream.name: stream for stream in streams_of(Account(jobs=JOBS))}
    other = {stream.name: stream for stream in streams_of(Account(jobs=JOBS, seed=1))}
    assert again[LATE].ingested.tolist() == STREAMS[LATE].ingested.tolist()
    assert other[LATE].ingested.tolist() != STREAMS[LATE].ingested.tolist()
