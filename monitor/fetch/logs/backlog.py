"""Strategy: each stream page by page, from its end to its head or on from where it was left, many streams side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace

from monitor.errors import BadCall, NoCredentials, NoData, NotAllowed, TrainwatchError, Unreachable
from monitor.fetch.background import begin
from monitor.fetch.logs.events import JobEvents
from monitor.fetch.logs.position import StreamPage, StreamPosition, next_page
from monitor.fetch.logs.streams import stream_order

#: Calls under way at a time: at 25 a second, an answer may take half a second before it holds the others up.
SIDE_BY_SIDE = 16
# Where pages come faster than they are taken, so many of them wait in memory, some megabytes each.
_WAITING = 4
_TRIES = 2
# What another try does not mend.
_FINAL = (NotAllowed, NoData, BadCall)


def pages(
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
