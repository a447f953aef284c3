"""Of checkpoints and evaluations that are too many to keep, what a rule asks of them stays: which reports they stand between,
the first and the last of them, and their number."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.analyze.journal import journal
from monitor.diagnose.rulebook import diagnose
from monitor.model import LEFT_OUT, Job, LogPage, Run, metrics_frame, steps_frame
from monitor.parse.assemble import assemble
from monitor.parse.events.epochs import EPOCH_TOLD
from monitor.parse.events.event_rows import EventRows
from monitor.parse.recognise import RawRows
from monitor.parse.reports import delimited
from monitor.parse.rows import EventRow
from tests.parse.read_both_ways import difference, paged

STREAM = "job/algo-1-1700000000"
KINDS = ("checkpoint-begin", "checkpoint-end", "evaluation-begin", "evaluation-end")
T0_MS = 1_700_000_000_000


def mark(line: int, kind: str = "checkpoint-begin", part: int = 0) -> EventRow:
    return EventRow(STREAM, "algo-1", line, part, T0_MS + 1000 * line, None, "", kind, f"saving checkpoint {line}")


def kept(lines: list[int], most_alike: int, kind: str = "checkpoint-begin", most: int = 10_000) -> EventRows:
    rows = EventRows(most_alike=most_alike, most=most)
    for line in lines:
        rows.add_all([mark(line, kind)])
    return rows


def with_marks(rows: EventRows, every: int, count: int) -> pd.DataFrame:
    """The journal of a job with a report on each so many lines."""
    lines = np.arange(1, count + 1) * every
    steps = steps_frame(
        [
            {
                "stream": STREAM,
                "node": "algo-1",
                "format": "key-value",
                "kind": "step",
                "segment": 0,
                "line": int(line),
                "step": place,
                "step_time_s": float(every),
                "timestamp": pd.Timestamp(T0_MS + 1000 * int(line), unit="ms", tz="UTC"),
                "rank": None,
                "throughput": None,
                "throughput_unit": "",
                "loss": None,
                "gpu_memory_gib": None,
                "total": None,
                "warm_up": False,
            }
            for place, line in enumerate(lines, start=1)
        ]
    )
    return journal(steps, assemble(RawRows().steps, rows).events)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(
    lines=st.lists(st.integers(1, 100_000), unique=True, min_size=1, max_size=400),
    most=st.integers(4, 60),
    backward=st.booleans(),
)
def test_marks_are_bounded_counted_and_keep_their_ends(kind: str, lines: list[int], most: int, backward: bool) -> None:
    rows = kept(sorted(lines, reverse=backward), most, kind)
    found = [row for row in rows if row.kind == kind]
    assert len(found) <= max(most, 4)
    assert len(found) + rows.left_out[kind] == len(lines)
    assert {row.line for row in found} <= set(lines)
    if len(lines) <= most:
        assert {row.line for row in found} == set(lines)
    summed = [row for row in rows if row.kind == LEFT_OUT]
    assert sum(int(row.text.split()[0]) for row in summed) <= rows.left_out[kind]
    assert {row.line for row in summed} <= {row.line for row in found}


@pytest.mark.parametrize("backward", [False, True])
def test_what_all_ranks_say_of_a_save_is_one_mark(backward: bool) -> None:
    saves = [1000 * save + 505 + rank for save in range(60) for rank in range(8)]
    rows = kept(sorted(saves, reverse=backward), most_alike=100)
    found = with_marks(rows, every=100, count=600)
    assert list(np.flatnonzero(found["checkpoint"])) == [10 * save + 5 for save in range(60)]
    assert len(rows) <= 100


def test_lines_that_only_look_like_saves_explain_nothing() -> None:
    rows = kept(list(range(4, 80_000, 8)), most_alike=400)
    assert not with_marks(rows, every=10, count=8000)["checkpoint"].any()


def test_many_saves_of_a_part_of_the_log_leave_the_rest_alone() -> None:
    rows = kept([*range(20_000, 24_000, 2), 60_005], most_alike=50)
    found = with_marks(rows, every=100, count=1000)["checkpoint"].to_numpy()
    assert list(np.flatnonzero(found)) == [*range(199, 240), 600]


@settings(max_examples=150, deadline=None)
@given(data=st.data(), most_alike=st.integers(4, 20), most=st.integers(8, 60))
def test_which_events_are_kept_hangs_on_all_that_was_read_alone(
    data: st.DataObject, most_alike: int, most: int
) -> None:
    kinds = data.draw(st.sets(st.sampled_from(["nan", "warning", "mfu", "gpu-memory", delimited.ROW]), min_size=1))
    told = st.tuples(st.sampled_from(sorted(kinds)), st.integers(1, 3), st.integers(0, 29))
    lines = data.draw(st.lists(told, min_size=1, max_size=200))
    events = [
        mark(line, kind)._replace(stream=f"job/algo-{node}-1", text=f"{'abcdefghijklmnopqrstuvwxyzäöüß'[text]} {line}")
        for line, (kind, node, text) in enumerate(lines)
    ]

    def kept_of(ordered: list[EventRow], looks: set[int]) -> tuple[list[EventRow], int]:
        rows = EventRows(most_alike, most)
        for place, event in enumerate(ordered):
            rows.add_all([event])
            if place in looks:
                list(rows)
        return sorted(rows, key=repr), rows.left_out.total()

    once = kept_of(events, set())
    assert len(once[0]) == len(set(once[0]))
    looks = data.draw(st.sets(st.integers(0, len(events)), max_size=20))
    shuffled = data.draw(st.permutations(events))
    assert kept_of(shuffled, looks) == once


def _findings(most_alike: int, most: int) -> list[str]:
    """Of a job whose loss is a number to the end, while its loss scaler skips updates all the time."""
    raw = RawRows(events=EventRows(most_alike, most))
    for node in range(1, 9):
        lines = [
            b"(5s), Batch %d Loss: 2.16, Speed: 45.22 samples/sec" % (line // 10)
            if line % 10 == 0
            else b"saving checkpoint shard %d of 997" % line
            if line % 4 == 0
            else b"step=%d loss=nan grad_norm=inf, overflow on rank %d, skipping this update" % (line % 997, line % 8)
            for line in range(1, 2002)
        ]
        times = tuple(T0_MS + 1000 * line for line in range(1, 2002))
        raw.add(LogPage(f"job/algo-{node}-1", f"algo-{node}", 1, b"\n".join(lines), times))
        list(raw.events)
    parsed = assemble(raw.steps, raw.events)
    run = Run(Job("job", source="logs", status="Completed"), parsed.steps, metrics_frame(), parsed.events)
    return [finding.id for finding in diagnose(run, datetime(2027, 1, 1, tzinfo=UTC))]


@pytest.mark.parametrize(("most_alike", "most"), [(50, 500), (400, 500), (400, 4000)])
def test_findings_do_not_hang_on_how_many_of_a_large_jobs_events_are_kept(most_alike: int, most: int) -> None:
    assert _findings(most_alike, most) == _findings(100_000, 1_000_000)


def test_streams_share_the_room() -> None:
    rows = EventRows(most_alike=1000, most=2000)
    for node in range(16):
        for line in range(1, 3001):
            for kind in KINDS:
                rows.add_all([mark(line * 5, kind)._replace(stream=f"job/algo-{node}-1", stream_node=f"algo-{node}")])
    assert len(rows) <= 2000
    assert rows.left_out.total() + len(rows) == 16 * 3000 * len(KINDS)


@pytest.mark.parametrize(
    "form",
    [
        "{rank}: 2025-03-04 00:44:44,441 - root - INFO - \x1b[36mstep: {step}  \x1b[32mloss:  3.{step:04}  "
        "\x1b[33mmemory: 68.57GiB(86.69%)  \x1b[34mtps: 6,785  \x1b[35mmfu: {low}.{step:02.0f}%\x1b[39m",
        "iter {step}: loss 2.{step:04}, time 61.83ms, mfu {low}.{high}%",
        "[rank{rank}] Loss is nan at step {step}",
    ],
)
@pytest.mark.parametrize("each", [150, 9000])
def test_of_events_worded_alike_the_same_are_kept_when_lines_are_read_together(form: str, each: int) -> None:
    lines = [
        form.format(rank=n % 4, step=n, low=n * 7 % 100, high=n * 3 % 10).encode()
        if n % 97
        else b"Loss is nan, and what was said of it is worded in another way"
        for n in range(1, each + 1)
    ]
    found, read = difference(paged(lines, [each // 3, each // 3 + 60], timed=True), ())
    assert not found, found[:5]
    assert len(read.events) > 10


@pytest.mark.parametrize("cut", [0, 700])
def test_how_an_epoch_went_is_kept_once_however_often_a_bar_shows_it(cut: int) -> None:
    lines = [
        f"Epoch {at // 400}:  50%|#####     | {at % 400}/400 [00:01<00:01, 90.00it/s, val_loss=0.{690 + at // 400}]".encode()
        for at in range(1200)
    ]
    raw = RawRows()
    for page in paged(lines, [cut], timed=True):
        raw.add(page)
    told = [(event.line, event.text) for event in raw.events if event.kind == EPOCH_TOLD]
    assert told == [(1 + 400 * epoch, f"val_loss=0.{690 + epoch}") for epoch in range(3)]
