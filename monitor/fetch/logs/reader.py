"""What did a job's hosts print? All of its streams in CloudWatch Logs, each line once, as fast as the quota allows.

Three kinds of looks: at the newest seconds of all streams together (a few calls, whatever their number); at everything
older, stream by stream; and, of a running job, at what came since, again together. Late lines are found as long as they
are no later than what the last looks can ask for again: some minutes, or some pages where lines come fast.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from monitor.aws.clients import Clients
from monitor.errors import NoCredentials, NoData, NotAllowed, TrainwatchError
from monitor.fetch.gaps import gap_of
from monitor.fetch.logs import gaps as log_gaps
from monitor.fetch.logs.filtering import Answer, Look, filtered
from monitor.fetch.logs.one_stream import Place, backward_turn
from monitor.fetch.logs.pages import Recent, Seen, lines_of
from monitor.fetch.logs.stream_turns import turns
from monitor.fetch.logs.streams import node_of_stream, stream_names
from monitor.fetch.logs.windows import windows
from monitor.model import Gap, Job, LoadProgress, LogPage

# The first picture: the last seconds, or where these hold little, the last minutes. A page holds so many ordinary events.
_NEWEST_MS, _WIDER_MS, _NEWEST_CALLS = 15_000, 300_000, 4
_FEW_EVENTS, _FEW_OF_A_STREAM, _SURE_OF_A_CALL = 300, 40, 5000
# How late a line may come. What two calls can hold is asked for again with every look; where that does not reach back
# so far, the very newest of it, and look by look what has settled since.
_LATEST_MS = 300_000
_AGAIN_BYTES = 1_900_000
_NEWEST_BYTES = 300_000
_SETTLE_MS = 90_000
_KEPT_BYTES = 40_000_000
# How long after they are written lines can be asked for.
_LAG_MS = 3_000
_AHEAD_MS = 300_000  # what another clock may be ahead of this one
# A finished job is looked at again only for a while: its last lines may come after its end.
_SETTLED_S = 3600.0


class JobLogs:
    """The LogReader of one job in CloudWatch.

    Pages of one stream come in order (or in reverse order, after ``newest``), streams come mixed; streams that appear
    later are found. An abandoned ``read`` loses nothing: what was not handed out is read again. NoCredentials is
    raised; all other trouble is a gap. ``clock`` gives Unix seconds.
    """

    def __init__(self, clients: Clients, job: Job, clock: Callable[[], float] = time.time) -> None:
        self._clients = clients
        self._clock = clock
        self._job = job
        self._places: dict[str, Place] = {}
        self._next_line: dict[str, int] = {}
        self._no_list: Gap | None = None
        self._trouble: dict[str, TrainwatchError] = {}
        self._no_filter: TrainwatchError | None = None
        self._loaded = False
        self._look: Look | None = None
        self._unlisted: NotAllowed | None = None
        self._detour: NotAllowed | None = None
        self._swept_ms: int | None = None
        self._started_s = 0.0
        self._complete_ms = 0
        self._checked_ms = 0
        self._settled = job.ended is not None and clock() - job.ended.timestamp() > _SETTLED_S
        self._recent = None if self._settled else Recent(_LATEST_MS, _KEPT_BYTES)

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """What the last ``read`` could not have; trouble that many streams share is said once."""
        detour = None if self._detour is None else gap_of("logs", log_gaps.went_around(self._detour))
        job_gaps = tuple(gap for gap in (self._no_list, detour) if gap is not None)
        return (*job_gaps, *log_gaps.of_streams(self._job, self._trouble, len(self._places)))

    @property
    def numbering(self) -> dict[str, int | None]:
        """stream -> the number that its first line was given; None as long as its head was not read."""
        return {
            stream: 1 - place.lines if place.done else None for stream, place in self._places.items() if place.backward
        }

    @property
    def progress(self) -> LoadProgress | None:
        """How much of what was written before the first look is read; None when all of it is."""
        return None if self._loaded else log_gaps.progress(self._job, self._places, self._end_ms(), self._started_s)

    def newest(self) -> Iterator[LogPage]:
        """The last lines of all streams, after a fixed few calls; ``read`` then gives the rest, newest first.

        Nothing where log events cannot be filtered: ``read`` gives all then.
        """
        self._started_s = time.monotonic()
        self._no_list = self._find_streams()
        if not self._places and not self._unlisted:
            return
        end_ms = int(self._end_ms())
        held: list[Answer] = []
        count = 0
        from_ms = end_ms - _NEWEST_MS
        token: str | None = None
        for calls_left in reversed(range(_NEWEST_CALLS)):
            try:
                found, token = filtered(self._clients, self._job.name, from_ms, token)
            except NoCredentials:
                raise
            except TrainwatchError as error:
                self._no_filter = error if isinstance(error, NotAllowed) else None
                return
            held += found
            count += sum(len(events) for _, events in found)
            if token is None:
                wanted = max(_FEW_EVENTS, _FEW_OF_A_STREAM * len(self._places))
                if count >= wanted or from_ms < end_ms - _NEWEST_MS or not calls_left:
                    break
                times = min(4 * wanted, calls_left * _SURE_OF_A_CALL) / max(1, count)
                held, count, from_ms = [], 0, end_ms - min(_WIDER_MS, round(_NEWEST_MS * times))
        if not count and token is None:
            # Nothing lately, or this machine's clock is ahead of what the hosts wrote: no time divides the reading.
            self._places = {name: Place(name, backward=True) for name in self._places}
            return
        for name in {*self._places, *(stream for stream, _ in held)}:
            self._places[name] = Place(name, backward=True, before_ms=from_ms)
        self._recent = self._recent or Recent(_LATEST_MS, _KEPT_BYTES)
        self._recent.from_ms = min(from_ms, end_ms - _LATEST_MS)
        self._look = Look(from_ms, token=token, clean=False)
        yield from self._handed_out(held, self._look.seen)
        self._look.clean = True
        if token is None:
            self._look_is_done()

    def read(self) -> Iterator[LogPage]:
        """Pages that were not returned before, up to what is written by now."""
        self._trouble = {}
        self._started_s = self._started_s or time.monotonic()
        if not self._places or self._no_filter is not None:
            self._no_list = self._find_streams()
        if self._look is not None:
            yield from self._follow(self._look)
        # Without the right to filter, each stream is read on by itself.
        one_by_one = self._loaded and self._no_filter is not None and not self._settled
        yield from self._load([name for name, place in self._places.items() if one_by_one or not place.done])
        yield from self._sweep({stream for stream, error in self._trouble.items() if isinstance(error, NotAllowed)})
        if self._loaded and self._no_filter is None and self._recent is not None and self._look is None:
            yield from self._look_again(self._recent)
        elif not self._loaded and self._recent is not None:
            self._complete_ms = self._recent.newest_ms - self._load_ms()
        self._loaded = bool(self._places)

    def _look_again(self, recent: Recent) -> Iterator[LogPage]:
        """What came since the last look, and what is late: in one look, or where too much is written, in two."""
        before_ms, begin_ms = recent.newest_ms, recent.since(_AGAIN_BYTES)
        if begin_ms > recent.from_ms:
            begin_ms = min(recent.since(_NEWEST_BYTES), max(self._complete_ms, recent.from_ms))
        self._look = Look(begin_ms)
        yield from self._follow(self._look)
        if self._look is not None or begin_ms <= recent.from_ms:
            return
        self._complete_ms = recent.newest_ms
        settled_ms = recent.newest_ms - (_SETTLE_MS if recent.newest_ms > before_ms else 0)
        from_ms = max(self._checked_ms, recent.from_ms)
        self._checked_ms = to_ms = max(from_ms, min(recent.until(from_ms, _AGAIN_BYTES), settled_ms))
        if to_ms > from_ms:
            self._look = Look(from_ms, to_ms)
            yield from self._follow(self._look)

    def _load(self, streams: list[str]) -> Iterator[LogPage]:
        # A busy stream grows while it is read: what is written from now on is for the next time.
        until_ms = self._clock() * 1000
        places = [self._places[stream] for stream in streams]
        for stream, found in turns(self._clients, places, until_ms, self._recent is not None):
            if isinstance(found, TrainwatchError):
                self._trouble[stream] = found
                continue
            self._places[stream] = found.place
            if not found.place.backward:
                self._next_line[stream] = found.place.lines + 1
            if self._recent:
                self._recent.add(stream, found.events)
                self._forget_some()
            if found.page:
                yield found.page

    def _forget_some(self) -> None:
        # Streams end at different moments: what came since the first of them did is still to be asked for.
        if self._recent and self._look is None:
            self._recent.forget(self._load_ms())

    def _load_ms(self) -> int:
        """How long ago the reading of what is not new was begun."""
        return int(_LAG_MS + (time.monotonic() - self._started_s) * 1000)

    def _sweep(self, refused: set[str]) -> Iterator[LogPage]:
        """Streams that must not be read, or not even be listed, from their end to their head by filtering."""
        unread = {name for name in refused if self._places[name].backward or not self._places[name].lines}
        if self._no_filter is not None or not (unread or self._unlisted):
            return
        now_ms = int(self._clock() * 1000) + _AHEAD_MS
        high_ms = self._swept_ms if self._unlisted and self._swept_ms is not None else now_ms if self._unlisted else 0
        for name in unread:
            if not self._places[name].backward:
                self._places[name] = Place(name, backward=True, before_ms=now_ms)
            high_ms = max(high_ms, self._places[name].before_ms or 0)
        begun = self._job.created or self._job.started
        low_ms = int(begun.timestamp() * 1000) - _AHEAD_MS if begun else 0
        try:
            for window in windows(self._clients, self._job.name, low_ms, high_ms):
                for stream, events in window.events.items():
                    place = self._places.get(stream) or Place(stream, backward=True, before_ms=window.to_ms)
                    if place.done or not place.backward or not (self._unlisted or stream in unread):
                        continue
                    found = backward_turn(place, events, None, done=False)
                    self._places[stream] = replace(found.place, before_ms=window.from_ms)
                    if self._recent:
                        self._recent.add(stream, found.events)
                    if found.page:
                        yield found.page
                self._swept_ms = window.from_ms
                self._forget_some()
        except NoCredentials:
            raise
        except TrainwatchError as error:
            if isinstance(error, NotAllowed):
                self._no_filter = error
            return
        for name in unread if not self._unlisted else set(self._places):
            self._places[name] = replace(self._places[name], done=True)
            if isinstance(denial := self._trouble.pop(name, None), NotAllowed):
                self._detour = denial
        if self._unlisted and not self._places:
            self._swept_ms = None
        elif self._unlisted:
            self._detour, self._no_list = self._unlisted, None

    def _follow(self, look: Look) -> Iterator[LogPage]:
        """What all streams together hold that is new; a stream that is new is read from its head."""
        try:
            for found in look.answers(self._clients, self._job.name):
                strangers = [stream for stream, _ in found if stream not in self._places]
                for stream in strangers:
                    self._places[stream] = Place(stream)
                yield from self._load(strangers)
                yield from self._handed_out(found, look.seen)
        except NoCredentials:
            raise
        except TrainwatchError as error:
            self._trouble = dict.fromkeys(self._places, error)
            if isinstance(error, NotAllowed) and not any(place.backward for place in self._places.values()):
                self._no_filter = error
                self._look = None
            return
        self._look_is_done()

    def _look_is_done(self) -> None:
        self._look = None
        if self._settled:
            self._recent = None
        elif self._recent and self._loaded:
            self._recent.forget()

    def _handed_out(self, found: list[Answer], seen: Seen) -> Iterator[LogPage]:
        for stream, events in found:
            place = self._places[stream]
            if not place.done:
                # What the reading of the stream itself is still to come upon.
                begin_ms = place.before_ms if place.backward and place.before_ms is not None else None
                events = [event for event in events if begin_ms is not None and event["timestamp"] >= begin_ms]
            fresh = self._recent.fresh(stream, events, seen) if self._recent else events
            lines, times = lines_of(fresh)
            if not lines:
                continue
            if self._recent:
                self._recent.add(stream, fresh)
            first = self._next_line.get(stream, 1)
            self._next_line[stream] = first + len(lines)
            yield LogPage.of(stream, node_of_stream(stream), first, lines, tuple(times))

    def _end_ms(self) -> float:
        now_s = self._clock()
        return 1000 * (now_s if self._job.ended is None else min(now_s, self._job.ended.timestamp()))

    def _find_streams(self) -> Gap | None:
        """Adds the streams that are new; the gap if there are none, or they cannot be listed."""
        self._unlisted = None
        try:
            for name in stream_names(self._clients, self._job.name):
                self._places.setdefault(name, Place(name))
        except NoCredentials:
            raise
        except NoData:
            # The group is made with the first line that any job of the region writes.
            pass
        except TrainwatchError as error:
            if isinstance(error, NotAllowed) and not self._places:
                self._unlisted = error
            return gap_of("logs", error)
        return None if self._places else log_gaps.no_lines(self._job)
