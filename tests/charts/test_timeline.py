"""What the swim lanes promise: lanes in their order, each kind its shape, the first error with its words."""

from __future__ import annotations

import json
from datetime import timedelta

import pandas as pd
import pytest

from monitor.charts import elements, timeline
from monitor.charts.colors import EVENT_KINDS
from monitor.charts.elements import marked
from monitor.charts.utilization import heatmap, line
from tests.builders import START, metrics

END = START + timedelta(hours=1)
LANES = ("job", "algo-1", "algo-2")
PARTS = pd.DataFrame(
    {
        "name": ["starting", "productive", "of-another-version"],
        "start": pd.to_datetime([START, START + timedelta(minutes=3), START + timedelta(minutes=50)]),
        "end": pd.to_datetime([START + timedelta(minutes=3), START + timedelta(minutes=50), END]),
        "billed": [False, True, True],
    }
)


def _marks(*rows: tuple[str, str, float]) -> pd.DataFrame:
    times = pd.to_datetime([START + timedelta(minutes=minute) for *_, minute in rows], utc=True)
    return pd.DataFrame(
        {
            "lane": [lane for lane, *_ in rows],
            "order": [LANES.index(lane) for lane, *_ in rows],
            "kind": [kind for _, kind, _ in rows],
            "start": times,
            "end": times,
            "count": 1,
            "said": "<b>words</b> " * 20,
        }
    )


def test_every_kind_has_a_sign_a_colour_and_a_shape_or_a_length() -> None:
    assert set(timeline.SIGNS) == set(EVENT_KINDS) == {*timeline.SHAPES, *timeline.SPANS}
    assert len(set(timeline.SHAPES.values())) == len(timeline.SHAPES), "no shape stands for two kinds"


@pytest.mark.parametrize(("minute", "left"), [(5.0, False), (55.0, True)])
def test_the_words_of_the_first_error_stand_on_the_side_with_room(minute: float, left: bool) -> None:
    row = timeline.flag(_marks(("algo-2", "error", 58.0), ("algo-2", "first error", minute)), START, END).iloc[0]
    assert bool(row["left"]) is left
    assert row["label"].startswith("first error, algo-2: <b>words</b>")
    assert len(row["label"]) <= 111


def test_only_parts_with_room_and_a_known_kind_carry_their_name() -> None:
    assert timeline.parts_of_job(PARTS)["label"].tolist() == ["", "training", ""]


def test_the_job_is_on_top_and_lanes_keep_their_order() -> None:
    _, frames = elements.split(timeline.swim_lanes(LANES, PARTS, _marks(("algo-2", "first step", 4.0)), START, END))
    assert frames["data0"]["lane"].tolist() == list(LANES)
    orders = [frame for frame in frames.values() if {"lane", "order"} <= set(frame.columns)]
    assert len(orders) >= 5, "each layer sorts its lanes by the same order"


def test_what_happened_is_data_and_not_specification() -> None:
    some = [(), (("algo-1", "first step", 4.0),), (("algo-2", "no step", 4.0), ("job", "checkpoint", 5.0))]
    drawn = {
        json.dumps(elements.split(timeline.swim_lanes(LANES, PARTS, _marks(*rows), START, END))[0], sort_keys=True)
        for rows in some
    }
    assert len(drawn) == 1


def test_a_finding_s_span_lies_on_top_and_hides_no_colour() -> None:
    frame = metrics(["algo-1", "algo-2"], 30, {"gpu_utilization": 40.0})
    span = (START, END)
    over_colours = elements.split(marked(heatmap(frame, "gpu_utilization", ["algo-1", "algo-2"], span), [span], 120))[0]
    over_a_line = elements.split(marked(line(frame, "gpu_utilization", span), [span], 120))[0]
    assert over_colours["layer"][-1]["mark"]["fillOpacity"] == 0
    assert over_a_line["layer"][-1]["mark"]["fillOpacity"] > 0
    assert over_a_line["height"] == 120
