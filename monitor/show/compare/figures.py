"""The figures of the compared jobs: drawn, one row each with its own scale, and as a table; how their step times are distributed,
whether the prediction came true, and how the comparison leaves the page."""

from __future__ import annotations

import shlex
from functools import partial

import pandas as pd
import streamlit as st

from monitor.analyze.pace import Floats
from monitor.archive.comparison import PredictionRecord, comparison_document, record, record_line
from monitor.archive.document import as_json, without_trailing_spaces
from monitor.charts.comparison import (
    FigureRow,
    PredictionRow,
    Times,
    beyond,
    dumbbells,
    ecdf,
    ecdf_curves,
    ecdf_medians,
    figure_scales,
    figure_signs,
    figure_words,
    prediction,
    prediction_ranges,
    round_top,
    zero,
)
from monitor.diagnose.comparison.compare import Comparison, PairComparison, letter, pairs_of
from monitor.diagnose.comparison.rows import ChartedFigure, figure_rows, measures
from monitor.diagnose.comparison.words import CAME, beside_words, prediction_words, range_words, spread_words
from monitor.export.layout import comparison_markdown
from monitor.export.tables import COMPARISON_TABLES
from monitor.installed import PROGRAM
from monitor.review.run_names import short_names
from monitor.show import data
from monitor.show.drawing import draw_frames
from monitor.show.trouble import plain
from monitor.words import count, percent

_FILE = "comparison"


def show_export(account: data.AccountChoice, comparison: Comparison) -> None:
    """One button with all forms behind it."""
    earlier = earlier_of(comparison)
    with st.popover("Save", icon=":material/download:", key="compare-save"):
        with st.container(horizontal=True):
            _button("JSON", "json", "application/json", partial(json_of, comparison, earlier))
            _button("Markdown", "md", "text/markdown", partial(markdown_of, comparison, earlier))
        st.caption("As CSV")
        with st.container(horizontal=True):
            for name, make in COMPARISON_TABLES.items():
                _button(name.capitalize(), "csv", "text/csv", partial(make, comparison), name)
        st.caption("The same at a terminal")
        st.code(command(account, comparison), language="sh", wrap_lines=True)


def earlier_of(comparison: Comparison) -> PredictionRecord:
    """How predictions did on the user's own pairs that were kept, without these."""
    return record(data.measured_pairs(), pairs_of(comparison, max(report.reviewed_at for report in comparison.reports)))


def json_of(comparison: Comparison, earlier: PredictionRecord | None) -> str:
    """What ``compare --format json`` prints."""
    return as_json(comparison_document(comparison, earlier))


def markdown_of(comparison: Comparison, earlier: PredictionRecord | None) -> str:
    """What ``compare --format markdown`` prints."""
    return without_trailing_spaces(comparison_markdown(comparison, earlier))


def command(account: data.AccountChoice, comparison: Comparison) -> str:
    """What gives the same at a terminal."""
    archive = data.origin(account).archive
    names = [
        f"archive:{archive.rstrip('/')}/{job.name}" if archive is not None else job.name for job in comparison.jobs
    ]
    words = [*PROGRAM.split(), "compare", *names]
    for option, value in (("--region", account.region), ("--profile", account.profile)):
        if value is not None and archive is None:
            words += [option, value]
    return shlex.join(words)


def _button(label: str, ending: str, mime: str, make: partial[str], part: str = "") -> None:
    name = f"{_FILE}-{part.replace(' ', '-')}" if part else _FILE
    st.download_button(
        label,
        make,
        f"{name}.{ending}",
        mime,
        key=f"compare-save-{part or ending}",
        on_click="ignore",
        icon=":material/download:",
    )


# Above it no percentage of a device or of time is; throughput may scale beyond.
_FULL_PCT = 100.0


def show_figures(comparison: Comparison) -> None:
    """A dumbbell a figure."""
    st.markdown("**Figures side by side**")
    found = measures(comparison.figures)
    if not found:
        st.caption(":material/visibility_off: None of these jobs has a figure to draw.")
        return
    letters = comparison.letters
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
    names = comparison.letters
    return pd.DataFrame(figure_rows(comparison), columns=["Figure", *names], dtype="str")


def figures_words(found: list[ChartedFigure], letters: list[str]) -> str:
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


def alt_of(comparison: Comparison, title: str, sentence: str) -> str:
    """The accessible name of a chart: of a running job without figures, since a name that changes draws the chart anew."""
    if any(job.is_running for job in comparison.jobs):
        return f"{title}; the figures are in the sentence above it"
    return f"{title}: {sentence}"


def _row(each: ChartedFigure) -> FigureRow:
    top = round_top([value for value in each.values if value is not None])
    if each.is_percent:
        top = max(_FULL_PCT, top)
    title = each.title
    return FigureRow(title, each.values, tuple(map(each.write, each.values)), top, each.write(top))


_BY = {"printed": "the times that steps print", "clock": "the clock of the lines", "smoothed": "smoothed rates"}


def show_spread(comparison: Comparison) -> None:
    """The distribution of step times of all jobs that have some, on one axis."""
    divided = _divided(comparison)
    what = "time for the work of a step of A" if divided else "step time"
    st.markdown(f"**Cumulative share of steps by {what}**")
    found = times_of(comparison)
    if not found:
        st.caption(":material/visibility_off: None of these jobs has step times to compare.")
        return
    letters = comparison.letters
    said = spread_words(_of_same_work(comparison), letters) or (
        f"Step times of {found[0].letter}; there is nothing to compare them with."
        if len(found) == 1
        else f"Step times of {', '.join(each.letter for each in found)}, each for its own work: they are not comparable."
    )
    st.markdown(plain(said))
    labels = [each.label for each in found]
    frames = data.of_comparison(comparison.reports, "spread", lambda: (ecdf_curves(found), ecdf_medians(found)))
    draw_frames(
        ("compare-ecdf", what, *labels),
        frames,
        lambda curves, medians: ecdf(curves, medians, labels, what),
        alt_of(comparison, "Distribution of step times", said),
    )
    st.caption(plain(_spread_caption(comparison, found)))


def times_of(comparison: Comparison) -> list[Times]:
    """The step times of each job that has some, named such that they can be told apart."""
    short = short_names([job.name for job in comparison.jobs])
    return [
        Times(letter(place), f"{letter(place)}  {short[place]}", times)
        for place, times in enumerate(comparison.times_s)
        if times is not None
    ]


def _spread_caption(comparison: Comparison, found: list[Times]) -> str:
    parts = []
    for place, steps in enumerate(comparison.steps):
        if steps is None:
            parts.append(f"{letter(place)}: none")
        else:
            parts.append(
                f"{letter(place)}: {count(steps.steps, 'step')}, {steps.first_step:,} to {steps.last_step:,}, by {_BY[steps.by]}"
            )
    said = "Ordinary steps at a steady pace, without warm-up, checkpoints and evaluations. "
    said += f"{'; '.join(parts)}. Dashed: medians."
    divided = _divided(comparison)
    if divided:
        said += f" Times are scaled to the same work: {', '.join(divided)}."
    left_out = [
        f"{percent(100 * number / len(each.seconds))} of {each.letter}, up to {each.seconds.max():.3g} s"
        for each, number in zip(found, beyond(found), strict=True)
        if number
    ]
    return f"{said} Beyond the axis: {'; '.join(left_out)}." if left_out else said


def _of_same_work(comparison: Comparison) -> list[Floats | None]:
    """The step times that may be held against A's: none of a job that is not comparable."""
    comparable = (True, *(each.unlike is None for each in comparison.against))
    return [times if same else None for times, same in zip(comparison.times_s, comparable, strict=True)]


def _divided(comparison: Comparison) -> list[str]:
    """Whose times are drawn for other work than that of a step of theirs, and by what they are divided."""
    return [
        f"those of {letter(place)} divided by {scale:.3g}"
        for place, (scale, times) in enumerate(zip(comparison.scales, comparison.times_s, strict=True))
        if scale != 1 and times is not None
    ]


def show_predicted(comparison: Comparison) -> None:
    """Predicted beside measured, with what came of it; the reason where nothing was predicted."""
    rows = [
        PredictionRow(
            letter(place),
            result.predicted.change_pct,
            f"predicted {range_words(result.predicted.change_pct)}",
            result.for_same_samples_pct,
            _measured(result),
        )
        for place, result in enumerate(comparison.against, 1)
        if result.predicted.change_pct is not None
    ]
    told = {letter(place): prediction_words(result) for place, result in enumerate(comparison.against, 1)}
    with st.container(border=True):
        st.markdown("**Predicted and measured change of step time for the same samples**")
        if not any(told.values()):
            st.caption(":material/visibility_off: No prediction: no parameter that the model knows differs.")
        alone = len(told) == 1
        for name, sentences in told.items():
            if sentences:
                st.markdown(plain(" ".join(sentences) if alone else f"{name}: {' '.join(sentences)}"))
        if rows:
            said = " ".join(filter(None, (beside_words(result) for result in comparison.against)))
            draw_frames(
                ("compare-predicted",),
                (prediction_ranges(rows), zero()),
                prediction,
                alt_of(comparison, "Predicted and measured", said),
            )
        if line := record_line(earlier_of(comparison)):
            st.caption(plain(line))


def _measured(result: PairComparison) -> str:
    found = result.for_same_samples_pct
    if found is None or result.came is None:
        return "nothing comparable was measured"
    return f"measured {range_words(found)}: {CAME[result.came].lower()}"
