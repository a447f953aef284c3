"""What was predicted of the way from one job to another: by the model, and by the advice that the second one followed?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from monitor.diagnose.comparison.differences import Difference, comparable, is_of_the_setup, is_own
from monitor.model import Job, Report
from monitor.predict.outcome import outcome
from monitor.predict.setup import Known, Setup, setup_of
from monitor.predict.spread import promise_words

Range = tuple[float, float, float]

# They change what is drawn, not how long it takes.
_NO_TIME = frozenset({"tensor_parallel_seed", "random_seed"})


@dataclass(frozen=True, slots=True)
class Followed:
    """A finding about the first job whose recommendation the second one has."""

    finding: str
    parameter: str
    from_value: Any
    to_value: Any
    change_pct: Range | None
    """What it predicted; None where it gave no figure."""
    method: str = ""
    """What stands behind that figure."""
    promise: str = ""
    """Which share of changes its range is for, in words behind ``the range``."""


@dataclass(frozen=True, slots=True)
class PredictedChange:
    """The time for the same samples, predicted before it is looked at; None where the model gives none."""

    change_pct: Range | None
    method: str
    unknown: tuple[str, ...]
    """Why the model gives no figure."""
    changed: Mapping[str, tuple[Any, Any]]
    """The parameters that the model knows and that differ, with both values."""
    beyond: tuple[str, ...]
    """Parameters that differ and that the model says nothing of."""
    followed: tuple[Followed, ...] = ()
    promise: str = ""
    """Which share of changes the range is for, in words behind ``the range``."""


def predicted_change(before: Report, after: Report, different: tuple[Difference, ...]) -> PredictedChange:
    """The prediction for going from one job's setup to the other's. ``different`` are the differences of the two."""
    start = setup_of(before.job)
    change = _aligned(start, setup_of(after.job))
    found = outcome(start, change)
    changed = {name: (_value(start, name), _value(change, name)) for name in sorted(found.changes)}
    followed = tuple(_followed(before, after))
    by_model = found.step_time_change_pct if changed and found.time.effects else None
    if by_model == (0.0, 0.0, 0.0):
        by_model = None  # nothing that takes time is changed: that is no prediction
    by_advice, promise = next(((each.change_pct, each.promise) for each in followed if each.change_pct), (None, ""))
    method = "; ".join(dict.fromkeys(effect.words for effect in found.time.effects if effect.words))
    if by_model is None:
        method = next((each.method for each in followed if each.change_pct), "")
    beyond = tuple(each.parameter for each in different if not is_of_the_setup(each.parameter))
    return PredictedChange(
        by_model or by_advice,
        method if by_model or by_advice else "",
        found.time.unknown if changed else (),
        changed,
        beyond,
        followed,
        promise_words(found.time.promise) if by_model else promise,
    )


def _aligned(start: Setup, change: Setup) -> Setup:
    """``change`` with the values of ``start`` where both say the same in another form, or a run has them of its own."""
    values: dict[str, Known] = dict(change.values)
    for name in [*values, *(name for name in start.values if name not in values)]:
        if is_own(name) or name in _NO_TIME:
            values.pop(name, None)
            if name in start.values:
                values[name] = start.values[name]
        elif name in values and name in start.values:
            mine, other = values[name], start.values[name]
            if comparable(mine.value) == comparable(other.value):
                values[name] = other
    return replace(change, values=values)


def _followed(before: Report, after: Report) -> list[Followed]:
    out = []
    for finding in before.findings:
        advice = finding.recommendation
        if advice is None or advice.parameter is None or advice.to_value is None:
            continue
        wanted = comparable(advice.to_value)
        had, has = (_given(report.job, advice.parameter) for report in (before, after))
        if has is None or comparable(has) != wanted or (had is not None and comparable(had) == wanted):
            continue
        told = finding.prediction
        predicted = told.step_time_change_percent if told else None
        method = told.method.rstrip(".") if told else ""
        was = advice.from_value if had is None else had
        promise = told.promise if told else ""
        out.append(Followed(finding.id, advice.parameter, was, advice.to_value, predicted, _within(method), promise))
    return out


def _within(method: str) -> str:
    """Behind a colon."""
    return (
        f"as the finding predicted it ({method[:1].lower()}{method[1:]})" if method else "as the finding predicted it"
    )


def _given(job: Job, name: str) -> Any:
    """A job's value of a parameter, by the name it was given or the one that the model has for it."""
    if name in job.configuration:
        return job.configuration[name].value
    known = setup_of(job).known(name)
    return None if known is None else known.value


def _value(setup: Setup, name: str) -> Any:
    found = setup.values.get(name)
    return None if found is None else found.value
