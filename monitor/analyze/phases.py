"""Where the wall time went: contiguous phases from the status changes and the first and last step, and their sums."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import pandas as pd

from monitor.analyze.lost import Loss, LostWork
from monitor.model import ENDED_STATUSES, Bucket, Job, Phase, Run

#: Every second of a job's wall time is in exactly one of these.
BUCKETS = (
    "pending",
    "starting",
    "downloading",
    "image",
    "initialization",
    "productive",
    "slow-excess",
    "evaluation",
    "checkpoint",
    "stall",
    "lost-work",
    "interrupted",
    "uploading",
    "idle-tail",
    "unknown",
)
#: Billed time in these is not waste.
USEFUL = frozenset({"productive", "evaluation", "checkpoint"})

_BY_STATUS = {
    "Pending": "pending",
    "Starting": "starting",
    "LaunchingMLInstances": "starting",
    "PreparingTrainingStack": "starting",
    "PreparingTraining": "starting",
    "Restarting": "starting",
    "Updating": "starting",
    "Downloading": "downloading",
    "DownloadingTrainingImage": "image",
    "Interrupted": "interrupted",
    "Uploading": "uploading",
    "Stopping": "idle-tail",
}
_NOT_BILLED = frozenset({"pending", "starting", "interrupted"})
# A silence longer than this many usual gaps between reports, and than five minutes, is no step.
_SILENT_GAPS = 5
_SILENT_S = 300.0


def phases(run: Run, now: datetime, lost: LostWork | None = None) -> tuple[Phase, ...]:
    """Contiguous phases from the job's creation to its end (or ``now``); empty where no time is known.

    Of the time from the first to the last step that which was ``lost`` is lost work, up to the restart; from there to the
    next step the job begins anew.
    """
    job = run.job
    if job.source == "logs" and job.started is None:
        return ()  # the head of the log is missing: what is left would pass for the whole
    spans = list(_status_spans(job, now))
    cut: list[Phase] = []
    for name, start, end in spans:
        parts = [(_BY_STATUS.get(name, "unknown"), start, end)]
        if name == "Training":
            parts = _training(run, start, end)
            for loss in lost.losses if lost else ():
                parts = [piece for part in parts for piece in _without_loss(part, loss)]
        cut.extend(Phase(part, a, b, _billed(job, part, a)) for part, a, b in parts if b > a)
    return tuple(_joined(cut))


def buckets(parts: Iterable[Phase], job: Job, price_usd_per_hour: float | None) -> tuple[Bucket, ...]:
    """The sums of the phases by name, in the order of ``BUCKETS``; cost only of billed seconds, None without a price."""
    parts = tuple(parts)
    instances = job.instance_count or 1
    factor = billing_factor(job)
    out: list[Bucket] = []
    for name in BUCKETS:
        mine = [part for part in parts if part.name == name]
        if not mine:
            continue
        seconds = sum(part.seconds for part in mine)
        billed_s = sum(part.seconds for part in mine if part.billed)
        cost = None if price_usd_per_hour is None else billed_s * instances * factor * price_usd_per_hour / 3600
        out.append(Bucket(name, seconds, seconds * instances, cost))
    return tuple(out)


def billing_factor(job: Job) -> float:
    """BillableTimeInSeconds / TrainingTimeInSeconds (spot pays less); 1 where they are not known."""
    if job.billable_seconds is None or not job.training_seconds:
        return 1.0
    return job.billable_seconds / job.training_seconds


def _status_spans(job: Job, now: datetime) -> Iterable[tuple[str, datetime, datetime]]:
    end = job.ended or now
    entries = [t for t in job.transitions if t.status not in ENDED_STATUSES and not t.status.startswith("Max")]
    if not entries:
        if job.created is not None and job.started is None and end > job.created:
            yield "Pending" if job.is_running else "Starting", job.created, end
        elif job.started is not None:
            yield "Training", job.started, end
        return
    if job.created is not None and job.created < entries[0].start:
        yield "Pending", job.created, entries[0].start
    last_end = max(
        [t.start for t in job.transitions] + [t.end for t in job.transitions if t.end] + [job.ended or entries[0].start]
    )
    for i, entry in enumerate(entries):
        # The next entry's start closes this one, so that nothing is counted twice and no gap is left.
        following = (
            entries[i + 1].start if i + 1 < len(entries) else (now if job.is_running else max(last_end, entry.start))
        )
        name = "DownloadingTrainingImage" if _is_image_pull(entry.status, entry.message) else entry.status
        yield name, entry.start, following


def _is_image_pull(status: str, message: str) -> bool:
    return status == "Training" and "ownloading the training image" in message


def _training(run: Run, start: datetime, end: datetime) -> list[tuple[str, datetime, datetime]]:
    """Cuts one Training span at the first log line, the first step's beginning and the last step."""
    if not run.logs.complete:
        return [("unknown", start, end)]
    image_end = _first_line(run, start, end)
    first, last, gap_s = _step_times(run.steps, start, end)
    parts: list[tuple[str, datetime, datetime]] = []
    if image_end is not None:
        parts.append(("image", start, image_end))
        start = image_end
    if first is None or last is None:
        return [*parts, ("unknown", start, end)]
    begun = max(start, first)
    parts += [("initialization", start, begun), ("productive", begun, last)]
    if (end - last).total_seconds() > max(_SILENT_GAPS * gap_s, _SILENT_S):
        return [*parts, ("stall", last, end)]
    return [*parts, ("productive" if run.job.is_running else "idle-tail", last, end)]


_Part = tuple[str, datetime, datetime]


def _without_loss(part: _Part, loss: Loss) -> list[_Part]:
    """A part cut at a loss's beginning, its end and the next step, where it is productive time."""
    name, start, end = part
    if name != "productive" or loss.start is None or loss.end is None:
        return [part]
    marks = [min(max(mark, start), end) for mark in (loss.start, loss.end, loss.again or loss.end)]
    marks[2] = max(marks[1], marks[2])
    edges = [start, *marks, end]
    names = ("productive", "lost-work", "initialization", "productive")
    return [(name, a, b) for name, a, b in zip(names, edges[:-1], edges[1:], strict=True) if b > a]


def _first_line(run: Run, start: datetime, end: datetime) -> datetime | None:
    """When the container first spoke: until then its image was still being pulled. None where no line tells."""
    heads = run.events.loc[run.events["kind"] == "first-line", "timestamp"].dropna()
    inside = heads[(heads >= start) & (heads < end)]
    return inside.min().to_pydatetime() if len(inside) else None


def _step_times(steps: pd.DataFrame, start: datetime, end: datetime) -> tuple[datetime | None, datetime | None, float]:
    stamped = steps[["timestamp", "step_time_s", "kind"]].dropna(subset=["timestamp"])
    stamped = stamped[(stamped["timestamp"] >= start) & (stamped["timestamp"] <= end)]
    if stamped.empty:
        return None, None, 0.0
    stamped = stamped.sort_values("timestamp")
    first_row = stamped.iloc[0]
    # A report stands at the end of its step.
    took = first_row["step_time_s"] if first_row["kind"] in {"step", "cumulative"} else float("nan")
    first = first_row["timestamp"] - pd.Timedelta(seconds=0.0 if pd.isna(took) else float(took))
    gaps = stamped["timestamp"].drop_duplicates().diff().dt.total_seconds().dropna()
    return (
        first.floor("ms").to_pydatetime(),
        stamped["timestamp"].iloc[-1].to_pydatetime(),
        float(gaps.median()) if len(gaps) else 0.0,
    )


def _billed(job: Job, name: str, start: datetime) -> bool:
    if job.started is None or name in _NOT_BILLED:
        return False
    return start >= job.started and (job.ended is None or start < job.ended)


def _joined(parts: list[Phase]) -> Iterable[Phase]:
    """Neighbours of the same name and billing as one."""
    current: Phase | None = None
    for part in parts:
        if current and part.name == current.name and part.billed == current.billed:
            current = Phase(part.name, current.start, part.end, part.billed)
            continue
        if current:
            yield current
        current = part
    if current:
        yield current
