"""What cannot be compared, and why? A sentence for each figure that one of the jobs does not have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from monitor.diagnose.compared import Comparison, letter
from monitor.diagnose.side_by_side import Figures
from monitor.diagnose.verdict import has_gpus
from monitor.model import Report
from monitor.words import sentence

_NEEDED: tuple[tuple[str, Callable[[Figures], float | None]], ...] = (
    ("GPU utilization", lambda each: each.gpu_utilization_pct),
    ("GPU memory", lambda each: each.gpu_memory_utilization_pct),
    ("Goodput", lambda each: each.goodput_pct),
    ("Cost of a step", lambda each: each.usd_per_step),
    ("Cost of a sample", lambda each: each.usd_per_sample),
)


def missing(comparison: Comparison) -> tuple[str, ...]:
    """The sentences, step times first; those of one reason are one."""
    return tuple(dict.fromkeys(_missing(comparison)))


def _missing(comparison: Comparison) -> Iterator[str]:
    for result in comparison.against:
        if result.change is None and result.reason:
            yield f"Step times: {result.reason}"
    by_reason: dict[tuple[str, str], list[str]] = {}
    for title, of in _NEEDED:
        for place, (figures, report) in enumerate(zip(comparison.figures, comparison.reports, strict=True)):
            if of(figures) is None:
                by_reason.setdefault((title, _why(title, figures, report)), []).append(letter(place))
    # What is missing for the same reason in the same jobs is said once.
    together: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (title, why), names in by_reason.items():
        together.setdefault((why, tuple(names)), []).append(title)
    for (why, who), titles in together.items():
        what = " and ".join((titles[0], *(f"{title[:1].lower()}{title[1:]}" for title in titles[1:])))
        what = what.replace("gPU", "GPU")
        yield sentence(f"{what} of {_listed(who)}: {why}")
    if all(each.scaling_pct is None for each in comparison.figures):
        yield f"Scaling efficiency: {_why_no_scaling(comparison.reports)}."


def _why(title: str, figures: Figures, report: Report) -> str:
    if title.startswith("GPU"):
        return _why_no_gpu(report)
    if figures.step_s is None:
        return "there are no step times"
    if title == "Cost of a sample" and figures.usd_per_step is not None:
        return "neither the logs nor the configuration give the samples per step"
    if title.startswith("Cost"):
        return "the price of the instances is not known"
    return "the billed time is not known"


def _why_no_gpu(report: Report) -> str:
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


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
