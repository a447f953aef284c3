"""Why should a finding be believed? The chart that shows it, with its span marked; the facts; the log lines as they
are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo

import pandas as pd
import streamlit as st

from monitor.charts import step_time, utilization
from monitor.charts.elements import marked
from monitor.charts.utilization import ROWS
from monitor.diagnose.log_places import is_of_the_log
from monitor.diagnose.words.charts import slow_node
from monitor.diagnose.words.evidence import fact_value, when
from monitor.model import Evidence, Finding, Report, View
from monitor.model.host_metrics import HOST_METRICS
from monitor.show.drawing import draw
from monitor.show.job.steps import work
from monitor.show.job.timeline import draw_timeline, key_of, of
from monitor.show.logs.places import link_of
from monitor.show.plain import plain
from monitor.show.shell import LOGS_PAGE
from monitor.words import DASH, clock, zone_name

HEIGHT = 170
_MOST_SPANS = 20
# Where the order of things is the evidence, and no level of a device.
_IN_TIME = frozenset(
    {
        "cuda-out-of-memory", "nccl-timeout", "spot-interruption", "access-denied", "data-error", "script-error", "nan-loss",
        "max-runtime",
        "stopped-by-user", "long-initialization", "lost-work", "checkpoint-stall", "checkpoint-overdue",
    }
)  # fmt: skip
_STEPS = frozenset({"stall", "step-time-regression", "slow-steps"})


def view_of(finding: Finding, report: Report) -> View | None:
    """The chart to show; None where the job has no data for one, or where the finding is of no time at all."""
    if report.job.started is None:
        return None
    wanted: list[View] = []
    if finding.id in _IN_TIME:
        wanted.append("timeline")
    if finding.id in _STEPS:
        wanted.append("steps")
    wanted += [fact.view for fact in finding.evidence if fact.view is not None]
    return next((view for view in wanted if _has(report, view)), None)


def _has(report: Report, view: View) -> bool:
    if view == "timeline":
        return of(report).start is not None
    if view == "steps":
        return bool(report.run.steps["timestamp"].notna().any())
    metrics = report.run.metrics
    return bool((metrics["value_pct"].notna() & (metrics["metric"] == view)).any())


def spans_of(finding: Finding) -> tuple[tuple[datetime, datetime], ...]:
    """The stretches its evidence speaks of, each once; a fact with a beginning alone is a moment."""
    spans = [
        (fact.start or fact.end, fact.end or fact.start)
        for fact in finding.evidence
        if fact.start is not None or fact.end is not None
    ]
    return tuple(dict.fromkeys((start, end) for start, end in spans if start and end))[:_MOST_SPANS]


def show_why(finding: Finding, report: Report, zone: tzinfo) -> None:
    """Everything behind a finding."""
    view = view_of(finding, report)
    if view is not None:
        _chart(finding, view, report)
    spans = spans_of(finding)
    if spans:
        local = zone_name(spans[0][0], zone)
        if local != "UTC":
            example = f"{clock(spans[0][0])} is {spans[0][0].astimezone(zone):%H:%M} {local}"
            st.caption(plain(f"Times here are in your time zone, {local}; the sentences above use UTC: {example}."))
    _facts([fact for fact in finding.evidence if fact.value is not None or fact.line is None], finding.id, zone)
    for number, fact in enumerate(finding.evidence):
        if fact.line is not None:
            place = " · ".join(part for part in (fact.label, fact.node, when(fact, zone)) if part)
            st.caption(plain(place))
            st.code(fact.line, language=None, wrap_lines=True)
            if not report.archive and is_of_the_log(fact):
                to = link_of(report, finding.id, fact, number)
                st.page_link(LOGS_PAGE, label="Open in the log", icon=":material/article:", query_params=to)


def _chart(finding: Finding, view: View, report: Report) -> None:
    job = report.job
    assert job.started is not None
    span = (job.started, job.ended or report.reviewed_at)
    spans = spans_of(finding)
    key = f"why-chart-{finding.id}"
    timed = len(work(report)) > 0
    if view == "timeline":
        title = "What happened when, by node"
    elif view == "steps":
        title = "Step time, seconds" if timed else "Progress, steps"
    else:
        title = HOST_METRICS[view].by_node
    st.markdown(
        f"**{title}**" + (" :gray[(framed\\: the time the finding is about)]" if spans and view != "timeline" else "")
    )
    if view == "timeline":
        st.caption(key_of(of(report)))
        draw_timeline(report, key)
        return
    said = finding.title
    if view == "steps":
        steps = report.run.steps
        slow = slow_node(report)
        draw(
            report,
            lambda: marked(
                step_time.step_time(steps, span, slow) if timed else step_time.progress(steps, span), spans, HEIGHT
            ),
            key,
            title,
            said,
        )
        return
    frame = report.run.metrics
    nodes = [name for name in job.node_names if name] or sorted(set(frame["node"]))
    if len(nodes) == 1:
        draw(report, lambda: marked(utilization.line(frame, view, span), spans, HEIGHT), key, title, said)
    else:
        drawn = min(len(nodes), ROWS)
        height = min(240, utilization.row_pixels(drawn) * drawn + utilization.CHROME_PX)
        first = [fact.node for fact in finding.evidence if fact.node]
        draw(
            report,
            lambda: marked(utilization.heatmap(frame, view, nodes, span, first), spans, height),
            key,
            title,
            said,
        )


def _facts(facts: Sequence[Evidence], about: str, zone: tzinfo) -> None:
    if facts:
        st.dataframe(
            pd.DataFrame([_fact(fact, zone) for fact in facts]).dropna(axis="columns", how="all"),
            hide_index=True,
            width="content",
            placeholder=DASH,
            alt=f"Evidence of {about}",
        )


def _fact(fact: Evidence, zone: tzinfo) -> dict[str, str | None]:
    return {"What": fact.label, "Value": fact_value(fact), "Node": fact.node, "When": when(fact, zone)}
