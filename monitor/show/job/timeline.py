"""The timeline of a job on a page, with what its symbols mean and the same as a table; and the part of the time that its charts
show: it stands in the address, and dragging over a strip of all of the job chooses it.

The charts are built anew for that part: a zoom has finer buckets, and a link restores it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

import pandas as pd
import streamlit as st

from monitor.analyze.timeline import KINDS, Timeline, closer, timeline
from monitor.charts import timeline as chart
from monitor.charts.elements import Span
from monitor.charts.utilization import instant_of
from monitor.diagnose.bookmarks import first_error
from monitor.diagnose.unlike import odd_nodes
from monitor.diagnose.words.charts import stretch, timeline_words
from monitor.model import Report
from monitor.show import data
from monitor.show.address import length, moment
from monitor.show.drawing import absent, alt_of, draw_frames, head, with_frames
from monitor.show.logs import address as log_address
from monitor.show.shell import LOGS_PAGE, show_link
from monitor.show.trouble import calm, plain
from monitor.words import DASH, count, duration, zone_name

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


FROM, UNTIL, LAST = "from", "until", "last"
_FORM = "%Y%m%dT%H%M%SZ"

TimeChoice = Span | timedelta
"""What an address names: a part of the time, or the newest part, of this length."""


def written(at: datetime) -> str:
    """``20260925T120500Z``: no sign that an address would have to escape."""
    return at.astimezone(UTC).strftime(_FORM)


def written_last(lasts: timedelta) -> str:
    """``15m``, ``90s``."""
    seconds = round(lasts.total_seconds())
    return f"{seconds // 60}m" if seconds % 60 == 0 else f"{seconds}s"


def time_choice() -> TimeChoice | None:
    """The part of the time that the address names; None where it names none. One end alone reaches as far as can be."""
    if lasts := length(st.query_params.get(LAST)):
        return lasts
    start, end = moment(st.query_params.get(FROM)), moment(st.query_params.get(UNTIL))
    if start is None and end is None:
        return None
    start, end = start or datetime.min.replace(tzinfo=UTC), end or datetime.max.replace(tzinfo=UTC)
    return (start, end) if start < end else None


def within(span: Span) -> Span | None:
    """The part of ``span`` that the address names; None for all of it, and where the two have nothing in common."""
    part = time_choice()
    if isinstance(part, timedelta):
        part = span[1] - min(part, span[1] - span[0]), span[1]
    if part is None or part[0] >= span[1] or part[1] <= span[0]:
        return None
    found = max(part[0], span[0]), min(part[1], span[1])
    return None if found == span else found


def choose(part: TimeChoice | None) -> None:
    """Puts a part of the time into the address, or takes it out."""
    wanted: dict[str, str] = {}
    if isinstance(part, timedelta):
        wanted[LAST] = written_last(part)
    elif part is not None:
        wanted = {FROM: written(part[0]), UNTIL: written(part[1])}
    for name in (FROM, UNTIL, LAST):
        if name not in wanted:
            st.query_params.pop(name, None)
    st.query_params.update(wanted)


#: The newest parts that a button chooses, where the job is longer.
LASTS = (timedelta(minutes=15), timedelta(hours=1), timedelta(hours=6))
#: A drag shorter than this chooses nothing that could be drawn.
SHORTEST = timedelta(seconds=5)
_SLOT = "overview-brush"


@dataclass(frozen=True, slots=True)
class _Brush:
    """One strip in one browser. Who moves the brush leaves the strip as it is; who moves the address gets another."""

    job: str
    turn: int
    drawn: Span | None
    """What was marked when it was first drawn: a part of its specification, so it stays."""
    asked: TimeChoice | None
    """What the address said at the last look."""

    @property
    def key(self) -> str:
        return f"overview-{self.turn}"


def show_overview(
    report: Report, span: Span, strip: tuple[pd.DataFrame, pd.DataFrame], what: str, percent: bool, zone: tzinfo
) -> None:
    """The strip with its brush, what part is shown in words, and the ways back; ``what`` is drawn in it."""
    part = within(span)
    lasts = time_choice()
    rolling = part is not None and isinstance(lasts, timedelta)
    # What goes on with the job is drawn as data: a brush stays where it was drawn.
    brush = _brush(report.job.name, None if rolling else part)
    with st.container(border=True, gap="xsmall"):
        st.markdown(f"**{plain(_caption(span, part, rolling and report.job.is_running, zone))}**")
        frames = (*strip, chart.marked(part if rolling else None))
        drawn = with_frames(
            ("overview", percent), frames, lambda shown, ends, marked: chart.overview(shown, ends, marked, percent)
        )
        st.vega_lite_chart(
            chart.with_choice(drawn, brush.drawn),
            key=brush.key,
            on_select=calm("Choosing a time range", lambda: _moved(brush)),
            alt=f"{what} over the whole job; the part that the charts below show can also be chosen with the buttons",
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            words = f"{what}: median and p10 to p90 of all nodes. Drag to zoom, click outside to reset."
            st.caption(plain(words), width="stretch")
            # Below the strip: above it, its own tools would lie over them.
            if part is not None and not report.archive:
                to = log_address.link(report.job.name, at=part[0])
                show_link(LOGS_PAGE, "Logs from this time", to)
            _buttons(span, part)


def _caption(span: Span, part: Span | None, rolls: bool, zone: tzinfo) -> str:
    whole = duration((span[1] - span[0]).total_seconds())
    if part is None:
        return f"The charts below show the whole job, {whole}; times are {zone_name(span[1], zone)}."
    shown = duration((part[1] - part[0]).total_seconds())
    if rolls:
        return f"The charts below show the last {shown}, {stretch(part, zone)}, and keep up with the job."
    return f"The charts below show {stretch(part, zone)}, {shown} of {whole}."


def _buttons(span: Span, part: Span | None) -> None:
    """The same by keyboard: the newest part, and all of it."""
    chosen = time_choice() if part is not None else None
    for lasts in LASTS:
        if span[1] - span[0] > lasts:
            st.button(
                f"Last {duration(lasts.total_seconds())}",
                key=f"overview-last-{written_last(lasts)}",
                on_click=calm("Choosing a time range", choose),
                args=(lasts,),
                type="tertiary",
                disabled=chosen == lasts,
            )
    st.button(
        "Whole job",
        key="overview-all",
        on_click=calm("Choosing a time range", choose),
        args=(None,),
        icon=":material/zoom_out_map:",
        type="tertiary",
        disabled=part is None,
    )


def _brush(job: str, part: Span | None) -> _Brush:
    """The strip of this session: another where job or address are not what it left them at, or the page is opened anew."""
    chosen, known = time_choice(), st.session_state.get(_SLOT)
    # The frame is drawn in a full run only: whoever comes back to the page finds the brush where the address has it.
    opened = st.session_state.get("framed") and known is not None and known.drawn != part
    if known is None or known.job != job or known.asked != chosen or opened:
        known = _Brush(job, known.turn + 1 if known else 1, part, chosen)
        st.session_state[_SLOT] = known
    return known


def _moved(brush: _Brush) -> None:
    """The viewer moved the brush: the address follows, and the strip stays."""
    ends = st.session_state[brush.key]["selection"].get(chart.CHOICE, {}).get(chart.FIELD)
    choose(_part(ends))
    st.session_state[_SLOT] = _Brush(brush.job, brush.turn, brush.drawn, time_choice())


def _part(ends: object) -> Span | None:
    if not isinstance(ends, list) or len(ends) != 2:
        return None
    start, end = (_second(float(edge)) for edge in sorted(ends))
    return (start, end) if end - start >= SHORTEST else None


def _second(ms: float) -> datetime:
    """To the second: the browser's own figures move by less when its strip is drawn anew."""
    return instant_of(1000 * round(ms / 1000))
