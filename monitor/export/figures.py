"""The charts of a report and of a fleet as static SVG, each with a title, what it shows in a sentence, and how to read it.

Vega's own converter draws them. What a reader may want to measure is in the tables. A day of 64 nodes stays below 2 MB.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC
from functools import partial
from typing import Any

import pandas as pd
import vl_convert

from monitor.analyze.journal import losses
from monitor.analyze.step_time import is_aggregated
from monitor.analyze.timeline import timeline
from monitor.charts import colors, elements, step_time, utilization
from monitor.charts.elements import Span
from monitor.charts.fleet import owners_bars, owners_frame, weeks_bars, weeks_frame
from monitor.charts.step_time import work_of
from monitor.charts.timeline import SIGNS, phase_bar, segments, swim_lanes, unit_of
from monitor.charts.utilization import POINTS, ROWS, bucket_seconds, columns_for, measured
from monitor.diagnose.bookmarks import first_error
from monitor.diagnose.unlike import odd_nodes
from monitor.diagnose.verdict import has_gpus
from monitor.diagnose.words.charts import (
    changes_of,
    loss_sentence,
    phases_listed,
    phases_sentence,
    progress_sentence,
    rate_sentence,
    slow_node,
    steps_sentence,
    sum_words,
    timeline_words,
    utilization_sentence,
)
from monitor.diagnose.words.step_readings import reading_words
from monitor.document import Figure, Note, Section
from monitor.faults import attempt
from monitor.fleet.facts import WASTE
from monitor.fleet.report import FleetReport, Sum
from monitor.model import MetricName, Report
from monitor.model.host_metrics import HOST_METRICS, OF_GPUS
from monitor.words import duration

#: Wide enough for a day of minutes; the page scales it down.
WIDTH_PX = 980

_CONFIG: dict[str, Any] = {
    "background": None,
    "font": "sans-serif",
    # What a mark means stands in the text beside the chart; a name for each of 10,000 cells would be most of the file.
    "aria": False,
    "view": {"stroke": None},
    "axis": {
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "titleFontWeight": "normal",
        "domainColor": "currentColor",
        "domainOpacity": 0.35,
        "tickColor": "currentColor",
        "tickOpacity": 0.35,
        "gridColor": "currentColor",
        "gridOpacity": 0.12,
        "labelFontSize": 11,
    },
    "legend": {"labelColor": "currentColor", "titleColor": "currentColor", "labelFontSize": 11, "columnPadding": 24},
    "text": {"color": "currentColor"},
    "range": {
        "category": list(colors.SERIES),
        "heatmap": list(colors.BUSY),
        "ramp": list(colors.BUSY),
    },
}
_LONG = re.compile(r"(\d\.\d)\d+")
_RGB = re.compile(r"rgb\((\d+), (\d+), (\d+)\)")
_XMLNS = re.compile(r' xmlns(:\w+)?="[^"]*"')
# Text between tags is left alone: it is a name or a figure.
_TAG = re.compile(r"<[^>]+>")
_PLACES = re.compile(r'((?: d| transform| x\d?| y\d?| width| height)=")([^"]*)"')


def svg(chart: Any, name: str) -> str:
    """The chart, its times in UTC; ``name`` keeps its inner names apart from those of other charts on a page."""
    return picture(*elements.split(chart), name)


def picture(specification: dict[str, Any], frames: Mapping[str, pd.DataFrame], name: str) -> str:
    """As ``svg``, of a specification with the frames behind the names in it; the specification is sized on the way."""
    _sized(specification)
    # A file shows the same hours wherever it is made and opened.
    elements.in_utc(specification)
    rows = ",".join(
        f"{json.dumps(key)}:{frame.to_json(orient='records', date_format='iso', date_unit='ms')}"
        for key, frame in frames.items()
    )
    whole = f'{json.dumps(specification)[:-1]},"datasets":{{{rows}}}}}'
    drawn: str = vl_convert.vegalite_to_svg(whole, config=_CONFIG, allowed_base_urls=[])
    return _slim(drawn, name)


def _sized(specification: dict[str, Any]) -> None:
    parts = specification.get("vconcat")
    for view in parts if parts else [specification]:
        view["width"] = WIDTH_PX


def _slim(drawn: str, name: str) -> str:
    """Without what a page needs not: names of the format (they look like addresses), digits beyond a tenth of a pixel."""

    def shorter(found: re.Match[str]) -> str:
        tag = _PLACES.sub(lambda place: place[1] + _LONG.sub(r"\1", place[2]) + '"', _XMLNS.sub("", found[0]))
        tag = _RGB.sub(lambda rgb: "#{:02x}{:02x}{:02x}".format(*map(int, rgb.groups())), tag)
        return tag.replace(' id="', f' id="{name}-').replace("url(#", f"url(#{name}-")

    slim = _TAG.sub(shorter, drawn)
    # Its size is a shape: the page gives the width.
    return re.sub(r'^(<svg [^>]*?) width="[\d.]+" height="[\d.]+"', r"\1", slim, count=1)


def pictures(report: Report) -> Iterator[Section]:
    """In the order of reading; what has no data has no picture, and one that fails says so in its place."""
    gpus = has_gpus(report)
    full: tuple[MetricName, ...] = OF_GPUS if gpus else ("cpu_utilization", "memory_utilization")
    started = report.job.started
    span = (started, report.job.ended or report.reviewed_at) if started is not None else None
    wanted: list[tuple[str, Callable[[], Iterable[Section]]]] = [("Where the time went", lambda: _phases(report))]
    if span is not None:
        wanted += [("What happened when, by node", lambda: _timeline(report))]
        wanted += [(HOST_METRICS[metric].by_node, partial(_utilization, report, metric, span)) for metric in full]
        wanted += [("Step time, seconds", lambda: _steps(report, span)), ("Loss", lambda: _losses(report, span))]
    for title, made in wanted:
        yield from attempt(report, title, partial(_drawn, made), partial(_failed, title))


def _pictured(title: str, said: str, note: str, drawn: str) -> Section:
    below = (Note(note, "quiet"),) if note else ()
    return Section(title, (Note(said), Figure(f"{title}: {said}", drawn), *below))


def _drawn(made: Callable[[], Iterable[Section]]) -> list[Section]:
    # Drawn here and now: where a generator fails nobody waits for it.
    return [*made()]


def _failed(title: str, said: str) -> list[Section]:
    return [Section(title, (Note(said),))]


def _phases(report: Report) -> Iterator[Section]:
    if not report.buckets:
        return
    frame = segments(report.buckets)
    priced = any(bucket.cost_usd is not None for bucket in report.buckets)
    unit = unit_of(report.buckets)
    title = f"Where the time and the money went, {unit}" if priced else f"Where the time went, {unit}"
    note = f"{phases_listed(frame)} {sum_words(report, frame)}"
    yield _pictured(title, phases_sentence(report, frame), note, svg(phase_bar(report.buckets), "phases"))


def _timeline(report: Report) -> Iterator[Section]:
    found = timeline(
        report.run, report.phases, report.activities, first_error(report), report.reviewed_at, odd_nodes(report)
    )
    if found.start is None or found.end is None:
        return
    signs = {kind: sign for kind, sign in SIGNS.items() if kind in set(found.marks["kind"])}
    drawn = svg(swim_lanes(found.lanes, found.parts, found.marks, found.start, found.end), "timeline")
    key = "   ".join(f"{sign} {kind}" for kind, sign in signs.items())
    yield _pictured("What happened when, by node", timeline_words(found, report), key, drawn)


def _utilization(report: Report, metric: MetricName, span: Span) -> Iterator[Section]:
    rows = measured(report.run.metrics, metric, [name for name in report.job.node_names if name])
    if not len(rows.node):
        return
    alone = len(rows.names) == 1
    width = duration(bucket_seconds(rows, POINTS if alone else columns_for(min(len(rows.names), ROWS))))
    note = f"One column is {width}; {'the line breaks where data are missing' if alone else 'gray is missing data'}."
    if alone:
        chart = utilization.line_of(*utilization.line_frames(rows, span))
    else:
        chart = utilization.heatmap_of(*utilization.heatmap_frames(rows, span, first=odd_nodes(report)))
    yield _pictured(
        HOST_METRICS[metric].by_node, utilization_sentence(report, metric, rows, None, UTC), note, svg(chart, metric)
    )


def _steps(report: Report, span: Span) -> Iterator[Section]:
    steps = report.run.steps
    work = work_of(steps)
    if len(work):
        note = "The band is p10 to p90. ▲ one step over 2x the median (capped at the axis)."
        if is_aggregated(steps):
            note = "Aggregated by Logs Insights: medians over a minute or more; single slow steps do not show."
        note = " ".join((note, *reading_words(report.run.logs.readings)))
        frames = step_time.step_frames(work, span, None, changes_of(report), slow_node(report))
        drawn = svg(step_time.step_time_of(*frames), "steps")
        yield _pictured("Step time, seconds", steps_sentence(report, work, None, UTC), note, drawn)
    elif len(reached := step_time.reached(steps)):
        yield _pictured(
            "Progress, steps",
            progress_sentence(report, reached, None, UTC),
            "The log lines have step numbers but no step times.",
            svg(step_time.progress(steps, span), "progress"),
        )


def _losses(report: Report, span: Span) -> Iterator[Section]:
    found = losses(report.run.steps, report.run.events)
    if found is None:
        return
    writer = f"As {found.node or 'the log'} logs it." if found.writers > 1 else ""
    if len((frames := step_time.loss_frames(found.rows, span))[0]) or len(frames[1]):
        note = f"{writer} A cross marks a loss that is NaN or infinite." if len(frames[1]) else writer
        yield _pictured(
            "Training loss", loss_sentence(found, None, UTC), note.strip(), svg(step_time.loss_of(*frames), "loss")
        )
    if len((frames := step_time.rate_frames(found.rows, span))[0]):
        drawn = svg(step_time.rate_of(*frames), "learning-rate")
        yield _pictured("Learning rate", rate_sentence(found, None, UTC), writer, drawn)


# More bars than that are read in the table.
_MOST_OWNERS = 15


def fleet_pictures(report: FleetReport) -> dict[str, str]:
    """The charts by the names that sections have for them; one without data is empty."""
    money = bool(report.total.usd)
    title = "USD" if money else "GPU-hours"

    def amount(one: Sum) -> float:
        return one.usd if money else one.gpu_hours

    found = {"": "", "uses": "", "owners": ""}
    shown = [each for each in report.by_owner if each.waste.instance_hours][:_MOST_OWNERS]
    rows = [(each.owner, use, amount(one), one.gpu_hours) for each in shown for use, one in each.by_use if use in WASTE]
    if any(row[2] for row in rows):
        chart = owners_bars(owners_frame(rows), [each.owner for each in shown], f"wasted, {title}")
        found["owners"] = svg(chart, "owners")
    weeks = [(week, use, amount(one)) for week, sums in report.weeks for use, one in sums]
    if len(report.weeks) > 1 and any(row[2] for row in weeks):
        found["uses"] = svg(weeks_bars(weeks_frame(weeks), f"{title} a week"), "weeks")
    return found
