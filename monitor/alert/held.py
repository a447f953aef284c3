"""Where, and from when to when, did a condition hold for as long as it asks? For drawing: all of a job, not its end alone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from monitor.alert.conditions import Threshold
from monitor.alert.evaluate import moment, tracks_of
from monitor.alert.track import holds, limits, spans_of
from monitor.model import Report


@dataclass(frozen=True, slots=True)
class Held:
    """One stretch; no node where the condition is of all of them together."""

    node: str | None
    start: datetime
    end: datetime


def held(report: Report, when: Threshold, now: datetime) -> tuple[Held, ...]:
    """All stretches in which a condition held, node by node, in time; none of lines without a clock."""
    found = []
    for track in tracks_of(report, when, now).tracks:
        truth = holds(track.values, limits(track, when), when)
        for span in spans_of(track, truth, 1, when.lasting):
            start, end = moment(track, float(track.begins[span.first])), moment(track, float(track.ends[span.last]))
            if start is not None and end is not None:
                found.append(Held(track.node, start, end))
    return tuple(found)
