"""What the heatmap and the line promise: a fixed scale, odd nodes on top, holes that stay holes."""

from __future__ import annotations

from datetime import timedelta

import pandas as pd
import pytest

from monitor.charts import stable, utilization
from monitor.model import metrics_frame
from tests.builders import START, metrics

GPU = "gpu_utilization"
SPAN = (START, START + timedelta(minutes=40))
NAMES = ["algo-1", "algo-2", "algo-10"]


def _encodings(chart: object) -> list[dict[str, object]]:
    specification, _ = stable.split(chart)
    return [layer["encoding"] for layer in specification["layer"]]


def test_the_colour_scale_is_fixed_from_0_to_100() -> None:
    encodings = _encodings(utilization.heatmap(metrics(NAMES, 30, {GPU: 40.0}), GPU, NAMES, SPAN))
    assert encodings[1]["color"]["scale"]["domain"] == [0, 100]  # type: ignore[index]
    assert {"x", "x2", "y", "color", "tooltip"} <= set(encodings[1])


def test_alike_nodes_stand_in_their_natural_order() -> None:
    assert utilization.node_order(metrics(NAMES, 30, {GPU: 40.0}), GPU, NAMES) == NAMES


def test_the_odd_node_comes_first() -> None:
    frame = metrics(NAMES, 30, {GPU: 80.0}, slow={"algo-10": -20.0})
    assert utilization.node_order(frame, GPU, NAMES) == ["algo-10", "algo-1", "algo-2"]


def test_a_node_without_data_keeps_its_row_and_has_no_cell() -> None:
    frame = metrics(NAMES[:2], 30, {GPU: 80.0})
    assert set(utilization.rows(frame, GPU, NAMES, SPAN)["node"]) == set(NAMES)
    assert "algo-10" not in set(utilization.cells(frame, GPU, NAMES)["node"])


def test_missing_minutes_have_no_cell() -> None:
    shown = utilization.cells(metrics(["algo-1"], 30, {GPU: 80.0}, missing=(10, 15)), GPU, ["algo-1"])
    assert len(shown) == 25


def test_the_ground_reaches_over_the_whole_span_and_never_less_than_the_data() -> None:
    frame = metrics(["algo-1"], 60, {GPU: 80.0})
    ground = utilization.rows(frame, GPU, ["algo-1"], SPAN)
    assert ground["start"].iloc[0] == START
    assert ground["end"].iloc[0] == START + timedelta(minutes=60)


@pytest.mark.parametrize("minutes", [1, 30, 181, 1440, 20_000])
def test_there_are_never_more_columns_than_pixels_and_none_is_lost(minutes: int) -> None:
    shown = utilization.cells(metrics(["algo-1"], minutes, {GPU: 50.0}), GPU, ["algo-1"])
    assert len(shown) <= utilization.COLUMNS + 1  # the first may be cut by the edge
    assert shown["points"].sum() == minutes
    assert ((shown["low_pct"] <= shown["mean_pct"]) & (shown["mean_pct"] <= shown["high_pct"])).all()


def test_buckets_keep_their_edges_as_time_goes_on() -> None:
    before = utilization.cells(metrics(["algo-1"], 300, {GPU: 50.0}), GPU, ["algo-1"])
    after = utilization.cells(metrics(["algo-1"], 310, {GPU: 50.0}), GPU, ["algo-1"])
    assert set(before["start"]) <= set(after["start"])


def test_a_line_breaks_at_a_hole_and_only_there() -> None:
    whole = utilization.cells(metrics(["algo-1"], 30, {GPU: 80.0}), GPU, ())
    holed = utilization.cells(metrics(["algo-1"], 30, {GPU: 80.0}, missing=(10, 15)), GPU, ())
    assert utilization.with_breaks(whole)["mean_pct"].isna().sum() == 0
    assert utilization.with_breaks(holed)["mean_pct"].isna().sum() == 1


def test_five_minute_data_make_one_unbroken_line() -> None:
    times = pd.date_range(START, periods=12, freq="5min")
    rows = {"timestamp": times, "node": "algo-1", "metric": GPU, "value_pct": 80.0, "period_s": 300}
    shown = utilization.with_breaks(utilization.cells(metrics_frame(pd.DataFrame(rows)), GPU, ()))
    assert len(shown) == 12
    assert shown["mean_pct"].notna().all()


def test_no_data_gives_a_chart_that_can_be_drawn() -> None:
    for chart in (
        utilization.heatmap(metrics_frame(), GPU, NAMES, SPAN),
        utilization.heatmap(metrics_frame(), GPU, (), SPAN),
        utilization.line(metrics_frame(), GPU, SPAN),
    ):
        specification, frames = stable.split(chart)
        assert specification["layer"]
        assert frames


@pytest.mark.parametrize("count", [1, 4, 16, 64, 256])
def test_rows_stay_visible_and_the_chart_on_a_screen(count: int) -> None:
    assert utilization.row_pixels(count) >= 2
    assert utilization.row_pixels(count) * count <= 512
