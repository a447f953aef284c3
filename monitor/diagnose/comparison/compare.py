"""Jobs side by side: reports go in; differences, figures, a verdict for each job against the first, and what was predicted of the
way there, by the model and by advice that was followed.

Of two finished jobs, a comparison leaves the pair of predicted and measured behind, and nothing secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Literal, Protocol, TypeVar

import pandas as pd

from monitor.analyze.comparison import Range, StepTimeChange, Verdict, change
from monitor.analyze.journal import journal
from monitor.analyze.mfu import parameters
from monitor.analyze.pace import By, Floats, StableSteps, stable_steps, why_none
from monitor.analyze.step_time import is_aggregated
from monitor.diagnose.comparison.comparability import (
    ParameterDifference,
    Unlike,
    WorkRatio,
    comparable,
    differences,
    is_of_the_setup,
    is_own,
    unlike,
    work_between,
)
from monitor.diagnose.comparison.figures import Figures, figures, scaling, shared_way
from monitor.diagnose.comparison.words import cannot_tell, range_words
from monitor.diagnose.words.step_readings import otherwise
from monitor.model import Came, Job, Pair, PairSide, Report, came_of
from monitor.predict.outcome import outcome
from monitor.predict.parameters import as_set
from monitor.predict.setup import Setup, SourcedValue, setup_of
from monitor.predict.spread import promise_words

# They change what is drawn, not how long it takes.
_NO_TIME = frozenset({"tensor_parallel_seed", "random_seed"})


@dataclass(frozen=True, slots=True)
class AppliedAdvice:
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
    followed: tuple[AppliedAdvice, ...] = ()
    promise: str = ""
    """Which share of changes the range is for, in words behind ``the range``."""


def predicted_change(before: Report, after: Report, different: tuple[ParameterDifference, ...]) -> PredictedChange:
    """The prediction for going from one job's setup to the other's. ``different`` are the differences of the two."""
    start = setup_of(before.job)
    change = _aligned(start, setup_of(after.job))
    found = outcome(start, change)
    changed = {name: (start.value(name), change.value(name)) for name in sorted(found.changes)}
    followed = tuple(_applied_advice(before, after))
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
    values: dict[str, SourcedValue] = dict(change.values)
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


def _applied_advice(before: Report, after: Report) -> list[AppliedAdvice]:
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
        out.append(
            AppliedAdvice(finding.id, advice.parameter, was, advice.to_value, predicted, _within(method), promise)
        )
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


_PRINT = "Print the number and the time of each step in both logs, in a line such as step=120 step_time_s=0.41."
# The clock tells of something else than the printed times where it differs by so much, and by more than both may be off.
_OTHERWISE_PCT = 3.0
Made = TypeVar("Made")
Answer = Literal["faster", "slower", "cannot tell", "not comparable"]


@dataclass(frozen=True, slots=True)
class PairComparison:
    """One job against the first."""

    name: str
    verdict: Verdict
    """``cannot tell`` also where the jobs are not comparable."""
    reason: str
    """Why nothing can be told; empty with a verdict."""
    step_pct: Range | None
    """(low, middle, high) percent by which one optimizer step takes longer, whatever is in it; None where the times cannot
    be compared."""
    work: WorkRatio | None
    """None where nobody knows whether steps do the same."""
    change: StepTimeChange | None
    predicted: PredictedChange
    is_of_one_job: bool = False
    """Both are the same job."""
    unlike: Unlike | None = None
    """Why the two are not comparable; None where they are."""
    otherwise: str = ""
    """That the step times of the two were come by differently, as a sentence; empty where they were not."""

    @property
    def answer(self) -> Answer:
        """The verdict for people."""
        return "not comparable" if self.unlike is not None else self.verdict

    @property
    def scale(self) -> float | None:
        """The work of a step over that of one of the first job; None where they are not comparable."""
        return None if self.unlike is not None or self.work is None else self.work.ratio

    @property
    def work_pct(self) -> Range | None:
        """For the same work, where steps do not do the same: this is what the verdict is about, then."""
        if self.unlike is not None or self.change is None or self.work is None or self.work.unit is None:
            return None
        return self.change.percent(self.work.ratio)

    @property
    def judged_pct(self) -> Range | None:
        """What the verdict is about: the time for the same work; None where the two are not comparable."""
        return None if self.unlike is not None else self.work_pct or self.step_pct

    @property
    def for_same_samples_pct(self) -> Range | None:
        """What a prediction is about; None where the two are not comparable."""
        if self.unlike is not None or self.change is None or self.work is None:
            return None
        return self.change.percent(self.work.samples)

    @property
    def came(self) -> Came | None:
        """What came of the prediction; None where there is none, or nothing was measured."""
        predicted, measured = self.predicted.change_pct, self.for_same_samples_pct
        return None if predicted is None or measured is None else came_of(predicted, measured)


@dataclass(frozen=True, slots=True)
class Comparison:
    """``reports[0]`` is A, the baseline; ``against[0]`` is B."""

    reports: tuple[Report, ...]
    different: tuple[ParameterDifference, ...]
    figures: tuple[Figures, ...]
    against: tuple[PairComparison, ...]
    steps: tuple[StableSteps | None, ...]
    """The step times behind the figures, of each job; None where it has none."""
    notes: tuple[str, ...]
    """What a reader should know before trusting the figures, as sentences."""

    @property
    def scales(self) -> tuple[float, ...]:
        """By what the step times of each job are divided to be those of the same work: 1 where a step is that, or where
        the job is not comparable."""
        return (1.0, *(each.scale or 1.0 for each in self.against))

    @property
    def times_s(self) -> tuple[Floats | None, ...]:
        """The step times of each job, for the work of a step of the first."""
        return tuple(
            None if steps is None else steps.times_s / scale
            for steps, scale in zip(self.steps, self.scales, strict=True)
        )

    @property
    def letters(self) -> list[str]:
        """What the jobs are called beside each other: A, B, …"""
        return [letter(place) for place in range(len(self.reports))]

    @property
    def jobs(self) -> tuple[Job, ...]:
        return tuple(report.job for report in self.reports)


class Keep(Protocol):
    """How a part of a comparison is had: what ``make`` makes of these reports, or what it made of them before."""

    def __call__(self, reports: tuple[Report, ...], what: str, make: Callable[[], Made]) -> Made: ...


@dataclass(frozen=True, slots=True)
class _Read:
    """A report with the journal of its steps and the ways they can be compared."""

    report: Report
    journal: pd.DataFrame
    ways: dict[By, StableSteps]


def _anew(reports: tuple[Report, ...], what: str, make: Callable[[], Made]) -> Made:
    return make()


def compare(reports: Sequence[Report], keep: Keep = _anew) -> Comparison:
    """The comparison of two or more jobs. What takes long is of one report or of two, so that who looks again and again
    may ``keep`` it: of three jobs of which one runs on, the pair of the others stays as it is."""
    read = [keep((report,), "steps read", partial(_read, report)) for report in reports]
    first, *others = read
    pairs = [
        keep(
            (first.report, other.report),
            f"compared, as {letter(place)}",
            partial(_pair, first, other, letter(place)),
        )
        for place, other in enumerate(others, 1)
    ]
    against = tuple(result for result, _ in pairs)
    chosen = shared_way([each.ways for each in read])
    found = [figures(each.report, steps) for each, steps in zip(read, chosen, strict=True)]
    work: list[float | None] = [1.0, *(each.scale for each in against)]
    reached = scaling(reports, work, [each.step_s for each in found])
    jobs = [report.job for report in reports]
    return Comparison(
        tuple(reports),
        differences(jobs),
        tuple(replace(each, scaling_pct=share) for each, share in zip(found, reached, strict=True)),
        against,
        tuple(chosen),
        tuple(dict.fromkeys(_notes(read, chosen, [notes for _, notes in pairs]))),
    )


def _read(report: Report) -> _Read:
    book = journal(report.run.steps, report.run.events)
    return _Read(report, book, stable_steps(book))


def letter(number: int) -> str:
    """How the jobs of a comparison are called: A, B, C, …"""
    return chr(ord("A") + number) if number < 26 else f"job {number + 1}"


def is_same(a: Report, b: Report) -> bool:
    """Whether both are of one job: by its ARN or, of log files, by these."""
    if a.job.arn or b.job.arn:
        return (a.job.arn, a.job.created) == (b.job.arn, b.job.created)
    return a.job.name == b.job.name and _streams(a) == _streams(b)


def _streams(report: Report) -> frozenset[str]:
    return frozenset(map(str, report.run.steps["stream"].cat.categories))


def _pair(first: _Read, other: _Read, name: str) -> tuple[PairComparison, tuple[str, ...]]:
    """The second job against the first, and what should be known of the two."""
    before, after = first.report, other.report
    different = differences([before.job, after.job])
    work = work_between(before, after, first.journal, other.journal, different)
    predicted = predicted_change(before, after, different)
    found = change(first.ways, other.ways)
    clock = None if found is None else _by_clock(first, other, found)
    ratio = work.ratio if work is not None else 1.0
    verdict: Verdict = "cannot tell"
    reason, apart = "", None
    same = is_same(before, after)
    if same:
        reason = "Both are the same job."
    elif apart := _why_not(first, other, name) if found is None else unlike(before, after, name, work, different):
        reason = apart.why
    elif found is not None:
        verdict, reason = _verdict(found, clock, ratio)
    step = None if found is None else found.percent()
    readings = before.run.logs.readings, after.run.logs.readings
    differently = "" if found is None else otherwise(name, *readings, found.by == "clock")
    result = PairComparison(after.job.name, verdict, reason, step, work, found, predicted, same, apart, differently)
    return result, tuple(_of_two(name, first, other, result, clock))


def _verdict(found: StepTimeChange, clock: StepTimeChange | None, ratio: float) -> tuple[Verdict, str]:
    """The verdict, and why there is none."""
    verdict = found.verdict(ratio)
    if verdict == "cannot tell":
        return verdict, cannot_tell(found, ratio)
    if clock is not None and clock.verdict(ratio) not in {verdict, "cannot tell"}:
        printed, by_lines = (range_words(each.percent(ratio)) for each in (found, clock))
        return "cannot tell", f"The printed step times say {printed}, the times of the lines {by_lines}."
    return verdict, ""


def _why_not(first: _Read, other: _Read, name: str) -> Unlike:
    """Why two jobs have no times of the same kind."""
    sides = {"A": first, name: other}
    without = {who: each for who, each in sides.items() if not each.ways}
    if without:
        why = " ".join(f"For {who}, {why_none(each.journal)}." for who, each in without.items())
        running = [who for who, each in without.items() if each.report.job.is_running]
        if running and all(len(sides[who].journal) for who in running):
            return Unlike(why, f"Compare again when {' and '.join(running)} has done more steps.")
        return Unlike(why, _PRINT)
    if first.ways.keys() & other.ways.keys():
        return Unlike(
            "Averaged over the same number of steps, one of them has too few reports.", "Compare longer runs."
        )
    names = {"printed": "times of its steps", "clock": "the clock of its lines", "smoothed": "a smoothed rate"}
    told = [f"{who} gives {' and '.join(names[way] for way in each.ways)}" for who, each in sides.items()]
    return Unlike(f"{', '.join(told)}: these may not measure the same thing.", _PRINT)


def _notes(
    read: Sequence[_Read], chosen: Sequence[StableSteps | None], of_pairs: Sequence[tuple[str, ...]]
) -> Iterator[str]:
    for place, (each, steps) in enumerate(zip(read, chosen, strict=True)):
        yield from _of_one(letter(place), each, steps)
    for notes in of_pairs:
        yield from notes


def _of_one(name: str, read: _Read, steps: StableSteps | None) -> list[str]:
    report, said = read.report, []
    if report.job.is_running:
        said.append(f"{name} is still running: its figures are those so far.")
    if not report.run.logs.complete:
        said.append(f"Older log lines of {name} are still missing.")
    if is_aggregated(report.run.steps):
        said.append(f"The step times of {name} are medians over a minute or more, aggregated by Logs Insights.")
    if steps is not None and steps.share < 1:
        said.append(
            f"The pace of {name} changed during the run: only steps {steps.first_step:,} to {steps.last_step:,} are "
            f"compared, its longest stretch of one pace ({100 * steps.share:.0f} % of the reports)."
        )
    if steps is not None and steps.by == "smoothed":
        said.append(f"{name} prints a smoothed rate; single steps cannot be seen.")
    return said


def _of_two(name: str, first: _Read, other: _Read, result: PairComparison, clock: StepTimeChange | None) -> list[str]:
    said: list[str] = []
    formats = [set(each.report.steps.formats) if each.report.steps else set() for each in (first, other)]
    if result.change is None:
        return said
    if result.change.by == "printed" and formats[0] and formats[1] and not formats[0] & formats[1]:
        said.append(
            f"A's steps are read as {', '.join(sorted(formats[0]))}, {name}'s as {', '.join(sorted(formats[1]))}: they may "
            "not time the same part of a step."
        )
    if result.otherwise:
        said.append(result.otherwise)
    for level, who in zip(result.change.levels, ("A", name), strict=True):
        if level.lasts:
            said.append(f"The step time of {who} drifts for long stretches; the interval is wider because of it.")
    if clock is not None:
        said.append(
            f"By the times of the log lines, the step time of {name} changes by {range_words(clock.percent())}: the printed "
            "times leave out part of what is between two lines."
        )
    return said


def _by_clock(first: _Read, other: _Read, found: StepTimeChange) -> StepTimeChange | None:
    """What the times of the lines say, where the printed times say something else beyond doubt."""
    clock = change(first.ways, other.ways, "clock") if found.by == "printed" else None
    if clock is None:
        return None
    apart = abs(clock.log_ratio - found.log_ratio)
    return clock if apart > max(_OTHERWISE_PCT / 100, clock.half_width + found.half_width) else None


_OVER = frozenset({"Completed", "Failed", "Stopped"})
# Numbers and words such as hybrid_shard: no path, no sentence, nothing as long as a key.
_WORD = re.compile(r"[A-Za-z0-9_.+-]{1,24}")


def pairs_of(comparison: Comparison, now: datetime) -> tuple[Pair, ...]:
    """The pairs of the first job with each of the others that have both a prediction and a measurement."""
    return tuple(_pairs(comparison, now))


def _pairs(comparison: Comparison, now: datetime) -> Iterator[Pair]:
    first, *others = comparison.reports
    for result, other in zip(comparison.against, others, strict=True):
        predicted, measured = result.predicted.change_pct, result.for_same_samples_pct
        if _is_earlier(other, first):
            continue  # a change goes from the earlier job to the later one
        over = all(report.job.status in _OVER and report.job.source != "logs" for report in (first, other))
        if not over or predicted is None or measured is None or is_same(first, other):
            continue
        setup = setup_of(first.job)
        yield Pair(
            before=_side(first, result, 0),
            after=_side(other, result, 1),
            changed={name: (_text(was), _text(to)) for name, (was, to) in result.predicted.changed.items()},
            predicted=predicted,
            measured=measured,
            method=result.predicted.method,
            framework=setup.framework,
            parameters=parameters(first.job, first.run.events),
            findings=tuple(each.finding for each in result.predicted.followed),
            compared_at=now,
        )


def _is_earlier(a: Report, b: Report) -> bool:
    return a.job.created is not None and b.job.created is not None and a.job.created < b.job.created


def _side(report: Report, result: PairComparison, place: int) -> PairSide:
    job = report.job
    return PairSide(job.name, job.arn, job.created, result.change.steps[place] if result.change else 0)


def _text(value: Any) -> str:
    text = "" if value is None else as_set(value)
    return text if not text or _WORD.fullmatch(text) else "(not kept)"
