"""What the heatmap and the line promise: a fixed scale, odd nodes on top, holes that stay holes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pandas as pd
import pytest

from monitor.charts import elements, utilization
from monitor.charts.utilization import (
    COLUMNS,
    Measured,
    across,
    bucket_seconds,
    cells,
    columns_for,
    measured,
    node_order,
)
from monitor.model import metrics_frame
from tests.builders import START, metrics

GPU = "gpu_utilization"
SPAN = (START, START + timedelta(minutes=40))
NAMES = ["algo-1", "algo-2", "algo-10"]


def _rows(frame: pd.DataFrame, names: Sequence[str] = ()) -> Measured:
    return measured(frame, GPU, names)


def _encodings(chart: object) -> list[dict[str, object]]:
    specification, _ = elements.split(chart)
    return [layer["encoding"] for layer in specification["layer"]]


def test_the_colour_scale_is_fixed_from_0_to_100() -> None:
    encodings = _encodings(utilization.heatmap(metrics(NAMES, 30, {GPU: 40.0}), GPU, NAMES, SPAN))
    assert encodings[1]["color"]["scale"]["domain"] == [0, 100]  # type: ignore[index]
    assert {"x", "x2", "y", "color", "tooltip"} <= set(encodings[1])


def test_alike_nodes_stand_in_their_natural_order() -> None:
    assert node_order(_rows(metrics(NAMES, 30, {GPU: 40.0}), NAMES)) == NAMES


def test_the_odd_node_comes_first() -> None:
    frame = metrics(NAMES, 30, {GPU: 80.0}, slow={"algo-10": -20.0})
    assert node_order(_rows(frame, NAMES)) == ["algo-10", "algo-1", "algo-2"]


def test_a_node_without_data_keeps_its_row_and_has_no_cell() -> None:
    frame = metrics(NAMES[:2], 30, {GPU: 80.0})
    ground, shown, *_ = utilization.heatmap_frames(_rows(frame, NAMES), SPAN)
    assert set(ground["node"]) == set(NAMES)
    assert "algo-10" not in set(shown["node"])


def test_missing_minutes_have_no_cell() -> None:
    shown = cells(_rows(metrics(["algo-1"], 30, {GPU: 80.0}, missing=(10, 15))))
    assert len(shown) == 25


def test_the_ground_reaches_over_the_whole_span_and_never_less_than_the_data() -> None:
    frame = metrics(["algo-1"], 60, {GPU: 80.0})
    ground = utilization.heatmap_frames(_rows(frame), SPAN)[0]
    assert ground["start"].iloc[0] == START
    assert ground["end"].iloc[0] == START + timedelta(minutes=60)


@pytest.mark.parametrize("minutes", [1, 30, 181, 1440, 20_000])
def test_there_are_never_more_columns_than_pixels_and_none_is_lost(minutes: int) -> None:
    shown = cells(_rows(metrics(["algo-1"], minutes, {GPU: 50.0})))
    assert len(shown) <= COLUMNS + 1  # the first may be cut by the edge
    assert shown["points"].sum() == minutes
    assert ((shown["low_pct"] <= shown["mean_pct"]) & (shown["mean_pct"] <= shown["high_pct"])).all()


def test_buckets_keep_their_edges_as_time_goes_on() -> None:
    before = cells(_rows(metrics(["algo-1"], 300, {GPU: 50.0})))
    after = cells(_rows(metrics(["algo-1"], 310, {GPU: 50.0})))
    assert set(before["start"]) <= set(after["start"])


def test_a_line_breaks_at_a_hole_and_only_there() -> None:
    whole = cells(_rows(metrics(["algo-1"], 30, {GPU: 80.0})))
    holed = cells(_rows(metrics(["algo-1"], 30, {GPU: 80.0}, missing=(10, 15))))
    assert utilization.with_breaks(whole)["mean_pct"].isna().sum() == 0
    assert utilization.with_breaks(holed)["mean_pct"].isna().sum() == 1


def test_five_minute_data_make_one_unbroken_line() -> None:
    times = pd.date_range(START, periods=12, freq="5min")
    rows = {"timestamp": times, "node": "algo-1", "metric": GPU, "value_pct": 80.0, "period_s": 300}
    shown = utilization.with_breaks(cells(_rows(metrics_frame(pd.DataFrame(rows)))))
    assert len(shown) == 12
    assert shown["mean_pct"].notna().all()


def test_no_data_gives_a_chart_that_can_be_drawn() -> None:
    for chart in (
        utilization.heatmap(metrics_frame(), GPU, NAMES, SPAN),
        utilization.heatmap(metrics_frame(), GPU, (), SPAN),
        utilization.line(metrics_frame(), GPU, SPAN),
    ):
        specification, frames = elements.split(chart)
        assert specification["layer"]
        assert frames


@pytest.mark.parametrize("count", [1, 4, 16, 64, 256])
def test_rows_stay_visible_and_the_chart_on_a_screen(count: int) -> None:
    assert utilization.row_pixels(count) >= 2
    assert utilization.row_pixels(count) * count <= 512


@pytest.mark.parametrize("count", [1, 2, 64, 256])
def test_a_heatmap_of_any_number_of_nodes_stays_quick_in_a_browser(count: int) -> None:
    assert columns_for(count) * count <= 24_000
    assert columns_for(count) >= 60


def _part(first: float, last: float) -> tuple[datetime, datetime]:
    return START + timedelta(minutes=first), START + timedelta(minutes=last)


def test_a_part_has_finer_buckets_cut_at_its_edges_and_ranks_its_own_nodes() -> None:
    frame = metrics(NAMES, 1440, {GPU: 80.0})
    late = (frame["node"] == "algo-2") & (frame["timestamp"] >= pd.Timestamp(_part(1400, 1440)[0]))
    frame["value_pct"] = frame["value_pct"].mask(late, 20.0)
    rows = _rows(frame, NAMES)
    assert bucket_seconds(rows) > bucket_seconds(rows.within(_part(1400, 1430.5))) == 60
    ground, shown, *_ = utilization.heatmap_frames(rows, SPAN, _part(1400, 1430.5))
    assert shown["start"].min() == ground["start"].min() == _part(1400, 0)[0]
    assert shown["end"].max() == ground["end"].max() == _part(0, 1430.5)[1]
    assert ground["node"].iloc[0] == "algo-2"
    assert node_order(rows) == NAMES, "half an hour of a day sets nobody apart"


def test_the_specification_is_the_same_for_every_part_and_every_threshold() -> None:
    rows = _rows(metrics(NAMES, 300, {GPU: 80.0}), NAMES)
    spans = pd.DataFrame(
        {"node": ["algo-2", ""], "start": START, "end": START + timedelta(minutes=20), "name": "< 40 for 10m"}
    ).astype(dict.fromkeys(("start", "end"), "datetime64[ms, UTC]"))
    drawn = [
        elements.placed(utilization.heatmap_of(*frames), frames)
        for frames in (
            utilization.heatmap_frames(rows, SPAN),
            utilization.heatmap_frames(rows, SPAN, _part(10, 20), spans),
        )
    ]
    assert drawn[0] == drawn[1]


def test_what_crosses_a_threshold_is_framed_in_its_node_s_row_and_cut_to_the_part() -> None:
    rows = _rows(metrics(NAMES, 60, {GPU: 80.0}), NAMES)
    spans = pd.DataFrame(
        {
            "node": ["algo-2", "algo-10", ""],
            "start": [START, _part(50, 0)[0], START],
            "end": [_part(0, 20)[1], _part(0, 60)[1], _part(0, 60)[1]],
            "name": "< 40",
        }
    ).astype(dict.fromkeys(("start", "end"), "datetime64[ms, UTC]"))
    own, together = utilization.crossings(spans, rows.names, _part(10, 40))
    assert own["node"].tolist() == ["algo-2"]
    assert (own["start"].iloc[0], own["end"].iloc[0]) == _part(10, 20)
    assert own["order"].iloc[0] == NAMES.index("algo-2")
    assert len(together) == 1


def test_all_nodes_together_have_a_hole_where_none_has_data() -> None:
    shown = across(_rows(metrics(NAMES, 60, {GPU: 80.0}, missing=(20, 30)), NAMES))
    assert shown["mean"].isna().sum() == 1
    assert shown["points"].sum() == 3 * 50
    known = shown.dropna()
    assert (known["low"] <= known["p10"]).all()
    assert (known["p90"] <= known["high"]).all()
