"""All log lines of a job in CloudWatch Logs, each once, as fast as the quota allows: its backlog, its newest events, what is
new, and window after window.

A backlog is read stream by stream, page by page, from each one's end to its head or on from where it was left, many side by
side. The newest events of all streams come together, by a few calls whatever the number of streams; so does what is new, with
the last minutes again for what came late. Windows go back in time over all streams together: for users who may filter log
events but not read, or not even list, streams.

What is read next is a strategy's to say (``strategies``): the newest events of all streams together; everything older,
stream by stream; of a running job what came since, and the last minutes again for what came late; and where streams must
not be read, windows of all of them. Which of the events were handed out before is one record (``position``), and all of
them come from one reader of events (``events``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace

from monitor.aws.answers import LogEvent
from monitor.aws.calls import begin
from monitor.aws.clients import Clients
from monitor.errors import BadCall, NoCredentials, NoData, NotAllowed, TrainwatchError, Unreachable
from monitor.fetch.logs.events import EventPage, JobEvents, Scan, stream_names, stream_order
from monitor.fetch.logs.position import (
    LATEST_MS,
    RecentEvents,
    SeenEvents,
    StreamPage,
    StreamPosition,
    Trouble,
    backward_page,
    next_page,
    no_lines,
    progress,
)
from monitor.fetch.source import gap_of
from monitor.model import Gap, Job, LoadProgress, LogPage

#: Calls under way at a time: at 25 a second, an answer may take half a second before it holds the others up.
SIDE_BY_SIDE = 16
# Where pages come faster than they are taken, so many of them wait in memory, some megabytes each.
_WAITING = 4
_TRIES = 2
# What another try does not mend.
_FINAL = (NotAllowed, NoData, BadCall)


def backlog_pages(
    events: JobEvents, positions: Iterable[StreamPosition], until_ms: float, with_events: bool = True
) -> Iterator[tuple[str, StreamPage | TrainwatchError]]:
    """(stream, its next page or why there is no more of it for now), until all streams are done.

    Of streams read from their end, the one with the newest unread lines is next. Trouble that may pass is given after a
    second try, when the other streams are done. Events are left out unless asked for. NoCredentials is raised.
    """

    def one(position: StreamPosition) -> StreamPage:
        page = next_page(events, position, until_ms)
        return page if with_events else replace(page, events=())

    waiting = {position.stream: position for position in positions}
    again: dict[str, StreamPosition] = {}
    failures: dict[str, int] = {}
    running: dict[Future[StreamPage], StreamPosition] = {}
    unreachable = 0
    while waiting or running or again:
        if not waiting and not running:
            waiting, again = again, waiting
        ready = [future for future in running if future.done()]
        while waiting and len(running) < SIDE_BY_SIDE and len(ready) < _WAITING:
            position = waiting.pop(min(waiting, key=lambda stream: _urgency(waiting[stream])))
            running[begin(one, position)] = position
            ready = [future for future in running if future.done()]
        done = ready[0] if ready else wait(running, return_when=FIRST_COMPLETED).done.pop()
        position = running.pop(done)
        try:
            page = done.result()
        except NoCredentials:
            raise
        except TrainwatchError as error:
            failures[position.stream] = failures.get(position.stream, 0) + 1
            unreachable = unreachable + 1 if isinstance(error, Unreachable) else 0
            if unreachable >= SIDE_BY_SIDE:
                # The network is gone: a hundred streams need not each find that out.
                for stream in {position.stream, *waiting, *again, *(left.stream for left in running.values())}:
                    yield stream, error
                return
            if isinstance(error, _FINAL) or failures[position.stream] >= _TRIES:
                yield position.stream, error
            else:
                again[position.stream] = position
            continue
        unreachable = 0
        if not page.position.done:
            waiting[position.stream] = page.position
        del done, ready
        yield position.stream, page


def _urgency(position: StreamPosition) -> tuple[float, tuple[int, int, str]]:
    unread_ms = position.edge_ms if position.backward and position.edge_ms is not None else float("inf")
    return (-unread_ms, stream_order(position.stream))


# The last seconds, or where these hold little, the last minutes. A page holds so many ordinary events.
_NEWEST_MS, _WIDER_MS, _CALLS = 15_000, 300_000, 4
_FEW_EVENTS, _FEW_OF_A_STREAM, _SURE_OF_A_CALL = 300, 40, 5000


@dataclass(frozen=True, slots=True)
class LogTail:
    """What was written since ``from_ms``, as far as the calls lasted; with a token the newest of it is still to be read."""

    from_ms: int
    page: EventPage

    @property
    def is_empty(self) -> bool:
        return not self.page.events and self.page.token is None


def newest_events(events: JobEvents, end_ms: int, stream_count: int) -> LogTail:
    """The last events before ``end_ms``. Errors of ``monitor.errors``."""
    from_ms = end_ms - _NEWEST_MS
    page = events.first_in_time(from_ms, calls=_CALLS)
    wanted, left = max(_FEW_EVENTS, _FEW_OF_A_STREAM * stream_count), _CALLS - page.calls
    if page.token is None and len(page.events) < wanted and left:
        times = min(4 * wanted, left * _SURE_OF_A_CALL) / max(1, len(page.events))
        from_ms = end_ms - min(_WIDER_MS, round(_NEWEST_MS * times))
        page = events.first_in_time(from_ms, calls=left)
    return LogTail(from_ms, page)


# What two calls can hold is asked for again each time; where that does not reach back as far as a line may be late, the
# very newest of it, and time by time what has settled since.
_AGAIN_BYTES = 1_900_000
_NEWEST_BYTES = 300_000
_SETTLE_MS = 90_000


class Updates:
    """Which spans of time to scan for what came since the last scans."""

    def __init__(self) -> None:
        self.complete_ms = 0
        """Up to here the scans of what is new were whole."""
        self._checked_ms = 0
        """Up to here what settled was asked for again."""

    def scans(self, recent: RecentEvents) -> Iterator[Scan]:
        """One, or two where too much is written. Each must be read, and what it gave remembered, before the next is asked for."""
        newest_ms = recent.newest_ms
        scan = Scan(self._new_from_ms(recent))
        yield scan
        if not scan.is_done or scan.from_ms <= recent.from_ms:
            return
        self.complete_ms = recent.newest_ms
        if late := self._late(recent, is_growing=recent.newest_ms > newest_ms):
            yield late

    def _new_from_ms(self, recent: RecentEvents) -> int:
        """All that is remembered, where two calls can hold it."""
        begin_ms = recent.since(_AGAIN_BYTES)
        if begin_ms <= recent.from_ms:
            return begin_ms
        return min(recent.since(_NEWEST_BYTES), max(self.complete_ms, recent.from_ms))

    def _late(self, recent: RecentEvents, is_growing: bool) -> Scan | None:
        """The next part of what has settled."""
        settled_ms = recent.newest_ms - (_SETTLE_MS if is_growing else 0)
        from_ms = max(self._checked_ms, recent.from_ms)
        self._checked_ms = to_ms = max(from_ms, min(recent.until(from_ms, _AGAIN_BYTES), settled_ms))
        return Scan(from_ms, to_ms) if to_ms > from_ms else None


#: What another clock may be ahead of this one.
AHEAD_MS = 300_000
_FIRST_MS = 300_000
# A window is in memory while it is read.
_FEW_OF_A_WINDOW, _MANY_EVENTS = 10_000, 100_000


@dataclass(frozen=True, slots=True)
class EventWindow:
    """All events in [from_ms, to_ms), by stream, each in ascending time."""

    from_ms: int
    to_ms: int
    events: dict[str, list[LogEvent]]

    def page(self, position: StreamPosition) -> StreamPage:
        """The events of one stream, as if it had been read from its end."""
        return backward_page(position, EventPage(self.events[position.stream], None), done=False)


def windows(events: JobEvents, from_ms: int, to_ms: int) -> Iterator[EventWindow]:
    """The span in windows, the newest first; wider where little was written. Errors of ``monitor.errors``."""
    span_ms = _FIRST_MS
    while to_ms > from_ms:
        begin_ms = max(from_ms, to_ms - span_ms)
        by_stream: dict[str, list[LogEvent]] = {}
        for page in Scan(begin_ms, to_ms).pages(events):
            for stream, some in page.by_stream().items():
                by_stream.setdefault(stream, []).extend(some)
        yield EventWindow(begin_ms, to_ms, by_stream)
        count, to_ms = sum(map(len, by_stream.values())), begin_ms
        if count < _FEW_OF_A_WINDOW:
            span_ms *= 2
        elif count > _MANY_EVENTS:
            span_ms = max(1000, span_ms // 2)


# How long after they are written lines can be asked for.
_LAG_MS = 3_000
# A finished job is looked at again only for a while: its last lines may come after its end.
_SETTLED_S = 3600.0


class JobLogs:
    """The LogReader of one job in CloudWatch.

    Pages of one stream come in order (or in reverse order, after ``newest``), streams come mixed; streams that appear
    later are read, too. An abandoned ``read`` loses nothing: what was not handed out is read again. Late lines are read as
    long as they are no later than what can be asked for again: some minutes, or some pages where lines come fast.
    NoCredentials is raised; all other trouble is a gap. ``clock`` gives Unix seconds.
    """

    def __init__(self, clients: Clients, job: Job, clock: Callable[[], float] = time.time) -> None:
        self._job = job
        self._clock = clock
        self._events = JobEvents(clients, job.name)
        self._is_settled = job.ended is not None and clock() - job.ended.timestamp() > _SETTLED_S
        self._seen = SeenEvents(keeps_recent=not self._is_settled)
        self._trouble = Trouble(job)
        self._updates = Updates()
        self._started_s = 0.0
        self._is_loaded = False
        """All that was there at first is read."""
        self._open_scan: Scan | None = None
        """It was left before its end."""
        self._unread_before_ms: int | None = None
        """Where streams cannot be listed: down to here their events were filtered."""

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """What the last ``read`` could not have."""
        return self._trouble.gaps(len(self._seen.positions))

    @property
    def numbering(self) -> dict[str, int | None]:
        """stream -> the number that its first line was given; None as long as its head was not read."""
        return self._seen.numbering

    @property
    def progress(self) -> LoadProgress | None:
        """How much of what was written before the first reading is read; None when all of it is."""
        if self._is_loaded:
            return None
        return progress(self._job, self._seen.positions, self._end_ms(), self._started_s)

    def newest(self) -> Iterator[LogPage]:
        """The last lines of all streams, after a fixed few calls; ``read`` then gives the rest, newest first.

        Nothing where log events cannot be filtered: ``read`` gives all then.
        """
        self._started_s = time.monotonic()
        self._list_streams()
        if not self._seen.positions and not self._trouble.no_listing:
            return
        end_ms = int(self._end_ms())
        try:
            tail = newest_events(self._events, end_ms, len(self._seen.positions))
        except NoCredentials:
            raise
        except TrainwatchError as error:
            self._trouble.no_filtering = error if isinstance(error, NotAllowed) else None
            return
        if tail.is_empty:
            # Nothing lately, or this machine's clock is ahead of what the hosts wrote: no time divides the reading.
            self._seen.read_backward()
            return
        by_stream = tail.page.by_stream()
        self._seen.divide(tail.from_ms, by_stream, remembered_ms=min(tail.from_ms, end_ms - LATEST_MS))
        self._open_scan = scan = Scan(tail.from_ms, token=tail.page.token, is_between_calls=False)
        for stream, events in by_stream.items():
            if lines := self._seen.take_new(stream, events, scan.counts):
                yield lines
        scan.is_between_calls = True
        if scan.token is None:
            self._end_scan()

    def read(self) -> Iterator[LogPage]:
        """Pages that were not returned before, up to what is written by now."""
        self._trouble.streams = {}
        self._started_s = self._started_s or time.monotonic()
        if not self._seen.positions or self._trouble.no_filtering is not None:
            self._list_streams()
        if self._open_scan is not None:
            yield from self._scan(self._open_scan)
        # Without the right to filter, each stream is read on by itself.
        one_by_one = self._is_loaded and self._trouble.no_filtering is not None and not self._is_settled
        positions = self._seen.positions.values()
        yield from self._backlog([position for position in positions if one_by_one or not position.done])
        yield from self._windows(self._trouble.denied_streams())
        recent = self._seen.recent
        if not self._is_loaded:
            if recent is not None:
                self._updates.complete_ms = recent.newest_ms - self._reading_ms()
        elif recent is not None and self._trouble.no_filtering is None and self._open_scan is None:
            for scan in self._updates.scans(recent):
                yield from self._scan(scan)
        self._is_loaded = bool(self._seen.positions)

    def _backlog(self, positions: list[StreamPosition]) -> Iterator[LogPage]:
        # A busy stream grows while it is read: what is written from now on is for the next time.
        until_ms = self._clock() * 1000
        for stream, page in backlog_pages(self._events, positions, until_ms, self._seen.recent is not None):
            if isinstance(page, TrainwatchError):
                self._trouble.streams[stream] = page
                continue
            lines = self._seen.take_page(page)
            self._forget_some()
            if lines:
                yield lines

    def _scan(self, scan: Scan) -> Iterator[LogPage]:
        """What a span of time holds that is new; a stream that is new is read from its head."""
        self._open_scan = scan
        positions = self._seen.positions
        try:
            for page in scan.pages(self._events):
                by_stream = page.by_stream()
                unknown = [stream for stream in by_stream if stream not in positions]
                self._seen.add_streams(unknown)
                yield from self._backlog([positions[stream] for stream in unknown])
                for stream, events in by_stream.items():
                    if lines := self._seen.take_new(stream, events, scan.counts):
                        yield lines
        except NoCredentials:
            raise
        except TrainwatchError as error:
            self._trouble.streams = dict.fromkeys(positions, error)
            if isinstance(error, NotAllowed) and not any(position.backward for position in positions.values()):
                self._trouble.no_filtering = error
                self._open_scan = None
            return
        self._end_scan()

    def _end_scan(self) -> None:
        self._open_scan = None
        self._seen.scan_ended(self._is_loaded)

    def _windows(self, denied: set[str]) -> Iterator[LogPage]:
        """Streams that must not be read, or not even be listed, by filtering."""
        positions, trouble = self._seen.positions, self._trouble
        unread = {stream for stream in denied if positions[stream].backward or not positions[stream].lines}
        if trouble.no_filtering is not None or not (unread or trouble.no_listing):
            return
        from_ms, to_ms = self._unread_span(unread)
        try:
            for window in windows(self._events, from_ms, to_ms):
                for stream in window.events:
                    position = positions.get(stream) or StreamPosition(stream, backward=True, before_ms=window.to_ms)
                    if position.done or not position.backward or not (trouble.no_listing or stream in unread):
                        continue
                    page = window.page(position)
                    behind = replace(page.position, before_ms=window.from_ms)
                    if lines := self._seen.take_page(replace(page, position=behind)):
                        yield lines
                self._unread_before_ms = window.from_ms
                self._forget_some()
        except NoCredentials:
            raise
        except TrainwatchError as error:
            if isinstance(error, NotAllowed):
                trouble.no_filtering = error
            return
        for stream in set(positions) if trouble.no_listing else unread:
            positions[stream] = replace(positions[stream], done=True)
            if isinstance(denial := trouble.streams.pop(stream, None), NotAllowed):
                trouble.way_around = denial
        if trouble.no_listing and not positions:
            self._unread_before_ms = None
        elif trouble.no_listing:
            trouble.way_around, trouble.no_list = trouble.no_listing, None

    def _unread_span(self, unread: set[str]) -> tuple[int, int]:
        """From the job's begin to where its streams, or the ``unread`` ones, were read so far."""
        positions = self._seen.positions
        now_ms = int(self._clock() * 1000) + AHEAD_MS
        to_ms = 0
        if self._trouble.no_listing:
            to_ms = now_ms if self._unread_before_ms is None else self._unread_before_ms
        for stream in unread:
            if not positions[stream].backward:
                positions[stream] = StreamPosition(stream, backward=True, before_ms=now_ms)
            to_ms = max(to_ms, positions[stream].before_ms or 0)
        begun = self._job.created or self._job.started
        return int(begun.timestamp() * 1000) - AHEAD_MS if begun else 0, to_ms

    def _forget_some(self) -> None:
        # Streams end at different moments: what came since the first of them did is still to be asked for.
        if self._seen.recent and self._open_scan is None:
            self._seen.recent.forget(self._reading_ms())

    def _reading_ms(self) -> int:
        """How long ago the reading of what is not new was begun."""
        return int(_LAG_MS + (time.monotonic() - self._started_s) * 1000)

    def _end_ms(self) -> float:
        now_s = self._clock()
        return 1000 * (now_s if self._job.ended is None else min(now_s, self._job.ended.timestamp()))

    def _list_streams(self) -> None:
        """Adds the streams that are new."""
        self._trouble.no_listing = None
        try:
            self._seen.add_streams(stream_names(self._events.clients, self._job.name))
        except NoCredentials:
            raise
        except NoData:
            # The group is made with the first line that any job of the region writes.
            pass
        except TrainwatchError as error:
            if isinstance(error, NotAllowed) and not self._seen.positions:
                self._trouble.no_listing = error
            self._trouble.no_list = gap_of("logs", error)
            return
        self._trouble.no_list = None if self._seen.positions else no_lines(self._job)
