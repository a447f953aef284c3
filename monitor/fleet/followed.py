"""What became of earlier advice? A later run of the same name that did what was advised: predicted beside measured.

Only where the archive's configuration says that this parameter alone was changed, so that nothing else can have made the
difference, and only of step times that are for the same samples. All else is for ``compare``, which reads the steps.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime

from monitor.fleet.facts import Found, JobFacts
from monitor.fleet.report import Followed
from monitor.fleet.window import Window
from monitor.model import came_of

# A step with another batch is another amount of work: its time alone says nothing.
_BATCH = frozenset({"batch_size", "microbatches", "prescaled_batch", "gradient_accumulation_steps", "sequence_length"})
# 10th to 90th percentile of a normal distribution, in standard deviations; error of a median against that of a mean.
_SPREAD_SD, _MEDIAN = 2.563, 1.253
_NORMAL_95 = 1.96
_FEWEST_STEPS = 20
_BEGINNING = datetime.min.replace(tzinfo=UTC)


def followed(jobs: Sequence[JobFacts], window: Window) -> tuple[Followed, ...]:
    """Of runs that ended in the window, each held against the latest earlier run that was advised so."""
    runs: dict[tuple[str | None, str | None, str], list[JobFacts]] = defaultdict(list)
    for facts in jobs:
        runs[facts.account, facts.region, facts.base].append(facts)
    rows = []
    for mine in runs.values():
        mine.sort(key=lambda facts: (facts.created or _BEGINNING, facts.name))
        for place, after in enumerate(mine):
            if window.holds(after.ended):
                rows += _of_run(mine[:place], after)
    return tuple(rows)


def _of_run(earlier: Sequence[JobFacts], after: JobFacts) -> list[Followed]:
    rows, told = [], set()
    for before in reversed(earlier):
        for found in before.findings:
            parameter = found.parameter
            if parameter is None or parameter in told or found.change_pct is None or found.to_value is None:
                continue
            was, now = before.configuration.get(parameter, found.from_value), after.configuration.get(parameter)
            if now is None or now != found.to_value or was == now:
                continue
            told.add(parameter)
            rows.append(_row(before, after, found, was or ""))
    return rows


def _row(before: JobFacts, after: JobFacts, found: Found, was: str) -> Followed:
    assert found.parameter is not None
    assert found.change_pct is not None
    assert found.to_value is not None
    measured, why = _measured(before, after, found.parameter)
    return Followed(
        before.name,
        after.name,
        found.id,
        found.parameter,
        was,
        found.to_value,
        found.change_pct,
        measured,
        None if measured is None else came_of(found.change_pct, measured),
        why,
    )


def _measured(before: JobFacts, after: JobFacts, parameter: str) -> tuple[tuple[float, float, float] | None, str]:
    """The change of the median step time in percent with its interval; or why it is not known."""
    if parameter in _BATCH:
        return None, f"{parameter} changes the work of a step"
    others = sorted(
        name
        for name in {*before.configuration, *after.configuration} - {parameter}
        if before.configuration.get(name) != after.configuration.get(name)
    )
    if (before.instance_type, before.instances) != (after.instance_type, after.instances):
        others.append("the instances")
    if others:
        return None, f"changed as well: {', '.join(others[:3])}{', …' if others[3:] else ''}"
    if (
        not before.step_median_s
        or not after.step_median_s
        or min(before.step_reports, after.step_reports) < _FEWEST_STEPS
    ):
        return None, "too few step times"
    error = math.hypot(_error(before), _error(after))
    change = math.log(after.step_median_s / before.step_median_s)
    low, mid, high = (100 * math.expm1(change + side * _NORMAL_95 * error) for side in (-1, 0, 1))
    return (low, mid, high), ""


def _error(facts: JobFacts) -> float:
    """Of the median, relative to it: from the spread of the steps and their number."""
    if facts.step_p10_s is None or facts.step_p90_s is None or not facts.step_median_s:
        return 0.0
    return (
        _MEDIAN
        * (facts.step_p90_s - facts.step_p10_s)
        / _SPREAD_SD
        / math.sqrt(facts.step_reports)
        / facts.step_median_s
    )
