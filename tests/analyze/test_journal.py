"""The journal of a training, and what its gaps are made of."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from monitor.analyze.checkpoints import activities, spans_set_aside
from monitor.analyze.journal import journal, usual_gap_s, usual_step_s
from monitor.model import Activity, events_frame, steps_frame
from tests.builders import START, steps

NONE = events_frame()


def seconds_of(spans: tuple[Activity, ...], kind: str) -> float:
    return sum(span.seconds for span in spans if span.kind == kind)


def told(kind: str, at_s: float, line: int, stream: str = "job/algo-1-1") -> dict[str, object]:
    return {
        "timestamp": START + timedelta(seconds=at_s),
        "node": "algo-1",
        "rank": 0,
        "kind": kind,
        "text": "",
        "stream": stream,
        "line": line,
    }


def with_pause(after: int, pause_s: float, count: int = 50) -> pd.DataFrame:
    """Steps of 2 s, with one pause after a step; line 3 n is the n-th report."""
    rows = steps(["algo-1"], count, 2.0)
    late = rows["step"] > after
    rows.loc[late, "timestamp"] += pd.Timedelta(seconds=pause_s)
    return rows


def test_one_writer_is_followed_and_its_clock_is_the_journals() -> None:
    rows = steps(["algo-1", "algo-2"], 40, 2.0, slow={"algo-2": 1.5})
    found = journal(rows, NONE)
    assert len(found) == 40
    assert found["stream"].nunique() == 1
    # The step's printed time is the median of both nodes' own.
    assert found["step_time_s"].iloc[1:].median() == pytest.approx(2.5, rel=0.02)
    assert usual_step_s(found) == pytest.approx(2.0, rel=0.02)
    assert usual_gap_s(found) == pytest.approx(2.0, rel=0.02)


def test_a_checkpoint_takes_what_its_gap_is_longer_than_a_step() -> None:
    rows = with_pause(20, 30.0)
    begun_s = (rows.loc[rows["step"] == 20, "timestamp"].iloc[0] - pd.Timestamp(START)).total_seconds()
    events = events_frame([told("checkpoint-begin", begun_s + 0.1, 61), told("checkpoint-end", begun_s + 30, 62)])
    spans = activities(journal(rows, events), events)
    assert [span.kind for span in spans] == ["checkpoint"]
    assert spans[0].seconds == pytest.approx(30.0, abs=0.2)


@pytest.mark.parametrize("marks", [("checkpoint-end",), ("checkpoint-begin",), ("checkpoint-begin", "checkpoint-end")])
def test_one_line_is_enough(marks: tuple[str, ...]) -> None:
    rows = with_pause(20, 30.0)
    begun_s = (rows.loc[rows["step"] == 20, "timestamp"].iloc[0] - pd.Timestamp(START)).total_seconds()
    places = {"checkpoint-begin": (0.1, 61), "checkpoint-end": (29.9, 62)}
    events = events_frame([told(mark, begun_s + places[mark][0], places[mark][1]) for mark in marks])
    spans = activities(journal(rows, events), events)
    assert seconds_of(spans, "checkpoint") == pytest.approx(30.0, abs=0.2)


@pytest.mark.parametrize("kind", ["checkpoint", "evaluation"])
@pytest.mark.parametrize(
    ("begins_s", "ended_s", "lasted_s"),
    [
        (0.1, 8.0, 8.0),  # ten minutes of something else
        (None, 8.0, 8.0),
        (0.1, 250.0, 600.0),  # its own last part, perhaps
        (0.1, None, 600.0),  # nothing tells of an end
    ],
)
def test_a_line_of_an_end_explains_no_long_silence_behind_it(
    kind: str, begins_s: float | None, ended_s: float | None, lasted_s: float
) -> None:
    rows = with_pause(20, 600.0, count=500)
    begun_s = (rows.loc[rows["step"] == 20, "timestamp"].iloc[0] - pd.Timestamp(START)).total_seconds()
    marks = {f"{kind}-begin": begins_s, f"{kind}-end": ended_s}
    events = events_frame(
        [told(mark, begun_s + at, 61 + n) for n, (mark, at) in enumerate(marks.items()) if at is not None]
    )
    assert seconds_of(activities(journal(rows, events), events), kind) == pytest.approx(lasted_s, abs=0.5)


@pytest.mark.parametrize(
    ("mark", "paused_s", "least_s", "most_s"),
    [
        ("checkpoint-begin", 0.0, 0.0, 0.0),
        ("checkpoint-begin", 900.0, 895.0, 905.0),
        ("checkpoint-end", 0.0, 0.0, 0.0),
        # Up to an interval of steps may have been left when the epoch was reported last.
        ("checkpoint-end", 900.0, 895.0 - 30 * 2.0, 900.0),
    ],
)
def test_steps_of_an_epoch_before_its_first_report_are_no_checkpoint(
    mark: str, paused_s: float, least_s: float, most_s: float
) -> None:
    # A report each 50 of 220 steps of 2 s, counted anew in each of four epochs, and a checkpoint behind each.
    done = [220 * epoch + step for epoch in range(4) for step in range(50, 220, 50)]
    rows = steps(["algo-1"], len(done), 100.0)
    epoch = np.array(done) // 220
    at_s = np.array(done) * 2.0 + epoch * paused_s
    rows = rows.assign(
        step=np.array(done) % 220,
        segment=epoch,
        step_time_s=2.0,
        timestamp=pd.Timestamp(START) + pd.to_timedelta(at_s, unit="s"),
    )
    told_s = [440.0 * n + paused_s * (n if mark.endswith("end") else n - 1) for n in (1, 2, 3)]
    events = events_frame([told(mark, at, 12 * n + 1) for n, at in enumerate(told_s, 1)])
    rows = steps_frame(rows.assign(line=[3 * n for n in range(1, len(rows) + 1)]))
    spans = activities(journal(rows, events), events)
    assert len(spans) == (3 if paused_s else 0)
    assert all(least_s <= span.seconds <= most_s for span in spans)


def test_a_checkpoint_beside_the_steps_takes_no_time() -> None:
    rows = steps(["algo-1"], 50, 2.0)
    events = events_frame([told("checkpoint-begin", 60.0, 61), told("checkpoint-end", 80.0, 90)])
    assert activities(journal(rows, events), events) == ()


def test_evaluation_and_checkpoint_share_a_gap() -> None:
    rows = with_pause(20, 50.0)
    begun_s = (rows.loc[rows["step"] == 20, "timestamp"].iloc[0] - pd.Timestamp(START)).total_seconds()
    events = events_frame(
        [told("evaluation-begin", begun_s + 0.1, 61), told("checkpoint-begin", begun_s + 40.0, 62)],
    )
    spans = activities(journal(rows, events), events)
    assert seconds_of(spans, "evaluation") == pytest.approx(40.0, abs=0.5)
    assert seconds_of(spans, "checkpoint") == pytest.approx(10.0, abs=0.5)
    assert all(one.end <= other.start for one, other in pairwise(spans))


def test_a_mark_before_every_step_explains_nothing() -> None:
    rows = steps(["algo-1"], 50, 2.0)
    events = events_frame([told("evaluation-end", float(n), 3 * n - 1) for n in range(1, 51)])
    assert not journal(rows, events)["evaluation"].any()


def test_evaluations_of_every_gap_have_the_time_that_their_lines_tell() -> None:
    rows = steps(["algo-1"], 50, 2.0)
    count = np.arange(1, len(rows) + 1)
    rows["timestamp"] = pd.Timestamp(START) + pd.to_timedelta(
        count * 3.0 - 1.0, unit="s"
    )  # steps of 2 s, evaluations of 1 s
    marks = [("evaluation-begin", 3.0 * n - 1.0) for n in count[:-1]] + [
        ("evaluation-end", 3.0 * n) for n in count[:-1]
    ]
    events = events_frame([told(kind, at_s, int(3 * at_s // 3) + 1) for kind, at_s in marks])
    found = journal(rows, events)
    assert not found["evaluation"].any()
    assert usual_step_s(found) == pytest.approx(2.0)
    assert seconds_of(activities(found, events), "evaluation") == pytest.approx(49.0)
    # Utilization is judged with them: without them nothing would be left.
    assert spans_set_aside(found, events, activities(found, events), [], START + timedelta(hours=1)) == ()


def test_lines_in_blocks_have_no_clock_of_their_own() -> None:
    rows = steps(["algo-1"], 60, 2.0)
    block = np.arange(60) // 20
    rows["timestamp"] = pd.Timestamp(START) + pd.to_timedelta((block + 1) * 40.0, unit="s")
    found = journal(steps_frame(rows), NONE)
    assert found["wall_s"].isna().all()
    assert found["time_s"].median() == pytest.approx(2.0, rel=0.02)
    assert usual_gap_s(found) == pytest.approx(40.0)


def test_without_times_the_lines_tell_what_stands_between_steps() -> None:
    rows = steps(["algo-1"], 20, 2.0).assign(timestamp=pd.Series(pd.NaT, index=range(20), dtype="datetime64[ms, UTC]"))
    events = events_frame([told("checkpoint-end", 0.0, 31)]).assign(
        timestamp=pd.Series(pd.NaT, index=[0], dtype="datetime64[ms, UTC]")
    )
    found = journal(steps_frame(rows), events)
    assert found.loc[found["checkpoint"], "step"].tolist() == [11]
    assert activities(found, events) == ()


def test_nothing_has_an_empty_journal() -> None:
    found = journal(steps_frame(), NONE)
    assert found.empty
    assert usual_step_s(found) is None
    assert usual_gap_s(found) is None
    assert activities(found, NONE) == ()
