"""What the charts of a plan promise: pieces and bars add up, marks lie where they belong, and a change is data alone."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from monitor.charts import elements
from monitor.charts.colors import CURVE_MARKS, MEMORY_PARTS, NOT_SPLIT, STAGE_WORK
from monitor.charts.plan import (
    MOST_PIECES,
    CurveMark,
    MemoryBar,
    ScheduleLanes,
    curve_limit,
    curve_marks,
    curve_points,
    gantt,
    label_of,
    memory_bars,
    memory_curve,
    memory_limits,
    memory_parts,
    memory_wholes,
    schedule_lanes,
    schedule_pieces,
    step_time_curve,
    until_pct,
)


def _course(name: str, stages: int, microbatches: int, length_pct: float = 100.0) -> ScheduleLanes:
    """Each stage does a forward and a backward of each microbatch in turn, without waiting."""
    each = length_pct / (2 * microbatches)
    rows = [
        (stage, kind, number, (2 * number + place) * each, (2 * number + place + 1) * each)
        for stage in range(stages)
        for number in range(microbatches)
        for place, kind in enumerate(STAGE_WORK)
    ]
    pieces = pd.DataFrame(rows, columns=["stage", "kind", "microbatch", "from_pct", "to_pct"])
    return ScheduleLanes(name, f"{name}: {length_pct:.0f} %", stages, length_pct, pieces)


def test_lanes_stand_in_order_each_schedule_below_its_head() -> None:
    shown = schedule_lanes([_course("start", 2, 4), _course("change", 3, 4, 60.0)])
    assert shown["lane"].tolist() == [
        "start|", "start|stage 1", "start|stage 2", "change|", "change|stage 1", "change|stage 2", "change|stage 3",
    ]  # fmt: skip
    assert shown["order"].tolist() == list(range(7))
    assert shown["end_pct"].tolist() == [0, 100, 100, 0, 60, 60, 60]
    assert shown["said"].tolist()[0] == "start: 100 %"


def test_pieces_keep_their_times_on_one_axis_and_carry_numbers_where_they_fit() -> None:
    shown = schedule_pieces([_course("start", 2, 4), _course("change", 2, 4, 50.0)])
    assert len(shown) == 32
    assert shown["to_pct"].max() == pytest.approx(100.0)
    assert shown.loc[shown["lane"].str.startswith("change"), "to_pct"].max() == pytest.approx(50.0)
    assert shown["microbatch"].min() == 1
    assert set(shown["label"]) == {"1", "2", "3", "4"}
    assert set(schedule_pieces([_course("start", 1, 100)])["label"]) == {""}


def test_of_too_many_pieces_the_beginning_is_drawn() -> None:
    courses = [_course("start", 8, 100), _course("change", 8, 100, 50.0)]
    until = until_pct(courses)
    assert until is not None
    shown = schedule_pieces(courses)
    assert MOST_PIECES * 0.9 <= len(shown) <= MOST_PIECES * 1.1
    assert shown["to_pct"].max() <= until
    assert schedule_lanes(courses)["end_pct"].max() == pytest.approx(until)
    assert until_pct([_course("start", 2, 4)]) is None


@pytest.mark.parametrize(("value", "label"), [(True, "on"), (False, "off"), (2, "2"), (4096, "4,096"), (None, "None")])
def test_values_are_written_as_people_do(value: object, label: str) -> None:
    assert label_of(value) == label


def test_marks_lie_at_their_values_and_the_advised_one_below_the_others() -> None:
    shown = curve_points([(2, 1.0, 1.0, 1.0, 10.0), (4, 0.65, 0.6, 0.7, 12.0), (8, None, None, None, None)])
    marked = curve_marks(
        shown,
        [
            CurveMark("start", 2, 1.0, 10.0),
            CurveMark("change", 4, 0.65, 12.0),
            CurveMark("advised", 4, 0.65, 12.0),
            CurveMark("advised", 64, 0.5, 12.0),
        ],
    )
    assert marked["mark"].tolist() == ["advised", "start", "change"]
    assert marked["order"].tolist() == [1, 0, 1]
    assert marked["time_pct"].tolist() == [65.0, 100.0, 65.0]
    assert shown["time_pct"].isna().tolist() == [False, False, True]


def test_bars_add_up_in_one_order_and_a_whole_that_nothing_divides_is_one_part() -> None:
    split = MemoryBar("change", {"activations": 5.0, "model states": 10.0}, 12.0, 15.0, 18.0)
    whole = MemoryBar("start", {}, None, 14.0, None)
    shown = memory_parts([whole, split])
    assert shown["part"].tolist() == [NOT_SPLIT, "model states", "activations"]
    assert shown["to_gib"].tolist() == [14.0, 10.0, 15.0]
    assert shown["bar"].tolist() == ["start|14.0 GiB", "change|15.0 GiB", "change|15.0 GiB"]
    wholes = memory_wholes([whole, split, MemoryBar("unknown", {"model states": 3.0})])
    assert wholes[["low_gib", "expected_gib", "high_gib"]].to_numpy().tolist() == [[14, 14, 14], [12, 15, 18]]


def test_a_limit_has_two_lines_around_it_and_an_unknown_one_none() -> None:
    limit, around = memory_limits(40.0)
    assert limit["label"].tolist() == ["limit 40 GiB"]
    assert around["at_gib"].tolist() == pytest.approx([34.0, 44.0])
    assert [len(each) for each in memory_limits(None)] == [0, 0]
    assert len(curve_limit(None)) == 0


@pytest.mark.parametrize("limit_gib", [None, 40.0])
def test_what_is_seen_is_data_and_the_specification_stays(limit_gib: float | None) -> None:
    few = curve_points([(1, 1.0, 1.0, 1.0, 9.0)])
    many = curve_points([(each, 1 / each, 1 / each, 1.0, 9.0 + each) for each in range(1, 9)])
    filled = MemoryBar("start", {"model states": 3.0}, 2.0, 3.0, 4.0)
    pairs = [
        [gantt(schedule_lanes([each]), schedule_pieces([each])) for each in (_course("a", 2, 2), _course("b", 2, 9))],
        [
            step_time_curve(shown, curve_marks(shown, [CurveMark("start", at, 1.0, 9.0)]), "microbatches")
            for shown, at in ((few, 1), (many, 4))
        ],
        [memory_curve(shown, curve_marks(shown, []), "microbatches", curve_limit(limit_gib)) for shown in (few, many)],
        [
            memory_bars(memory_parts(bars), memory_wholes(bars), *memory_limits(limit_gib))
            for bars in ([filled], [filled, MemoryBar("change", {})])
        ],
    ]
    for one, other in pairs:
        assert _specification(one) == _specification(other)


def _specification(chart: object) -> str:
    return json.dumps(elements.split(chart)[0], sort_keys=True)


def test_a_kept_specification_takes_other_frames_by_their_places() -> None:
    frames = (memory_parts([]), memory_wholes([]), *memory_limits(40.0))
    specification, places = elements.placed(memory_bars(*frames), frames)
    assert sorted(places.values()) == [0, 1, 2, 3]
    assert set(places) == {f"data{number}" for number in range(4)}
    assert "datasets" not in specification


def test_what_means_something_has_a_colour_and_a_shape_of_its_own() -> None:
    for look in (STAGE_WORK.values(), MEMORY_PARTS.values(), *zip(*CURVE_MARKS.values(), strict=True)):
        assert len(set(look)) == len(list(look))
