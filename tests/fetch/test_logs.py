from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import pytest

from monitor.aws.clients import Clients
from monitor.errors import NoCredentials, NoData, NotAllowed, Throttled
from monitor.fetch.logs.events import GROUP
from monitor.fetch.logs.reader import SIDE_BY_SIDE, JobLogs
from monitor.model import LogPage
from tests.aws.fake import answer_with, not_allowed, refusal
from tests.fetch.log_service import START_MS, CloudWatchLogs
from tests.fetch.sample import job

T0 = START_MS
RUNNING = {"TrainingJobStatus": "InProgress", "TrainingEndTime": None}


def texts(pages: Iterable[LogPage]) -> dict[str, list[str]]:
    """The lines of each stream, after a look at how its pages join."""
    found: dict[str, list[str]] = {}
    for page in pages:
        lines = found.setdefault(page.stream, [])
        assert page.times_ms is not None
        assert len(page.lines) == len(page.times_ms) == page.count > 0
        lines += page.lines
    return found


def test_lines_times_and_numbers() -> None:
    service = CloudWatchLogs(page=2)
    service.write("vit/algo-2-1700000000", "one", "two\nthree\n", "four", "", "five\r", "#015 12%|")
    pages = list(JobLogs(service.clients, job()).read())
    assert [page.node for page in pages] == ["algo-2"] * 3
    assert [page.first_line for page in pages] == [1, 4, 6]
    assert [page.lines for page in pages] == [("one", "two", "three"), ("four", ""), ("five\r", "#015 12%|")]
    assert pages[0].times_ms == (T0, T0 + 1000, T0 + 1000)


def test_empty_pages_in_the_middle_are_not_the_end() -> None:
    service = CloudWatchLogs(page=3, empty=[1, 2, 4, 6])
    service.write("vit/algo-1-1700000000", *"abcdefgh")
    assert texts(JobLogs(service.clients, job()).read()) == {"vit/algo-1-1700000000": list("abcdefgh")}


def test_reading_on_yields_only_what_is_new() -> None:
    service = CloudWatchLogs(page=2)
    service.write("vit/algo-1-1700000000", "a", "b", "c")
    reader = JobLogs(service.clients, job(**RUNNING))
    assert texts(reader.read()) == {"vit/algo-1-1700000000": ["a", "b", "c"]}
    assert list(reader.read()) == []
    service.write("vit/algo-1-1700000000", "d\ne")
    service.write("vit/algo-2-1700000099", "late")
    pages = list(reader.read())
    assert texts(pages) == {"vit/algo-1-1700000000": ["d", "e"], "vit/algo-2-1700000099": ["late"]}
    assert {page.stream: page.first_line for page in pages} == {"vit/algo-1-1700000000": 4, "vit/algo-2-1700000099": 1}


def test_an_abandoned_reading_loses_nothing() -> None:
    service = CloudWatchLogs(page=1)
    service.write("vit/algo-1-1700000000", *"abcdef")
    reader = JobLogs(service.clients, job())
    begun = reader.read()
    first = next(iter(begun))
    begun.close()  # type: ignore[attr-defined]
    assert first.lines == ("a",)
    assert texts(reader.read()) == {"vit/algo-1-1700000000": list("bcdef")}


@pytest.mark.parametrize("from_the_end", [False, True])
def test_an_expired_token_doubles_and_loses_nothing(from_the_end: bool) -> None:
    service = CloudWatchLogs(page=2)
    service.write("vit/algo-1-1700000000", "a", "b\nc", "d")
    service.write("vit/algo-1-1700000000", "d", "d", "e", at_ms=T0 + 3000)
    service.write("vit/algo-1-1700000000", "f", "g")
    reader = JobLogs(service.clients, job())
    seen: list[str] = []
    list(reader.newest() if from_the_end else [])
    for page in reader.read():
        seen = [*page.lines, *seen] if from_the_end else [*seen, *page.lines]
        # Whatever token comes next is too old.
        service.expired |= {f"{kind}/{T0 + 1000 * n}/{k}" for kind in "fb" for n in range(9) for k in (1, 2, 4)}
    assert seen == ["a", "b", "c", "d", "d", "d", "e", "f", "g"]
    assert reader.gaps == ()


def test_many_streams_are_all_found_and_read_side_by_side() -> None:
    service = CloudWatchLogs()
    service.takes_s = 0.001
    for number in range(1, 131):
        service.write(f"vit/algo-{number}-1700000000", f"from {number}")
    service.write("vit-2/algo-1-1700000000", "of another job")
    found = texts(JobLogs(service.clients, job()).read())
    assert found == {f"vit/algo-{number}-1700000000": [f"from {number}"] for number in range(1, 131)}
    assert service.clients.times_asked("describe_log_streams") == 3
    assert 1 < service.most_at_once <= SIDE_BY_SIDE


def test_a_restarted_host_has_two_streams() -> None:
    service = CloudWatchLogs()
    service.write("vit/algo-1-1700009999", "second")
    service.write("vit/algo-1-1700000000", "first")
    pages = list(JobLogs(service.clients, job()).read())
    assert {page.node for page in pages} == {"algo-1"}
    assert texts(pages).keys() == {"vit/algo-1-1700000000", "vit/algo-1-1700009999"}


def test_a_busy_stream_does_not_hold_the_reader_for_ever() -> None:
    service = CloudWatchLogs(page=2)
    service.write("vit/algo-1-1700000000", "a", "b", "c")
    service.before_answer = lambda: service.write(
        "vit/algo-1-1700000000", "more", "more", at_ms=int(time.time() * 1000) + 5
    )
    reader = JobLogs(service.clients, job(**RUNNING))
    assert sum(page.count for page in reader.read()) < 20


# --- what is missing ---------------------------------------------------------------------------------------------


def gap_of(reader: JobLogs) -> str:
    assert list(reader.read()) == []
    (gap,) = reader.gaps
    assert gap.what == "logs"
    return f"{gap.why} {gap.remedy}"


@pytest.mark.parametrize(("status", "words"), [("InProgress", "yet"), ("Completed", "retention")])
def test_no_lines(account: Clients, status: str, words: str) -> None:
    this = job(TrainingJobStatus=status)
    assert words in gap_of(JobLogs(account, this))
    account.client("logs").create_log_group(logGroupName=GROUP)
    assert words in gap_of(JobLogs(account, this))


def test_the_gap_goes_when_lines_come() -> None:
    service = CloudWatchLogs()
    reader = JobLogs(service.clients, job(TrainingJobStatus="InProgress"))
    assert "yet" in gap_of(reader)
    service.write("vit/algo-1-1700000000", "a")
    assert texts(reader.read()) == {"vit/algo-1-1700000000": ["a"]}
    assert reader.gaps == ()


def test_missing_rights_are_gaps(account: Clients) -> None:
    logs = account.client("logs")
    logs.create_log_group(logGroupName=GROUP)
    for number in range(3):
        logs.create_log_stream(logGroupName=GROUP, logStreamName=f"vit/algo-{number + 1}-1700000000")
    answer_with(account, "logs", (refusal("AccessDeniedException") for _ in range(99)), "FilterLogEvents")
    answer_with(account, "logs", (refusal("AccessDeniedException") for _ in range(9)), "GetLogEvents")
    assert "logs:GetLogEvents" in gap_of(JobLogs(account, job()))
    answer_with(account, "logs", (refusal("AccessDeniedException") for _ in range(9)), "DescribeLogStreams")
    assert "logs:DescribeLogStreams" in gap_of(JobLogs(account, job()))


def test_trouble_on_one_stream_leaves_the_others() -> None:
    service = CloudWatchLogs()
    for number in range(1, 6):
        service.write(f"vit/algo-{number}-1700000000", "line")
    service.broken["vit/algo-2-1700000000"] = Throttled("AWS kept throttling requests.", "Wait.")
    service.broken["vit/algo-3-1700000000"] = Throttled("AWS kept throttling requests.", "Wait.")
    service.broken["vit/algo-4-1700000000"] = NoData("AWS knows no such thing.")
    reader = JobLogs(service.clients, job())
    assert len(texts(reader.read())) == 2
    assert sorted(gap.why for gap in reader.gaps) == [
        "algo-2-1700000000, algo-3-1700000000: AWS kept throttling requests.",
        "algo-4-1700000000: AWS knows no such thing.",
    ]
    service.broken.clear()
    assert len(texts(reader.read())) == 3
    assert reader.gaps == ()


def test_streams_that_can_no_longer_be_listed_are_still_read() -> None:
    service = CloudWatchLogs()
    service.write("vit/algo-1-1700000000", "a")
    reader = JobLogs(service.clients, job(**RUNNING))
    list(reader.read())
    service.clients.methods["describe_log_streams"] = not_allowed("logs:DescribeLogStreams")
    service.write("vit/algo-1-1700000000", "b")
    assert texts(reader.read()) == {"vit/algo-1-1700000000": ["b"]}
    assert reader.gaps == ()


def test_without_the_right_to_filter_each_stream_is_followed_by_itself() -> None:
    service = CloudWatchLogs(page=2)
    service.clients.methods["filter_log_events"] = not_allowed("logs:FilterLogEvents")
    service.write("vit/algo-1-1700000000", "a", "b", "c")
    reader = JobLogs(service.clients, job(**RUNNING))
    assert list(reader.newest()) == []
    assert texts(reader.read()) == {"vit/algo-1-1700000000": ["a", "b", "c"]}
    service.write("vit/algo-1-1700000000", "d")
    service.write("vit/algo-2-1700000099", "late")
    assert texts(reader.read()) == {"vit/algo-1-1700000000": ["d"], "vit/algo-2-1700000099": ["late"]}
    assert list(reader.read()) == []
    assert reader.gaps == ()


@pytest.mark.parametrize("method", ["describe_log_streams", "get_log_events"])
def test_expired_credentials_are_raised(method: str) -> None:
    def expired(**_: Any) -> dict[str, Any]:
        raise NoCredentials("The AWS credentials have expired.")

    service = CloudWatchLogs()
    service.write("vit/algo-1-1700000000", "a")
    service.clients.methods[method] = expired
    with pytest.raises(NoCredentials):
        list(JobLogs(service.clients, job()).read())


def test_on_an_account(account: Clients) -> None:
    logs = account.client("logs")
    logs.create_log_group(logGroupName=GROUP)
    now_ms = int(time.time() * 1000) - 3_600_000

    def write(stream: str, first: int, count: int) -> None:
        events = [{"timestamp": now_ms + n, "message": f"line {n}"} for n in range(first, first + count)]
        logs.put_log_events(logGroupName=GROUP, logStreamName=stream, logEvents=events)

    streams = [f"vit/algo-{number}-1700000000" for number in range(1, 61)]
    for stream in streams:
        logs.create_log_stream(logGroupName=GROUP, logStreamName=stream)
        write(stream, 0, 3)
    write(streams[0], 3, 12_000)
    reader = JobLogs(account, job(**RUNNING))
    found = texts(reader.read())
    assert set(found) == set(streams)
    assert found[streams[0]] == [f"line {n}" for n in range(12_003)]
    assert list(reader.read()) == []
    write(streams[7], 3, 2)
    (page,) = reader.read()
    assert (page.stream, page.first_line, page.lines) == (streams[7], 4, ("line 3", "line 4"))
    assert reader.gaps == ()
    assert page.times_ms is not None
    assert isinstance(page.times_ms[0], int)


def test_denied_streams_do_not_raise() -> None:
    service = CloudWatchLogs()
    service.write("vit/algo-1-1700000000", "a")
    service.broken["vit/algo-1-1700000000"] = NotAllowed("AWS does not allow logs:GetLogEvents to you.", "Ask.")
    service.clients.methods["filter_log_events"] = not_allowed("logs:FilterLogEvents")
    assert "logs:GetLogEvents" in gap_of(JobLogs(service.clients, job()))
