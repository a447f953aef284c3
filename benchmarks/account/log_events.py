"""GetLogEvents: one page of one stream, forward or backward."""

from __future__ import annotations

from typing import Any

from benchmarks.account.answer import invalid
from benchmarks.account.rendered import PAGE_EVENTS, that_fit
from benchmarks.account.streams import Numbers
from benchmarks.account.tokens import Place, read, written
from benchmarks.account.world import World


def get_log_events(world: World, asked: dict[str, Any]) -> list[bytes | memoryview]:
    """The body of the answer.

    A token is a place in the stream by the events' times: a late event that sorts before it is never seen by who reads
    on from there. AWS does not document this; its tokens, numbers that begin with an event's time, suggest it.
    """
    world.check_group(asked.get("logGroupName"), asked.get("logGroupIdentifier"))
    world.reads[asked["logStreamName"]] += 1
    stream = world.stream(asked["logStreamName"])
    limit = asked.get("limit", PAGE_EVENTS)
    if not 1 <= limit <= PAGE_EVENTS:
        raise invalid(f"1 validation error detected: Value '{limit}' at 'limit' failed to satisfy constraint")
    now_ms = world.clock.now_ms()
    token = asked.get("nextToken")
    forward, place = bool(asked.get("startFromHead")), None
    if token:
        way, place = read(token, "fb", now_ms, world.account.token_ms)
        if way == "f" and not forward:
            raise invalid("startFromHead must be true with a nextForwardToken.")
        forward = way == "f"
    limit = min(limit, world.account.page_events)
    seen = stream.seen(now_ms, asked.get("startTime"), asked.get("endTime"))
    sizes = world.rendered(stream).sizes
    if forward:
        after = seen[seen.searchsorted(place.event if place else 0) :][:limit]
        page = after[: that_fit(sizes[after], limit)]
    else:
        before = seen[: seen.searchsorted(place.event)][-limit:] if place else seen[-limit:]
        count = that_fit(sizes[before][::-1], limit)
        page = before[len(before) - count :]
    pages = place.pages + 1 if place else 1
    every = world.account.empty_page_every
    if forward and token and every and len(page) and pages % every == 0:
        here = Place(place.event if place else 0, pages, int(now_ms))
        return _body(b"", written("f", here), written("b", here))
    ahead, behind = _tokens(page, seen, place, pages, int(now_ms))
    if token and not len(page):
        # The end is told by the token that was sent coming back.
        ahead, behind = (token, behind) if forward else (ahead, token)
    return _body(world.rendered(stream).page(page), ahead, behind)


def _tokens(page: Numbers, seen: Numbers, place: Place | None, pages: int, now_ms: int) -> tuple[str, str]:
    if len(page):
        first, last = int(page[0]), int(page[-1]) + 1
    else:
        first = last = place.event if place else (int(seen[-1]) + 1 if len(seen) else 0)
    return written("f", Place(last, pages, now_ms)), written("b", Place(first, pages, now_ms))


def _body(events: bytes | memoryview, ahead: str, behind: str) -> list[bytes | memoryview]:
    return [
        b'{"events":[',
        events,
        f'],"nextBackwardToken":"{behind}","nextForwardToken":"{ahead}"}}'.encode(),
    ]
