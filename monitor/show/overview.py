"""Which part of a job do its charts show? A strip of all of it: dragging over it chooses, and the address keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

import pandas as pd
import streamlit as st

from monitor.charts import overview as chart
from monitor.charts.measured import instant_of
from monitor.charts.time_axis import Span
from monitor.diagnose.chart_words import stretch
from monitor.model import Report
from monitor.show import chosen_time, log_address
from monitor.show.drawing import with_frames
from monitor.show.plain import plain
from monitor.show.shell import LOGS_PAGE
from monitor.words import duration

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
    asked: Span | None
    """What the address said at the last look."""

    @property
    def key(self) -> str:
        return f"overview-{self.turn}"


def show_overview(
    report: Report, span: Span, strip: tuple[pd.DataFrame, pd.DataFrame], what: str, percent: bool, zone: tzinfo
) -> None:
    """The strip with its brush, what part is shown in words, and the ways back; ``what`` is drawn in it."""
    part = chosen_time.within(span)
    brush = _brush(report.job.name, part)
    with st.container(border=True, gap="xsmall"):
        st.markdown(f"**{plain(_said(span, part, zone))}**")
        drawn = with_frames(("overview", percent), strip, lambda shown, ends: chart.overview(shown, ends, percent))
        st.vega_lite_chart(
            chart.with_choice(drawn, brush.drawn),
            key=brush.key,
            on_select=lambda: _moved(brush),
            alt=f"{what} over the whole job; the part that the charts below show can be chosen with the buttons too",
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            words = f"{what}, median and p10 to p90 of all nodes. Drag to choose a part, click beside it for all."
            st.caption(plain(words), width="stretch")
            # Below the strip: above it, its own tools would lie over them.
            if part is not None and not report.archive:
                to = log_address.link(report.job.name, at=part[0])
                st.page_link(LOGS_PAGE, label="Logs from there", icon=":material/article:", query_params=to)
            _buttons(span, part)


def _said(span: Span, part: Span | None, zone: tzinfo) -> str:
    whole = duration((span[1] - span[0]).total_seconds())
    if part is None:
        return f"The charts below show the whole job, {whole}."
    return f"The charts below show {stretch(part, zone)}, {duration((part[1] - part[0]).total_seconds())} of {whole}."


def _buttons(span: Span, part: Span | None) -> None:
    """The same by keyboard: the newest part, and all of it."""
    for lasts in (timedelta(hours=1), timedelta(minutes=10)):
        if span[1] - span[0] >= 2 * lasts:
            st.button(
                f"Last {duration(lasts.total_seconds())}",
                key="overview-last",
                on_click=chosen_time.choose,
                args=((span[1] - lasts, span[1]),),
                icon=":material/zoom_in:",
                type="tertiary",
            )
            break
    st.button(
        "Whole job",
        key="overview-all",
        on_click=chosen_time.choose,
        args=(None,),
        icon=":material/zoom_out_map:",
        type="tertiary",
        disabled=part is None,
    )


def _brush(job: str, part: Span | None) -> _Brush:
    """The strip of this session: another where job or address are not what it left them at, or the page is opened anew."""
    asked, known = chosen_time.asked(), st.session_state.get(_SLOT)
    # The frame is drawn in a full run only: whoever comes back to the page finds the brush where the address has it.
    opened = st.session_state.get("framed") and known is not None and known.drawn != part
    if known is None or known.job != job or known.asked != asked or opened:
        known = _Brush(job, known.turn + 1 if known else 1, part, asked)
        st.session_state[_SLOT] = known
    return known


def _moved(brush: _Brush) -> None:
    """The viewer moved the brush: the address follows, and the strip stays."""
    ends = st.session_state[brush.key]["selection"].get(chart.CHOICE, {}).get(chart.FIELD)
    chosen_time.choose(_part(ends))
    st.session_state[_SLOT] = _Brush(brush.job, brush.turn, brush.drawn, chosen_time.asked())


def _part(ends: object) -> Span | None:
    if not isinstance(ends, list) or len(ends) != 2:
        return None
    start, end = (_second(float(edge)) for edge in sorted(ends))
    return (start, end) if end - start >= SHORTEST else None


def _second(ms: float) -> datetime:
    """To the second: the browser's own figures move by less when its strip is drawn anew."""
    return instant_of(1000 * round(ms / 1000))
