"""A running job changes data and nothing else: that is what keeps the viewer's zoom."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import pytest
import vl_convert

from monitor.analyze.timeline import timeline as of_run
from monitor.charts import elements, step_time, timeline, utilization
from monitor.charts.elements import Span, marked
from monitor.export import figures
from monitor.model import Report
from tests.situations import running

NOW = datetime(2026, 9, 25, 15, 0, tzinfo=UTC)
CHARTS: dict[str, Callable[[Report, Span], Any]] = {
    "heatmap": lambda r, s: utilization.heatmap(r.run.metrics, "gpu_utilization", r.job.node_names, s),
    "line": lambda r, s: utilization.line(r.run.metrics, "gpu_utilization", s),
    "step time": lambda r, s: step_time.step_time(r.run.steps, s),
    "progress": lambda r, s: step_time.progress(r.run.steps, s),
    "phases": lambda r, s: timeline.phase_bar(r.buckets),
    "timeline": lambda r, s: _timeline(r),
    "marked": lambda r, s: marked(step_time.step_time(r.run.steps, s), [s], 170),
    "marked heatmap": lambda r, s: marked(
        utilization.heatmap(r.run.metrics, "gpu_utilization", r.job.node_names, s), [s], 170
    ),
}


def _timeline(report: Report) -> Any:
    found = of_run(report.run, report.phases, (), None, report.reviewed_at)
    assert found.start is not None
    assert found.end is not None
    return timeline.swim_lanes(found.lanes, found.parts, found.marks, found.start, found.end)


@pytest.mark.parametrize("name", CHARTS)
def test_time_changes_the_data_and_not_the_specification(name: str) -> None:
    specifications = []
    for minutes in (30, 45):
        now = NOW + timedelta(minutes=minutes)
        report = running(now=now, minutes=minutes)
        assert report.job.started is not None
        chart = CHARTS[name](report, (report.job.started, now))
        specification, frames = elements.split(chart)
        assert frames
        assert "datasets" not in specification
        specifications.append(json.dumps(specification, sort_keys=True))
    assert specifications[0] == specifications[1]


def test_a_frame_used_twice_is_sent_once_and_the_chart_is_left_as_it_was() -> None:
    report = running(now=NOW)
    chart = timeline.phase_bar(report.buckets)
    before = chart.to_dict()
    _, frames = elements.split(chart)
    assert len(frames) == 1
    assert chart.to_dict() == before


def test_progress_keeps_the_first_and_the_last_step() -> None:
    report = running(now=NOW, minutes=200)
    shown = step_time.reached(report.run.steps, limit=10)
    assert len(shown) == 10
    assert shown["step"].iloc[-1] == report.run.steps["step"].max()


@pytest.mark.parametrize("name", CHARTS)
def test_the_marks_of_a_live_chart_are_rows_by_number_and_its_lines_stay_whole(name: str) -> None:
    def marks(part: dict[str, Any]) -> list[dict[str, Any]]:
        parts = [*part.get("layer", ()), *part.get("hconcat", ()), *part.get("vconcat", ())]
        return [part] if "mark" in part else [mark for each in parts for mark in marks(each)]

    report = running(now=NOW, minutes=30)
    assert report.job.started is not None
    specification, frames = elements.live(CHARTS[name](report, (report.job.started, NOW)))
    keys = []
    for mark in marks(specification):
        if mark["mark"]["type"] in ("line", "area"):
            assert "key" not in mark["encoding"]
        else:
            keys.append(mark["encoding"]["key"]["field"])
    for frame in frames.values():
        for key in set(keys):
            assert frame[key].tolist() == list(range(len(frame)))


@pytest.mark.parametrize("name", CHARTS)
def test_a_live_chart_looks_as_the_chart_itself(name: str) -> None:
    report = running(now=NOW, minutes=30)
    assert report.job.started is not None
    chart = CHARTS[name](report, (report.job.started, NOW))
    shown, plain = (_drawn(*elements.live(chart)), _drawn(*elements.split(chart)))
    assert shown.count("<path") > 5
    assert shown == plain


def _drawn(specification: dict[str, Any], frames: dict[str, pd.DataFrame]) -> str:
    """The picture, with times as a page sends them: numbers."""
    sent = {
        name: frame.assign(
            **{
                column: frame[column].dt.tz_convert("UTC").dt.tz_localize(None).astype("datetime64[ms]").astype("int64")
                for column in frame.select_dtypes("datetimetz")
            }
        )
        for name, frame in frames.items()
    }
    # Color scales are numbered from picture to picture.
    return re.sub(r"gradient_\d+", "gradient", figures.picture(specification, sent, "chart"))


@pytest.mark.parametrize("name", CHARTS)
def test_times_are_not_parsed_on_their_way_to_lines(name: str) -> None:
    report = running(now=NOW, minutes=30)
    assert report.job.started is not None
    specification, _ = elements.live(CHARTS[name](report, (report.job.started, NOW)))
    steps = json.dumps(vl_convert.vegalite_to_vega(specification)["data"])
    assert "toDate" not in steps
