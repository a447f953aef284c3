"""How does a chart get onto a page? Made once a report, named for who cannot see it, and steady under a viewer's hand."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from monitor.charts import stable
from monitor.model import Report
from monitor.show import data
from monitor.show.plain import plain


def draw(report: Report, chart: Callable[[], Any], key: str, title: str, said: str, also: str = "") -> None:
    """Draws a chart so that a refresh changes its data alone: what the viewer chose stays.

    The accessible name is part of what the browser compares, so a running job's names no figures; its caption does.
    ``also`` is what the chart is made of beside the report.
    """
    specification, frames = data.of_report(report, f"{key} {also}", lambda: stable.split(chart()))
    alt = f"{title}; the figures are in the text below it" if report.job.is_running else f"{title}: {said}"
    st.vega_lite_chart(copy.deepcopy(specification) | {"datasets": frames}, key=key, alt=alt)


def draw_frames(
    what: tuple[str | int | bool, ...], frames: Sequence[pd.DataFrame], chart: Callable[..., Any], alt: str
) -> None:
    """Draws ``chart`` of ``frames``: what it looks like hangs on ``what`` alone, and is worked out once.

    The first of ``what`` is the chart's key.
    """
    specification, places = data.specification(what, lambda: stable.placed(chart(*frames), frames))
    datasets = {name: frames[place] for name, place in places.items()}
    st.vega_lite_chart(copy.deepcopy(specification) | {"datasets": datasets}, key=str(what[0]), alt=alt)


def absent(words: str, report: Report, what: str) -> None:
    """What is not drawn, and why."""
    whys = " ".join(gap.why for gap in report.run.gaps if gap.what == what)
    st.caption(f":material/visibility_off: {plain(words)} {plain(whys)}")
