"""The figures of the compared jobs: drawn, one row each with its own scale, and all of them as a table."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from monitor.charts.comparison import FigureRow, dumbbells, figure_scales, figure_signs, figure_words, round_top
from monitor.diagnose.comparison.compare import Comparison, letter
from monitor.diagnose.comparison.rows import Measure, figure_rows, measures
from monitor.show.drawing import draw_frames
from monitor.show.plain import plain

# Above it no percentage of a device or of time is; throughput may scale beyond.
_FULL_PCT = 100.0


def show_figures(comparison: Comparison) -> None:
    """A dumbbell a figure."""
    st.markdown("**Figures side by side**")
    found = measures(comparison.figures)
    if not found:
        st.caption(":material/visibility_off: None of these jobs has a figure to draw.")
        return
    letters = [letter(place) for place in range(len(comparison.reports))]
    rows = [_row(each) for each in found]
    said = figures_words(found, letters)
    st.markdown(plain(said))
    draw_frames(
        ("compare-figures",),
        (figure_signs(rows, letters), figure_words(rows, letters), figure_scales(rows)),
        dumbbells,
        alt_of(comparison, "Figures side by side", said),
    )
    st.caption(
        "Each row has its own scale from zero; percentages end at 100 %. GPU and GPU memory are means of one device "
        "while steps ran; the cost of a step is that of all instances during its median time."
    )


def show_all_figures(comparison: Comparison) -> None:
    """All figures as the command prints them, behind a click."""
    with st.expander("All figures as a table", icon=":material/table:", key="compare-all-figures"):
        st.dataframe(
            figure_table(comparison),
            key="compare-figure-table",
            hide_index=True,
            height="content",
            alt="All figures of the compared jobs, one column per job",
        )


def figure_table(comparison: Comparison) -> pd.DataFrame:
    """Name of the figure, then its value in each job, as it is written."""
    names = [letter(place) for place in range(len(comparison.reports))]
    return pd.DataFrame(figure_rows(comparison), columns=["Figure", *names], dtype="str")


def figures_words(found: list[Measure], letters: list[str]) -> str:
    """What differs most among the figures, by ratio of the outer two."""
    known = []
    for each in found:
        values = [(value, name) for value, name in zip(each.values, letters, strict=True) if value is not None]
        if len(values) > 1 and min(values)[0] > 0:
            known.append((max(values)[0] / min(values)[0], each, max(values), min(values)))
    if not known:
        return "No figure is known for more than one of these jobs."
    ratio, each, high, low = max(known, key=lambda one: one[0])
    if ratio < 1.02:
        return "No figure differs by more than 2 %."
    return (
        f"Largest difference: {each.title}, {each.write(high[0])} ({high[1]}) against {each.write(low[0])} ({low[1]})."
    )


def alt_of(comparison: Comparison, title: str, said: str) -> str:
    """The accessible name of a chart: of a running job without figures, since a name that changes draws the chart anew."""
    if any(job.is_running for job in comparison.jobs):
        return f"{title}; the figures are in the sentence above it"
    return f"{title}: {said}"


def _row(each: Measure) -> FigureRow:
    top = round_top([value for value in each.values if value is not None])
    if each.is_percent:
        top = max(_FULL_PCT, top)
    title = each.title
    return FigureRow(title, each.values, tuple(map(each.write, each.values)), top, each.write(top))
