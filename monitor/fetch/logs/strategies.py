"""The strategies by which a job's log is read: its backlog, its newest events, what is new, and window after window.

A backlog is read stream by stream, page by page, from each one's end to its head or on from where it was left, many side by
side. The newest events of all streams come together, by a few calls whatever the number of streams; so does what is new, with
the last minutes again for what came late. Windows go back in time over all streams together: for users who may filter log
events but not read, or not even list, streams.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace

from monitor.errors import BadCall, NoCredentials, NoData, NotAllowed, TrainwatchError, Unreachable
from monitor.fetch.background import begin
from monitor.fetch.logs.events import Event, EventPage, JobEvents, Scan
from monitor.fetch.logs.position import RecentEvents, StreamPage, StreamPosition, backward_page, next_page
from monitor.fetch.logs.streams import stream_order

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
class Tail:
    """What was written since ``from_ms``, as far as the calls lasted; with a token the newest of it is still to be read."""

    from_ms: int
    page: EventPage

    @property
    def is_empty(self) -> bool:
        return not self.page.events and self.page.token is None


def newest_events(events: JobEvents, end_ms: int, stream_count: int) -> Tail:
    """The last events before ``end_ms``. Errors of ``monitor.errors``."""
    from_ms = end_ms - _NEWEST_MS
    page = events.first_in_time(from_ms, calls=_CALLS)
    wanted, left = max(_FEW_EVENTS, _FEW_OF_A_STREAM * stream_count), _CALLS - page.calls
    if page.token is None and len(page.events) < wanted and left:
        times = min(4 * wanted, left * _SURE_OF_A_CALL) / max(1, len(page.events))
        from_ms = end_ms - min(_WIDER_MS, round(_NEWEST_MS * times))
        page = events.first_in_time(from_ms, calls=left)
    return Tail(from_ms, page)


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
class Window:
    """All events in [from_ms, to_ms), by stream, each in ascending time."""

    from_ms: int
    to_ms: int
    events: dict[str, list[Event]]

    def page(self, position: StreamPosition) -> StreamPage:
        """The events of one stream, as if it had been read from its end."""
        return backward_page(position, EventPage(self.events[position.stream], None), done=False)


def windows(events: JobEvents, from_ms: int, to_ms: int) -> Iterator[Window]:
    """The span in windows, the newest first; wider where little was written. Errors of ``monitor.errors``."""
    span_ms = _FIRST_MS
    while to_ms > from_ms:
        begin_ms = max(from_ms, to_ms - span_ms)
        by_stream: dict[str, list[Event]] = {}
        for page in Scan(begin_ms, to_ms).pages(events):
            for stream, some in page.by_stream().items():
                by_stream.setdefault(stream, []).extend(some)
        yield Window(begin_ms, to_ms, by_stream)
        count, to_ms = sum(map(len, by_stream.values())), begin_ms
        if count < _FEW_OF_A_WINDOW:
            span_ms *= 2
        elif count > _MANY_EVENTS:
            span_ms = max(1000, span_ms // 2)
