"""Whether a job crosses its thresholds, where, since when. Pure: a report and a moment in, a verdict a rule out; for drawing,
the spans in which a condition held.

A finding that was not reported counts as absent only if the data it needs could be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

import numpy as np
import pandas as pd

from monitor.alert.conditions import MEASURES, AlertRule, FindingCondition, Threshold
from monitor.alert.series import (
    LEAST_MINUTES,
    LEAST_STEPS,
    came_by_words,
    cost_tracks,
    gpu_tracks,
    host_tracks,
    silence_tracks,
    step_tracks,
)
from monitor.alert.track import SampleSpan, Track, Tracked, Walk, holds, limits, spans_of, walk
from monitor.choices import SEVERITIES
from monitor.diagnose.rulebook import rules
from monitor.model import Finding, Report, natural_order
from monitor.words import duration, percent, step_seconds, usd


def in_scope(tracked: Tracked, when: Threshold, node_names: Sequence[str]) -> Tracked:
    """The tracks to judge: one a node for ``any``, else one; for one GPU its own.

    ``all`` and ``mean`` are over the nodes that report the metric at all. At a moment when one of them has no figure, a
    mean is unknown; so is ``all``, unless another node says no.
    """
    if tracked.why_none:
        return tracked
    if when.scope.startswith("algo-"):
        mine = tuple(track for track in tracked.tracks if track.node == when.scope)
        return Tracked(mine, tracked.unit, "" if mine else _why_none(when, node_names))
    if when.scope == "any":
        return tracked
    if len(tracked.tracks) == 1:
        return Tracked((replace(tracked.tracks[0], node=None),), tracked.unit)
    return Tracked((_together(tracked.tracks, when),), tracked.unit)


def _why_none(when: Threshold, node_names: Sequence[str]) -> str:
    if when.scope in node_names:
        return f"{when.scope} reports no {when.metric}."
    if when.gpu is not None and when.gpu[0] in node_names:
        return f"The minutes that were read of the job's profiler show no {when.scope}."
    nodes = f"its nodes are {', '.join(node_names[:8])}{' …' if len(node_names) > 8 else ''}" if node_names else ""
    return f"The job has no node {when.gpu[0] if when.gpu else when.scope}{f'; {nodes}' if nodes else ''}."


def _together(tracks: Sequence[Track], when: Threshold) -> Track:
    """One track over all: a sample wherever any node has one."""
    rows = pd.concat([_rows(track) for track in tracks], ignore_index=True)
    groups = rows.groupby("key", sort=True)
    value = groups["value"]
    # All are below where the highest is, and above where the lowest is.
    extreme = value.max() if when.op.startswith("<") else value.min()
    joint = value.mean() if when.scope == "mean" else extreme
    usual = groups["usual"].first().to_numpy("float64")
    values = joint.to_numpy("float64", copy=True)
    lacking = (value.count() < len(tracks)).to_numpy(copy=True)
    limit = when.value * usual if when.relative else np.full(len(values), when.value)
    if when.scope == "all":
        lacking &= holds(values, limit, when) == 1
    values[lacking] = np.nan
    ends = np.maximum.accumulate(groups["end"].max().to_numpy("float64"))
    place = np.arange(len(values))
    by_step = MEASURES[when.metric].kind == "step"
    return Track(
        None,
        groups["begin"].min().to_numpy("float64"),
        ends,
        values,
        usual,
        groups["gap"].any().to_numpy("bool"),
        place if by_step else groups["before"].min().to_numpy("int64"),
        place + 1 if by_step else groups["after"].max().to_numpy("int64"),
        place,
        has_clock=all(track.has_clock for track in tracks),
        slack_s=max(track.slack_s for track in tracks),
    )


def _rows(track: Track) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "key": track.keys,
            "begin": track.begins,
            "end": track.ends,
            "value": track.values,
            "usual": track.usual,
            "gap": track.breaks,
            "before": track.steps_before,
            "after": track.steps_after,
        }
    )


# A running job whose newest figures are older than this (and the minutes that always lack) shows nothing of now.
_STALE = timedelta(minutes=18)


def evaluate(report: Report, rules: Sequence[AlertRule], now: datetime) -> tuple[RuleVerdict, ...]:
    """A verdict for each rule, in their order."""
    return tuple(judge(report, rule, now) for rule in rules)


def judge(report: Report, rule: AlertRule, now: datetime) -> RuleVerdict:
    when = rule.when
    if isinstance(when, FindingCondition):
        return findings_verdict(report, rule, when)
    verdict = _judge(report, rule, when, now)
    return verdict if verdict.value is None else replace(verdict, came_by=came_by_words(report, when))


def _judge(report: Report, rule: AlertRule, when: Threshold, now: datetime) -> RuleVerdict:
    tracked = tracks_of(report, when, now, at_end=when.lasting is None)
    walked = [(track, walk(track, when)) for track in tracked.tracks]
    running = report.job.is_running
    anywhere = not running and (when.lasting is not None or MEASURES[when.metric].kind == "silence")
    firing = []
    for track, found in walked:
        span = max(found.spans, key=lambda span: _length(track, span), default=None) if anywhere else found.standing
        if span is not None:
            firing.append(_firing(track, when, found, span, anywhere, tracked.unit))
    firing.sort(key=lambda one: (_badness(one.value, when), natural_order(one.node or "")))
    if firing:
        worst = firing[0]
        return RuleVerdict(
            rule, "firing", worst.node, worst.since, worst.value, tracked.unit, worst.limit, tuple(firing)
        )
    return _not_firing(rule, when, tracked, walked, now if running else None)


def tracks_of(report: Report, when: Threshold, now: datetime, at_end: bool = False) -> Tracked:
    """The figures that a condition asks for, in its scope; ``at_end`` leaves out the teardown of a job that is over."""
    kind = MEASURES[when.metric].kind
    if when.gpu is not None:
        found = gpu_tracks(report, when, now)
    elif kind == "host":
        found = host_tracks(report, when, now, at_end)
    elif kind == "step":
        found = step_tracks(report, when)
    elif kind == "silence":
        found = silence_tracks(report, when, now)
    else:
        found = cost_tracks(report, when, now)
    found = in_scope(found, when, report.job.node_names)
    if when.lasting is not None and when.lasting.seconds is not None and not any(t.has_time for t in found.tracks):
        return Tracked(why_none=found.why_none or "The log lines carry no time, so how long it lasted is not known.")
    return found


def moment(track: Track, seconds: float) -> datetime | None:
    """An instant of the track's clock; None where it has none."""
    if not track.has_clock or not np.isfinite(seconds):
        return None
    return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=round(1000 * seconds))


def value_of(track: Track, span: SampleSpan, latest: int | None = None) -> float:
    """What is told of a span: its newest figure, or of one that is over its mean."""
    if latest is not None or not track.is_sampled:
        return float(track.values[span.last if latest is None else latest])
    values = track.values[span.first : span.last + 1]
    return float(np.nanmean(values))


def _firing(track: Track, when: Threshold, walk: Walk, span: SampleSpan, anywhere: bool, unit: str) -> Crossing:
    latest = None if anywhere else walk.latest
    limit = limits(track, when)[span.last if latest is None else latest]
    until = moment(track, float(track.ends[span.last])) if anywhere else None
    since = moment(track, float(track.begins[span.first]))
    return Crossing(track.node, since, until, value_of(track, span, latest), float(limit), unit)


def _length(track: Track, span: SampleSpan) -> tuple[float, int]:
    time_s = float(track.ends[span.last] - track.begins[span.first])
    steps = int(track.steps_after[span.last] - track.steps_before[span.first])
    # Of equal ones the first.
    return (time_s if np.isfinite(time_s) else float(steps)), -span.first


def _badness(value: float | None, when: Threshold) -> float:
    """Smaller is worse: further beyond the threshold."""
    if value is None:
        return float("inf")
    return value if when.op.startswith("<") else -value


def _not_firing(
    rule: AlertRule, when: Threshold, tracked: Tracked, walked: Sequence[tuple[Track, Walk]], now: datetime | None
) -> RuleVerdict:
    newest = []
    for track, found in walked:
        if found.latest is not None:
            limit = float(limits(track, when)[found.latest])
            newest.append((track, found.latest, float(track.values[found.latest]), limit))
    if not newest:
        return RuleVerdict(rule, "no data", unit=tracked.unit, why=tracked.why_none or _why_unknown(when))
    track, _, value, limit = min(newest, key=lambda each: (_badness(each[2], when), natural_order(each[0].node or "")))
    if now is not None and MEASURES[when.metric].kind == "host":
        last = max(moment(track, float(track.ends[place])) or now for track, place, _, _ in newest)
        if now - last > _STALE:
            why = f"The newest figures for {MEASURES[when.metric].words} are from {last:%d %b, %H:%M} UTC."
            return RuleVerdict(rule, "no data", track.node, None, None, tracked.unit, limit, why=why)
    return RuleVerdict(rule, "ok", track.node, None, value, tracked.unit, limit)


def _why_unknown(when: Threshold) -> str:
    if when.relative:
        kind = MEASURES[when.metric].kind
        least = f"{LEAST_MINUTES} minutes" if kind == "host" else f"{LEAST_STEPS} steps"
        return f"There are fewer than {least} before it to compare with."
    return f"There is no moment at which the {when.metric} of all nodes is known."


@dataclass(frozen=True, slots=True)
class ConditionStretch:
    """One stretch; no node where the condition is of all of them together."""

    node: str | None
    start: datetime
    end: datetime


def stretches_of(report: Report, when: Threshold, now: datetime) -> tuple[ConditionStretch, ...]:
    """All stretches in which a condition held, node by node, in time; none of lines without a clock."""
    found = []
    for track in tracks_of(report, when, now).tracks:
        truth = holds(track.values, limits(track, when), when)
        for span in spans_of(track, truth, 1, when.lasting):
            start, end = moment(track, float(track.begins[span.first])), moment(track, float(track.ends[span.last]))
            if start is not None and end is not None:
                found.append(ConditionStretch(track.node, start, end))
    return tuple(found)


State = Literal["firing", "ok", "no data"]


@dataclass(frozen=True, slots=True)
class Crossing:
    """A node (or finding) that a rule fires for: at one look, from then on until it was over, or as a message tells of it."""

    node: str | None = None
    """None where it is of the whole job, or where nobody knows the node's name."""
    since: datetime | None = None
    """The condition holds since then; None where the lines carry no time."""
    until: datetime | None = None
    """It was over for certain; None while it lasts, or where no time is known."""
    value: float | None = None
    """The newest; of a condition that lasts its mean, and of an episode that by the moment when it fired."""
    limit: float | None = None
    """The number that ``value`` was compared with."""
    unit: str = ""
    finding: str = ""
    """The id, for a rule about findings."""
    summary: str = ""
    """The finding's sentence."""
    came_by: str = ""
    """How ``value`` was come by, where it is a step time that is not simply printed."""
    fired: datetime | None = None
    """It had lasted long enough."""

    @property
    def key(self) -> str:
        """What tells it from others of the same rule: the node, or the finding."""
        return self.finding or self.node or ""


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """A rule as of one moment."""

    rule: AlertRule
    state: State
    node: str | None = None
    """Where it fires, or comes nearest to firing."""
    since: datetime | None = None
    value: float | None = None
    """The newest that was judged; of a span in a job that is over, its mean."""
    unit: str = ""
    limit: float | None = None
    """The number that ``value`` is compared with."""
    firing: tuple[Crossing, ...] = ()
    """One for each node or finding, the worst first."""
    why: str = ""
    """Why there is no data; else empty."""
    summary: str = ""
    """The sentence of the finding that it fires for."""
    came_by: str = ""
    """How ``value`` was come by, in words, where it is a step time that is not simply printed."""

    @property
    def reason(self) -> str:
        """Why there is no data, or the finding's sentence."""
        return self.why or self.summary


def figure(value: float | None, metric: str, unit: str) -> str:
    """A value of a metric with its unit: ``31 %``, ``4.10 s``, ``12 min``, ``$4,880``, ``512 tokens/s``, ``2.31``."""
    if value is None:
        return ""
    kind = MEASURES[metric].kind
    if kind == "host":
        return percent(value)
    if kind == "cost":
        return usd(value)
    if kind == "silence":
        return duration(value)
    if metric == "step_time":
        return step_seconds(value)
    shown = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{shown}{f' {unit}' if unit else ''}"


def value_words(verdict: RuleVerdict) -> str:
    """The value of a verdict, and of a relative threshold what it is measured by."""
    when = verdict.rule.when
    if not isinstance(when, Threshold) or verdict.value is None:
        return ""
    said = figure(verdict.value, when.metric, verdict.unit)
    if when.relative and verdict.limit is not None and verdict.limit:
        usual = verdict.limit / when.value
        said += f" ({verdict.value / usual:.2f} x of {figure(usual, when.metric, verdict.unit)})" if usual else ""
    return said


def when_words(since: datetime | None, until: datetime | None) -> str:
    """``since 25 Sep, 14:05 UTC``, ``14:05 to 14:25 UTC, 25 Sep``."""
    if since is None:
        return ""
    day = f"{since.astimezone(UTC):%d %b}".lstrip("0")
    if until is None:
        return f"since {day}, {since.astimezone(UTC):%H:%M} UTC"
    same = since.astimezone(UTC).date() == until.astimezone(UTC).date()
    later = "" if same else f"{until.astimezone(UTC):%d %b}, ".lstrip("0")
    return f"{day}, {since.astimezone(UTC):%H:%M} to {later}{until.astimezone(UTC):%H:%M} UTC"


def findings_verdict(report: Report, rule: AlertRule, when: FindingCondition) -> RuleVerdict:
    """The verdict of ``finding ID`` or ``finding critical``."""
    said = [found for found in report.findings if when.subject in {found.id, found.severity}]
    if said:
        firing = tuple(of_finding(found) for found in said)
        first = firing[0]
        return RuleVerdict(rule, "firing", first.node, first.since, firing=firing, summary=said[0].summary)
    lacks = missing(report, when.subject)
    return RuleVerdict(rule, "no data", why=lacks) if lacks else RuleVerdict(rule, "ok")


def missing(report: Report, subject: str) -> str:
    """Why nothing can be said of a finding, or of a severity; empty where its silence means something."""
    if report.broken and (subject in SEVERITIES or subject in report.broken):
        return " ".join(gap.sentence for gap in report.faults if gap.what == "program")
    need = "logs" if subject in SEVERITIES else next((rule.needs for rule in rules() if rule.id == subject), "nothing")
    run = report.run
    if run.job.source == "aws" and run.job.started is None:
        return ""  # what has not begun does none of it
    if need == "metrics" and run.metrics.empty:
        return _because(report, "metrics", "This finding needs metrics, and there are none.")
    if need == "profiler" and run.gpus.empty:
        return _because(report, "profiler", "This finding needs the output of the job's profiler, and none was read.")
    if need == "steps" and run.steps.empty:
        return _because(report, "logs", "This finding needs steps, and none were seen.")
    if need == "logs" and not run.logs.lines:
        return _because(report, "logs", "This finding needs log lines, and there are none.")
    return ""


def _because(report: Report, what: str, sentence: str) -> str:
    gap = next((gap for gap in report.run.gaps if gap.what == what), None)
    return sentence if gap is None else f"{sentence} {gap.sentence}"


def of_finding(finding: Finding, fired: datetime | None = None) -> Crossing:
    """A finding that a rule fires for: since its first evidence, of the one node that it names."""
    since = next((evidence.start for evidence in finding.evidence if evidence.start is not None), None)
    nodes = {evidence.node for evidence in finding.evidence if evidence.node}
    node = nodes.pop() if len(nodes) == 1 else None
    return Crossing(node, since, finding=finding.id, summary=finding.summary, fired=fired)
