"""How long do steps take? The card of step times, or of progress where the lines give none."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

import pandas as pd
import streamlit as st

from monitor.alert.conditions import Rule
from monitor.analyze.step_time import is_aggregated
from monitor.charts import step_time
from monitor.charts.elements import Span, edges, threshold_lines, with_threshold_lines
from monitor.charts.step_time import BUCKETS, OUTLIER_TIMES, Work, ceiling, work_of
from monitor.diagnose.words.charts import changes_of, progress_said, slow_node, steps_said
from monitor.diagnose.words.step_readings import how_words, reading_words
from monitor.model import Report
from monitor.show import data
from monitor.show.drawing import absent, alt_of, draw_frames, head
from monitor.show.plain import plain
from monitor.show.thresholds.drawn import above_words, lines_of
from monitor.words import count


def work(report: Report) -> Work:
    """The reports with a time of work, put in order once a report."""
    return data.ordered_of(report, "work", lambda: work_of(report.run.steps))


def show_steps(report: Report, span: Span, part: Span | None, rules: Sequence[Rule], zone: tzinfo) -> None:
    with st.container(border=True, gap="xsmall"):
        if len(work(report)):
            _times(report, span, part, rules, zone)
        elif len(reached := step_time.reached(report.run.steps, within=part)) or part is not None:
            _progress(report, span, part, reached, zone)
        else:
            st.markdown("**Step time, seconds**")
            absent("No step times.", report, "logs")


def _times(report: Report, span: Span, part: Span | None, rules: Sequence[Rule], zone: tzinfo) -> None:
    every = work(report)
    shown = every.within(part)
    frames = data.of_report(
        report,
        f"steps {part}",
        lambda: step_time.step_frames(every, span, part, changes_of(report), slow_node(report)),
    )
    levels, far = frames[:2]
    head(
        _said(report, every, part, zone),
        _about(report, every, shown),
        lambda: _csv(levels, far),
        f"{report.job.name}-step-time",
    )
    highest = ceiling(shown, 0.0)
    draw_frames(
        ("chart-steps", *step_time.series_names(levels)),
        (*frames, threshold_lines(lines_of(rules, "step_time", highest), highest)),
        _chart,
        alt_of(report, "Step time over time", _said(report, every, None, zone)),
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


def _said(report: Report, every: Work, part: Span | None, zone: tzinfo) -> str:
    return data.said_of(report, f"steps {part} {zone}", lambda: steps_said(report, every, part, zone))


def _about(report: Report, every: Work, shown: Work) -> str:
    total = report.job.instance_count or every.observed
    who = f"only {every.observed} of {total} nodes log step times" if every.observed < total else count(total, "node")
    parts = ["Step time, seconds", who, f"median and p10 to p90 of {count(len(shown), 'report')} after warm-up"]
    if how := how_words(report.run.logs.readings):
        parts.append(how)
    if len(shown) > BUCKETS:
        parts.append(f"at most {BUCKETS} points a line")
    return " · ".join(parts)


def _csv(levels: pd.DataFrame, far: pd.DataFrame) -> pd.DataFrame:
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
        progress_said(report, reached, part, zone),
        "Progress, steps · the log lines have step numbers but no step times",
        lambda: reached,
        f"{report.job.name}-progress",
    )
    draw_frames(
        ("chart-progress",),
        (reached, edges(part or span)),
        step_time.progress_of,
        alt_of(report, "Steps over time", progress_said(report, step_time.reached(report.run.steps), None, zone)),
    )
