"""The charts of a report: where the time went, then a strip that selects the part of it that all others show."""

from __future__ import annotations

from datetime import tzinfo

import pandas as pd
import streamlit as st

from monitor.charts import overview, timeline
from monitor.charts.elements import Span
from monitor.diagnose.verdict import has_gpus
from monitor.diagnose.words.charts import phases_listed, phases_said, sum_words
from monitor.model import MetricName, Report
from monitor.model.host_metrics import HOST_METRICS
from monitor.show import data
from monitor.show.drawing import absent, alt_of, draw_frames, head
from monitor.show.job import chosen_time
from monitor.show.job.loss import show_losses
from monitor.show.job.overview import show_overview
from monitor.show.job.steps import show_steps, work
from monitor.show.job.timeline import show_timeline
from monitor.show.job.utilization import rows_of, show_utilization
from monitor.show.plain import plain
from monitor.show.thresholds.drawn import kept
from monitor.show.trouble import part


def show_pictures(report: Report, zone: tzinfo) -> None:
    """The charts, as a part of the page of their own: choosing another time draws them again, and nothing else."""
    if report.job.started is None:
        return
    span = (report.job.started, report.job.ended or report.reviewed_at)

    def pictures() -> None:
        part(report, "Where the time went", _phases, report)
        part(report, "Overview strip", _strip, report, span, zone)
        shown, rules = chosen_time.within(span), kept()
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
        strip = data.of_report(report, "strip", lambda: overview.of_metric(rows, span))
        show_overview(
            report, span, strip, f"{HOST_METRICS[metric].label}, {HOST_METRICS[metric].percent_of}", True, zone
        )
    elif len(steps):
        strip = data.of_report(report, "strip", lambda: overview.of_steps(steps, span))
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
        head(phases_said(report, frame), f"{title} · {summed}", lambda: _csv(frame), f"{report.job.name}-phases")
        draw_frames(("chart-phases",), (frame,), timeline.phase_bar_of, alt_of(report, "Where the time went", listed))
        st.caption(plain(listed))


def _csv(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[["name", "phase", "kind", "minutes", "share", "cost_usd"]]
