"""Rows of statistics to a Steps frame: clocks, restarts, parts of a minute, and answers that make no sense."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.parse.identity import Identity
from monitor.parse.insights.aggregated import Meant, Row, aggregated_steps
from monitor.parse.insights.questions import Ask, ReportForm

TIMED = Ask(ReportForm("x", (r"(?<step>\d)(?<time>\d)",)))
RATED = Ask(ReportForm("x", (r"(?<step>\d)(?<rate>\d)",)), "samples/s")


def row(minute: int, first: float, last: float, **more: Any) -> Row:
    at = f"2026-03-04 08:{minute:02}:00.000"
    told = {"@logStream": "j/algo-2-1", "minute": at, "firstStep": first, "lastStep": last, "reports": 10} | more
    return {name: str(value) for name, value in told.items()}


PLAIN = Meant()


def times(rows: list[Row], ask: Ask = TIMED, meant: Meant = PLAIN) -> list[float]:
    steps = aggregated_steps(rows, ask, meant, Identity(), lambda stream: "algo-2")
    return [round(value, 6) for value in steps["step_time_s"].dropna()]


def test_minutes_are_put_in_order_and_parts_of_one_are_not_counted_twice() -> None:
    rows = [row(2, 21, 30, median=3.0), row(1, 11, 20, median=2.0, reports=1), row(1, 11, 20, median=2.5)]
    assert times(rows) == [2.5, 3.0]


def test_a_clock_that_begins_again_is_another_segment() -> None:
    rows = [
        row(1, 0, 30, least=0.0, most=60.0),
        row(2, 31, 60, least=62.0, most=120.0),
        row(3, 40, 50, least=3.0, most=33.0),
    ]
    assert times(rows, meant=Meant(clock=True)) == [2.0, 2.0, 3.0]
    steps = aggregated_steps(rows, TIMED, Meant(clock=True), Identity(), lambda stream: "algo-2")
    assert steps["segment"].tolist() == [0, 0, 1]


MEANT = [
    (Meant(), []),  # a throughput alone tells no time
    (Meant(samples_per_step=16), [0.8, 0.8]),
    (Meant(by_clock=True), [2.0, 2.0]),
]


@pytest.mark.parametrize(("meant", "expected"), MEANT)
def test_a_throughput_needs_a_size_or_a_clock(meant: Meant, expected: list[float]) -> None:
    each = {"median": 0.05, "mean": 0.05, "rateMedian": 20.0}
    rows = [row(1, 1, 30, clockFrom=2, clockTo=60, **each), row(2, 31, 60, clockFrom=62, clockTo=120, **each)]
    assert times(rows, RATED, meant) == expected


def test_without_a_printed_time_the_clock_of_the_lines_tells_it() -> None:
    moments = ("08:01:02.000", "08:01:59.000", "08:02:02.000", "08:02:59.000")
    first, second = ({"firstAt": f"2026-03-04 {a}", "lastAt": f"2026-03-04 {b}"} for a, b in (moments[:2], moments[2:]))
    rows = [row(1, 1, 20, **first), row(2, 21, 40, **second)]
    assert times(rows, RATED, Meant(by_lines=True)) == [3.0, 3.0]


def test_a_time_that_the_clock_reads_anew_is_read_so_in_each_minute() -> None:
    assert times([row(1, 1, 300, median=30.0)], meant=Meant(factor=0.01)) == [0.3]


_ODD = st.text(max_size=8) | st.floats().map(str) | st.integers().map(str) | st.just("2026-03-04 08:01:00.000")
_NAMES = ("@logStream", "rank", "host", "minute", "firstStep", "lastStep", "firstAt", "lastAt", "reports", "median")
_MORE = ("mean", "least", "most", "clockFrom", "clockTo", "rateMedian", "lastLoss")


@settings(deadline=None, max_examples=50)  # each makes frames
@given(
    st.lists(st.dictionaries(st.sampled_from((*_NAMES, *_MORE)), _ODD), max_size=4),
    st.sampled_from(
        [Meant(), Meant(clock=True), Meant(by_clock=True), Meant(samples_per_step=8), Meant(by_lines=True)]
    ),
)
def test_no_answer_is_trouble(rows: list[Row], meant: Meant) -> None:
    whole = [row(1, 1, 10, median=1.0, least=1.0, most=2.0) | extra for extra in rows]
    for ask in (TIMED, RATED):
        aggregated_steps([*rows, *whole], ask, meant, Identity(), lambda stream: "algo-2")
