"""What did a job's hosts print? Its streams in CloudWatch Logs, side by side, each from where it was left."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from monitor.aws.clients import Clients
from monitor.errors import BadCall, NoCredentials, NoData, TrainwatchError
from monitor.fetch.cut_lines import joined_within
from monitor.fetch.gaps import gap_of, some_of
from monitor.model import Gap, Job, LogPage

GROUP = "/aws/sagemaker/TrainingJobs"
_STREAM = re.compile(r"/algo-(?P<number>\d+)(?:-(?P<epoch>\d+))?$")
_STREAMS_PER_PAGE = 50
_SIDE_BY_SIDE = 8
# A page with this many events is not yet the live end of its stream, whatever this machine's clock says.
_BACKLOG = 1000


@dataclass(frozen=True, slots=True)
class _Place:
    """How far one stream was read."""

    token: str | None = None
    lines: int = 0
    skip: int = 0
    """Lines that come again and were handed out before, after a token expired."""


@dataclass(frozen=True, slots=True)
class _Step:
    """One page of a stream, the place behind it, and whether more was written by now."""

    page: LogPage | None
    place: _Place
    more: bool


class JobLogs:
    """The LogReader of one job in CloudWatch. It keeps a token a stream, so ``read`` returns every line once.

    Pages of one stream come in order, streams come mixed; streams that appear later are found. An abandoned ``read``
    loses nothing: what was not handed out is read again. NoCredentials is raised; all other trouble is a gap.
    """

    def __init__(self, clients: Clients, job: Job) -> None:
        self._clients = clients
        self._job = job
        self._places: dict[str, _Place] = {}
        self._no_list: Gap | None = None
        self._trouble: dict[str, TrainwatchError] = {}

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """What the last ``read`` could not have; trouble that many streams share is said once."""
        streams: dict[str, list[str]] = {}
        for stream in sorted(self._trouble, key=_order):
            names = streams.setdefault(str(self._trouble[stream]), [])
            names.append(stream.removeprefix(f"{self._job.name}/"))
        errors = {str(error): error for error in self._trouble.values()}
        folded = [
            gap_of("logs", errors[text], of="" if len(names) == len(self._places) else some_of(names))
            for text, names in streams.items()
        ]
        return (*([self._no_list] if self._no_list else []), *folded)

    def read(self) -> Iterator[LogPage]:
        self._trouble = {}
        self._no_list = self._find_streams()
        # A busy stream grows while it is read: what is written from now on is for the next time.
        until_ms = time.time() * 1000
        waiting = deque(sorted(self._places, key=_order))
        reading: dict[Future[_Step], str] = {}
        pool = ThreadPoolExecutor(_SIDE_BY_SIDE, thread_name_prefix="logs")
        try:
            while waiting or reading:
                while waiting and len(reading) < _SIDE_BY_SIDE:
                    stream = waiting.popleft()
                    reading[pool.submit(self._step, stream, self._places[stream], until_ms)] = stream
                for done in wait(reading, return_when=FIRST_COMPLETED).done:
                    stream = reading.pop(done)
                    try:
                        step = done.result()
                    except NoCredentials:
                        raise
                    except TrainwatchError as error:
                        self._trouble[stream] = error
                        continue
                    if step.more:
                        reading[pool.submit(self._step, stream, step.place, until_ms)] = stream
                    self._places[stream] = step.place
                    if step.page:
                        yield step.page
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _find_streams(self) -> Gap | None:
        """Adds the streams that are new; the gap if there are none, or they cannot be listed."""
        try:
            for name in self._stream_names():
                self._places.setdefault(name, _Place())
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

    def _stream_names(self) -> Iterator[str]:
        # Without the slash, job "a" would find the streams of "a-2" as well.
        prefix = f"{self._job.name}/"
        token: str | None = None
        while True:
            answer = self._clients.call(
                "logs",
                "describe_log_streams",
                logGroupName=GROUP,
                logStreamNamePrefix=prefix,
                limit=_STREAMS_PER_PAGE,
                **({"nextToken": token} if token else {}),
            )
            yield from (row["logStreamName"] for row in answer.get("logStreams", ()))
            last, token = token, answer.get("nextToken")
            if not token or token == last:
                return

    def _step(self, stream: str, place: _Place, until_ms: float) -> _Step:
        try:
            answer = self._events(stream, place.token)
        except BadCall:
            if place.token is None:
                raise
            # A token lives for a day: begin again, and pass over what was handed out.
            place = _Place(None, place.lines, skip=place.lines)
            answer = self._events(stream, None)
        events = answer.get("events", ())
        lines, times = _lines(events)
        fresh = lines[place.skip :]
        page = None
        if fresh:
            node = _node(stream)
            page = joined_within(LogPage(stream, node, place.lines + 1, tuple(fresh), tuple(times[place.skip :])))
        token = answer.get("nextForwardToken")
        behind = _Place(token, place.lines + len(fresh), max(0, place.skip - len(lines)))
        # An empty page is not the end; the same token again is.
        reached_now = 0 < len(events) < _BACKLOG and events[-1].get("timestamp", 0) >= until_ms
        return _Step(page, behind, more=token is not None and token != place.token and not reached_now)

    def _events(self, stream: str, token: str | None) -> dict[str, Any]:
        more = {"nextToken": token} if token else {}
        return self._clients.call(
            "logs", "get_log_events", logGroupName=GROUP, logStreamName=stream, startFromHead=True, **more
        )


def _lines(events: Any) -> tuple[list[str], list[int | None]]:
    """The lines of the events, each with the time of its event."""
    lines: list[str] = []
    times: list[int | None] = []
    for event in events:
        message, time_ms = event.get("message", ""), event.get("timestamp")
        if "\n" not in message:
            lines.append(message)
            times.append(time_ms)
            continue
        parts = message.split("\n")
        if not parts[-1]:
            parts.pop()
        lines += parts
        times += [time_ms] * len(parts)
    return lines, times


def _node(stream: str) -> str:
    found = _STREAM.search(stream)
    return f"algo-{found['number']}" if found else stream.rpartition("/")[2]


def _order(stream: str) -> tuple[int, int, str]:
    found = _STREAM.search(stream)
    return (int(found["number"]), int(found["epoch"] or 0), stream) if found else (0, 0, stream)
