"""Which charts does a saved report have? Each as a title, what it shows in a sentence, how to read it, and the
picture."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC
from functools import partial

from monitor.analyze.losses import losses
from monitor.analyze.step_time import is_aggregated
from monitor.analyze.timeline import timeline
from monitor.charts import loss, step_time, utilization
from monitor.charts.elements import Span
from monitor.charts.step_time import work_of
from monitor.charts.timeline import SIGNS, phase_bar, segments, swim_lanes, unit_of
from monitor.charts.utilization import POINTS, ROWS, bucket_seconds, columns_for, measured
from monitor.diagnose.log_places import first_error
from monitor.diagnose.odd_nodes import odd_nodes
from monitor.diagnose.verdict import has_gpus
from monitor.diagnose.words.charts import (
    changes_of,
    loss_said,
    phases_listed,
    phases_said,
    progress_said,
    rate_said,
    slow_node,
    steps_said,
    sum_words,
    timeline_words,
    utilization_said,
)
from monitor.diagnose.words.step_readings import reading_words
from monitor.export.svg import svg
from monitor.faults import attempt
from monitor.model import MetricName, Report
from monitor.model.host_metrics import HOST_METRICS, OF_GPUS
from monitor.words import duration


@dataclass(frozen=True, slots=True)
class Picture:
    title: str
    said: str
    note: str
    svg: str


def pictures(report: Report) -> Iterator[Picture]:
    """In the order of reading; what has no data has no picture, and one that fails says so in its place."""
    gpus = has_gpus(report)
    full: tuple[MetricName, ...] = OF_GPUS if gpus else ("cpu_utilization", "memory_utilization")
    started = report.job.started
    span = (started, report.job.ended or report.reviewed_at) if started is not None else None
    wanted: list[tuple[str, Callable[[], Iterable[Picture]]]] = [("Where the time went", lambda: _phases(report))]
    if span is not None:
        wanted += [("What happened when, by node", lambda: _timeline(report))]
        wanted += [(HOST_METRICS[metric].by_node, partial(_utilization, report, metric, span)) for metric in full]
        wanted += [("Step time, seconds", lambda: _steps(report, span)), ("Loss", lambda: _losses(report, span))]
    for title, made in wanted:
        yield from attempt(report, title, partial(_drawn, made), partial(_failed, title))


def _drawn(made: Callable[[], Iterable[Picture]]) -> list[Picture]:
    # Drawn here and now: where a generator fails nobody waits for it.
    return [*made()]


def _failed(title: str, said: str) -> list[Picture]:
    return [Picture(title, said, "", "")]


def _phases(report: Report) -> Iterator[Picture]:
    if not report.buckets:
        return
    frame = segments(report.buckets)
    priced = any(bucket.cost_usd is not None for bucket in report.buckets)
    unit = unit_of(report.buckets)
    title = f"Where the time and the money went, {unit}" if priced else f"Where the time went, {unit}"
    note = f"{phases_listed(frame)} {sum_words(report, frame)}"
    yield Picture(title, phases_said(report, frame), note, svg(phase_bar(report.buckets), "phases"))


def _timeline(report: Report) -> Iterator[Picture]:
    found = timeline(
        report.run, report.phases, report.activities, first_error(report), report.reviewed_at, odd_nodes(report)
    )
    if found.start is None or found.end is None:
        return
    signs = {kind: sign for kind, sign in SIGNS.items() if kind in set(found.marks["kind"])}
    drawn = svg(swim_lanes(found.lanes, found.parts, found.marks, found.start, found.end), "timeline")
    key = "   ".join(f"{sign} {kind}" for kind, sign in signs.items())
    yield Picture("What happened when, by node", timeline_words(found, report), key, drawn)


def _utilization(report: Report, metric: MetricName, span: Span) -> Iterator[Picture]:
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
    yield Picture(
        HOST_METRICS[metric].by_node, utilization_said(report, metric, rows, None, UTC), note, svg(chart, metric)
    )


def _steps(report: Report, span: Span) -> Iterator[Picture]:
    steps = report.run.steps
    work = work_of(steps)
    if len(work):
        note = "The band is p10 to p90. ▲ one step over 2x the median (capped at the axis)."
        if is_aggregated(steps):
            note = "Aggregated by Logs Insights: medians over a minute or more; single slow steps do not show."
        note = " ".join((note, *reading_words(report.run.logs.readings)))
        frames = step_time.step_frames(work, span, None, changes_of(report), slow_node(report))
        drawn = svg(step_time.step_time_of(*frames), "steps")
        yield Picture("Step time, seconds", steps_said(report, work, None, UTC), note, drawn)
    elif len(reached := step_time.reached(steps)):
        yield Picture(
            "Progress, steps",
            progress_said(report, reached, None, UTC),
            "The log lines have step numbers but no step times.",
            svg(step_time.progress(steps, span), "progress"),
        )


def _losses(report: Report, span: Span) -> Iterator[Picture]:
    found = losses(report.run.steps, report.run.events)
    if found is None:
        return
    writer = f"As {found.node or 'the log'} logs it." if found.writers > 1 else ""
    if len((frames := loss.loss_frames(found.rows, span))[0]) or len(frames[1]):
        note = f"{writer} A cross marks a loss that is NaN or infinite." if len(frames[1]) else writer
        yield Picture("Training loss", loss_said(found, None, UTC), note.strip(), svg(loss.loss_of(*frames), "loss"))
    if len((frames := loss.rate_frames(found.rows, span))[0]):
        drawn = svg(loss.rate_of(*frames), "learning-rate")
        yield Picture("Learning rate", rate_said(found, None, UTC), writer, drawn)
