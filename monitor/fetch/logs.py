"""What did a job's hosts print? All of its streams in CloudWatch Logs, each line once, as fast as the quota allows.

Three kinds of looks: at the newest seconds of all streams together (a few calls, whatever their number); at everything
older, stream by stream; and, of a running job, at what came since, again together. Late lines are found as long as they
are no later than what the last looks can ask for again: some minutes, or some pages where lines come fast.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import UTC, datetime
from typing import Any

from monitor.aws.clients import Clients
from monitor.errors import NoCredentials, NoData, NotAllowed, TrainwatchError
from monitor.fetch.gaps import gap_of, some_of
from monitor.fetch.log_pages import Event, Recent, lines_of
from monitor.fetch.log_streams import GROUP, node_of_stream, prefix, stream_names, stream_order
from monitor.fetch.one_stream import Place, Turn, turn
from monitor.model import Gap, Job, LoadProgress, LogPage

_SIDE_BY_SIDE = 8
# The first picture: the last seconds of the job, and where these hold little, the last minutes.
_NEWEST_MS = 15_000
_FEW_EVENTS = 300
_WIDER_MS = 300_000
_NEWEST_CALLS = 4
# How late a line may come, and how many bytes (two pages) are asked for again to find it.
_LATEST_MS = 300_000
_AGAIN_BYTES = 2_000_000
# A finished job is looked at again only for a while: its last lines may come after its end.
_SETTLED_S = 3600.0

Seen = Counter[tuple[int, int]]
Answer = tuple[str, list[Event]]
"""The events of one stream in one answer."""


class JobLogs:
    """The LogReader of one job in CloudWatch.

    Pages of one stream come in order (or in reverse order, after ``newest``), streams come mixed; streams that appear
    later are found. An abandoned ``read`` loses nothing: what was not handed out is read again. NoCredentials is
    raised; all other trouble is a gap.
    """

    def __init__(self, clients: Clients, job: Job) -> None:
        self._clients = clients
        self._job = job
        self._places: dict[str, Place] = {}
        self._next_line: dict[str, int] = {}
        self._no_list: Gap | None = None
        self._trouble: dict[str, TrainwatchError] = {}
        self._no_filter: TrainwatchError | None = None
        self._loaded = False
        self._rest_of_newest: tuple[dict[str, Any], Seen] | None = None
        self._started_s = 0.0
        settled = job.ended is not None and time.time() - job.ended.timestamp() > _SETTLED_S
        self._recent = None if settled else Recent(_LATEST_MS, _AGAIN_BYTES)

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """What the last ``read`` could not have; trouble that many streams share is said once."""
        streams: dict[str, list[str]] = {}
        for stream in sorted(self._trouble, key=stream_order):
            names = streams.setdefault(str(self._trouble[stream]), [])
            names.append(stream.removeprefix(prefix(self._job.name)))
        errors = {str(error): error for error in self._trouble.values()}
        folded = [
            gap_of("logs", errors[text], of="" if len(names) == len(self._places) else some_of(names))
            for text, names in streams.items()
        ]
        return (*([self._no_list] if self._no_list else []), *folded)

    @property
    def numbering(self) -> dict[str, int | None]:
        """stream -> the number that its first line was given; None as long as its head was not read."""
        return {
            stream: 1 - place.lines if place.done else None for stream, place in self._places.items() if place.backward
        }

    @property
    def progress(self) -> LoadProgress | None:
        """How much of what was written before the first look is read; None when all of it is."""
        if self._loaded or not self._places:
            return None
        begun = self._job.started or self._job.created
        if begun is None:
            return None
        begun_ms, now_ms = begun.timestamp() * 1000, self._end_ms()
        span_ms = max(1.0, now_ms - begun_ms)
        shares = [self._share(place, begun_ms, now_ms, span_ms) for place in self._places.values()]
        done = sum(shares) / len(shares)
        elapsed_s = time.monotonic() - self._started_s
        return LoadProgress(done, elapsed_s * (1 - done) / done if done > 0.02 else None)

    @staticmethod
    def _share(place: Place, begun_ms: float, now_ms: float, span_ms: float) -> float:
        if place.done or place.edge_ms is None:
            return float(place.done)
        covered_ms = now_ms - place.edge_ms if place.backward else place.edge_ms - begun_ms
        return min(1.0, max(0.0, covered_ms / span_ms))

    def newest(self) -> Iterator[LogPage]:
        """The last lines of all streams, after a fixed few calls; ``read`` then gives the rest, newest first.

        Nothing where log events cannot be filtered: ``read`` gives all then.
        """
        self._no_list = self._find_streams()
        if not self._places:
            return
        end_ms = int(self._end_ms())
        held: list[Answer] = []
        count = 0
        from_ms = end_ms - _NEWEST_MS
        rest: dict[str, Any] | None = {"startTime": from_ms}
        for _ in range(_NEWEST_CALLS):
            if rest is None:
                if count >= _FEW_EVENTS or from_ms < end_ms - _NEWEST_MS:
                    break
                held, count, from_ms = [], 0, end_ms - _WIDER_MS
                rest = {"startTime": from_ms}
            try:
                found, token = self._filtered(rest)
            except NoCredentials:
                raise
            except TrainwatchError as error:
                self._no_filter = error if isinstance(error, NotAllowed) else None
                return
            held += found
            count += sum(len(events) for _, events in found)
            rest = {**rest, "nextToken": token} if token else None
        for name in {*self._places, *(stream for stream, _ in held)}:
            self._places[name] = Place(name, backward=True, before_ms=from_ms)
        seen: Seen = Counter()
        self._rest_of_newest = (rest, seen) if rest else None
        if self._recent:
            self._recent.from_ms = from_ms
        yield from self._handed_out(held, seen)

    def read(self) -> Iterator[LogPage]:
        """Pages that were not returned before, up to what is written by now."""
        self._trouble = {}
        self._started_s = self._started_s or time.monotonic()
        if not self._places or self._no_filter is not None:
            self._no_list = self._find_streams()
        if self._rest_of_newest is not None:
            (asked, seen), self._rest_of_newest = self._rest_of_newest, None
            yield from self._follow(asked, seen)
        # Without the right to filter, each stream is read on by itself.
        one_by_one = self._loaded and self._no_filter is not None and self._recent is not None
        yield from self._load([name for name, place in self._places.items() if one_by_one or not place.done])
        if self._loaded and self._no_filter is None and self._recent is not None:
            yield from self._follow({"startTime": self._recent.from_ms}, Counter())
            self._recent.forget()
        self._loaded = bool(self._places)

    def _load(self, streams: list[str]) -> Iterator[LogPage]:
        """Whole streams, side by side: of those read from the end the one with the newest unread lines is next."""
        # A busy stream grows while it is read: what is written from now on is for the next time.
        until_ms = time.time() * 1000
        waiting = set(streams)
        reading: dict[Future[Turn], str] = {}
        pool = ThreadPoolExecutor(_SIDE_BY_SIDE, thread_name_prefix="logs")
        try:
            while waiting or reading:
                while waiting and len(reading) < _SIDE_BY_SIDE:
                    stream = min(waiting, key=self._urgency)
                    waiting.remove(stream)
                    reading[pool.submit(turn, self._clients, self._places[stream], until_ms)] = stream
                for done in wait(reading, return_when=FIRST_COMPLETED).done:
                    stream = reading.pop(done)
                    try:
                        found = done.result()
                    except NoCredentials:
                        raise
                    except TrainwatchError as error:
                        self._trouble[stream] = error
                        continue
                    self._places[stream] = found.place
                    if not found.place.done:
                        waiting.add(stream)
                    if not found.place.backward:
                        self._next_line[stream] = found.place.lines + 1
                    if self._recent:
                        self._recent.add(stream, found.events)
                        self._recent.forget()
                    if found.page:
                        yield found.page
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _urgency(self, stream: str) -> tuple[float, tuple[int, int, str]]:
        place = self._places[stream]
        unread_ms = place.edge_ms if place.backward and place.edge_ms is not None else float("inf")
        return (-unread_ms, stream_order(stream))

    def _follow(self, asked: dict[str, Any], seen: Seen) -> Iterator[LogPage]:
        """What came since the last look, all streams together; a stream that is new is read from its head."""
        token: str | None = None
        while True:
            try:
                found, token = self._filtered({**asked, **({"nextToken": token} if token else {})})
            except NoCredentials:
                raise
            except TrainwatchError as error:
                self._trouble = dict.fromkeys(self._places, error)
                if isinstance(error, NotAllowed) and not any(place.backward for place in self._places.values()):
                    self._no_filter = error
                return
            strangers = [stream for stream, _ in found if stream not in self._places]
            for stream in strangers:
                self._places[stream] = Place(stream)
            yield from self._load(strangers)
            yield from self._handed_out(found, seen)
            if token is None:
                return

    def _handed_out(self, found: list[Answer], seen: Seen) -> Iterator[LogPage]:
        for stream, events in found:
            fresh = self._recent.fresh(stream, events, seen) if self._recent else events
            lines, times = lines_of(fresh)
            if not lines:
                continue
            if self._recent:
                self._recent.add(stream, fresh)
            first = self._next_line.get(stream, 1)
            self._next_line[stream] = first + len(lines)
            yield LogPage.of(stream, node_of_stream(stream), first, lines, tuple(times))

    def _filtered(self, asked: dict[str, Any]) -> tuple[list[Answer], str | None]:
        """(the events of each stream in one answer, token of the next answer)."""
        own = prefix(self._job.name)
        answer = self._clients.call("logs", "filter_log_events", logGroupName=GROUP, logStreamNamePrefix=own, **asked)
        by_stream: dict[str, list[Event]] = {}
        for event in answer.get("events", ()):
            # Not every stand-in for AWS looks at the prefix.
            if event["logStreamName"].startswith(own):
                by_stream.setdefault(event["logStreamName"], []).append(event)
        token = answer.get("nextToken")
        return list(by_stream.items()), None if token == asked.get("nextToken") else token

    def _end_ms(self) -> float:
        now = datetime.now(UTC)
        end = now if self._job.ended is None else min(now, self._job.ended)
        return end.timestamp() * 1000

    def _find_streams(self) -> Gap | None:
        """Adds the streams that are new; the gap if there are none, or they cannot be listed."""
        try:
            for name in stream_names(self._clients, self._job.name):
                self._places.setdefault(name, Place(name))
        except NoCredentials:
            raise
        except NoData:
            # The group is made with the first line that any job of the region writes.
            pass
        except TrainwatchError as error:
            return gap_of("logs", error)
        if self._places:
            return None
        if self._job.is_running:
            return Gap("logs", "The job has written no log line yet.", "Look again when its container has started.")
        return Gap(
            "logs",
            "CloudWatch has no log lines of this job.",
            "A job that never started wrote none; older ones may have been deleted by the log group's retention.",
        )
