"""The timeline of a job on a page: the chart, what its symbols mean, and the same as a table for other ways of
reading."""

from __future__ import annotations

from datetime import tzinfo

import pandas as pd
import streamlit as st

from monitor.analyze.timeline import KINDS, Timeline, closer, timeline
from monitor.charts import timeline as chart
from monitor.charts.elements import Span
from monitor.diagnose.log_places import first_error
from monitor.diagnose.unlike import odd_nodes
from monitor.diagnose.words.charts import stretch, timeline_words
from monitor.model import Report
from monitor.show import data
from monitor.show.drawing import absent, alt_of, draw_frames, head
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
    "no step": "no step for a long time",
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
        lambda: timeline(
            report.run,
            report.phases,
            report.activities,
            first_error(report),
            report.reviewed_at,
            odd_nodes(report),
        ),
    )


def draw_timeline(report: Report, key: str, part: Span | None = None) -> Timeline:
    """The chart alone, of all of the time or of a part of it."""
    whole = of(report)
    found = _closer(report, part)
    assert found.start is not None
    assert found.end is not None
    start, end = found.start, found.end
    frames = data.of_report(
        report,
        f"timeline frames {part}",
        lambda: chart.lane_frames(found.lanes, found.parts, found.marks, start, end),
    )
    flag_row = bool((whole.marks["kind"] == "first error").any())
    draw_frames(
        (key, len(found.lanes), flag_row),
        frames,
        lambda *given: chart.lanes_of(*given, flag_row=flag_row),
        alt_of(report, "What happened when, on which node", timeline_words(whole, report)),
    )
    return found


def _closer(report: Report, part: Span | None) -> Timeline:
    whole = of(report)
    if part is None or whole.start is None:
        return whole
    return data.of_report(report, f"timeline {part}", lambda: closer(whole, *part))


def show_timeline(report: Report, zone: tzinfo, part: Span | None = None) -> None:
    """What stands out, key, chart, what is left out, and the table behind it."""
    with st.container(border=True, gap="xsmall"):
        whole = of(report)
        if whole.start is None:
            st.markdown("**What happened when, by node**")
            absent("No log line has a timestamp.", report, "logs")
            return
        found = _closer(report, part)
        about = f"What happened when, by node · times are {zone_name(whole.start, zone)}"
        if part is not None:
            about += f" · {stretch(part, zone)}"
        lanes = len(whole.lanes) - 1
        about += f" · {count(lanes + whole.left_out, 'node')}" if lanes > 0 else ""
        head(timeline_words(whole, report), about, lambda: _rows_of(found), f"{report.job.name}-timeline")
        if not whole.marks.empty:
            st.caption(key_of(whole))
        draw_timeline(report, "chart-timeline", part)
        if whole.marks.empty:
            return
        table = st.expander("As a table", type="compact", key="timeline-table", on_change="rerun")
        if table.open:
            with table:
                _table(found, zone)


def _rows_of(found: Timeline) -> pd.DataFrame:
    return found.marks[["lane", "kind", "start", "end", "count", "said"]]


def key_of(found: Timeline) -> str:
    """The signs that occur, with what they mean, as Markdown."""
    present = set(found.marks["kind"])
    parts = [f":{_COLOURS[kind]}[{chart.SIGNS[kind]}] {_MEANING.get(kind, kind)}" for kind in KINDS if kind in present]
    return "   ".join(parts).replace("   ", " \u2003")


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
                "Count": rows["count"],
                "Line": rows["said"],
            }
        ),
        hide_index=True,
        placeholder=DASH,
        alt="The marks of the timeline in time",
        column_config={"Seconds": st.column_config.NumberColumn(format="%.0f")},
    )
    if len(found.marks) > ROWS:
        st.caption(f"{ROWS:,} of {len(found.marks):,} marks, errors and silences first.")


def _urgency(kind: str) -> int:
    return -KINDS.index(kind) if kind != "end" else 1
