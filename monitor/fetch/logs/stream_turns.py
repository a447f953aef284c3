"""Which stream's page is next? Whole streams side by side, and another try for one that fails for a while."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace

from monitor.aws.clients import Clients
from monitor.errors import BadCall, NoCredentials, NoData, NotAllowed, TrainwatchError, Unreachable
from monitor.fetch.background import begin
from monitor.fetch.logs.one_stream import Place, Turn, turn
from monitor.fetch.logs.streams import stream_order

#: Calls under way at a time: at 25 a second, an answer may take half a second before it holds the others up.
SIDE_BY_SIDE = 16
_TRIES = 2
# What another try does not mend.
_FINAL = (NotAllowed, NoData, BadCall)


def turns(
    clients: Clients, places: Iterable[Place], until_ms: float, with_events: bool = True
) -> Iterator[tuple[str, Turn | TrainwatchError]]:
    """(stream, its next page or why there is no more of it for now), until all streams are done.

    Of streams read from their end, the one with the newest unread lines is next. Trouble that may pass is told after a
    second try, when the other streams are done. Events are left out unless asked for. NoCredentials is raised.
    """

    def one(place: Place) -> Turn:
        found = turn(clients, place, until_ms)
        return found if with_events else replace(found, events=())

    waiting = {place.stream: place for place in places}
    again: dict[str, Place] = {}
    failures: dict[str, int] = {}
    running: dict[Future[Turn], Place] = {}
    nobody = 0
    while waiting or running or again:
        if not waiting and not running:
            waiting, again = again, waiting
        while waiting and len(running) < SIDE_BY_SIDE:
            place = waiting.pop(min(waiting, key=lambda stream: _urgency(waiting[stream])))
            running[begin(one, place)] = place
        for done in wait(running, return_when=FIRST_COMPLETED).done:
            place = running.pop(done)
            try:
                found = done.result()
            except NoCredentials:
                raise
            except TrainwatchError as error:
                failures[place.stream] = failures.get(place.stream, 0) + 1
                nobody = nobody + 1 if isinstance(error, Unreachable) else 0
                if nobody >= SIDE_BY_SIDE:
                    # The network is gone: a hundred streams need not each find that out.
                    for stream in {place.stream, *waiting, *again, *(left.stream for left in running.values())}:
                        yield stream, error
                    return
                if isinstance(error, _FINAL) or failures[place.stream] >= _TRIES:
                    yield place.stream, error
                else:
                    again[place.stream] = place
                continue
            nobody = 0
            if not found.place.done:
                waiting[place.stream] = found.place
            yield place.stream, found


def _urgency(place: Place) -> tuple[float, tuple[int, int, str]]:
    unread_ms = place.edge_ms if place.backward and place.edge_ms is not None else float("inf")
    return (-unread_ms, stream_order(place.stream))
