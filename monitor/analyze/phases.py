"""Where the wall time went: contiguous phases from the status changes, the steps and what stands between them; their sums.

Phases have no hole, and each bucket is the sum of its phases. A job of a million steps has more pieces than anybody
reads: of each span of training at most some 200 are told. Beyond that, short ones that lie near each other are put together,
their seconds by name kept to the millisecond, training first; so the sums are exact and the places of short ones are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Literal

import numpy as np
import pandas as pd

from monitor.analyze.activities import Activity
from monitor.analyze.billing import billing_factor, with_billing
from monitor.analyze.lost import LostWork
from monitor.analyze.silence import at_work, held_gpus, silence, stands_still
from monitor.analyze.training_time import BUCKETS, Ending, Ints, Reports, Tail, marks, reports, training
from monitor.model import ENDED_STATUSES, Bucket, Job, Phase, Run

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


def phases(
    run: Run,
    now: datetime,
    journal: pd.DataFrame,
    activities: Sequence[Activity] = (),
    lost: LostWork | None = None,
) -> tuple[Phase, ...]:
    """Contiguous phases from the job's creation to its end (or ``now``); empty where no time is known.

    ``journal`` is that of ``monitor.analyze.journal``, ``activities`` the spans of checkpoints and evaluations. Steps that
    were ``lost`` are lost work, slow ones too; what lies between them and the next step is initialization again.
    """
    job = run.job
    if job.source == "logs" and job.started is None:
        return ()  # the head of the log is missing: what is left would pass for the whole
    spans = _joined_spans(_status_spans(job, now))
    told = reports(journal, activities, lost, run.steps)
    restarts = _times(run.events, ("restart", "resume", "first-line"))
    last_line = None if run.logs.last_line_at is None else _ms(run.logs.last_line_at)
    last_training = max((start for name, start, _ in spans if name == "Training"), default=None)
    parts: list[Phase] = []
    for name, start, end in spans:
        if name != "Training":
            parts.append(Phase(_BY_STATUS.get(name, "unknown"), start, end, False))
            continue
        ending = _ending(job, name == spans[-1][0] and end == spans[-1][2], start == last_training)
        tail = Tail(ending, _silent(run, journal, start, end, ending), last_line, *marks(run.events))
        parts += _training(run, told, (start, end), tail, restarts, activities, lost)
    return tuple(_joined(with_billing(parts, job)))


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


_Span = tuple[str, datetime, datetime]


def _status_spans(job: Job, now: datetime) -> Iterable[_Span]:
    end = job.ended or now
    entries = [t for t in job.transitions if t.status not in ENDED_STATUSES and not t.status.startswith("Max")]
    if not entries:
        if job.created is not None and job.started is None and end > job.created:
            yield "Pending" if job.is_running else "Starting", job.created, end
        elif job.started is not None:
            if job.created is not None and job.created < job.started:
                yield "Starting", job.created, job.started
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


def _joined_spans(spans: Iterable[_Span]) -> list[_Span]:
    """Without empty ones; neighbors of one status as one."""
    filled = [span for span in spans if span[2] > span[1]]
    groups = (list(group) for _, group in groupby(filled, key=lambda span: span[0]))
    return [(group[0][0], group[0][1], group[-1][2]) for group in groups]


def _silent(
    run: Run, journal: pd.DataFrame, start: datetime, end: datetime, ending: Ending
) -> Literal["", "stall", "unknown"]:
    """What the silence at the end of the last span of training is, where it is too long for a step."""
    if ending not in {"running", "badly"} or not run.logs.complete:
        return ""
    total, reached = run.steps["total"].max(), run.steps["step"].max()
    if pd.notna(total) and pd.notna(reached) and reached + 1 >= total:
        return ""  # what comes after the last step is no step
    found = silence(run.steps, journal, run.events, start, end)
    if found is None or not found.too_long:
        return ""
    held = held_gpus(run.metrics, found.since, end)
    if ending == "badly":  # lines came with the failure
        return "unknown" if at_work(held) else "stall"
    return "stall" if stands_still(found, held, run.logs.last_line_at) else "unknown"


def _ending(job: Job, current: bool, last: bool) -> Ending:
    if not last:
        return "interrupted"
    if job.is_running:
        return "running" if current else "well"
    return "badly" if job.status in {"Failed", "Stopped"} else "well"


def _training(
    run: Run,
    told: Reports,
    span: tuple[datetime, datetime],
    tail: Tail,
    restarts: Ints,
    activities: Sequence[Activity],
    lost: LostWork | None,
) -> list[Phase]:
    """The phases of one Training span, the pull of the image until the container first spoke before all."""
    start, end = span
    spoke = _first_line(run, start, end) if run.logs.complete else None
    begun = start if spoke is None else spoke
    # To the millisecond inside, to the microsecond where it touches its neighbors.
    low, high = _ms(begun), max(_ms(begun) + 1, _ms(end))
    found = training(run, told, low, high, tail, restarts)
    for kind in ("checkpoint", "evaluation"):
        spans = ((_ms(one.start), _ms(one.end)) for one in activities if one.kind == kind)
        found = found.over(spans, kind, {"productive"})
    losses = ((_ms(one.start), _ms(one.end)) for one in (lost.losses if lost else ()) if one.start and one.end)
    found = found.over(losses, "lost-work", {"productive", "slow-excess"})
    names = ["image", *(name for name, _, _ in found.few())]
    inner = [min(max(_moment(b), begun), end) for _, _, b in found.few()]
    edges = [start, begun, *inner[:-1], end]
    return [Phase(name, a, b, False) for name, a, b in zip(names, edges[:-1], edges[1:], strict=True) if b > a]


def _first_line(run: Run, start: datetime, end: datetime) -> datetime | None:
    """When the container first spoke: until then its image was still being pulled. None where no line tells."""
    heads = run.events.loc[run.events["kind"] == "first-line", "timestamp"].dropna()
    inside = heads[(heads >= start) & (heads < end)]
    return inside.min().to_pydatetime() if len(inside) else None


def _times(events: pd.DataFrame, kinds: Sequence[str]) -> Ints:
    at = events.loc[events["kind"].isin(kinds), "timestamp"].dropna()
    return np.sort(at.to_numpy("datetime64[ms]").astype(np.int64))


def _ms(at: datetime) -> int:
    return round(1000 * at.timestamp())


def _moment(ms: int) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=ms)


def _joined(parts: Iterable[Phase]) -> Iterable[Phase]:
    """Neighbors of the same name and billing as one."""
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
