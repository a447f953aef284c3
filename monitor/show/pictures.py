"""The charts of a report, each with the question it answers above it and what it shows in words below."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import tzinfo
from typing import Any

import pandas as pd
import streamlit as st

from monitor.analyze.step_time import is_aggregated
from monitor.charts import phases, progress, stable, step_time, utilization
from monitor.charts.time_axis import Span
from monitor.diagnose.verdict import has_gpus, mean_of
from monitor.model import Report
from monitor.show import data
from monitor.show.plain import plain
from monitor.words import count, duration, instant, percent, sentence, step_seconds, usd

_NAMES = {
    "gpu_utilization": "GPU utilization",
    "gpu_memory_utilization": "GPU memory",
    "cpu_utilization": "CPU utilization",
    "memory_utilization": "Memory",
}


def show_pictures(report: Report, zone: tzinfo) -> None:
    """Utilization and memory side by side, then step time, then where the time went; all on the job's own time axis."""
    if report.job.started is None:
        return
    span = (report.job.started, report.job.ended or report.reviewed_at)
    gpus = has_gpus(report)
    left, right = st.columns(2)
    with left:
        _utilization(report, span, "gpu_utilization" if gpus else "cpu_utilization")
    with right:
        _utilization(report, span, "gpu_memory_utilization" if gpus else "memory_utilization")
    _steps(report, span, zone)
    _phases(report)


def _draw(report: Report, chart: Callable[[], Any], key: str, title: str, said: str) -> None:
    """Draws a chart so that a refresh changes its data alone: what the viewer chose stays.

    The accessible name is part of what the browser compares, so a running job's names no figures; its caption does.
    """
    specification, frames = data.drawn(report, key, lambda: stable.split(chart()))
    alt = f"{title}; the figures are in the text below it" if report.job.is_running else f"{title}: {said}"
    st.vega_lite_chart(copy.deepcopy(specification) | {"datasets": frames}, key=key, alt=alt)


def _utilization(report: Report, span: Span, metric: str) -> None:
    frame, name = report.run.metrics, _NAMES[metric]
    nodes = report.job.node_names
    with st.container(border=True, height="stretch"):
        st.markdown(f"**{name} by node, % of one device**")
        chosen = frame[(frame["metric"] == metric) & frame["value_pct"].notna()]
        if chosen.empty:
            _absent(f"No data of {name}.", report, "metrics")
            return
        alone = len({*nodes, *chosen["node"]}) == 1
        said = _utilization_words(report, metric, set(chosen["node"]))
        _draw(
            report,
            lambda: utilization.line(frame, metric, span) if alone else utilization.heatmap(frame, metric, nodes, span),
            f"chart-{metric}",
            f"{name} by node over time",
            said,
        )
        width = duration(utilization.bucket_seconds(chosen))
        gaps = "the line breaks where data are missing" if alone else "grey is missing data"
        st.caption(plain(f"{said} One column is {width}; {gaps}."))


def _utilization_words(report: Report, metric: str, observed: set[str]) -> str:
    means = {node.node.name: spread.mean for node in report.nodes if (spread := getattr(node, metric)) is not None}
    if not means:
        return "No whole minute of work to judge by."
    words = f"Mean {percent(mean_of(report.nodes, metric))} while at work"
    if len(means) > 1:
        low, high = min(means, key=lambda name: means[name]), max(means, key=lambda name: means[name])
        words += f", from {percent(means[low])} ({low}) to {percent(means[high])} ({high})"
    missing = len(set(report.job.node_names) - observed)
    return sentence(f"{words}; {count(missing, 'node')} without data" if missing else words)


def _steps(report: Report, span: Span, zone: tzinfo) -> None:
    steps = report.run.steps
    work = step_time.timed(steps)
    with st.container(border=True):
        if work["timestamp"].notna().any():
            st.markdown("**Step time, seconds**")
            said = _step_words(report, work)
            _draw(report, lambda: step_time.step_time(steps, span), "chart-steps", "Step time over time", said)
            summed = (
                "Aggregated by Logs Insights: medians over a minute or more, in which single slow steps do not show."
            )
            triangles = "Triangles are single steps above twice the median."
            st.caption(plain(f"{said} {summed if is_aggregated(steps) else triangles}"))
        elif len(reached := progress.reached(steps)):
            st.markdown("**Progress, steps**")
            said = f"Step {reached['step'].iloc[-1]:,} at {instant(reached['at'].iloc[-1], zone)}."
            _draw(report, lambda: progress.progress(steps, span), "chart-progress", "Steps over time", said)
            st.caption(plain(f"{said} The log lines name steps, but give no time of one."))
        else:
            st.markdown("**Step time, seconds**")
            _absent("No step times.", report, "logs")


def _step_words(report: Report, work: pd.DataFrame) -> str:
    observed = int(work["node"].nunique())
    total = report.job.instance_count or observed
    words = f"Median {step_seconds(report.steps.median_s if report.steps else None)}"
    slow = step_time.slowest(work)
    if slow is not None and slow.stands_out:
        words += f"; {slow.node} takes {step_seconds(slow.median_s)}, {slow.times:.2f} x the median of its peers"
    elif slow is not None:
        words += "; no node is 3 % slower than its peers"
    if observed < total:
        words += f"; {observed} of {total} nodes report their steps"
    return sentence(words)


def _phases(report: Report) -> None:
    with st.container(border=True):
        st.markdown("**Where the time went, minutes**")
        if not report.buckets:
            _absent("The course of the job is not known.", report, "job")
            return
        frame = phases.segments(report.buckets)[["name", "minutes", "cost_usd"]]
        said = sentence(", ".join(_bucket_words(*row) for row in frame.itertuples(index=False)))
        _draw(report, lambda: phases.phase_bar(report.buckets), "chart-phases", "Where the time went", said)
        st.caption(plain(said))


def _bucket_words(name: str, minutes: float, cost_usd: float) -> str:
    money = "" if cost_usd != cost_usd else f" ({usd(cost_usd)})" if cost_usd else " (not billed)"
    return f"{name} {duration(minutes * 60)}{money}"


def _absent(words: str, report: Report, what: str) -> None:
    """What is not drawn, and why."""
    whys = " ".join(gap.why for gap in report.run.gaps if gap.what == what)
    st.caption(f":material/visibility_off: {plain(words)} {plain(whys)}")
