"""The charts of a report: where the time went, then a strip that selects the part of it that all others show: step times, or
progress where the lines give none.

Each is a card: of the training loss and, if the log has it, of the learning rate; of how busy, or how full, each node was,
with its summary, its heatmap (a line for one node) and its data.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from functools import partial

import pandas as pd
import streamlit as st

from monitor.alert.conditions import AlertRule
from monitor.analyze.journal import Losses, losses
from monitor.analyze.step_time import is_aggregated
from monitor.charts import step_time, timeline, utilization
from monitor.charts.elements import Span, edges, threshold_lines, with_threshold_lines
from monitor.charts.step_time import BUCKETS, OUTLIER_TIMES, WorkTimes, ceiling, work_of
from monitor.charts.utilization import POINTS, ROWS, Measured, bucket_seconds, cells, columns_for, measured
from monitor.diagnose.unlike import odd_nodes
from monitor.diagnose.verdict import has_gpus
from monitor.diagnose.words.charts import (
    changes_of,
    loss_sentence,
    not_drawn,
    phases_listed,
    phases_sentence,
    progress_sentence,
    rate_sentence,
    slow_node,
    steps_sentence,
    sum_words,
    utilization_sentence,
)
from monitor.diagnose.words.step_readings import how_words, reading_words
from monitor.model import MetricName, Report
from monitor.model.host_metrics import HOST_METRICS
from monitor.show import address, data
from monitor.show.drawing import absent, alt_of, draw_frames, head
from monitor.show.job.timeline import show_overview, show_timeline, within
from monitor.show.thresholds.crossings import above_words, crossed, crossed_words, lines_of, saved_rules
from monitor.show.trouble import part, plain
from monitor.words import count, duration


def work(report: Report) -> WorkTimes:
    """The reports with a time of work, put in order once a report."""
    return data.ordered_of(report, "work", lambda: work_of(report.run.steps))


def show_steps(report: Report, span: Span, part: Span | None, rules: Sequence[AlertRule], zone: tzinfo) -> None:
    with st.container(border=True, gap="xsmall"):
        if len(work(report)):
            _times(report, span, part, rules, zone)
        elif len(reached := step_time.reached(report.run.steps, within=part)) or part is not None:
            _progress(report, span, part, reached, zone)
        else:
            st.markdown("**Step time, seconds**")
            absent("No step times.", report, "logs")


def _times(report: Report, span: Span, part: Span | None, rules: Sequence[AlertRule], zone: tzinfo) -> None:
    every = work(report)
    shown = every.within(part)
    frames = data.of_report(
        report,
        f"steps {part}",
        lambda: step_time.step_frames(every, span, part, changes_of(report), slow_node(report)),
    )
    levels, far = frames[:2]
    head(
        _steps_sentence(report, every, part, zone),
        _about(report, every, shown),
        lambda: _csv_of_steps(levels, far),
        f"{report.job.name}-step-time",
    )
    highest = ceiling(shown, 0.0)
    draw_frames(
        ("chart-steps", *step_time.series_names(levels)),
        (*frames, threshold_lines(lines_of(rules, "step_time", highest), highest)),
        _chart,
        alt_of(report, "Step time over time", _steps_sentence(report, every, None, zone)),
    )
    summed = "Aggregated by Logs Insights: medians over a minute or more; single slow steps do not show."
    triangles = f"▲ one step over {OUTLIER_TIMES:.0f}x the median (capped at the axis)." if len(far) else ""
    below = f"{summed if is_aggregated(report.run.steps) else triangles}{above_words(rules, 'step_time', highest)}"
    if below:
        st.caption(plain(below))
    for line in reading_words(report.run.logs.readings):
        st.caption(plain(line))


def _chart(
    levels: pd.DataFrame, far: pd.DataFrame, changes: pd.DataFrame, ends: pd.DataFrame, drawn: pd.DataFrame
) -> object:
    return with_threshold_lines(step_time.step_time_of(levels, far, changes, ends), drawn, step_time.AXIS)


def _steps_sentence(report: Report, every: WorkTimes, part: Span | None, zone: tzinfo) -> str:
    return data.detail_of(report, f"steps {part} {zone}", lambda: steps_sentence(report, every, part, zone))


def _about(report: Report, every: WorkTimes, shown: WorkTimes) -> str:
    total = report.job.instance_count or every.observed
    who = f"only {every.observed} of {total} nodes log step times" if every.observed < total else count(total, "node")
    parts = ["Step time, seconds", who, f"median and p10 to p90 of {count(len(shown), 'report')} after warm-up"]
    if how := how_words(report.run.logs.readings):
        parts.append(how)
    if len(shown) > BUCKETS:
        parts.append(f"at most {BUCKETS} points a line")
    return " · ".join(parts)


def _csv_of_steps(levels: pd.DataFrame, far: pd.DataFrame) -> pd.DataFrame:
    """The buckets, and behind them the single steps that are drawn as triangles."""
    lines = levels.loc[levels["reports"] > 0].drop(columns=["order", "p10_drawn_s", "median_drawn_s", "p90_drawn_s"])
    dots = pd.DataFrame(
        {
            "series": far["node"].map(lambda node: f"{node}, single slow step"),
            "at": far["at"],
            "first_step": far["step"],
            "median_s": far["step_time_s"],
            "reports": 1,
        }
    )
    return pd.concat([lines, dots], ignore_index=True)


def _progress(report: Report, span: Span, part: Span | None, reached: pd.DataFrame, zone: tzinfo) -> None:
    head(
        progress_sentence(report, reached, part, zone),
        "Progress, steps · the log lines have step numbers but no step times",
        lambda: reached,
        f"{report.job.name}-progress",
    )
    draw_frames(
        ("chart-progress",),
        (reached, edges(part or span)),
        step_time.progress_of,
        alt_of(report, "Steps over time", progress_sentence(report, step_time.reached(report.run.steps), None, zone)),
    )


def show_pictures(report: Report, zone: tzinfo) -> None:
    """The charts, as a part of the page of their own: choosing another time draws them again, and nothing else."""
    if report.job.started is None:
        return
    span = (report.job.started, report.job.ended or report.reviewed_at)

    def pictures() -> None:
        part(report, "Where the time went", _phases, report)
        part(report, "Overview strip", _strip, report, span, zone)
        shown, rules = within(span), saved_rules()
        part(report, "Chart of the step times", show_steps, report, span, shown, rules, zone)
        part(report, "Charts of loss and learning rate", show_losses, report, span, shown, zone)
        full: MetricName = "gpu_memory_utilization" if has_gpus(report) else "memory_utilization"
        for column, metric in zip(st.columns(2), (_busy(report), full), strict=True):
            with column:
                part(
                    report,
                    f"Chart of {HOST_METRICS[metric].label}",
                    show_utilization,
                    report,
                    span,
                    shown,
                    metric,
                    rules,
                    zone,
                )
        part(report, "Timeline", show_timeline, report, zone, shown)

    st.fragment(lambda: part(report, "Charts", pictures))()


def _busy(report: Report) -> MetricName:
    return "gpu_utilization" if has_gpus(report) else "cpu_utilization"


def _strip(report: Report, span: Span, zone: tzinfo) -> None:
    """Of how busy the devices were; of the step times where that is not known; else there is none."""
    metric = _busy(report)
    rows, steps = rows_of(report, metric), work(report)
    if len(rows.node):
        strip = data.of_report(report, "strip", lambda: timeline.of_metric(rows, span))
        show_overview(
            report, span, strip, f"{HOST_METRICS[metric].label}, {HOST_METRICS[metric].percent_of}", True, zone
        )
    elif len(steps):
        strip = data.of_report(report, "strip", lambda: timeline.of_steps(steps, span))
        show_overview(report, span, strip, "Step time, seconds", False, zone)


def _phases(report: Report) -> None:
    with st.container(border=True, gap="xsmall"):
        if not report.buckets:
            st.markdown("**Where the time went**")
            absent("The job's phases are not known.", report, "job")
            return
        priced = any(bucket.cost_usd is not None for bucket in report.buckets)
        frame = timeline.segments(report.buckets)
        listed = phases_listed(frame)
        summed = sum_words(report, frame)
        unit = timeline.unit_of(report.buckets)
        title = f"Where the time and the money went, {unit} and $" if priced else f"Where the time went, {unit}"
        head(phases_sentence(report, frame), f"{title} · {summed}", lambda: _csv(frame), f"{report.job.name}-phases")
        draw_frames(("chart-phases",), (frame,), timeline.phase_bar_of, alt_of(report, "Where the time went", listed))
        st.caption(plain(listed))


def _csv(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[["name", "phase", "kind", "minutes", "share", "cost_usd"]]


#: What the address says where the loss has a logarithmic axis.
LOG = "log"


def show_losses(report: Report, span: Span, part: Span | None, zone: tzinfo) -> None:
    """The cards side by side; nothing where no line of a step names a loss or a learning rate."""
    found = data.ordered_of(report, "losses", lambda: losses(report.run.steps, report.run.events))
    if found is None:
        return
    has_loss = bool(found.rows["loss"].notna().any() or found.rows["bad"].any())
    has_rate = bool(found.rows["learning_rate"].notna().any())
    cards = [card for card, known in ((_loss, has_loss), (_rate, has_rate)) if known]
    for column, card in zip(st.columns(len(cards)), cards, strict=True):
        with column, st.container(border=True, gap="xsmall"):
            card(report, found, span, part, zone)


def _loss(report: Report, found: Losses, span: Span, part: Span | None, zone: tzinfo) -> None:
    frames = data.of_report(report, f"loss {part}", lambda: step_time.loss_frames(found.rows, span, part))
    positive = bool((frames[0]["low"] > 0).all())
    log = positive and address.value("loss") == LOG
    head(
        loss_sentence(found, part, zone),
        _about_losses("Training loss", found, frames[0]),
        lambda: frames[0],
        f"{report.job.name}-loss",
    )
    draw_frames(
        ("chart-loss", log),
        frames,
        partial(step_time.loss_of, log=log),
        alt_of(report, "Loss", loss_sentence(found, None, zone)),
    )
    if positive:
        address.shown("loss", log)
        st.toggle("Logarithmic axis", **address.bound("loss", lambda chosen: LOG if chosen else None))


def _rate(report: Report, found: Losses, span: Span, part: Span | None, zone: tzinfo) -> None:
    frames = data.of_report(report, f"learning rate {part}", lambda: step_time.rate_frames(found.rows, span, part))
    head(
        rate_sentence(found, part, zone),
        _about_losses("Learning rate", found, frames[0]),
        lambda: frames[0],
        f"{report.job.name}-learning-rate",
    )
    said = rate_sentence(found, None, zone)
    draw_frames(("chart-learning-rate",), frames, step_time.rate_of, alt_of(report, "Learning rate", said))


def _about_losses(title: str, found: Losses, points: pd.DataFrame) -> str:
    who = " ".join(part for part in (found.node, "" if found.rank is None else f"rank {found.rank}") if part)
    parts = [title, f"as {who} logs it" if found.writers > 1 and who else who, count(points["reports"].sum(), "report")]
    if len(points) and points["reports"].max() > 1:
        parts.append("median, with a band from lowest to highest")
    return " · ".join(part for part in parts if part)


def rows_of(report: Report, metric: MetricName) -> Measured:
    """The values of a metric, put in order once a report."""
    names = [name for name in report.job.node_names if name]
    return data.ordered_of(report, f"measured {metric}", lambda: measured(report.run.metrics, metric, names))


def show_utilization(
    report: Report, span: Span, part: Span | None, metric: MetricName, rules: Sequence[AlertRule], zone: tzinfo
) -> None:
    """The card of one metric."""
    rows = rows_of(report, metric)
    alone = len(rows.names) == 1
    title = HOST_METRICS[metric].label if alone else f"{HOST_METRICS[metric].label} by node"
    with st.container(border=True, height="stretch", gap="xsmall"):
        if not len(rows.node):
            st.markdown(f"**{plain(title)}**")
            absent(f"No {HOST_METRICS[metric].label} data.", report, "metrics")
            return
        said = _utilization_sentence(report, metric, rows, part, zone)
        spans = crossed(report, rules, metric)
        if alone:
            frames = data.of_report(report, f"line {metric} {part}", lambda: utilization.line_frames(rows, span, part))
        else:
            frames = data.of_report(
                report,
                f"heatmap {metric} {part} {[(rule.name, rule.text) for rule in rules]}",
                lambda: utilization.heatmap_frames(rows, span, part, spans, odd_nodes(report)),
            )
        head(
            said,
            _about_nodes(title, metric, rows, part, alone),
            lambda: _nodes_csv(rows, part),
            f"{report.job.name}-{metric.replace('_', '-')}",
        )
        alt = alt_of(report, f"{title} over time", _utilization_sentence(report, metric, rows, None, zone))
        if alone:
            drawn = (*frames, threshold_lines(lines_of(rules, metric, 100), 100))
            draw_frames((f"chart-{metric}", "line"), drawn, _line, alt)
            return
        draw_frames((f"chart-{metric}", "heatmap", len(frames[0])), frames, utilization.heatmap_of, alt)
        many = len(rows.names)
        if said := not_drawn(many - len(frames[0]), many, max(0, len(odd_nodes(report)) - ROWS)):
            st.caption(f"{plain(said)}.")
        framed = utilization.row_pixels(len(frames[0])) >= utilization.FRAMED_PX
        how = "framed in red where crossed" if framed else "marked in red at the end of the row where crossed"
        if words := crossed_words(rules, metric, spans, part, how):
            st.caption(plain(words))


def _line(shown: pd.DataFrame, ends: pd.DataFrame, drawn: pd.DataFrame) -> object:
    return with_threshold_lines(utilization.line_of(shown, ends), drawn, utilization.LINE_AXIS)


def _utilization_sentence(report: Report, metric: MetricName, rows: Measured, part: Span | None, zone: tzinfo) -> str:
    # The work's beginning is looked for in all steps: once a report.
    return data.detail_of(
        report, f"{metric} {part} {zone}", lambda: utilization_sentence(report, metric, rows, part, zone)
    )


def _about_nodes(title: str, metric: MetricName, rows: Measured, part: Span | None, alone: bool) -> str:
    width_s = bucket_seconds(rows.within(part), POINTS if alone else columns_for(min(len(rows.names), ROWS)))
    parts = [title, HOST_METRICS[metric].percent_of, count(len(rows.names), "node")]
    parts.append(f"mean over {duration(width_s)} per {'point' if alone else 'column'}")
    if alone and 1000 * width_s > rows.period_ms:
        parts.append("band from lowest to highest")
    parts.append("breaks are missing data" if alone else "gray is missing data")
    return " · ".join(parts)


def _nodes_csv(rows: Measured, part: Span | None) -> pd.DataFrame:
    """Of all nodes, those that are not drawn too."""
    shown = cells(rows, POINTS if len(rows.names) == 1 else columns_for(len(rows.names)), part)
    return shown[["node", "start", "end", "mean_pct", "low_pct", "high_pct", "points"]]
