"""What a list of jobs says of each without a call: the verdict of its last review, how long it ran, and on what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from rich.text import Text

from monitor.archive.cache import Cache
from monitor.archive.verdicts import Kept
from monitor.errors import BadCall
from monitor.model import JobSummary, Mute
from monitor.review.muted import is_muted, mutes
from monitor.words import DASH, duration

_STYLES = {"critical": "bold red", "warning": "yellow", "healthy": "green"}
# A verdict on a running job that is older says so.
_FRESH_S = 120.0


def kept_of(cache: Cache | None, endpoint: str | None, job: JobSummary) -> Kept | None:
    """The verdict of the last review; nothing that was said before the job changed its status: of a run, once it has
    ended."""
    kept = None if cache is None else cache.verdicts.of(endpoint, job.name, job.created)
    return kept if kept is not None and kept.status == job.status else None


def muted_names(verdicts: Iterable[tuple[str, Kept | None]]) -> frozenset[str]:
    """Names of jobs whose verdict is of a finding that this user muted. A file of mutes that cannot be used keeps nobody
    from the list; report says what is wrong with it."""
    known: Sequence[Mute] = ()
    with suppress(BadCall):
        known = mutes()
    return frozenset(name for name, kept in verdicts if kept and kept.finding and is_muted(kept.finding, name, known))


def verdict_document(kept: Kept | None) -> dict[str, Any]:
    """For machines."""
    return {
        "verdict": None if kept is None else kept.headline,
        "level": None if kept is None else kept.level,
        "reviewed_at": None if kept is None else kept.reviewed_at.isoformat().replace("+00:00", "Z"),
    }


def verdict_text(job: JobSummary, kept: Kept | None, at: datetime, muted: bool) -> Text:
    """For people; "" where the job was not reviewed."""
    if kept is None:
        return Text("")
    age_s = (at - kept.reviewed_at).total_seconds()
    old = f" ({duration(age_s)} ago)" if job.ended is None and age_s > _FRESH_S else ""
    if muted:
        return Text(f"{kept.headline}{old} (muted)", "dim")
    return Text(f"{kept.headline}{old}", _STYLES.get(kept.level, ""))


def ran(job: JobSummary, at: datetime) -> str:
    """How long since training started, up to its end."""
    return duration(((job.ended or at) - job.started).total_seconds() if job.started else None)


def instances(job: JobSummary) -> str:
    """``4 x ml.p4d.24xlarge``."""
    return f"{job.instance_count} x {job.instance_type}" if job.instance_type else DASH
