"""Jobs side by side: reports go in; differences, figures, a verdict for each job against the first, and what was predicted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar

import pandas as pd

from monitor.analyze.comparison import Change, Range, Verdict, change
from monitor.analyze.journal import journal
from monitor.analyze.stable_steps import By, Floats, StableSteps, stable_steps, why_none
from monitor.analyze.step_time import is_aggregated
from monitor.diagnose.compared_words import cannot_tell, range_words
from monitor.diagnose.configuration_difference import Difference, differences
from monitor.diagnose.foretold import Foretold, foretold
from monitor.diagnose.side_by_side import Figures, figures, scaling, shared_way
from monitor.diagnose.work_done import Work, is_batch, work_between
from monitor.model import Job, Report, held

# The clock tells of something else than the printed times where it differs by so much, and by more than both may be off.
_OTHERWISE_PCT = 3.0
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Against:
    """One job against the first."""

    name: str
    verdict: Verdict
    reason: str
    """Why nothing can be told; empty with a verdict."""
    step_pct: Range | None
    """(low, middle, high) percent by which one optimizer step takes longer; None where the times cannot be compared."""
    work: Work | None
    """None where nobody knows whether steps do the same."""
    change: Change | None
    foretold: Foretold
    is_of_one_job: bool = False
    """Both are the same job."""

    @property
    def work_pct(self) -> Range | None:
        """For the same work, where steps do not do the same: this is what the verdict is about, then."""
        if self.change is None or self.work is None or self.work.unit is None:
            return None
        return self.change.percent(self.work.ratio)

    @property
    def judged_pct(self) -> Range | None:
        """What the verdict is about: the time for the same work where that is known, else that of a step."""
        return self.work_pct or self.step_pct

    @property
    def for_same_samples_pct(self) -> Range | None:
        """What a prediction is about; None where it is not known whether steps have the same samples."""
        if self.change is None or self.work is None:
            return None
        return self.change.percent(self.work.samples)

    @property
    def held(self) -> bool | None:
        """Whether the prediction held; None where one side is missing, or the measurement leaves it open."""
        predicted, measured = self.foretold.change_pct, self.for_same_samples_pct
        return None if predicted is None or measured is None else held(predicted, measured)


@dataclass(frozen=True, slots=True)
class Comparison:
    """``reports[0]`` is A, the job that the others are held against; ``against[0]`` is B."""

    reports: tuple[Report, ...]
    different: tuple[Difference, ...]
    figures: tuple[Figures, ...]
    against: tuple[Against, ...]
    steps: tuple[StableSteps | None, ...]
    """The step times behind the figures, of each job; None where it has none."""
    notes: tuple[str, ...]
    """What a reader should know before trusting the figures, as sentences."""

    @property
    def scales(self) -> tuple[float, ...]:
        """By what the step times of each job are divided to be those of the same work: 1 where a step is that, or where
        nobody knows."""
        return (1.0, *(1.0 if each.work is None else each.work.ratio for each in self.against))

    @property
    def times_s(self) -> tuple[Floats | None, ...]:
        """The step times of each job, for the work of a step of the first."""
        return tuple(
            None if steps is None else steps.times_s / scale
            for steps, scale in zip(self.steps, self.scales, strict=True)
        )

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
            f"held against, as {letter(place)}",
            partial(_pair, first, other, letter(place)),
        )
        for place, other in enumerate(others, 1)
    ]
    against = tuple(result for result, _ in pairs)
    chosen = shared_way([each.ways for each in read])
    found = [figures(each.report, steps) for each, steps in zip(read, chosen, strict=True)]
    work: list[float | None] = [1.0, *(None if each.work is None else each.work.ratio for each in against)]
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


def letter(place: int) -> str:
    """How the jobs of a comparison are called: A, B, C, …"""
    return chr(ord("A") + place) if place < 26 else f"job {place + 1}"


def is_same(a: Report, b: Report) -> bool:
    """Whether both are of one job: by its ARN or, of log files, by these."""
    if a.job.arn or b.job.arn:
        return (a.job.arn, a.job.created) == (b.job.arn, b.job.created)
    return a.job.name == b.job.name and _streams(a) == _streams(b)


def _streams(report: Report) -> frozenset[str]:
    return frozenset(map(str, report.run.steps["stream"].cat.categories))


def _pair(first: _Read, other: _Read, name: str) -> tuple[Against, tuple[str, ...]]:
    """The second job against the first, and what should be known of the two."""
    before, after = first.report, other.report
    different = differences([before.job, after.job])
    work = work_between(before, after, first.journal, other.journal, different)
    predicted = foretold(before, after, different)
    found = change(first.ways, other.ways)
    clock = None if found is None else _by_clock(first, other, found)
    ratio = work.ratio if work is not None else 1.0
    verdict: Verdict = "cannot tell" if found is None else found.verdict(ratio)
    reason = ""
    same = is_same(before, after)
    if same:
        verdict, reason = "cannot tell", "Both are the same job."
    elif found is None:
        reason = _why_not(first, other, name)
    elif verdict == "cannot tell":
        reason = cannot_tell(found, ratio)
    elif clock is not None and clock.verdict(ratio) not in {verdict, "cannot tell"}:
        printed, by_lines = (range_words(each.percent(ratio)) for each in (found, clock))
        verdict, reason = "cannot tell", f"The printed step times say {printed}, the times of the lines {by_lines}."
    step = None if found is None else found.percent()
    result = Against(after.job.name, verdict, reason, step, work, found, predicted, same)
    return result, tuple(_of_two(name, first, other, result, clock))


def _why_not(first: _Read, other: _Read, name: str) -> str:
    """Why two jobs have no times that can be held against each other."""
    sides = {"A": first, name: other}
    without = [f"Of {who} {why_none(each.journal)}." for who, each in sides.items() if not each.ways]
    if without:
        return " ".join(without)
    if first.ways.keys() & other.ways.keys():
        return "As means over as many steps one of them has too few reports."
    names = {"printed": "times of its steps", "clock": "the clock of its lines", "smoothed": "a smoothed rate"}
    told = [f"{who} gives {' and '.join(names[way] for way in each.ways)}" for who, each in sides.items()]
    return f"{', '.join(told)}: these need not hold the same, so a difference says nothing."


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
        said.append(f"Of {name} older log lines are still missing.")
    if is_aggregated(report.run.steps):
        said.append(f"The step times of {name} are medians over a minute or more, aggregated by Logs Insights.")
    if steps is not None and steps.share < 1:
        said.append(
            f"The pace of {name} changed in the run; compared are steps {steps.first_step:,} to {steps.last_step:,}, "
            f"its longest stretch of one pace ({100 * steps.share:.0f} % of the reports)."
        )
    if steps is not None and steps.by == "smoothed":
        said.append(f"{name} prints a smoothed rate; its single steps are not seen.")
    return said


def _of_two(name: str, first: _Read, other: _Read, result: Against, clock: Change | None) -> list[str]:
    said: list[str] = []
    formats = [set(each.report.steps.formats) if each.report.steps else set() for each in (first, other)]
    if result.change is None:
        return said
    if result.change.by == "printed" and formats[0] and formats[1] and not formats[0] & formats[1]:
        said.append(
            f"A's steps are read as {', '.join(sorted(formats[0]))}, {name}'s as {', '.join(sorted(formats[1]))}: they may "
            "not time the same part of a step."
        )
    for level, who in zip(result.change.levels, ("A", name), strict=True):
        if level.lasts:
            said.append(f"The step time of {who} moves by itself for long stretches; the interval is wider for it.")
    if clock is not None:
        said.append(
            f"By the times of the log lines a step of {name} takes {range_words(clock.percent())}: the printed times leave "
            "out part of what is between two lines."
        )
    if result.work is None and any(
        is_batch(each.parameter) for each in differences([first.report.job, other.report.job])
    ):
        said.append(
            f"The batch of {name} is another one, and how many samples a step has is not known: steps are compared, not samples."
        )
    return said


def _by_clock(first: _Read, other: _Read, found: Change) -> Change | None:
    """What the times of the lines say, where the printed times say something else beyond doubt."""
    clock = change(first.ways, other.ways, "clock") if found.by == "printed" else None
    if clock is None:
        return None
    apart = abs(clock.log_ratio - found.log_ratio)
    return clock if apart > max(_OTHERWISE_PCT / 100, clock.half_width + found.half_width) else None
