"""Minutes of checkpoints, evaluations and restarts are set aside, also where only a part of one is covered."""

from __future__ import annotations

from datetime import datetime, timedelta

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.analyze.checkpoints import Activity, activities, outside, share_covered, spans_set_aside
from monitor.analyze.journal import journal
from tests.builders import START, metrics, steps
from tests.diagnose.utilization_runs import paused, said

END = START + timedelta(minutes=60)


def _at(minute: float) -> datetime:
    return START + timedelta(minutes=minute)


@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 900)), max_size=8), st.sampled_from([60, 300, 3600]))
def test_covered_seconds_are_those_of_the_union(parts: list[tuple[int, int]], period_s: int) -> None:
    spans = [(START + timedelta(seconds=a), START + timedelta(seconds=a + length)) for a, length in parts]
    rows = metrics(["algo-1"], 1, {"gpu_utilization": 50.0}).assign(period_s=period_s)
    inside = {second for a, length in parts for second in range(a, a + length)}
    wide = {
        second for a, length in parts for second in range(a - 60 * (length >= 30), a + length + 60 * (length >= 30))
    }
    expected = (wide if period_s == 60 else inside) & set(range(period_s))
    assert share_covered(rows, spans) == pytest.approx([len(expected) / period_s])


@pytest.mark.parametrize(("pause_s", "left_out"), [(3, 0), (10, 1), (45, 3), (150, 5)])
def test_a_long_pause_takes_its_neighbours_along_and_a_short_one_only_its_minute(pause_s: int, left_out: int) -> None:
    rows = metrics(["algo-1"], 60, {"gpu_utilization": 50.0})
    kept = outside(rows, [(_at(10), _at(10) + timedelta(seconds=pause_s))])
    assert len(rows) - len(kept) == left_out


def test_an_evaluation_a_restart_and_what_follows_the_last_step_are_set_aside() -> None:
    frame = paused(600, 300)
    frame = frame[frame["timestamp"] < _at(50)]
    events = said(
        [
            (10.1, "evaluation-begin", "evaluating"),
            (51.0, "evaluation-begin", "evaluating"),
            (55.0, "evaluation-end", "done"),
        ]
    )
    book = journal(frame, events)
    training = [(START, _at(30)), (_at(32), END)]
    spans = spans_set_aside(book, events, activities(book, events), training, END)
    assert [start for start, _ in spans] == [
        pytest.approx(moment, abs=timedelta(seconds=15)) for moment in map(_at, (10, 32, 51))
    ]
    assert spans[-1][1] == _at(55)


@pytest.mark.parametrize(("kind", "to"), [("evaluation-begin", 60.0), ("checkpoint-begin", None)])
def test_an_evaluation_without_an_end_goes_on_and_what_is_saved_last_does_not(kind: str, to: float | None) -> None:
    frame = steps(["algo-1"], 600, 2.0)
    events = said([(40.0, kind, "begins")])
    book = journal(frame, events)
    spans = spans_set_aside(book, events, (), [(START, END)], END)
    assert spans == (() if to is None else ((_at(40), _at(to)),))


def test_what_takes_far_longer_than_is_usual_is_set_aside_only_so_far() -> None:
    book, none = journal(steps(["algo-1"], 600, 2.0), said([])), said([])
    usual = [Activity("checkpoint", _at(5 * number), _at(5 * number + 0.1)) for number in range(1, 4)]
    long = Activity("checkpoint", _at(30), _at(50))
    spans = spans_set_aside(book, none, (*usual, long), [(START, END)], END)
    assert spans[-1] == (_at(30), _at(30.5))
    assert spans_set_aside(book, none, (long,), [(START, END)], END) == ((_at(30), _at(50)),)


def test_nothing_is_set_aside_of_nothing() -> None:
    rows = metrics(["algo-1"], 5, {"gpu_utilization": 50.0})
    assert outside(rows, ()) is rows
    assert len(share_covered(rows.iloc[:0], [(START, END)])) == 0
    assert isinstance(rows, pd.DataFrame)
