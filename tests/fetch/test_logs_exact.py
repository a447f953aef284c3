"""Whatever the service does, the lines that are read are the lines that were written, each once, and numbered so."""

from __future__ import annotations

import time
from collections import Counter
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.fetch.logs.reader import JobLogs
from tests.fetch.log_service import CloudWatchLogs
from tests.fetch.sample import job

STREAMS = ["vit/algo-1-1700000000", "vit/algo-2-1700000000", "vit/algo-2-1700000777", "vit/algo-3-1700000000"]

writes = st.tuples(
    st.just("write"),
    st.sampled_from(STREAMS),
    # Few times and few messages: ties and twins are the hard part. Four minutes late is not too late.
    st.lists(st.tuples(st.integers(0, 240), st.sampled_from(["same", "step=1", "two\nlines", "x\n", ""])), max_size=6),
)
looks = st.tuples(st.just("read"), st.none(), st.none())
leaves = st.tuples(st.just("abandon"), st.integers(1, 3), st.none())


@settings(max_examples=300, deadline=None)
@given(
    actions=st.lists(st.one_of(writes, writes, looks, leaves), max_size=14),
    newest_first=st.booleans(),
    page=st.integers(1, 4),
    empty=st.sets(st.integers(1, 60), max_size=20),
    ended=st.booleans(),
)
def test_every_line_once(actions: list, newest_first: bool, page: int, empty: set[int], ended: bool) -> None:
    now_ms = int(time.time() * 1000) // 1000 * 1000
    end = {"TrainingJobStatus": "Completed", "TrainingEndTime": datetime.fromtimestamp(now_ms / 1000, UTC)}
    begun = datetime.fromtimestamp(now_ms / 1000, UTC) - timedelta(hours=1)
    this = job(
        TrainingStartTime=begun, **(end if ended else {"TrainingJobStatus": "InProgress", "TrainingEndTime": None})
    )
    service = CloudWatchLogs(page=page, empty=empty)
    reader = JobLogs(service.clients, this)
    found: dict[str, dict[int, str]] = {}

    def keep(pages: object) -> None:
        for one in pages:  # type: ignore[attr-defined]
            lines = found.setdefault(one.stream, {})
            for number, line in enumerate(one.lines, start=one.first_line):
                assert number not in lines, "two lines of one number"
                lines[number] = line

    opened = False
    for what, which, messages in [*actions, ("read", None, None), ("read", None, None)]:
        if what == "write":
            for lag_s, message in messages:
                service.write(which, message, at_ms=now_ms - lag_s * 1000)
            continue
        if not opened and newest_first and service.streams:
            keep(reader.newest())
        opened = opened or bool(service.streams)
        pages = reader.read()
        if what == "abandon":
            for _, one in zip(range(which), pages, strict=False):
                keep([one])
            pages.close()  # type: ignore[attr-defined]
        else:
            keep(pages)
    assert reader.gaps == () or not service.streams
    for stream, messages in service.written.items():
        wanted = Counter(line for message in messages for line in message.removesuffix("\n").split("\n"))
        assert Counter(found.get(stream, {}).values()) == wanted
        first = reader.numbering.get(stream, 1)
        assert first is not None
        assert sorted(found.get(stream, {})) == list(range(first, first + len(found.get(stream, {}))))
    assert set(found) <= set(service.written)


def test_lines_that_were_there_at_the_first_look_are_numbered_in_the_streams_order() -> None:
    now_ms = int(time.time() * 1000)
    begun = datetime.fromtimestamp(now_ms / 1000, UTC) - timedelta(hours=1)
    this = job(TrainingStartTime=begun, TrainingJobStatus="InProgress", TrainingEndTime=None)
    service = CloudWatchLogs(page=70)
    for n in range(400):
        service.write(STREAMS[0], f"line {n}", at_ms=now_ms - 2_000_000 + n * 5_000)
    reader = JobLogs(service.clients, this)
    newest = [line for page in reader.newest() for line in page.lines]
    assert newest[-1] == "line 399"
    found = {}
    edges = []
    for page in reader.read():
        edges.append(page.first_line)
        found |= dict(enumerate(page.lines, start=page.first_line))
    assert edges == sorted(edges, reverse=True), "older pages come newest first"
    first = reader.numbering[STREAMS[0]]
    assert first is not None
    assert [found[number] for number in sorted(found)] + newest == [f"line {n}" for n in range(400)]
    assert min(found) == first
    assert reader.progress is None
