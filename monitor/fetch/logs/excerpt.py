"""Which lines are in a job's log around a moment, before one, after one, or at its end? A bounded number of calls.

FilterLogEvents gives all streams together in time, from a beginning on: so lines after a moment take a call or two,
whatever the number of nodes. Lines before one are read in windows that grow backwards while little is found, and
shrink where the first answers show that there is too much.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from datetime import datetime

from monitor.aws.clients import Clients
from monitor.errors import NoData
from monitor.fetch.logs.events import Event, JobEvents, lines_of_message
from monitor.model import Gap, Job, LogAsk, LogLine, LogSpan

#: Lines of one span at most, and the calls that one may take.
MOST_LINES = 10_000
MOST_CALLS = 12
# So many lines are enough where they are looked for backwards, and before a moment of which the rest comes after.
_ENOUGH = 2000
_CONTEXT = 200
_FIRST_MS = 15_000
_WIDER, _MUCH_WIDER = 4, 8
# What another clock may be ahead of this one, and how late a job's last lines may come.
_AHEAD_MS = 300_000
#: So far back a look at what is new begins again: lines come late.
LATE_MS = 30_000
# Launchers whose processes all write into the stream of one node.
_IN_ONE_STREAM = frozenset({"mpi", "smddp"})


def read_span(clients: Clients, job: Job, ask: LogAsk, before: LogSpan | None = None) -> LogSpan:
    """The lines that were asked for. Errors of ``monitor.errors``; a job without lines is an empty span."""
    # All processes' words stand in one stream there: whose they are is told line by line.
    node = None if job.launcher in _IN_ONE_STREAM else ask.node
    reading = _Reading(JobEvents(clients, job.name), job, node)
    try:
        if before is not None and before.lines and not before.newer:
            return reading.go_on(before, ask)
        return reading.asked(ask)
    except NoData:
        # The log group is made with the first line that any job of the region writes.
        return LogSpan((), reading.low_ms, reading.high_ms, older=False, newer=False)


@dataclass(slots=True)
class _Stretch:
    """Events from a moment on, and how far they are whole."""

    events: list[Event]
    whole_ms: int
    """All events before this time are there."""
    done: bool
    """It reaches to the end that was asked for."""


@dataclass(slots=True)
class _Reading:
    """One answer in the making."""

    source: JobEvents
    job: Job
    node: str | None
    calls: int = 0
    low_ms: int = field(init=False)
    high_ms: int = field(init=False)

    def __post_init__(self) -> None:
        begun = self.job.created or self.job.started
        self.low_ms = _ms(begun) - _AHEAD_MS if begun else 0
        now_ms = int(time.time() * 1000)
        ended_ms = now_ms if self.job.ended is None else min(now_ms, _ms(self.job.ended))
        self.high_ms = ended_ms + _AHEAD_MS

    def asked(self, ask: LogAsk) -> LogSpan:
        end_ms = self.high_ms if ask.end is None else min(_ms(ask.end), self.high_ms)
        if ask.at is not None:
            at_ms = min(max(_ms(ask.at), self.low_ms), self.high_ms)
            older = self._backward(at_ms, _CONTEXT, _FIRST_MS, MOST_CALLS // 3)
            newer = self._forward(at_ms, self.high_ms, MOST_LINES - len(older.lines), MOST_CALLS - self.calls)
            found = self._span(newer, at_ms)
            if older.to_ms < at_ms:
                # There is a hole between the two: what stands before the moment is for another look.
                return found
            return replace(found, lines=older.lines + found.lines, from_ms=older.from_ms, older=older.older)
        if ask.start is not None:
            start_ms = max(_ms(ask.start), self.low_ms)
            found = self._span(self._forward(start_ms, max(end_ms, start_ms), MOST_LINES, MOST_CALLS), start_ms)
            return replace(found, older=start_ms > self.low_ms, newer=found.newer or end_ms < self.high_ms)
        if ask.end is not None:
            found = self._backward(end_ms, _ENOUGH, _FIRST_MS, MOST_CALLS)
            return replace(found, newer=end_ms < self.high_ms)
        return self._backward(self.high_ms, _ENOUGH, _FIRST_MS + _AHEAD_MS, MOST_CALLS)

    def go_on(self, before: LogSpan, ask: LogAsk) -> LogSpan:
        """The last answer with what was written since; what may have come late is read again."""
        from_ms = max(before.from_ms, before.lines[-1].time_ms - LATE_MS)
        fresh = self._forward(from_ms, self.high_ms, MOST_LINES, MOST_CALLS // 3)
        if not fresh.done:
            # More than can be followed line by line: the newest alone, from here on.
            return _Reading(self.source, self.job, self.node).asked(ask)
        kept = tuple(line for line in before.lines if line.time_ms < from_ms)
        lines = kept + _lines(fresh.events)
        if not ask.is_newest and len(lines) > MOST_LINES:
            # A stretch that begins somewhere keeps its beginning.
            last_ms = lines[MOST_LINES].time_ms
            lines = tuple(line for line in lines[:MOST_LINES] if line.time_ms < last_ms)
            return replace(before, lines=lines, to_ms=last_ms, newer=True)
        lines, first_ms = _last(lines, before.from_ms)
        older = before.older or first_ms > before.from_ms
        return LogSpan(lines, first_ms, self.high_ms, older, newer=False)

    def _forward(self, from_ms: int, to_ms: int, most: int, calls: int) -> _Stretch:
        page = self.source.first_in_time(from_ms, to_ms, calls=calls, enough=most, node=self.node)
        self.calls += page.calls
        events = page.events
        if page.token is None and len(events) <= most:
            return _Stretch(events, to_ms, done=True)
        events = events[:most]
        last_ms = events[-1]["timestamp"] if events else from_ms
        # Lines of the last millisecond may be missing; where there is no other, they are what there is.
        whole = [event for event in events if event["timestamp"] < last_ms] or events
        return _Stretch(whole, last_ms if len(whole) < len(events) else last_ms + 1, done=False)

    def _span(self, found: _Stretch, from_ms: int) -> LogSpan:
        gap = None
        if not found.events and not found.done:
            gap = _too_slow("from here on", self.calls)
        return LogSpan(_lines(found.events), from_ms, found.whole_ms, newer=not found.done, gap=gap)

    def _backward(self, to_ms: int, enough: int, first_ms: int, calls: int) -> LogSpan:
        """At least ``enough`` lines before a moment, as far as there are so many and the calls last."""
        allowed = self.calls + calls
        events: list[Event] = []
        end_ms, span_ms = to_ms, first_ms
        partly: _Stretch | None = None
        begin_ms = to_ms
        while end_ms > self.low_ms and len(events) < enough and self.calls < allowed:
            begin_ms = max(self.low_ms, end_ms - span_ms)
            found = self._forward(begin_ms, end_ms, MOST_LINES, min(4, allowed - self.calls))
            if found.done:
                events = found.events + events
                end_ms, partly = begin_ms, None
                span_ms *= _MUCH_WIDER if len(events) < enough / 16 else _WIDER
                continue
            partly = found
            if events:
                break
            # What was seen of it tells how much time holds enough.
            seen_ms = max(1, found.whole_ms - begin_ms)
            span_ms = max(1, min(span_ms // _WIDER, seen_ms * enough // max(1, len(found.events))))
        if not events and partly is not None:
            # Too much, too fast: the stretch that could be read, and not the lines right before the moment.
            return LogSpan(
                _lines(partly.events),
                begin_ms,
                partly.whole_ms,
                gap=_too_slow("before here", self.calls),
            )
        lines, first_ms = _last(_lines(events), end_ms)
        older = first_ms > self.low_ms
        gap = None if lines or not older else _too_slow("before here", self.calls)
        return LogSpan(lines, first_ms, to_ms, older, newer=False, gap=gap)


def _lines(events: list[Event]) -> tuple[LogLine, ...]:
    out = []
    for event in sorted(events, key=lambda event: event["timestamp"]):
        parts = lines_of_message(event.get("message", ""))
        out += [LogLine(event["logStreamName"], event["timestamp"], part) for part in parts]
    return tuple(out)


def _last(lines: tuple[LogLine, ...], from_ms: int) -> tuple[tuple[LogLine, ...], int]:
    """(the newest lines, the time from which they are all there)."""
    if len(lines) <= MOST_LINES:
        return lines, from_ms
    kept = lines[-MOST_LINES:]
    first_ms = kept[0].time_ms
    whole = tuple(line for line in kept if line.time_ms > first_ms)
    return (whole, first_ms + 1) if whole else (kept, first_ms)


def _too_slow(where: str, calls: int) -> Gap:
    return Gap(
        "logs",
        f"CloudWatch returned too few of the lines {where} in {calls} calls.",
        "Choose a single node, or another time.",
        transient=True,
    )


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
