"""Which log lines could not be read, and how much of the rest is still to come?"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from monitor.errors import NotAllowed, TrainwatchError
from monitor.fetch.gaps import gap_of, some_of
from monitor.fetch.logs.one_stream import Place
from monitor.fetch.logs.streams import prefix, stream_order
from monitor.model import Gap, Job, LoadProgress


def no_lines(job: Job) -> Gap:
    """The gap of a job without streams."""
    if job.is_running:
        return Gap("logs", "The job has not logged anything yet.", "Look again once its container has started.")
    return Gap(
        "logs",
        "CloudWatch has no log lines for this job.",
        "A job that never started has none; older ones may have been deleted by the log group's retention.",
    )


def went_around(error: NotAllowed) -> NotAllowed:
    """The same trouble, where the lines could be had in another way."""
    return NotAllowed(f"{error.message} Its lines were read with logs:FilterLogEvents instead.", error.remedy)


def of_streams(job: Job, trouble: Mapping[str, TrainwatchError], stream_count: int) -> Iterator[Gap]:
    """Trouble by stream; what many streams share is said once."""
    streams: dict[str, list[str]] = {}
    for stream in sorted(trouble, key=stream_order):
        streams.setdefault(str(trouble[stream]), []).append(stream.removeprefix(prefix(job.name)))
    errors = {str(error): error for error in trouble.values()}
    for text, names in streams.items():
        yield gap_of("logs", errors[text], of="" if len(names) == stream_count else some_of(names))


def progress(job: Job, places: Mapping[str, Place], end_ms: float, started_s: float) -> LoadProgress | None:
    """How much of the time that the job covers is read, by streams; None where its begin is not known."""
    begun = job.started or job.created
    if begun is None or not places:
        return None
    begun_ms = begun.timestamp() * 1000
    span_ms = max(1.0, end_ms - begun_ms)
    done = sum(_share(place, begun_ms, end_ms, span_ms) for place in places.values()) / len(places)
    elapsed_s = time.monotonic() - started_s
    return LoadProgress(done, elapsed_s * (1 - done) / done if done > 0.02 else None)


def _share(place: Place, begun_ms: float, end_ms: float, span_ms: float) -> float:
    if place.done or place.edge_ms is None:
        return float(place.done)
    covered_ms = end_ms - place.edge_ms if place.backward else place.edge_ms - begun_ms
    return min(1.0, max(0.0, covered_ms / span_ms))
