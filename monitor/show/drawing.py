"""How a chart gets onto a page. Built once per report, described for those who cannot see it, steady while a viewer zooms,
and with its figures as a CSV file."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from datetime import UTC
from typing import Any

import pandas as pd
import streamlit as st

from monitor.charts import elements
from monitor.charts.elements import in_utc
from monitor.export.tables import as_csv
from monitor.model import Report
from monitor.show import address, data
from monitor.show.trouble import plain


def csv_button(make: Callable[[], pd.DataFrame], name: str, key: str, what: str = "The data behind this chart") -> None:
    """A button that gives ``make()`` as ``name.csv``; nothing is made, and nothing is drawn again, until it is clicked."""
    st.download_button(
        "CSV",
        lambda: csv_of(make()),
        file_name=file_name(name),
        mime="text/csv",
        key=key,
        help=f"{what}, as CSV",
        on_click="ignore",
        type="tertiary",
        icon=":material/download:",
    )


def csv_of(frame: pd.DataFrame) -> bytes:
    return as_csv(frame).encode()


def file_name(name: str) -> str:
    """A name of a file that every system takes, with its ending."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.")[:150] + ".csv"


def draw(report: Report, chart: Callable[[], Any], key: str, title: str, sentence: str, also: str = "") -> None:
    """Draws a chart so that a refresh changes its data alone: what the viewer chose stays.

    ``also`` is what the chart is made of beside the report.
    """
    specification, frames = data.of_report(report, f"{key} {also}", lambda: elements.live(chart()))
    st.vega_lite_chart(
        _by_the_clock(specification) | {"datasets": frames}, key=key, alt=alt_of(report, title, sentence)
    )


def draw_frames(
    what: tuple[str | int | bool, ...], frames: Sequence[pd.DataFrame], chart: Callable[..., Any], alt: str
) -> None:
    """Draws ``chart`` of ``frames``: what it looks like hangs on ``what`` alone, and is worked out once.

    The first of ``what`` is the chart's key.
    """
    st.vega_lite_chart(with_frames(what, frames, chart), key=str(what[0]), alt=alt)


def with_frames(
    what: tuple[str | int | bool, ...], frames: Sequence[pd.DataFrame], chart: Callable[..., Any]
) -> dict[str, Any]:
    """The specification that hangs on ``what`` alone, with the frames of now."""
    specification, places = data.specification(what, lambda: elements.placed(chart(*frames), frames))
    datasets = {name: elements.numbered(frames[place]) for name, place in places.items()}
    return _by_the_clock(specification) | {"datasets": datasets}


def _by_the_clock(specification: dict[str, Any]) -> dict[str, Any]:
    """A copy that writes times as the rest of the page does: a chart's own clock is the browser's."""
    own = copy.deepcopy(specification)
    if address.zone() is UTC:
        in_utc(own)
    return own


def alt_of(report: Report, title: str, sentence: str) -> str:
    """A chart's name for who cannot see it: what it shows, as far as that stays.

    The browser draws a chart anew when its name changes, so a running job's names no figures; the text beside it does.
    """
    return f"{title}; the figures are in the text above it" if report.job.is_running else f"{title}: {sentence}"


def head(sentence: str, about: str, csv: Callable[[], pd.DataFrame] | None = None, name: str = "") -> None:
    """Above a chart: what it shows, in a sentence; what is drawn, in which unit, of what; and the data to take along."""
    with st.container(horizontal=True, vertical_alignment="top", wrap=False):
        st.markdown(f"**{plain(sentence)}**", width="stretch")
        if csv is not None:
            csv_button(csv, name, f"csv-{name}")
    st.caption(plain(about))


def absent(words: str, report: Report, what: str) -> None:
    """What is not drawn, and why."""
    # Why a right is missing stands on top of the page.
    gaps = [gap for gap in report.run.gaps if gap.what == what]
    whys = " ".join(dict.fromkeys(f"{gap.action} is not allowed." if gap.action else gap.why for gap in gaps))
    st.caption(f":material/visibility_off: {plain(words)} {plain(whys)}")
