"""What is missing because of lines that a reader failed on? One gap that counts them; the first error of each reader
is logged."""

from __future__ import annotations

from collections.abc import Iterable

from monitor.faults import fault
from monitor.model import Gap
from monitor.parse.failed import Failed
from monitor.words import count

_NAMED = 3


def unread(failures: Iterable[Failed]) -> tuple[Gap, ...]:
    """The gap, or none where every line was read in one way or another."""
    logged = [(each, fault(each.error, f"Reading a log line ({each.name})")) for each in failures]
    lost = [(each, told) for each, told in logged if each.lines]
    if not lost:
        return ()
    lines = sum(each.lines for each, _ in lost)
    names = [f"{each.name} ({type(each.error).__name__})" for each, _ in lost]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    readers = "a reader" if len(names) == 1 else "readers"
    why = f"{count(lines, 'log line')} could not be read because {readers} failed: {', '.join(names[:_NAMED])}{more}."
    return (Gap("logs", why, lost[0][1].remedy),)
