"""What cannot be compared, and why? A sentence for each figure that one of the jobs does not have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from monitor.diagnose.comparison.compare import Comparison, letter
from monitor.diagnose.comparison.figures import Figures
from monitor.diagnose.verdict import has_gpus
from monitor.model import Report
from monitor.words import capitalised


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
        yield capitalised(f"{' and '.join(figures_words)} of {_listed(who)}: {why}")
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


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
