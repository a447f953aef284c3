"""The figures that are shown side by side, and how each is written. The same rows for a terminal, a page and Markdown.

Of what cannot be compared, a sentence says why, for each figure that one of the jobs does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from monitor.diagnose.comparison.compare import Comparison, letter
from monitor.diagnose.comparison.figures import Figures
from monitor.diagnose.comparison.words import listed, prediction_words, verdict_words
from monitor.diagnose.verdict import has_gpus
from monitor.model import Report
from monitor.words import DASH, capitalised, percent, step_seconds, usd

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
class ChartedFigure:
    """A figure that can be drawn: its value in each job, None where it is not known, and how a value of it is written."""

    title: str
    values: tuple[float | None, ...]
    write: Callable[[float | None], str]
    is_percent: bool


def measures(figures: Sequence[Figures]) -> list[ChartedFigure]:
    """The figures that can be drawn, those that no job has left out."""
    rows = [
        ChartedFigure(title, tuple(of(each) for each in figures), write, write is percent)
        for title, of, write in _MEASURES
    ]
    return [row for row in rows if any(value is not None for value in row.values)]


def heading(comparison: Comparison, number: int) -> str:
    """``A  gpt-run-1``."""
    return f"{letter(number)}  {comparison.jobs[number].name}"


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


@dataclass(frozen=True, slots=True)
class _Needed:
    """A figure, what it is called within a sentence, and what tells why a job has none."""

    words: str
    of: Callable[[Figures], float | None]
    why: Callable[[Figures, Report], str]


def missing(comparison: Comparison) -> tuple[str, ...]:
    """The sentences, step times first; those of one reason are one."""
    return tuple(dict.fromkeys(_missing(comparison)))


def _missing(comparison: Comparison) -> Iterator[str]:
    for result in comparison.against:
        if result.change is None and result.reason:
            yield f"Step times: {result.reason}"
    by_reason: dict[tuple[str, str], list[str]] = {}
    for each in _NEEDED:
        for place, (figures, report) in enumerate(zip(comparison.figures, comparison.reports, strict=True)):
            if each.of(figures) is None:
                by_reason.setdefault((each.words, each.why(figures, report)), []).append(letter(place))
    # What is missing for the same reason in the same jobs is said once.
    together: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (words, why), names in by_reason.items():
        together.setdefault((why, tuple(names)), []).append(words)
    for (why, who), figures_words in together.items():
        yield capitalised(f"{' and '.join(figures_words)} of {listed(who)}: {why}")
    if all(each.scaling_pct is None for each in comparison.figures):
        yield f"Scaling efficiency: {_why_no_scaling(comparison.reports)}."


def _why_no_goodput(figures: Figures, report: Report) -> str:
    return "there are no step times" if figures.step_s is None else "the billed time is not known"


def _why_no_cost(figures: Figures, report: Report) -> str:
    return "there are no step times" if figures.step_s is None else "the price of the instances is not known"


def _why_no_cost_of_a_sample(figures: Figures, report: Report) -> str:
    if figures.step_s is not None and figures.usd_per_step is not None:
        return "neither the logs nor the configuration give the samples per step"
    return _why_no_cost(figures, report)


def _why_no_gpu(figures: Figures, report: Report) -> str:
    if not has_gpus(report):
        return "the instances have none"
    gaps = [gap.why for gap in report.run.gaps if gap.what == "metrics"]
    if gaps:
        return f"metrics could not be read. {' '.join(gaps)}"
    from_files = report.job.source == "logs"
    return "log files contain no metrics" if from_files else "too short for a one-minute average of the work"


def _why_no_scaling(reports: Sequence[Report]) -> str:
    counts = {report.job.instance_count for report in reports}
    types = {report.job.instance_type for report in reports}
    if None in counts:
        return "the number of instances of some jobs is not known"
    if len(counts) == 1:
        return "all use the same number of instances"
    if len(types) > 1 or None in types:
        return "the instances are of different types"
    return "samples per step and step time are known for fewer than two jobs"


_NEEDED = (
    _Needed("GPU utilization", lambda each: each.gpu_utilization_pct, _why_no_gpu),
    _Needed("GPU memory", lambda each: each.gpu_memory_utilization_pct, _why_no_gpu),
    _Needed("goodput", lambda each: each.goodput_pct, _why_no_goodput),
    _Needed("cost of a step", lambda each: each.usd_per_step, _why_no_cost),
    _Needed("cost of a sample", lambda each: each.usd_per_sample, _why_no_cost_of_a_sample),
)
