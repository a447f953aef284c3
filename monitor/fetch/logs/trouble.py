"""Which log lines could not be read, and how much of the rest is still to come?"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from monitor.errors import NotAllowed, TrainwatchError
from monitor.fetch.logs.position import StreamPosition
from monitor.fetch.logs.streams import prefix, stream_order
from monitor.fetch.source import gap_of, some_of
from monitor.model import Gap, Job, LoadProgress


@dataclass(slots=True)
class Trouble:
    """What went wrong in the last reading of a job's log, and which rights are missing."""

    job: Job
    streams: dict[str, TrainwatchError] = field(default_factory=dict)
    """Why a stream could not be read to its end."""
    no_list: Gap | None = None
    """There are no streams, or they cannot be listed."""
    no_listing: NotAllowed | None = None
    """Streams must not be listed, and none is known."""
    no_filtering: TrainwatchError | None = None
    """Events of all streams together must not be asked for."""
    way_around: NotAllowed | None = None
    """What is not allowed, where the lines could be had by filtering instead."""

    def gaps(self, stream_count: int) -> tuple[Gap, ...]:
        """Trouble that many streams share is one gap."""
        around = None if self.way_around is None else gap_of("logs", _read_by_filtering(self.way_around))
        of_job = tuple(gap for gap in (self.no_list, around) if gap is not None)
        return (*of_job, *self._of_streams(stream_count))

    def denied_streams(self) -> set[str]:
        """Those that must not be read."""
        return {stream for stream, error in self.streams.items() if isinstance(error, NotAllowed)}

    def _of_streams(self, stream_count: int) -> Iterator[Gap]:
        streams: dict[str, list[str]] = {}
        for stream in sorted(self.streams, key=stream_order):
            streams.setdefault(str(self.streams[stream]), []).append(stream.removeprefix(prefix(self.job.name)))
        errors = {str(error): error for error in self.streams.values()}
        for text, names in streams.items():
            yield gap_of("logs", errors[text], of="" if len(names) == stream_count else some_of(names))


def no_lines(job: Job) -> Gap:
    """The gap of a job without streams."""
    if job.is_running:
        return Gap("logs", "The job has not logged anything yet.", "Look again once its container has started.")
    return Gap(
        "logs",
        "CloudWatch has no log lines for this job.",
        "A job that never started has none; older ones may have been deleted by the log group's retention.",
    )


def progress(job: Job, positions: Mapping[str, StreamPosition], end_ms: float, started_s: float) -> LoadProgress | None:
    """How much of the time that the job covers is read, by streams; None where its begin is not known."""
    begun = job.started or job.created
    if begun is None or not positions:
        return None
    begun_ms = begun.timestamp() * 1000
    span_ms = max(1.0, end_ms - begun_ms)
    share = sum(_share(position, begun_ms, end_ms, span_ms) for position in positions.values()) / len(positions)
    elapsed_s = time.monotonic() - started_s
    return LoadProgress(share, elapsed_s * (1 - share) / share if share > 0.02 else None)


def _share(position: StreamPosition, begun_ms: float, end_ms: float, span_ms: float) -> float:
    if position.done or position.edge_ms is None:
        return float(position.done)
    covered_ms = end_ms - position.edge_ms if position.backward else position.edge_ms - begun_ms
    return min(1.0, max(0.0, covered_ms / span_ms))


def _read_by_filtering(error: NotAllowed) -> NotAllowed:
    return NotAllowed(f"{error.message} Its lines were read with logs:FilterLogEvents instead.", error.remedy)
