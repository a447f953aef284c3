"""Which figures stand side by side, and how is each written? The same rows for a terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from monitor.archive.pairs import Record
from monitor.diagnose.compared import Comparison, letter
from monitor.diagnose.compared_words import prediction_words, verdict_words
from monitor.diagnose.side_by_side import Figures
from monitor.words import DASH, percent, step_seconds, usd

_LONGEST = 48


def difference_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """Parameter, then its value in each job."""
    return [(each.parameter, *(_value(value) for value in each.values)) for each in comparison.different]


def figure_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """Name of the figure, then its value in each job; rows that no job has are left out."""
    rows = [(title, *(cell(each) for each in comparison.figures)) for title, cell in _FIGURES]
    return [row for row in rows if any(cell != DASH for cell in row[1:])]


def result_lines(comparison: Comparison) -> list[tuple[str, list[str]]]:
    """For each job after the first: the verdict, and the sentences about what was predicted."""
    first = comparison.figures[0]
    return [
        (
            verdict_words(result, letter(place), (first.step_s, figures.step_s)),
            prediction_words(result),
        )
        for place, (result, figures) in enumerate(zip(comparison.against, comparison.figures[1:], strict=True), 1)
    ]


def record_line(earlier: Record | None) -> str:
    """How earlier predictions did on the user's own pairs; empty where there are none."""
    if earlier is None or not earlier.pairs:
        return ""
    return f"Earlier predictions on your own jobs: {earlier.held} of {earlier.pairs} held the measured change."


def heading(comparison: Comparison, place: int) -> str:
    """``A  gpt-run-1``."""
    return f"{letter(place)}  {comparison.jobs[place].name}"


def _value(value: Any) -> str:
    if value is None:
        return DASH
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _whole(value: float | None) -> str:
    return DASH if value is None else f"{value:,.0f}"


def _rate(value: float | None) -> str:
    return DASH if value is None else f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


def _usd_of(value: float | None, how_many: int) -> str:
    return DASH if value is None else usd(how_many * value)


def _spread(each: Figures) -> str:
    if each.p10_s is None or each.p90_s is None:
        return DASH
    return f"{step_seconds(each.p10_s)} - {step_seconds(each.p90_s)}"


_FIGURES: tuple[tuple[str, Callable[[Figures], str]], ...] = (
    ("instances", lambda each: _whole(each.nodes)),
    ("step time, median", lambda each: step_seconds(each.step_s)),
    ("step time, p10 - p90", _spread),
    ("steps it is of", lambda each: _whole(each.steps)),
    ("samples a step", lambda each: _whole(each.samples_per_step)),
    ("samples a second", lambda each: _rate(each.samples_per_s)),
    ("scaling efficiency", lambda each: percent(each.scaling_pct)),
    ("GPU utilization", lambda each: percent(each.gpu_utilization_pct)),
    ("GPU memory", lambda each: percent(each.gpu_memory_utilization_pct)),
    ("goodput", lambda each: percent(each.goodput_pct)),
    ("wasted", lambda each: percent(each.wasted_pct)),
    ("cost", lambda each: usd(each.cost_usd)),
    ("cost of 1,000 steps", lambda each: _usd_of(each.usd_per_step, 1000)),
    ("cost of a million samples", lambda each: _usd_of(each.usd_per_sample, 1_000_000)),
)
