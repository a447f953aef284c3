"""What do lines leave open that a reader failed on, or that are too many to be kept? Gaps that count them; the first error
of each reader is logged."""

from __future__ import annotations

from collections.abc import Iterable

from monitor.faults import fault
from monitor.model import Gap
from monitor.parse.failed import Failed
from monitor.parse.recognise import RawRows
from monitor.parse.table import MOST_NAMES
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


def left_out(raw: RawRows) -> tuple[Gap, ...]:
    """What of a log is counted and not kept; empty for nearly every log."""
    said = []
    if events := raw.events.left_out:
        kinds = [kind.replace("-", " ") for kind, _ in events.most_common()]
        more = f" and {count(len(kinds) - _NAMED, 'other kind')}" if len(kinds) > _NAMED else ""
        said.append(
            f"{count(events.total(), 'log line')} ({', '.join(kinds[:_NAMED])}{more}) are counted and not kept: "
            "of each kind the first, the last and one of each wording stay."
        )
    if raw.steps.every > 1:
        said.append(
            f"The log has {count(raw.steps.read, 'step report')}, more than are kept: figures are of one step in "
            f"{raw.steps.every:,}."
        )
    if raw.steps.unnamed:
        said.append(
            f"{count(raw.steps.unnamed, 'step report')} are left out: the log names more than {MOST_NAMES:,} hosts and "
            "progress bars, and these report the least."
        )
    return tuple(Gap("logs", why) for why in said)
