"""Which seconds of a job's wall time are billed?

By AWS's own words the time from TrainingStartTime to TrainingEndTime; not what a job waited for new instances after an
interruption. The sum that counts is TrainingTimeInSeconds (BillableTimeInSeconds / TrainingTimeInSeconds is a factor on the
price): where it is known and the status changes give another one, phases are cut until both agree.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from monitor.model import Job, Phase

_WAITING = frozenset({"pending", "starting", "interrupted"})
# TrainingTimeInSeconds is whole seconds.
_ROUNDING_S = 1.0


def billing_factor(job: Job) -> float:
    """BillableTimeInSeconds / TrainingTimeInSeconds (spot pays less); 1 where they are not known."""
    if job.billable_seconds is None or not job.training_seconds:
        return 1.0
    return job.billable_seconds / job.training_seconds


def billed_seconds(parts: Iterable[Phase]) -> float:
    """Of one instance."""
    return sum(part.seconds for part in parts if part.billed)


def with_billing(parts: Sequence[Phase], job: Job) -> list[Phase]:
    """The phases, cut where billing begins or ends, with ``billed`` set; still contiguous."""
    if job.started is None:
        return [replace(part, billed=False) for part in parts]
    edges = [job.started, *([job.ended] if job.ended else [])]
    flagged: list[Phase] = []
    away = worked = False
    for part in _cut(parts, edges):
        inside = part.start >= job.started and (job.ended is None or part.start < job.ended)
        # The first instances are billed from TrainingStartTime on, whatever the status says; new ones when they work.
        away = part.name == "interrupted" or (part.name in _WAITING and (away or worked))
        worked |= part.name not in _WAITING
        flagged.append(replace(part, billed=inside and not away and part.name != "pending"))
    if job.training_seconds is None:
        return flagged
    over_s = billed_seconds(flagged) - job.training_seconds
    if abs(over_s) < _ROUNDING_S:
        return flagged
    # Waiting first, what is nearest to the work last; then whatever came first.
    waits = [part for part in flagged if part.name in _WAITING]
    rest = [part for part in flagged if part.name not in _WAITING]
    return _flipped(flagged, [*waits, *rest] if over_s > 0 else [*reversed(waits), *reversed(rest)], over_s)


def _flipped(parts: Sequence[Phase], order: Sequence[Phase], over_s: float) -> list[Phase]:
    """With so much of the phases, in this order, billed or not that the sum changes by ``-over_s``."""
    left = timedelta(seconds=abs(over_s))
    changed: dict[Phase, list[Phase]] = {}
    for part in order:
        if left <= timedelta(0):
            break
        if part.billed != (over_s > 0):
            continue
        took = min(left, part.end - part.start)
        left -= took
        # Billing begins later than told, or earlier.
        middle = part.start + took if over_s > 0 else part.end - took
        changed[part] = [
            Phase(part.name, part.start, middle, False),
            Phase(part.name, middle, part.end, True),
        ]
    out = [piece for part in parts for piece in changed.get(part, [part])]
    return [piece for piece in out if piece.end > piece.start]


def _cut(parts: Iterable[Phase], edges: Sequence[datetime]) -> Iterable[Phase]:
    for part in parts:
        marks = [part.start, *sorted(edge for edge in edges if part.start < edge < part.end), part.end]
        yield from (replace(part, start=a, end=b) for a, b in itertools.pairwise(marks))
