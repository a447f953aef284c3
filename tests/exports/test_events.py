"""What the objects of an export and of a subscription hold, in which order it was written, and what of it is there twice."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.fetch.exports import records
from monitor.fetch.exports.job import InOrder, answer_of, descriptions, moment, newest
from monitor.fetch.exports.records import ExportedEvent, begun_s, exported, job_of_stream
from monitor.fetch.files.renderings import BrokenTextError

STREAM = "gpt-2/algo-1-1700000000"


@pytest.mark.parametrize(
    ("path", "job", "stream"),
    [
        ("p/0d3f/gpt-2-algo-1-1700000000/000000.gz", "gpt-2", "gpt-2/algo-1-1700000000"),
        ("gpt-2-algo-12-1700000000123/000007.gz", "gpt-2", "gpt-2/algo-12-1700000000123"),
        ("0d3f/a-algo-1-1600000000-algo-2-1700000000/000000", "a-algo-1-1600000000", None),
        ("0d3f/gpt-2-algo-0-1700000000/000000.gz", None, None),
        ("0d3f/my-function-2026/000000.gz", None, None),
        ("0d3f/gpt-2-algo-1-1700000000/notes.txt", None, None),
        ("aws-logs-write-test", None, None),
        ("2026/11/24/10/training-logs-1-2026-11-24", None, None),
    ],
)
def test_the_names_of_an_exports_objects(path: str, job: str | None, stream: str | None) -> None:
    found = exported(path)
    assert (found and found.job) == job
    assert stream is None or (found and found.stream) == stream


def test_the_names_of_streams() -> None:
    assert job_of_stream("gpt-2/algo-1-1700000000") == job_of_stream("gpt-2/algo-1") == "gpt-2"
    assert job_of_stream("gpt-2/profiler") is job_of_stream("2026/11/24/[1]abc") is None
    assert (begun_s("gpt-2/algo-1-1700000000123"), begun_s("gpt-2/algo-1")) == (1700000000, None)


def file(data: bytes) -> io.BufferedReader:
    return io.BufferedReader(io.BytesIO(data))  # type: ignore[type-var]


@pytest.mark.parametrize("packed", [True, False])
def test_an_exports_lines_are_events_with_times_and_messages_of_several_lines(packed: bool) -> None:
    text = (
        "2026-11-24T10:00:00.123Z first\n2026-11-24T10:00:00.124Z Traceback:\n  File 1\n\n"
        "2026-11-24T10:00:01.000Z \n2026-11-24T10:00:01.001Z 2026-11-24T09:00:00.000Z copied\n"
    )
    data = gzip.compress(text.encode()) if packed else text.encode()
    found = [(each.time_ms % 100_000, each.message) for each in records.task_events(file(data), STREAM, "t")]
    assert found == [
        (123, "first"),
        (124, "Traceback:\n  File 1"),
        (1000, ""),
        (1001, "2026-11-24T09:00:00.000Z copied"),
    ]


def test_of_an_object_that_is_cut_off_all_that_is_there_is_read_and_the_end_is_told() -> None:
    text = "".join(f"2026-11-24T10:00:00.{n:03d}Z line {n}\n" for n in range(1000))
    found: list[ExportedEvent] = []
    with pytest.raises(BrokenTextError):
        found.extend(records.task_events(file(gzip.compress(text.encode())[:-20]), STREAM, "t"))
    assert len(found) > 500
    assert list(records.task_events(file(b""), STREAM, "t")) == []


def record(*messages: str, **more: Any) -> dict[str, Any]:
    events = [
        {"id": f"{place:056d}", "timestamp": 1000 + place, "message": text} for place, text in enumerate(messages)
    ]
    return {
        "messageType": "DATA_MESSAGE", "owner": "111122223333", "logGroup": "/aws/sagemaker/TrainingJobs",
        "logStream": STREAM, "subscriptionFilters": ["all"], "logEvents": events, **more,
    }  # fmt: skip


CONTROL = record("CWL CONTROL MESSAGE", messageType="CONTROL_MESSAGE")
OTHER = record("x", logGroup="/aws/lambda/x")
PROCESSING = record("x", logStream="job/profiler")
MEMBERS = [
    json.dumps(each).encode() for each in (CONTROL, record("a", 'b{"messageType"\n'), OTHER, PROCESSING, record("c"))
]


@pytest.mark.parametrize(
    "data",
    [
        b"".join(map(gzip.compress, MEMBERS)),
        gzip.compress(b"".join(map(gzip.compress, MEMBERS))),
        b"".join(MEMBERS),
        b"\n".join(MEMBERS) + b"\n",
        gzip.compress(b"\n".join(MEMBERS)),
    ],
    ids=["records packed", "twice packed", "unpacked by Firehose", "a record a line", "packed lines"],
)
def test_a_subscriptions_records_in_all_forms_that_firehose_writes(data: bytes) -> None:
    assert records.is_subscription(file(data))
    found = list(records.records(file(data)))
    assert [(each.owner, each.job, [event.message for event in each.events]) for each in found] == [
        ("111122223333", "gpt-2", ["a", 'b{"messageType"']),
        ("111122223333", "gpt-2", ["c"]),
    ]
    assert (found[0].events[1].time_ms, found[0].events[1].id) == (1001, f"{1:056d}")


def test_what_is_no_subscription_is_told_from_one() -> None:
    for data in (
        b"",
        b"text",
        b'{"TrainingJobName": "x"}',
        gzip.compress(b"2026-11-24T10:00:00.123Z x"),
        b"\x1f\x8bxx",
    ):
        assert not records.is_subscription(file(data))
    whole = b"".join(map(gzip.compress, MEMBERS))
    for cut in (whole[:-10], whole[: len(whole) // 2]):
        found: list[records.ExportRecord] = []
        with pytest.raises(BrokenTextError):
            found.extend(records.records(file(cut)))
        assert len(found) == 1


EVENTS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 6), st.sampled_from("xyz")), max_size=40)


@given(EVENTS, st.randoms(use_true_random=False), st.integers(1, 2000))
def test_events_are_in_order_and_once_however_they_are_told(
    written: list[tuple[str, int, str]], chance: Any, run_bytes: int
) -> None:
    """The truth is a log: events by stream and time. Two exports overlap, a subscription repeats and comes in any order."""
    truth = sorted(written, key=lambda event: event[:2])
    ids = [f"{place:04d}" for place in range(len(truth))]
    with_ids = [ExportedEvent(*event[:2], "s", id, event[2]) for event, id in zip(truth, ids, strict=True)]
    border = chance.randint(0, 6), chance.randint(0, 6)
    early = [ExportedEvent(*event[:2], "one", "", event[2]) for event in truth if event[1] <= max(border)]
    late = [ExportedEvent(*event[:2], "two", "", event[2]) for event in truth if event[1] >= min(border)]
    repeated = [*with_ids, *(event for event in with_ids if chance.random() < 0.3)]
    chance.shuffle(repeated)

    def told(events: list[ExportedEvent]) -> list[tuple[str, int, str]]:
        kept = InOrder(iter(events), run_bytes)
        assert kept.count == len(events)
        out = [(event.stream, event.time_ms, event.message) for event in kept]
        assert out == [(event.stream, event.time_ms, event.message) for event in kept], "it can be read again"
        kept.close()
        return out

    # Of one time and stream exports keep the order of the log; a subscription has any.
    assert told([*early, *late]) == truth
    assert sorted(told(repeated)) == sorted(truth)
    assert sorted(told([*repeated, *early, *late])) == sorted(truth)


def test_a_job_of_any_size_takes_the_memory_of_one_run() -> None:
    def many() -> Iterator[ExportedEvent]:
        for place in range(20_000):
            yield ExportedEvent("a", 20_000 - place, "t", "", f"line {place}")

    kept = InOrder(many(), run_bytes=50_000)
    assert len(kept._held) < 1000
    assert [event.time_ms for event in kept] == list(range(1, 20_001))
    assert (kept.first_ms, kept.last_ms) == (1, 20_000)


ANSWER = {
    "TrainingJobName": "gpt-2",
    "TrainingJobArn": "arn:aws:sagemaker:us-east-1:111122223333:training-job/gpt-2",
    "TrainingJobStatus": "Completed",
    "CreationTime": "2026-11-24T10:00:00.5+01:00",
    "SecondaryStatusTransitions": [{"Status": "Training", "StartTime": 1763974800.0, "StatusMessage": "x"}],
    "HyperParameters": {"StartTime": "5"},
}


@pytest.mark.parametrize(
    ("kept", "tags"),
    [
        (ANSWER, None),
        ([ANSWER], None),
        ({"Results": [{"TrainingJob": ANSWER | {"Tags": [{"Key": "team", "Value": "vision"}]}}]}, {"team": "vision"}),
        ({"detail-type": "SageMaker Training Job State Change", "detail": ANSWER | {"Tags": {"team": "asr"}}}, {"team": "asr"}),
        ({"events": []}, ()),
    ],
    ids=["DescribeTrainingJob", "a list", "Search", "EventBridge", "something else"],
)  # fmt: skip
def test_descriptions_in_all_forms_in_which_they_are_kept(kept: Any, tags: Any) -> None:
    found = descriptions(json.dumps(kept).encode())
    if tags == ():
        assert found == ()
        return
    (one,) = found
    assert (one.name, one.tags) == ("gpt-2", tags)
    answer = answer_of(one.answer)
    assert answer["CreationTime"] == datetime(2026, 11, 24, 9, 0, 0, 500_000, UTC)
    assert answer["SecondaryStatusTransitions"][0]["StartTime"] == datetime(2025, 11, 24, 9, 0, tzinfo=UTC)
    lines_of_it = b"\n".join([json.dumps(kept).encode()] * 2)
    assert len(descriptions(lines_of_it)) == 2


def test_the_last_word_on_a_job_counts_and_jobs_of_one_name_are_kept_apart() -> None:
    running = ANSWER | {"TrainingJobStatus": "InProgress", "LastModifiedTime": 1795514400}
    ended = ANSWER | {"LastModifiedTime": 1795518000000}
    other = ANSWER | {"TrainingJobArn": ANSWER["TrainingJobArn"].replace("1111", "4444")}  # type: ignore[attr-defined]
    found = newest(descriptions(json.dumps([ended, running, other]).encode()))
    assert sorted((each.arn.split(":")[4][:4], each.answer["TrainingJobStatus"]) for each in found["gpt-2"]) == [
        ("1111", "Completed"),
        ("4444", "Completed"),
    ]
    assert moment("soon") is moment(None) is moment(True) is moment(1e300) is None
    with pytest.raises(ValueError, match="Expecting"):
        descriptions(b"{")
