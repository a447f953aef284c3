"""From facts of jobs to the report of a window. Nothing is spread: what is unknown stays a share of its own. Of earlier advice
that a later run of the same name followed, the predicted beside the measured.

Only where the archive's configuration says that this parameter alone was changed, so that nothing else can have made the
difference, and only of step times that are for the same samples. All else is for ``compare``, which reads the steps.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import numpy as np

from monitor.fleet.facts import UNTAGGED, USES, WASTE, BilledTime, FindingFact, JobFacts, Only, Owner, Use
from monitor.fleet.report import (
    AdviceOutcome,
    ByCause,
    ByFailure,
    ByFinding,
    ByOwner,
    ByUse,
    FleetCoverage,
    FleetReport,
    Queue,
    Rate,
    Recovery,
    Sum,
    ToChange,
    change_of_share,
)
from monitor.fleet.window import DateWindow, week_of
from monitor.model import BEGINNING, ENDED_STATUSES, came_of

# A step with another batch is another amount of work: its time alone says nothing.
_BATCH = frozenset({"batch_size", "microbatches", "prescaled_batch", "gradient_accumulation_steps", "sequence_length"})
# 10th to 90th percentile of a normal distribution, in standard deviations; error of a median against that of a mean.
_SPREAD_SD, _MEDIAN = 2.563, 1.253
_NORMAL_95 = 1.96
_FEWEST_STEPS = 20


def advice_outcomes(jobs: Sequence[JobFacts], window: DateWindow) -> tuple[AdviceOutcome, ...]:
    """Of runs that ended in the window, each held against the latest earlier run that was advised so."""
    runs: dict[tuple[str | None, str | None, str], list[JobFacts]] = defaultdict(list)
    for facts in jobs:
        runs[facts.account, facts.region, facts.base].append(facts)
    rows = []
    for mine in runs.values():
        mine.sort(key=lambda facts: (facts.created or BEGINNING, facts.name))
        for place, after in enumerate(mine):
            if window.holds(after.ended):
                rows += _of_run(mine[:place], after)
    return tuple(rows)


def _of_run(earlier: Sequence[JobFacts], after: JobFacts) -> list[AdviceOutcome]:
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


def _row(before: JobFacts, after: JobFacts, found: FindingFact, was: str) -> AdviceOutcome:
    assert found.parameter is not None
    assert found.change_pct is not None
    assert found.to_value is not None
    measured, why = _measured(before, after, found.parameter)
    return AdviceOutcome(
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


#: Jobs to change first.
MOST_TO_CHANGE = 10
#: So long before a window jobs are looked at for the trend, and for advice that was followed in it.
BEFORE = timedelta(days=35)
_UNTYPED = "unknown type"
_OF_FAILURES: tuple[Use, ...] = ("failed", "unknown")


@dataclass(frozen=True, slots=True)
class _Seen:
    """One job's part of the window."""

    facts: JobFacts
    owner: str
    shares: tuple[BilledTime, ...]
    sums: tuple[Sum, ...]
    """Beside the shares."""

    @property
    def total(self) -> Sum:
        return _added(self.sums)

    @property
    def hours(self) -> float:
        """GPU-hours; of a job without GPUs, or with an unknown number, none."""
        return self.total.gpu_hours

    def of(self, uses: Iterable[Use]) -> Sum:
        wanted = set(uses)
        return _added(one for share, one in zip(self.shares, self.sums, strict=True) if share.use in wanted)

    @property
    def productive_hours(self) -> float:
        pairs = zip(self.shares, self.sums, strict=True)
        # Of a failed job these may be lost again: then their use is another one.
        return sum(one.gpu_hours for share, one in pairs if share.use == "trained" and share.bucket == "productive")


def fleet_report(
    archive: str,
    jobs: Sequence[JobFacts],
    window: DateWindow,
    made_at: datetime,
    by: str = "team",
    owner: Owner = lambda facts: UNTAGGED,
    unread: int = 0,
    only: Only = Only(),
    days: tuple[date, date] | None = None,
) -> FleetReport:
    """``jobs`` are all of which anything may be in the window, in the one before it, or may have followed advice in it; those
    that ``only`` leaves out are in nothing. ``days`` are those of the whole archive."""
    jobs = [facts for facts in jobs if only.holds(facts)]
    seen = _in(jobs, window, owner)
    before = _in(jobs, window.before, owner)
    total, unknown = _added(one.total for one in seen), _added(one.of(["unknown"]) for one in seen)
    productive = sum(one.productive_hours for one in seen)
    hours = total.gpu_hours
    ended = [facts for facts in jobs if facts.cause is not None and window.holds(facts.ended)]
    interrupted = sum(window.holds(start) for facts in jobs for start, _ in facts.interruptions)
    # A job that never ran has no hours to which its failure could be held.
    ran = [facts for facts in ended if facts.started is not None]
    either = sum(facts.blame == "either" for facts in ran)
    helpless = sum(facts.blame == "infrastructure" for facts in ran) + either + interrupted
    spot = [facts for facts in jobs if facts.spot_saved_usd is not None and window.holds(facts.ended)]
    return FleetReport(
        archive=archive,
        window=window,
        by=by,
        made_at=made_at,
        total=total,
        before=_added(one.total for one in before),
        goodput=(productive / hours, (productive + unknown.gpu_hours) / hours) if hours else None,
        goodput_change=change_of_share(
            *([(one.productive_hours, one.hours) for one in side] for side in (seen, before))
        ),
        waste=_added(one.of(WASTE) for one in seen),
        by_use=_by_use(seen, total),
        by_cause=_by_cause(seen),
        by_owner=_by_owner(seen),
        by_finding=_by_finding(seen),
        failures=_by_failure(ended, {one.facts.key: one for one in seen}),
        all_failures=Rate(total.instance_hours, len(ran) + interrupted),
        infrastructure_failures=Rate(total.instance_hours, helpless),
        either=either,
        recovery=_recovery(jobs, ended, window),
        queues=_queues(jobs, window),
        spot_usd=sum(facts.spot_saved_usd or 0.0 for facts in spot),
        spot_jobs=len(spot),
        to_change=_to_change(seen),
        followed=advice_outcomes(jobs, window),
        coverage=_coverage(seen, jobs, window, total, unknown, unread),
        weeks=_weeks(jobs, window),
        only=only.words,
        days=days,
    )


def sum_of(facts: JobFacts, share: BilledTime) -> Sum:
    """A share in hours and money; of how many of the hours price or GPUs are not known is in it."""
    rate, gpus, hours = facts.usd_per_instance_s, facts.gpus_per_instance, share.instance_s / 3600
    return Sum(
        hours * (gpus or 0.0),
        hours,
        0.0 if rate is None else share.instance_s * rate,
        hours if rate is None else 0.0,
        hours if gpus is None else 0.0,
    )


def _in(jobs: Iterable[JobFacts], window: DateWindow, owner: Owner) -> list[_Seen]:
    return [
        _Seen(facts, owner(facts), shares, tuple(sum_of(facts, share) for share in shares))
        for facts in jobs
        if (shares := facts.inside(window))
    ]


def _added(sums: Iterable[Sum]) -> Sum:
    return sum(sums, Sum())


def _size(one: Sum, whole: Sum) -> float | None:
    """The share of the GPU-hours or, of a fleet without GPUs, of the instance-hours."""
    if whole.gpu_hours:
        return one.gpu_hours / whole.gpu_hours
    return one.instance_hours / whole.instance_hours if whole.instance_hours else None


def _by_use(seen: Sequence[_Seen], total: Sum) -> tuple[ByUse, ...]:
    rows = []
    for use in USES:
        mine = [(one, one.of([use])) for one in seen]
        whole = _added(part for _, part in mine)
        # Of each job its own share, those of which all is unknown too.
        shares = [part.instance_hours / one.total.instance_hours for one, part in mine if one.total.instance_hours]
        mean = sum(shares) / len(shares) if shares else None
        rows.append(ByUse(use, whole, _size(whole, total), mean, sum(part.instance_hours > 0 for _, part in mine)))
    return tuple(rows)


def _by_cause(seen: Sequence[_Seen]) -> tuple[ByCause, ...]:
    sums: dict[tuple[str, Use], list[Sum]] = defaultdict(list)
    jobs: dict[tuple[str, Use], set[str]] = defaultdict(set)
    for one in seen:
        for share, part in zip(one.shares, one.sums, strict=True):
            sums[share.bucket, share.use].append(part)
            jobs[share.bucket, share.use].add(one.facts.key)
    rows = [ByCause(*key, _added(parts), len(jobs[key])) for key, parts in sums.items()]
    return tuple(sorted(rows, key=lambda row: (-row.sum.usd, -row.sum.instance_hours, row.bucket, row.use)))


def _by_owner(seen: Sequence[_Seen]) -> tuple[ByOwner, ...]:
    owners: dict[str, list[_Seen]] = defaultdict(list)
    for one in seen:
        owners[one.owner].append(one)
    rows = []
    for name, mine in owners.items():
        whole = _added(one.total for one in mine)
        rows.append(
            ByOwner(
                owner=name,
                sum=whole,
                jobs=len(mine),
                goodput=sum(one.productive_hours for one in mine) / whole.gpu_hours if whole.gpu_hours else None,
                waste=_added(one.of(WASTE) for one in mine),
                unknown=_added(one.of(["unknown"]) for one in mine),
                by_use=tuple((use, _added(one.of([use]) for one in mine)) for use in USES),
            )
        )
    return tuple(sorted(rows, key=lambda row: (-row.waste.usd, -row.waste.gpu_hours, row.owner)))


def _by_finding(seen: Sequence[_Seen]) -> tuple[ByFinding, ...]:
    found: dict[str, list[Sum]] = defaultdict(list)
    for one in seen:
        total = one.total
        for finding in one.facts.findings:
            if finding.share:
                found[finding.id].append(total.times(finding.share))
    rows = [ByFinding(id, len(sums), _added(sums)) for id, sums in found.items()]
    return tuple(sorted(rows, key=lambda row: (-row.saving.usd, -row.saving.gpu_hours, row.id)))


def _by_failure(ended: Sequence[JobFacts], seen: dict[str, _Seen]) -> tuple[ByFailure, ...]:
    causes: dict[str, list[JobFacts]] = defaultdict(list)
    for facts in ended:
        causes[facts.cause or ""].append(facts)
    rows = [
        ByFailure(
            cause,
            mine[0].blame or "either",
            len(mine),
            *(_added(seen[facts.key].of([use]) for facts in mine if facts.key in seen) for use in _OF_FAILURES),
        )
        for cause, mine in causes.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.jobs, -row.failed.usd, row.cause)))


def _recovery(jobs: Sequence[JobFacts], ended: Sequence[JobFacts], window: DateWindow) -> Recovery:
    took = [
        (again - start).total_seconds() for facts in jobs for start, again in facts.interruptions if window.holds(start)
    ]
    runs: dict[tuple[str | None, str | None, str], list[datetime]] = defaultdict(list)
    for facts in jobs:
        if facts.stepped_at is not None:
            runs[facts.account, facts.region, facts.base].append(facts.stepped_at)
    left = 0
    for facts in ended:
        after = [at for at in runs[facts.account, facts.region, facts.base] if facts.ended and at >= facts.ended]
        if after and facts.ended:
            took.append((min(after) - facts.ended).total_seconds())
        else:
            left += 1
    if not took:
        return Recovery(0, None, None, None, left)
    middle, late = np.percentile(took, [50, 90])
    return Recovery(len(took), float(np.mean(took)), float(middle), float(late), left)


def _queues(jobs: Iterable[JobFacts], window: DateWindow) -> tuple[Queue, ...]:
    types: dict[str, list[JobFacts]] = defaultdict(list)
    for facts in jobs:
        if window.holds(facts.created):
            types[facts.instance_type or _UNTYPED].append(facts)
    rows = []
    for name, mine in types.items():
        middle, late = np.percentile([facts.queued_s for facts in mine], [50, 90])
        hours = sum(facts.queued_s * (facts.gpus or 0) / 3600 for facts in mine)
        refused = sum(facts.cause == "capacity" for facts in mine)
        rows.append(Queue(name, len(mine), float(middle), float(late), hours, refused))
    return tuple(sorted(rows, key=lambda row: (-row.gpu_hours, -row.jobs, row.instance_type)))


def _to_change(seen: Sequence[_Seen]) -> tuple[ToChange, ...]:
    """Runs of one name that have the same finding first are one thing to change."""
    groups: dict[tuple[str, str | None, str | None, str, str], list[tuple[_Seen, Sum]]] = defaultdict(list)
    for one in seen:
        facts, share = one.facts, one.facts.recoverable_share
        top = max((each for each in facts.findings if each.share), key=lambda each: each.share or 0.0, default=None)
        if share and top is not None:
            groups[one.owner, facts.account, facts.region, facts.base, top.id].append((one, one.total.times(share)))
    rows = []
    for (owner, account, region, _, id), mine in groups.items():
        newest = max((one.facts for one, _ in mine), key=lambda facts: (str(facts.created), facts.name))
        top = next(each for each in newest.findings if each.id == id)
        saving = _added(saving for _, saving in mine)
        rows.append(
            ToChange(
                newest.name, owner, account, region, len(mine), id, top.title, top.next_step, saving, top.change_pct
            )
        )
    rows.sort(key=lambda row: (-row.saving.usd, -row.saving.gpu_hours, -row.saving.instance_hours, row.job))
    return tuple(rows[:MOST_TO_CHANGE])


def _coverage(
    seen: Sequence[_Seen], jobs: Iterable[JobFacts], window: DateWindow, total: Sum, unknown: Sum, unread: int
) -> FleetCoverage:
    known = _size(unknown, total)
    return FleetCoverage(
        jobs=len(seen),
        # A log alone does not always tell how its job ended.
        running=sum(one.facts.arn is not None and one.facts.status not in ENDED_STATUSES for one in seen),
        without_time=sum(not facts.shares and window.holds(facts.created) for facts in jobs),
        without_price=sum(one.facts.usd is None for one in seen),
        without_gpus=sum(one.facts.gpus is None for one in seen),
        without_owner=sum(one.owner == UNTAGGED for one in seen),
        from_logs=sum(one.facts.arn is None for one in seen),
        unread=unread,
        judged_share=None if known is None else 1 - known,
    )


def _weeks(jobs: Iterable[JobFacts], window: DateWindow) -> tuple[tuple[str, tuple[tuple[Use, Sum], ...]], ...]:
    """Of those weeks alone of which all jobs are here."""
    first = window.start - BEFORE
    first += timedelta(days=-first.weekday() % 7)
    weeks: dict[str, dict[Use, list[Sum]]] = defaultdict(lambda: defaultdict(list))
    for facts in jobs:
        for share in facts.shares:
            if not first <= share.day < window.end:
                continue
            weeks[week_of(share.day)][share.use].append(sum_of(facts, share))
    return tuple((week, tuple((use, _added(weeks[week][use])) for use in USES)) for week in sorted(weeks))
