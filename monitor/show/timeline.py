"""The timeline of a job on a page: the chart, what its signs mean, and the same as a table for who reads it otherwise."""

from __future__ import annotations

from datetime import tzinfo

import pandas as pd
import streamlit as st

from monitor.analyze.cascade import Cascade, cascade
from monitor.analyze.timeline import KINDS, Timeline, timeline
from monitor.charts import timeline as chart
from monitor.model import Report
from monitor.show import data
from monitor.show.drawing import absent, draw
from monitor.show.plain import plain
from monitor.words import DASH, count, zone_name

#: Rows of the table: what troubles a node comes first.
ROWS = 200
_COLOURS = {
    "first line": "gray",
    "first step": "blue",
    "checkpoint": "green",
    "evaluation": "violet",
    "no step": "orange",
    "restart": "violet",
    "signal": "violet",
    "NaN loss": "red",
    "error": "red",
    "first error": "red",
    "end": "gray",
}
_MEANING = {
    "no step": "no step for long",
    "restart": "restart or resume",
    "signal": "stop signal",
    "error": "error",
    "end": "script ended",
}


def of(report: Report) -> Timeline:
    """The timeline of a report, worked out once for all viewers of it."""
    return data.of_report(
        report,
        "timeline",
        lambda: timeline(report.run, report.phases, report.activities, first_error(report), report.reviewed_at),
    )


def first_error(report: Report) -> Cascade | None:
    """The error to flag; of a job that ended well, or was stopped, none is one."""
    if report.job.status in {"Completed", "Stopped", "Stopping"}:
        return None
    return cascade(report.run.events, report.run.steps)


def draw_timeline(report: Report, key: str) -> Timeline:
    """The chart alone."""
    found = of(report)
    assert found.start is not None
    assert found.end is not None
    start, end = found.start, found.end
    draw(
        report,
        lambda: chart.swim_lanes(found.lanes, found.parts, found.marks, start, end),
        key,
        "What happened when, on which node",
        words(found, report),
    )
    return found


def show_timeline(report: Report, zone: tzinfo) -> None:
    """Title, key, chart, what is left out, and the table behind it."""
    with st.container(border=True):
        st.markdown("**What happened when, by node**")
        found = of(report)
        if found.start is None:
            absent("No line of the logs has a time.", report, "logs")
            return
        if not found.marks.empty:
            st.caption(key_of(found))
        draw_timeline(report, "chart-timeline")
        st.caption(plain(f"{words(found, report)} Times are {zone_name(found.start, zone)}."))
        if found.marks.empty:
            return
        part = st.expander("As a table", type="compact", key="timeline-table", on_change="rerun")
        if part.open:
            with part:
                _table(found, zone)


def key_of(found: Timeline) -> str:
    """The signs that occur, with what they mean, as Markdown."""
    present = set(found.marks["kind"])
    parts = [f":{_COLOURS[kind]}[{chart.SIGNS[kind]}] {_MEANING.get(kind, kind)}" for kind in KINDS if kind in present]
    return "   ".join(parts).replace("   ", " \u2003")


def words(found: Timeline, report: Report) -> str:
    """What stands out, and which nodes have no lane."""
    said = []
    marks = found.marks
    first = marks[marks["kind"] == "first error"]
    if len(first):
        row = first.iloc[0]
        after = int(marks.loc[(marks["kind"] == "error") & (marks["start"] >= row["start"]), "count"].sum())
        said.append(f"The first error is on {row['lane']}" + (f"; {count(after, 'more')} after it" if after else ""))
    elif (marks["kind"] == "error").any():
        said.append(f"{count(int(marks.loc[marks['kind'] == 'error', 'count'].sum()), 'error')} in the logs")
    for kind, saying in (("restart", "restarted or resumed"), ("no step", "no step for long")):
        if many := found.nodes_with.get(kind, 0):
            where = marks.loc[marks["kind"] == kind, "lane"]
            said.append(f"{saying} on {where.iloc[0] if many == 1 and len(where) else count(many, 'node')}")
    if found.left_out:
        usual = "with nothing that sets them apart"
        if found.left_out_troubled:
            usual = f"{found.left_out_troubled} of them with errors or silences"
        said.append(f"{count(found.left_out, 'more node')} without a lane, {usual}")
    if not said:
        return "No error line, restart or silence in the logs." if report.run.logs.lines else "No log line to place."
    text = "; ".join(said)
    return f"{text[:1].upper()}{text[1:]}."


def _table(found: Timeline, zone: tzinfo) -> None:
    rows = found.marks.assign(rank=found.marks["kind"].map(_urgency)).sort_values(["rank", "start"], kind="stable")
    rows = rows.head(ROWS).sort_values("start", kind="stable")
    st.dataframe(
        pd.DataFrame(
            {
                "From": [f"{at.astimezone(zone):%d %b, %H:%M:%S}" for at in rows["start"]],
                "Seconds": (rows["end"] - rows["start"]).dt.total_seconds().where(rows["end"] > rows["start"]),
                "Where": rows["lane"],
                "What": [_MEANING.get(kind, kind) for kind in rows["kind"]],
                "How many": rows["count"],
                "Said": rows["said"],
            }
        ),
        hide_index=True,
        placeholder=DASH,
        alt="The marks of the timeline in time",
        column_config={"Seconds": st.column_config.NumberColumn(format="%.0f")},
    )
    if len(found.marks) > ROWS:
        st.caption(f"{ROWS:,} of {len(found.marks):,} marks: errors and silences first.")


def _urgency(kind: str) -> int:
    return -KINDS.index(kind) if kind != "end" else 1
