"""When would a finding have been reported? The rules are run again as of past moments, more closely where one appears."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise

from monitor.alert.as_of import as_of
from monitor.alert.conditions import Found
from monitor.alert.history import Episode
from monitor.diagnose.findings import diagnose
from monitor.model import Finding, Price, Report

# As many moments as this, and no two nearer than a minute.
_MOMENTS = 24
_CLOSEST = timedelta(minutes=1)

Said = Mapping[str, Finding]


@dataclass(frozen=True, slots=True)
class Replay:
    """What was said at each of some moments, in time; the last one is the end of the job (or now)."""

    moments: tuple[tuple[datetime, Said], ...] = ()


def replay(report: Report, now: datetime, progress: Callable[[float], None] = lambda share: None) -> Replay:
    """Asks all rules again, as of moments from the start of the training on."""
    job = report.job
    end = job.ended or now
    final: Said = {found.id: found for found in report.findings}
    steps = report.run.steps["timestamp"]
    if job.started is None or end <= job.started or (len(steps) and steps.isna().all()):
        return Replay(((end, final),))  # without times nobody knows what was when
    price = None
    if report.cost.price_usd_per_instance_hour is not None:
        price = Price(report.cost.price_usd_per_instance_hour, report.cost.price_source or "")

    def said(at: datetime) -> Said:
        return {found.id: found for found in diagnose(as_of(report.run, at), at, price)}

    count = max(1, min(_MOMENTS, int((end - job.started) / _CLOSEST)))
    seen: list[tuple[datetime, Said]] = [(job.started, {})]
    for place in range(1, count):
        at = job.started + (end - job.started) * place / count
        seen.append((at, said(at)))
        progress(place / count)
    seen.append((end, final))
    closer = [_first_said(before, after, said) for before, after in pairwise(seen)]
    return Replay(tuple(sorted([*seen[1:], *(found for part in closer for found in part)], key=lambda each: each[0])))


def _first_said(
    before: tuple[datetime, Said], after: tuple[datetime, Said], said: Callable[[datetime], Said]
) -> list[tuple[datetime, Said]]:
    """Moments in between that bring a new finding that asks for action nearer than to a minute."""
    found = []
    while after[0] - before[0] > _CLOSEST and _loud(after[1]) - _loud(before[1]):
        middle = before[0] + (after[0] - before[0]) / 2
        looked = (middle, said(middle))
        found.append(looked)
        if _loud(looked[1]) - _loud(before[1]):
            after = looked
        else:
            before = looked
    return found


def _loud(said: Said) -> set[str]:
    return {id for id, found in said.items() if found.severity != "info"}


def finding_episodes(replayed: Replay, when: Found) -> tuple[Episode, ...]:
    """One for each time that a finding was said and not yet before; one that stays away for two moments is over."""
    opened: dict[str, Episode] = {}
    absent: dict[str, datetime] = {}
    out: list[Episode] = []
    for at, said in replayed.moments:
        asked = {id: found for id, found in said.items() if when.subject in {id, found.severity}}
        for id, found in asked.items():
            absent.pop(id, None)
            if id not in opened:
                opened[id] = _episode(found, at)
        for id in [id for id in opened if id not in asked]:
            if id in absent:
                out.append(replace(opened.pop(id), cleared=absent.pop(id)))
            else:
                absent[id] = at
    return tuple(sorted([*out, *opened.values()], key=lambda each: (each.fired is None, each.fired, each.finding)))


def _episode(found: Finding, at: datetime) -> Episode:
    since = next((evidence.start for evidence in found.evidence if evidence.start is not None), None)
    nodes = {evidence.node for evidence in found.evidence if evidence.node}
    node = nodes.pop() if len(nodes) == 1 else None
    return Episode(node, since, at, None, None, None, "", found.id, found.summary)
