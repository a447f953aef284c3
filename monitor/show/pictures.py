"""The charts of a report, each with the question it answers above it and what it shows in words below."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

import pandas as pd
import streamlit as st

from monitor.alert.conditions import Rule
from monitor.analyze.step_time import is_aggregated
from monitor.charts import phases, progress, step_time, utilization
from monitor.charts.threshold_lines import lines as threshold_lines
from monitor.charts.threshold_lines import with_lines
from monitor.charts.time_axis import Span
from monitor.diagnose.verdict import has_gpus, mean_of
from monitor.model import Cost, Report
from monitor.show.drawing import absent, draw
from monitor.show.plain import plain
from monitor.show.threshold_drawn import above_words, kept, lines_of
from monitor.show.timeline import show_timeline
from monitor.words import count, duration, instant, percent, sentence, step_seconds, usd

#: Sum and bill differ by this share at most where they are the same money: the bill is of whole seconds.
SAME_BILL = 0.005
_NAMES = {
    "gpu_utilization": "GPU utilization",
    "gpu_memory_utilization": "GPU memory",
    "cpu_utilization": "CPU utilization",
    "memory_utilization": "Memory",
}


def show_pictures(report: Report, zone: tzinfo) -> None:
    """Where the time went and what happened when, then utilization and memory side by side, then step time."""
    if report.job.started is None:
        return
    span = (report.job.started, report.job.ended or report.reviewed_at)
    _phases(report)
    show_timeline(report, zone)
    rules = kept()
    gpus = has_gpus(report)
    left, right = st.columns(2)
    with left:
        _utilization(report, span, "gpu_utilization" if gpus else "cpu_utilization", rules)
    with right:
        _utilization(report, span, "gpu_memory_utilization" if gpus else "memory_utilization", rules)
    _steps(report, span, zone, rules)


def _utilization(report: Report, span: Span, metric: str, rules: Sequence[Rule]) -> None:
    frame, name = report.run.metrics, _NAMES[metric]
    nodes = report.job.node_names
    with st.container(border=True, height="stretch"):
        st.markdown(f"**{name} by node, % of one device**")
        chosen = frame[(frame["metric"] == metric) & frame["value_pct"].notna()]
        if chosen.empty:
            absent(f"No data of {name}.", report, "metrics")
            return
        alone = len({*nodes, *chosen["node"]}) == 1
        said = _utilization_words(report, metric, set(chosen["node"]))
        lines = lines_of(rules, metric, 100) if alone else {}
        draw(
            report,
            lambda: (
                with_lines(utilization.line(frame, metric, span), threshold_lines(lines, 100), utilization.LINE_AXIS)
                if alone
                else utilization.heatmap(frame, metric, nodes, span)
            ),
            f"chart-{metric}",
            f"{name} by node over time",
            said,
            str(lines),
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


def _steps(report: Report, span: Span, zone: tzinfo, rules: Sequence[Rule]) -> None:
    steps = report.run.steps
    work = step_time.timed(steps)
    with st.container(border=True):
        if work["timestamp"].notna().any():
            st.markdown("**Step time, seconds**")
            said = _step_words(report, work)
            highest = step_time.ceiling(work, 0.0)
            lines = lines_of(rules, "step_time", highest)
            draw(
                report,
                lambda: with_lines(step_time.step_time(steps, span), threshold_lines(lines, highest), step_time.AXIS),
                "chart-steps",
                "Step time over time",
                said,
                str(lines),
            )
            summed = (
                "Aggregated by Logs Insights: medians over a minute or more, in which single slow steps do not show."
            )
            above = above_words(rules, "step_time", highest)
            triangles = "Triangles are single steps above twice the median."
            st.caption(plain(f"{said} {summed if is_aggregated(steps) else triangles}{above}"))
        elif len(reached := progress.reached(steps)):
            st.markdown("**Progress, steps**")
            said = f"Step {reached['step'].iloc[-1]:,} at {instant(reached['at'].iloc[-1], zone)}."
            draw(report, lambda: progress.progress(steps, span), "chart-progress", "Steps over time", said)
            st.caption(plain(f"{said} The log lines name steps, but give no time of one."))
        else:
            st.markdown("**Step time, seconds**")
            absent("No step times.", report, "logs")


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
        priced = any(bucket.cost_usd is not None for bucket in report.buckets)
        st.markdown(
            "**Where the time and the money went, minutes and $**" if priced else "**Where the time went, minutes**"
        )
        if not report.buckets:
            absent("The course of the job is not known.", report, "job")
            return
        frame = phases.segments(report.buckets)[["name", "minutes", "cost_usd"]]
        said = sentence(", ".join(_bucket_words(*row) for row in frame.itertuples(index=False)))
        draw(report, lambda: phases.phase_bar(report.buckets), "chart-phases", "Where the time went", said)
        st.caption(plain(f"{said} {_sum_words(frame, report.cost)}"))


def _sum_words(frame: pd.DataFrame, cost: Cost) -> str:
    """``Together 1 h 23 min and $5.84, the bill.``: AWS bills whole seconds, so cents may part them."""
    together = f"Together {duration(frame['minutes'].sum() * 60)}"
    known = frame["cost_usd"].dropna()
    if known.empty:
        return sentence(together)
    summed, most = float(known.sum()), "at most " if cost.at_most else ""
    if cost.usd is None:
        return f"{together} and {most}{usd(summed)}."
    if abs(summed - cost.usd) <= max(0.01, SAME_BILL * cost.usd):
        return f"{together} and {most}{usd(cost.usd)}, the bill."
    return f"{together} and {most}{usd(summed)} of {usd(cost.usd)} billed."


def _bucket_words(name: str, minutes: float, cost_usd: float) -> str:
    money = "" if cost_usd != cost_usd else f" ({usd(cost_usd)})" if cost_usd else " (not billed)"
    return f"{name} {duration(minutes * 60)}{money}"
