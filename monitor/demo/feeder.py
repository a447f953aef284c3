"""How do the sample jobs' logs and metrics get written, and how do running jobs go on while somebody looks?"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any, Generic, TypeVar

from monitor.demo.host_metrics import MINUTE, HostMinute, host_minutes
from monitor.demo.schedule import SampleJob
from monitor.demo.simulated_aws import SimulatedAws
from monitor.demo.streams import streams

TICK_S = 2.0

Item = TypeVar("Item")


class Feeder:
    """Writes what the jobs have logged and measured by ``now``; once started, a thread goes on writing."""

    def __init__(self, aws: SimulatedAws, jobs: tuple[SampleJob, ...], now: datetime) -> None:
        self._sources = [source for job in jobs for source in _sources(aws, job, now)]
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self.tick(now)

    def tick(self, now: datetime) -> None:
        """Writes everything up to ``now`` that was not written before."""
        with self._lock:
            self._sources = [source for source in self._sources if source.write_until(now)]

    def start(self) -> None:
        """Ticks by the clock every few seconds, in the background."""
        self._thread = threading.Thread(target=self._run, name="demo-feeder", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread; safe to call twice."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(TICK_S):
            self.tick(datetime.now(UTC))


class _Source(Generic[Item]):
    """Items in time, and the first of them whose time has not come yet."""

    def __init__(self, items: Iterator[tuple[datetime, Item]], write: Callable[[datetime, Item], None]) -> None:
        self._items = items
        self._write = write
        self._ahead = next(items, None)

    def write_until(self, now: datetime) -> bool:
        """Writes all that has happened by ``now``; False once nothing is left."""
        while self._ahead is not None and self._ahead[0] <= now:
            self._write(*self._ahead)
            self._ahead = next(self._items, None)
        return self._ahead is not None


def _sources(aws: SimulatedAws, job: SampleJob, now: datetime) -> Iterator[_Source[Any]]:
    for stream in streams(job):
        yield _Source(stream.events(), partial(aws.put_log_event, stream.name))
    # A minute is published when it is over.
    minutes = ((point.timestamp + MINUTE, point) for point in host_minutes(job, now))
    yield _Source(minutes, partial(_put_minute, aws, job.name))


def _put_minute(aws: SimulatedAws, job_name: str, _published: datetime, point: HostMinute) -> None:
    aws.put_host_minute(job_name, point)
