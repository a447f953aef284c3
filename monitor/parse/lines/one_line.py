"""What all readers make of one piece of a line: readings with who wrote them and when, pieces beside them, events."""

from __future__ import annotations

from typing import NamedTuple

from monitor.parse.failed import Failures
from monitor.parse.fields import learning
from monitor.parse.lines.envelope import Fragment
from monitor.parse.lines.stamps import Stamp, stamp, without_end, written_at_ms
from monitor.parse.pages.gates import Readers
from monitor.parse.reports import pieces
from monitor.parse.rows import Reading
from monitor.parse.table import NOBODY

Writer = tuple[int | None, int, str, bool, int, int, float | None, int | None]
"""What ``monitor.parse.table.PLACE`` holds behind line and part."""


class Known(NamedTuple):
    """What is known of one piece of a line."""

    steps: list[tuple[Writer, Reading]]
    beside: list[tuple[Writer, Reading]]
    """Pieces of reports (``monitor.parse.reports.pieces``)."""
    events: list[tuple[str, str]]
    """Kind and text."""


def read(fragment: Fragment, written_ms: int | None, readers: Readers, failures: Failures) -> Known:
    """What is known of it. ``written_ms`` is the time that the source has of it; a reader that fails is left."""
    text, rank, host, nested, time_ms, local_rank, task = fragment
    time_ms = written_ms if time_ms is None else time_ms
    known = Known([], [], [])
    srun = NOBODY if task is None else task
    spoken = without_end(text) if readers.families else text
    for family in readers.families:
        # The first that knows the text is the one: the user's, then exact ones, then generic ones. What one fails on
        # is left: nobody knows whether it was its own.
        found = failures.read(family, spoken)
        if found is None:
            break
        if found:
            time_ms, stamp_ms = _clock(time_ms, stamp(text))
            rate = learning.rate_of(text) if len(found) == 1 else None
            for reading in found:
                if reading.format:
                    writer = reading.rank if rank is None else rank
                    local = reading.local_rank if local_rank is None else local_rank
                    process = (NOBODY if local is None else local, srun, rate, stamp_ms)
                    place = (time_ms, NOBODY if writer is None else writer, host, nested or reading.nested, *process)
                    known.steps.append((place, reading))
            break
    else:
        if readers.pieces and (parts := failures.read(pieces.read, text)):
            time_ms, stamp_ms = _clock(time_ms, stamp(text))
            own = (NOBODY if local_rank is None else local_rank, srun, None, stamp_ms)
            place = (time_ms, NOBODY if rank is None else rank, host, nested, *own)
            known.beside.extend((place, part) for part in parts)
    for read_event in readers.events:
        known.events.extend(failures.read(read_event, text) or ())
    return known


def event_ms(fragment: Fragment, written_ms: int | None) -> int | None:
    """When what the piece tells of was written."""
    time_ms = written_ms if fragment.time_ms is None else fragment.time_ms
    return written_at_ms(fragment.text) if time_ms is None else time_ms


def or_stamp_ms(time_ms: int | None, text: str) -> int | None:
    """The time of an event; of one without a time that of its stamp, which may lack its day and tells a pace alone."""
    if time_ms is None and (printed := stamp(text)) is not None:
        return printed.ms
    return time_ms


def _clock(known_ms: int | None, printed: Stamp | None) -> tuple[int | None, int | None]:
    """(when a line was written, what it prints of itself beside that).

    Without a time of the source, or one that a copy put in front, the stamp is the line's time where it is an instant; one
    that lacks its day stays beside it.
    """
    if printed is None:
        return known_ms, None
    return (printed.ms, None) if known_ms is None and printed.dated else (known_ms, printed.ms)
