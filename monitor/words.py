"""How a figure is written for people: units always, sensible digits, a dash for what was not observed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

DASH = "–"
#: A time of day alone is not enough where what it is told of takes longer than this.
A_DAY = timedelta(days=1)
#: What the buckets of a job's time are called; their names are for machines.
_PHASES = {
    "pending": "pending",
    "starting": "starting",
    "downloading": "download",
    "image": "image pull",
    "initialization": "initialization",
    "productive": "training",
    "slow-excess": "slow steps, beyond the usual",
    "evaluation": "evaluation",
    "checkpoint": "checkpoints",
    "stall": "stalled",
    "lost-work": "work done again",
    "interrupted": "interrupted",
    "uploading": "upload",
    "idle-tail": "after the last step",
    "unknown": "training, no steps seen",
}


def phase(name: str) -> str:
    """``slow steps, beyond the usual`` for the bucket ``slow-excess``; one that this version does not know keeps its name."""
    return _PHASES.get(name, name)


def signed(value: float) -> str:
    """A change in percent with its sign; one that rounds to nothing is 0."""
    return "0" if abs(value) < 0.5 else f"{value:+.0f}"


def percent(value: float | None) -> str:
    """``46 %``; one decimal below ten percent, so that little is not nothing."""
    if value is None or value != value:
        return DASH
    return f"{value:.1f} %" if 0 < abs(value) < 9.95 else f"{value:.0f} %"


def step_seconds(value: float | None) -> str:
    """A step time with three digits: ``0.350 s``, ``4.10 s``, ``24.3 s``, ``131 s``; below a tenth in ms."""
    if value is None or value != value:
        return DASH
    if value < 0.1:
        return f"{value * 1000:.3g} ms"
    decimals = 3 if value < 1 else 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{decimals}f} s"


def duration(seconds: float | None) -> str:
    """Two units at most: ``52 s``, ``41 min``, ``6 h 12 min``, ``6 h``, ``3 d 4 h``."""
    if seconds is None or seconds != seconds:
        return DASH
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes = whole // 60
    if minutes < 60:
        return f"{minutes} min"
    large, small = (f"{minutes // 60} h", f"{minutes % 60} min")
    if minutes >= 48 * 60:
        large, small = (f"{minutes // 1440} d", f"{minutes % 1440 // 60} h")
    return large if small.startswith("0 ") else f"{large} {small}"


def usd(value: float | None) -> str:
    """``$4,880``, ``$12.60``, ``$0.002``; ``under $0.001`` is the least."""
    if value is None or value != value:
        return DASH
    if value == 0:
        return "$0"
    if abs(value) < 0.001:
        return "under $0.001"
    if abs(value) < 0.0095:
        return f"${value:.3f}"
    return f"${value:,.2f}" if abs(value) < 1000 else f"${value:,.0f}"


def about_usd(value: float | None) -> str:
    """An estimate: ``about $0.002``, ``under $0.001``."""
    written = usd(value)
    return written if written.startswith("under") else f"about {written}"


def warm_pool(seconds: float, cost_usd: float | None) -> str:
    """What a warm pool adds to the bill of the job before it, in a sentence."""
    cost = "" if cost_usd is None else f": {usd(cost_usd)} in addition to the cost of the job"
    return f"The instances were kept in a warm pool for {duration(seconds)} after the job and billed{cost}."


def profiler_objects(objects: int, size_bytes: int, usd: float, skipped_lines: int = 0) -> str:
    """``11 objects of its profiler (40 MB, $0.0001)``; what S3 asks for is left out where it asks for nothing."""
    size = f"{size_bytes / 1e6:,.0f} MB" if size_bytes >= 1e6 else f"{size_bytes / 1e3:,.0f} kB"
    price = f", ${max(usd, 0.0001):.4f}" if usd else ""
    left_out = f"; {count(skipped_lines, 'damaged line')} skipped" if skipped_lines else ""
    return f"{count(objects, 'object')} of its profiler ({size}{price}){left_out}"


def count(value: float | None, what: str, many: str = "") -> str:
    """``1 node``, ``4 nodes``, ``12,840 lines``."""
    if value is None:
        return f"{DASH} {many or what + 's'}"
    return f"{value:,.0f} {what if value == 1 else many or what + 's'}"


def done_twice(steps: int, seconds: float | None) -> str:
    """``50 steps lost to a restart and done again (25 s)``."""
    took = "" if seconds is None else f" ({duration(seconds)})"
    return f"{count(steps, 'step')} lost to a restart and done again{took}"


def sentence(text: str) -> str:
    """The text with its full stop, if it does not end in one (or in an ellipsis) already."""
    return text if text.endswith((".", "…", "?", "!")) else f"{text}."


def capitalised(text: str) -> str:
    """The text as a sentence: its first letter large, its full stop."""
    return sentence(text[:1].upper() + text[1:])


def nodes(names: Sequence[str], of: int) -> str:
    """``on all 4 nodes``, ``on algo-3``, ``on algo-1, algo-2 and 5 more``."""
    if len(names) == 1:
        return f"on {names[0]}"
    if len(names) == of:
        return "on both nodes" if of == 2 else f"on all {of} nodes"
    if len(names) <= 3:
        return "on " + " and ".join(names)
    return f"on {names[0]}, {names[1]} and {len(names) - 2} more"


def zone(name: str | None) -> tzinfo:
    """The time zone of that name, UTC where it is unknown."""
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError):
        return UTC


def zone_name(at: datetime, where: tzinfo) -> str:
    """How the zone is written at that moment: ``CEST``, ``UTC``, or an offset such as ``UTC+03``."""
    name = at.astimezone(where).tzname() or "UTC"
    return f"UTC{name}" if name[:1] in "+-" else name


def instant(at: datetime | None, where: tzinfo = UTC) -> str:
    """``25 Sep 2026, 14:05 CEST``."""
    if at is None:
        return DASH
    return f"{at.astimezone(where):%d %b %Y, %H:%M} {zone_name(at, where)}".lstrip("0")


def from_cache(read_at: datetime, where: tzinfo = UTC) -> str:
    """``from the local cache of 20 Nov 2026``."""
    return f"from the local cache of {f'{read_at.astimezone(where):%d %b %Y}'.lstrip('0')}"


def clock(at: datetime, span: tuple[datetime, datetime] | None = None) -> str:
    """``14:05 UTC``; ``25 Sep, 14:05 UTC`` where what it is told of, from and to, takes more than a day."""
    local = at.astimezone(UTC)
    day = f"{local:%d %b}, ".lstrip("0") if span is not None and span[1] - span[0] > A_DAY else ""
    return f"{day}{local:%H:%M} UTC"


def ago(at: datetime, now: datetime) -> str:
    """``just now``, ``12 s ago``, ``4 min ago``."""
    seconds = (now - at).total_seconds()
    return "just now" if seconds < 2 else f"{duration(seconds)} ago"
