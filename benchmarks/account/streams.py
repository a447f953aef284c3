"""Which log streams does a job write, and which event is there when? Times are epoch milliseconds."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from benchmarks.account.plan import MINUTE_MS, Account, Job, LineSpan, Written

GROUP = "/aws/sagemaker/TrainingJobs"
# Lines leave the container in batches, and are there a little later.
_BATCH_MS = 1000
_TRAVEL_MS = 500

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Stream:
    """The events of one stream in the order in which CloudWatch gives them: by their time, then as written."""

    name: str
    job: Job
    span: LineSpan
    times: Numbers
    """The time of each event."""
    ingested: Numbers
    """When each event is there to be read."""
    lines: Numbers
    """Which line of the text each event is, from 0."""
    settled: Numbers
    """When an event and all before it are there."""

    def texts(self) -> list[str]:
        """The message of each event."""
        if self.job.written is not None:
            return [text for _, text in self.job.written[self.span.first].lines]
        written = self.job.text(self.span)
        return [written[line] for line in self.lines.tolist()]

    def seen(self, now_ms: float, start_ms: float | None = None, end_ms: float | None = None) -> Numbers:
        """The places of the events with start <= time < end that are there by now, in ascending order."""
        first = 0 if start_ms is None else int(np.searchsorted(self.times, start_ms, "left"))
        last = len(self.times) if end_ms is None else int(np.searchsorted(self.times, end_ms, "left"))
        return there(self.ingested, self.settled, now_ms, first, last)

    @property
    def begins_ms(self) -> int:
        """When the first event can be read, and with it the stream exists."""
        return int(self.ingested.min())


def there(ingested: Numbers, settled: Numbers, now_ms: float, first: int, last: int) -> Numbers:
    """The places in [first, last) of the events that can be read at ``now_ms``."""
    whole = int(np.searchsorted(settled, now_ms, "right"))
    if whole >= last:
        return np.arange(first, last)
    middle = max(first, whole)
    rest = middle + np.flatnonzero(ingested[middle:last] <= now_ms)
    return np.concatenate([np.arange(first, middle), rest])


def streams_of(account: Account) -> tuple[Stream, ...]:
    """All streams that the account's jobs ever write, by name; those of late nodes and restarts are among them."""
    found = [stream for job in account.jobs for stream in _of_job(job, account.seed)]
    return tuple(sorted(found, key=lambda stream: stream.name))


def _of_job(job: Job, seed: int) -> list[Stream]:
    if job.written is not None:
        return [_given(job, stream, place, seed) for place, stream in enumerate(job.written) if stream.lines]
    late = dict(job.late_nodes)
    bounds = [0.0, *(minute for minute in job.restarts if 0 < minute < job.minutes), job.minutes]
    found = []
    for attempt, (begin, end) in enumerate(pairwise(bounds)):
        for node in range(1, job.nodes + 1):
            start_ms = job.started_ms + round(max(begin, late.get(node, 0.0)) * MINUTE_MS)
            count = int((job.started_ms + end * MINUTE_MS - start_ms) * job.lines_per_minute / MINUTE_MS)
            if count > 0:
                span = LineSpan(job.name, node, attempt, 0, count, seed)
                found.append(_stream(job, span, start_ms))
    return found


def _given(job: Job, stream: Written, place: int, seed: int) -> Stream:
    times = np.array([at_ms for at_ms, _ in stream.lines], np.int64)
    ingested = _there(times)
    span = LineSpan(job.name, 0, 0, place, len(times), seed)
    return Stream(stream.name, job, span, times, ingested, np.arange(len(times)), ingested)


def _there(times: Numbers) -> Numbers:
    found: Numbers = (times // _BATCH_MS + 1) * _BATCH_MS + _TRAVEL_MS
    return found


def _stream(job: Job, span: LineSpan, start_ms: int) -> Stream:
    name = f"{job.name}/algo-{span.node}-{start_ms // 1000}"
    dice = np.random.default_rng([span.seed, zlib.crc32(name.encode())])
    times = start_ms + (np.arange(span.count) * (MINUTE_MS / job.lines_per_minute)).astype(np.int64)
    ingested = _there(times)
    if job.late_share:
        ingested += job.late_ms * (dice.random(span.count) < job.late_share)
    if job.disorder_ms:
        times = times - dice.integers(0, job.disorder_ms, span.count, endpoint=True)
    order = np.argsort(times, kind="stable")
    ingested = ingested[order]
    return Stream(name, job, span, times[order], ingested, order, np.maximum.accumulate(ingested))
