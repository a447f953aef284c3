"""When did a rule fire, and when was it over? The same walk over time for a job that is watched and for one of the past.

A rule that fires goes on until its condition was false, without a gap, for as long as it had to be true (ten minutes or
twenty steps at most, three minutes or five steps where nothing is said): a value that wavers around a threshold is one
alert. For some time after that it says nothing again; what still holds then is said then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from monitor.alert.conditions import Lasting, Threshold
from monitor.alert.evaluate import moment, tracks_of
from monitor.alert.measures import MEASURES
from monitor.alert.track import Span, Track, holds, limits, spans_of
from monitor.analyze.utilization import LEFT_OUT_AT_END
from monitor.model import Report

COOL_DOWN_S = 600.0
_CLEARS_AFTER_S, _CLEARS_AFTER_STEPS = 600.0, 20
_CLEARS_BY_ITSELF = {"step": Lasting(5, "steps")}


@dataclass(frozen=True, slots=True)
class Episode:
    """From the moment at which a rule fired for a node until it was over."""

    node: str | None
    since: datetime | None
    """The condition holds since then; None where lines carry no time."""
    fired: datetime | None
    """It had lasted long enough."""
    cleared: datetime | None
    """It was over for certain; None while it is not."""
    value: float | None
    """When it fired; of a condition that lasts its mean by then."""
    limit: float | None
    unit: str = ""
    finding: str = ""
    summary: str = ""

    @property
    def key(self) -> str:
        """What tells it from others of the same rule: the node, or the finding."""
        return self.finding or self.node or ""


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


def episodes(report: Report, when: Threshold, now: datetime, cool_down_s: float = COOL_DOWN_S) -> tuple[Episode, ...]:
    """All that a rule says of a job up to ``now``, node by node, in time."""
    return tuple(each for mine in by_key(report, when, now, cool_down_s).values() for each in mine)


def by_key(
    report: Report, when: Threshold, now: datetime, cool_down_s: float = COOL_DOWN_S
) -> dict[str, tuple[Episode, ...]]:
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


def _pairs(track: Track, when: Threshold, cool_down_s: float) -> Iterator[tuple[Span, float, float | None]]:
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


def _lasted(track: Track, span: Span, lasting: Lasting | None) -> float:
    """When a span had lasted long enough: of samples with the end of one of them, else to the second."""
    if track.is_sampled:
        return float(track.ends[span.done])
    asked_s = 0.0 if lasting is None or lasting.seconds is None else lasting.seconds
    return float(track.begins[span.first]) + asked_s


def _episode(track: Track, when: Threshold, span: Span, at: float, over: float | None, unit: str) -> Episode:
    values = track.values[span.first : span.done + 1]
    if track.rates is not None:
        value = float(track.values[span.done] - track.rates[span.done] * (track.ends[span.done] - at))
    else:
        value = float(values[-1] if when.lasting is None else values[values == values].mean())
    return Episode(
        track.node,
        moment(track, float(track.begins[span.first])),
        moment(track, at),
        None if over is None else moment(track, over),
        value,
        float(limits(track, when)[span.done]),
        unit,
    )
