"""When a rule fired and when it was over, and when a finding would have been reported: the rules are run again as of past
moments, on a run that is cut there. Backtests: what they would have said, how long before the end, and what came after."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise

import pandas as pd

from monitor.alert.conditions import MEASURES, AlertRule, FindingCondition, Lasting, Threshold
from monitor.alert.evaluate import Crossing, State, judge, missing, moment, of_finding, tracks_of
from monitor.alert.series import came_by_words
from monitor.alert.track import SampleSpan, Track, holds, limits, spans_of
from monitor.analyze.phases import USEFUL
from monitor.analyze.utilization import LEFT_OUT_AT_END
from monitor.diagnose.rulebook import diagnose
from monitor.model import Finding, Job, Price, Report, Run

_MINUTE = pd.Timedelta(minutes=1)


def as_of(run: Run, at: datetime) -> Run:
    """The run of a job that trained at ``at``. Which lines were neither step nor event by then is not known."""
    steps = run.steps[~(run.steps["timestamp"] > at)]
    events = run.events[~(run.events["timestamp"] > at)]
    # Of the newest minutes nothing is judged anyway.
    ends = run.metrics["timestamp"] + pd.to_timedelta(run.metrics["period_s"].astype("int64"), unit="s")
    metrics = run.metrics[ends <= at - LEFT_OUT_AT_END / 3]
    last = max(
        (frame["timestamp"].max() for frame in (steps, events) if frame["timestamp"].notna().any()), default=None
    )
    seen = None if last is None else last.to_pydatetime()
    logs = replace(run.logs, last_line_at=seen) if run.logs.last_line_at is not None else run.logs
    return replace(
        run,
        job=_job(run.job, at),
        steps=steps.reset_index(drop=True),
        events=events.reset_index(drop=True),
        metrics=metrics.reset_index(drop=True),
        gpus=_written(run.gpus, at),
        hosts=_written(run.hosts, at),
        logs=logs,
    )


def _written(samples: pd.DataFrame, at: datetime) -> pd.DataFrame:
    """The samples of the minutes that a profiler had written: an object appears at the end of its minute."""
    return samples[samples["timestamp"].dt.floor("min") + _MINUTE <= at].reset_index(drop=True)


def _job(job: Job, at: datetime) -> Job:
    if job.ended is not None and job.ended <= at:
        return job
    begun = tuple(
        replace(entry, end=entry.end if entry.end is not None and entry.end <= at else None)
        for entry in job.transitions
        if entry.start <= at
    )
    return replace(
        job,
        status="InProgress",
        secondary_status=begun[-1].status if begun else "Training",
        ended=None,
        transitions=begun,
        training_seconds=None,
        billable_seconds=None,
        failure_reason=None,
    )


COOL_DOWN_S = 600.0
_CLEARS_AFTER_S, _CLEARS_AFTER_STEPS = 600.0, 20
_CLEARS_BY_ITSELF = {"step": Lasting(5, "steps")}


def clears_after(when: Threshold) -> Lasting:
    """For how long the condition must be false before a rule that fired is over."""
    if when.lasting is None:
        return _CLEARS_BY_ITSELF.get(MEASURES[when.metric].kind, Lasting(3, "m"))
    if when.lasting.steps is not None:
        return Lasting(min(when.lasting.steps, _CLEARS_AFTER_STEPS), "steps")
    assert when.lasting.seconds is not None
    return Lasting(min(when.lasting.seconds, _CLEARS_AFTER_S), "s")


def comes_late(when: Threshold) -> timedelta:
    """How long after it happened a figure is judged."""
    return LEFT_OUT_AT_END if MEASURES[when.metric].kind == "host" else timedelta(0)


def episodes(report: Report, when: Threshold, now: datetime, cool_down_s: float = COOL_DOWN_S) -> tuple[Crossing, ...]:
    """All that a rule says of a job up to ``now``, node by node, in time."""
    return tuple(each for mine in by_key(report, when, now, cool_down_s).values() for each in mine)


def by_key(
    report: Report, when: Threshold, now: datetime, cool_down_s: float = COOL_DOWN_S
) -> dict[str, tuple[Crossing, ...]]:
    """The episodes of each node that has figures at all, in time; of what is not by node under ""."""
    tracked = tracks_of(report, when, now)
    return {
        track.node or "": tuple(
            _episode(track, when, span, at, over, tracked.unit) for span, at, over in _pairs(track, when, cool_down_s)
        )
        for track in tracked.tracks
    }


def is_refuted(report: Report, when: Threshold, now: datetime, key: str, since_s: float, fired_s: float) -> bool:
    """Whether figures that came later show that the condition did not hold all the time from ``since_s`` to ``fired_s``.

    A look that does not reach so far, or that lacks figures which an earlier one had, shows nothing: another process may
    know more, metrics may come in parts, and the clock may have been set back.
    """
    track = next((each for each in tracks_of(report, when, now).tracks if (each.node or "") == key), None)
    if track is None:
        return False
    truth = holds(track.values, limits(track, when), when)
    known = truth >= 0
    # Moments are told to the millisecond.
    between = (track.ends > since_s + 0.001) & (track.begins < fired_s - 0.001)
    reaches = bool((track.ends[known] >= fired_s - 0.001).any())
    return reaches and bool((between & (truth == 0)).any())


def _pairs(track: Track, when: Threshold, cool_down_s: float) -> Iterator[tuple[SampleSpan, float, float | None]]:
    """(what fired, when it did, when it was over), in seconds of the track."""
    truth = holds(track.values, limits(track, when), when)
    clears = clears_after(when)
    ended = spans_of(track, truth, 0, clears)
    quiet_until, over, after = float("-inf"), -1, 0
    for span in spans_of(track, truth, 1, when.lasting):
        if span.first < over:
            continue  # of the one before, which was not over
        at = _lasted(track, span, when.lasting)
        if at < quiet_until:
            # Said late if it still holds then. Where nothing tells of time there is no time of silence either.
            if track.ends[span.last] < quiet_until:
                continue
            at = quiet_until
        while after < len(ended) and ended[after].first < span.first:
            after += 1
        if after >= len(ended):
            yield span, at, None
            return
        over = ended[after].first
        over_s = _lasted(track, ended[after], clears)
        yield span, at, over_s
        quiet_until = over_s + cool_down_s


def _lasted(track: Track, span: SampleSpan, lasting: Lasting | None) -> float:
    """When a span had lasted long enough: of samples with the end of one of them, else to the second."""
    if track.is_sampled:
        return float(track.ends[span.done])
    asked_s = 0.0 if lasting is None or lasting.seconds is None else lasting.seconds
    return float(track.begins[span.first]) + asked_s


def _episode(track: Track, when: Threshold, span: SampleSpan, at: float, over: float | None, unit: str) -> Crossing:
    values = track.values[span.first : span.done + 1]
    if track.rates is not None:
        value = float(track.values[span.done] - track.rates[span.done] * (track.ends[span.done] - at))
    else:
        value = float(values[-1] if when.lasting is None else values[values == values].mean())
    since, until = moment(track, float(track.begins[span.first])), None if over is None else moment(track, over)
    return Crossing(
        track.node, since, until, value, float(limits(track, when)[span.done]), unit, fired=moment(track, at)
    )


# As many moments as this, and no two nearer than a minute.
_MOMENTS = 24
_CLOSEST = timedelta(minutes=1)

FindingsThen = Mapping[str, Finding]


@dataclass(frozen=True, slots=True)
class Replay:
    """What was said at each of some moments, in time; the last one is the end of the job (or now)."""

    moments: tuple[tuple[datetime, FindingsThen], ...] = ()


def replay(report: Report, now: datetime, progress: Callable[[float], None] = lambda share: None) -> Replay:
    """Asks all rules again, as of moments from the start of the training on."""
    job = report.job
    end = job.ended or now
    final: FindingsThen = {found.id: found for found in report.findings}
    steps = report.run.steps["timestamp"]
    if job.started is None or end <= job.started or (len(steps) and steps.isna().all()):
        return Replay(((end, final),))  # without times nobody knows what was when
    price = None
    if report.cost.price_usd_per_instance_hour is not None:
        price = Price(report.cost.price_usd_per_instance_hour, report.cost.price_source or "")

    def findings_at(at: datetime) -> FindingsThen:
        return {found.id: found for found in diagnose(as_of(report.run, at), at, price)}

    count = max(1, min(_MOMENTS, int((end - job.started) / _CLOSEST)))
    seen: list[tuple[datetime, FindingsThen]] = [(job.started, {})]
    for place in range(1, count):
        at = job.started + (end - job.started) * place / count
        seen.append((at, findings_at(at)))
        progress(place / count)
    seen.append((end, final))
    closer = [_first_shown(before, after, findings_at) for before, after in pairwise(seen)]
    return Replay(tuple(sorted([*seen[1:], *(found for part in closer for found in part)], key=lambda each: each[0])))


def _first_shown(
    before: tuple[datetime, FindingsThen],
    after: tuple[datetime, FindingsThen],
    findings_at: Callable[[datetime], FindingsThen],
) -> list[tuple[datetime, FindingsThen]]:
    """Moments in between that bring a new finding that asks for action nearer than to a minute."""
    found = []
    while after[0] - before[0] > _CLOSEST and _loud(after[1]) - _loud(before[1]):
        middle = before[0] + (after[0] - before[0]) / 2
        looked = (middle, findings_at(middle))
        found.append(looked)
        if _loud(looked[1]) - _loud(before[1]):
            after = looked
        else:
            before = looked
    return found


def _loud(findings: FindingsThen) -> set[str]:
    return {id for id, found in findings.items() if found.severity != "info"}


def finding_episodes(replayed: Replay, when: FindingCondition) -> tuple[Crossing, ...]:
    """One for each time that a finding was said and not yet before; one that stays away for two moments is over."""
    opened: dict[str, Crossing] = {}
    absent: dict[str, datetime] = {}
    out: list[Crossing] = []
    for at, said in replayed.moments:
        asked = {id: found for id, found in said.items() if when.subject in {id, found.severity}}
        for id, found in asked.items():
            absent.pop(id, None)
            if id not in opened:
                opened[id] = of_finding(found, at)
        for id in [id for id in opened if id not in asked]:
            if id in absent:
                out.append(replace(opened.pop(id), until=absent.pop(id)))
            else:
                absent[id] = at
    return tuple(sorted([*out, *opened.values()], key=lambda each: (each.fired is None, each.fired, each.finding)))


@dataclass(frozen=True, slots=True)
class BacktestedAlert:
    """One alert that would have been sent."""

    episode: Crossing
    at: datetime | None
    """When: figures of CloudWatch are judged three minutes late. None where lines carry no time."""
    seconds_before_end: float | None
    usd_after: float | None
    """What the job cost from then on: with a stop at the alert, that would have been saved."""
    wasted_usd_after: float | None
    """Of that, what was neither training nor evaluation nor checkpoint."""


@dataclass(frozen=True, slots=True)
class Backtested:
    """One rule over one job."""

    rule: AlertRule
    state: State
    said: tuple[BacktestedAlert, ...] = ()
    why: str = ""
    came_by: str = ""
    """How the step times of its alerts were come by, where they are not simply printed."""


@dataclass(frozen=True, slots=True)
class BacktestedJob:
    """All rules over one job."""

    job: str
    status: str | None
    started: datetime | None
    ended: datetime | None
    judged_until: datetime
    usd: float | None
    rules: tuple[Backtested, ...]


def backtest(
    report: Report,
    rules: Sequence[AlertRule],
    now: datetime,
    cool_down_s: float = COOL_DOWN_S,
    progress: Callable[[float], None] = lambda share: None,
) -> BacktestedJob:
    """Walks through the job. ``now`` matters only for one that still runs."""
    job = report.job
    until = job.ended or (now if job.is_running else report.run.logs.last_line_at or now)
    replayed = (
        replay(report, until, progress) if any(isinstance(rule.when, FindingCondition) for rule in rules) else Replay()
    )
    tested = tuple(_tested(report, rule, now, until, replayed, cool_down_s) for rule in rules)
    return BacktestedJob(job.name, job.status, job.started, job.ended, until, report.cost.usd, tested)


def _tested(
    report: Report, rule: AlertRule, now: datetime, until: datetime, replayed: Replay, cool_down_s: float
) -> Backtested:
    when = rule.when
    if isinstance(when, FindingCondition):
        found = finding_episodes(replayed, when)
        late = timedelta(0)
        why = missing(report, when.subject)
    else:
        found = episodes(report, when, now, cool_down_s)
        late = comes_late(when)
        why = judge(report, rule, now).why if not found else ""
    if not found:
        return Backtested(rule, "no data" if why else "ok", why=why)
    said = [_backtested(report, episode, late, until) for episode in found]
    said.sort(key=lambda each: (each.at is None, each.at, each.episode.key))
    came_by = "" if isinstance(when, FindingCondition) else came_by_words(report, when)
    return Backtested(rule, "firing", tuple(said), came_by=came_by)


def _backtested(report: Report, episode: Crossing, late: timedelta, until: datetime) -> BacktestedAlert:
    if episode.fired is None:
        return BacktestedAlert(episode, None, None, None, None)
    at = episode.fired + late
    before_end_s = max(0.0, (until - at).total_seconds())
    return BacktestedAlert(episode, at, before_end_s, *_cost_after(report, at))


def _cost_after(report: Report, at: datetime) -> tuple[float | None, float | None]:
    """(USD, of these wasted) from a moment on; None without a price."""
    usd = report.cost.usd
    billed = [phase for phase in report.phases if phase.billed]
    total_s = sum(phase.seconds for phase in billed)
    if usd is None or not total_s:
        return None, None
    left = [(phase, max(0.0, (phase.end - max(phase.start, at)).total_seconds())) for phase in billed]
    after = sum(seconds for _, seconds in left) / total_s * usd
    wasted = sum(seconds for phase, seconds in left if phase.name not in USEFUL) / total_s * usd
    return after, wasted if report.cost.overhead_usd is not None else None
