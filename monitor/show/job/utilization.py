"""How busy, or how full, was each node? The card of one metric: its summary, its heatmap (a line for one node), its
data."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

import pandas as pd
import streamlit as st

from monitor.alert.conditions import Rule
from monitor.charts import utilization
from monitor.charts.elements import Span, threshold_lines, with_threshold_lines
from monitor.charts.utilization import POINTS, ROWS, Measured, bucket_seconds, cells, columns_for, measured
from monitor.diagnose.odd_nodes import odd_nodes
from monitor.diagnose.words.charts import not_drawn, utilization_said
from monitor.model import MetricName, Report
from monitor.model.host_metrics import HOST_METRICS
from monitor.show import data
from monitor.show.drawing import absent, alt_of, draw_frames, head
from monitor.show.plain import plain
from monitor.show.thresholds.drawn import crossed, crossed_words, lines_of
from monitor.words import count, duration


def rows_of(report: Report, metric: MetricName) -> Measured:
    """The values of a metric, put in order once a report."""
    names = [name for name in report.job.node_names if name]
    return data.ordered_of(report, f"measured {metric}", lambda: measured(report.run.metrics, metric, names))


def show_utilization(
    report: Report, span: Span, part: Span | None, metric: MetricName, rules: Sequence[Rule], zone: tzinfo
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
        said = _said(report, metric, rows, part, zone)
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
            _about(title, metric, rows, part, alone),
            lambda: _csv(rows, part),
            f"{report.job.name}-{metric.replace('_', '-')}",
        )
        alt = alt_of(report, f"{title} over time", _said(report, metric, rows, None, zone))
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


def _said(report: Report, metric: MetricName, rows: Measured, part: Span | None, zone: tzinfo) -> str:
    # The work's beginning is looked for in all steps: once a report.
    return data.said_of(report, f"{metric} {part} {zone}", lambda: utilization_said(report, metric, rows, part, zone))


def _about(title: str, metric: MetricName, rows: Measured, part: Span | None, alone: bool) -> str:
    width_s = bucket_seconds(rows.within(part), POINTS if alone else columns_for(min(len(rows.names), ROWS)))
    parts = [title, HOST_METRICS[metric].percent_of, count(len(rows.names), "node")]
    parts.append(f"mean over {duration(width_s)} per {'point' if alone else 'column'}")
    if alone and 1000 * width_s > rows.period_ms:
        parts.append("band from lowest to highest")
    parts.append("breaks are missing data" if alone else "gray is missing data")
    return " · ".join(parts)


def _csv(rows: Measured, part: Span | None) -> pd.DataFrame:
    """Of all nodes, those that are not drawn too."""
    shown = cells(rows, POINTS if len(rows.names) == 1 else columns_for(len(rows.names)), part)
    return shown[["node", "start", "end", "mean_pct", "low_pct", "high_pct", "points"]]
