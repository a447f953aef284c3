"""Which figures are shown side by side, and how is each written? The same rows for a terminal, a page and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from monitor.diagnose.comparison.compare import Comparison, letter
from monitor.diagnose.comparison.figures import Figures
from monitor.diagnose.comparison.words import prediction_words, verdict_words
from monitor.words import DASH, percent, step_seconds, usd

_LONGEST = 48
_CAME_BY = "step time, how"


def difference_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """Parameter, then its value in each job."""
    return [(each.parameter, *(_value(value) for value in each.values)) for each in comparison.different]


def figure_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """Name of the figure, then its value in each job; rows that no job has are left out."""
    rows = [(title, *(cell(each) for each in comparison.figures)) for title, cell in _FIGURES]
    printed = all(each.way is None or not (each.by_clock or each.way.words) for each in comparison.figures)
    return [row for row in rows if any(cell != DASH for cell in row[1:]) and not (printed and row[0] == _CAME_BY)]


def _way(each: Figures) -> str:
    if each.way is None:
        return DASH
    return "lines' clock" if each.by_clock else each.way.short


def verdict_lines(comparison: Comparison) -> list[str]:
    """The verdict on each job after the first, a sentence or two."""
    first = comparison.figures[0]
    return [
        verdict_words(result, letter(place), (first.step_s, figures.step_s))
        for place, (result, figures) in enumerate(zip(comparison.against, comparison.figures[1:], strict=True), 1)
    ]


def prediction_lines(comparison: Comparison) -> list[str]:
    """What was predicted, and what came of it; of several jobs each with its letter."""
    told = [(letter(place), prediction_words(result)) for place, result in enumerate(comparison.against, 1)]
    if len(told) == 1:
        return told[0][1]
    return [f"{name}: {' '.join(sentences)}" for name, sentences in told if sentences]


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure that can be drawn: its value in each job, None where it is not known, and how a value of it is written."""

    title: str
    values: tuple[float | None, ...]
    write: Callable[[float | None], str]
    is_percent: bool


def measures(figures: Sequence[Figures]) -> list[Measure]:
    """The figures that can be drawn, those that no job has left out."""
    rows = [
        Measure(title, tuple(of(each) for each in figures), write, write is percent) for title, of, write in _MEASURES
    ]
    return [row for row in rows if any(value is not None for value in row.values)]


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
    return usd(_times(value, how_many))


def _spread(each: Figures) -> str:
    if each.p10_s is None or each.p90_s is None:
        return DASH
    return f"{step_seconds(each.p10_s)} - {step_seconds(each.p90_s)}"


def _times(value: float | None, how_many: int) -> float | None:
    return None if value is None else how_many * value


_MEASURES: tuple[tuple[str, Callable[[Figures], float | None], Callable[[float | None], str]], ...] = (
    ("step time, median", lambda each: each.step_s, step_seconds),
    ("GPU utilization", lambda each: each.gpu_utilization_pct, percent),
    ("GPU memory", lambda each: each.gpu_memory_utilization_pct, percent),
    ("goodput", lambda each: each.goodput_pct, percent),
    ("cost of 1,000 steps", lambda each: _times(each.usd_per_step, 1000), usd),
    ("cost of a million samples", lambda each: _times(each.usd_per_sample, 1_000_000), usd),
    ("scaling efficiency", lambda each: each.scaling_pct, percent),
)
_FIGURES: tuple[tuple[str, Callable[[Figures], str]], ...] = (
    ("instances", lambda each: _whole(each.nodes)),
    ("step time, median", lambda each: step_seconds(each.step_s)),
    ("step time, p10 - p90", _spread),
    (_CAME_BY, lambda each: _way(each)),
    ("steps compared", lambda each: _whole(each.steps)),
    ("samples per step", lambda each: _whole(each.samples_per_step)),
    ("samples per second", lambda each: _rate(each.samples_per_s)),
    ("scaling efficiency", lambda each: percent(each.scaling_pct)),
    ("GPU utilization", lambda each: percent(each.gpu_utilization_pct)),
    ("GPU memory", lambda each: percent(each.gpu_memory_utilization_pct)),
    ("goodput", lambda each: percent(each.goodput_pct)),
    ("overhead", lambda each: percent(each.wasted_pct)),
    ("cost", lambda each: usd(each.cost_usd)),
    ("cost of 1,000 steps", lambda each: _usd_of(each.usd_per_step, 1000)),
    ("cost of a million samples", lambda each: _usd_of(each.usd_per_sample, 1_000_000)),
)
