"""Where the wall time went, and what it cost: contiguous phases from the status changes, the steps and what stands between them;
their sums; which seconds are billed, and when the first step began and ended.

By AWS's own words the time from TrainingStartTime to TrainingEndTime; not what a job waited for new instances after an
interruption. The sum that counts is TrainingTimeInSeconds (BillableTimeInSeconds / TrainingTimeInSeconds is a factor on the
price): where it is known and the status changes give another one, phases are cut until both agree.

Phases have no hole, and each bucket is the sum of its phases. A job of a million steps has more pieces than anybody
reads: of each span of training at most some 200 are told. Beyond that, short ones that lie near each other are put together,
their seconds by name kept to the millisecond, training first; so the sums are exact and the places of short ones are not.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Literal

import numpy as np
import pandas as pd

from monitor.analyze.checkpoints import Activity
from monitor.analyze.journal import usual_step_s
from monitor.analyze.lost import LostWork
from monitor.analyze.silence import at_work, gpu_pattern, is_standstill, silence
from monitor.analyze.training_time import (
    BUCKETS,
    Ending,
    Ints,
    ReportColumns,
    TrainingTail,
    marks,
    reports,
    to_ms,
    training,
)
from monitor.analyze.utilization import training_spans
from monitor.model import ENDED_STATUSES, Bucket, Cost, InstanceGroup, Job, Phase, Price, Run

_WAITING = frozenset({"pending", "starting", "interrupted"})
# TrainingTimeInSeconds is whole seconds.
_ROUNDING_S = 1.0


def billing_factor(job: Job) -> float:
    """BillableTimeInSeconds / TrainingTimeInSeconds (spot pays less); 1 where they are not known."""
    if job.billable_seconds is None or not job.training_seconds:
        return 1.0
    return job.billable_seconds / job.training_seconds


def billed_seconds(parts: Iterable[Phase]) -> float:
    """Of one instance."""
    return sum(part.seconds for part in parts if part.billed)


def with_billing(parts: Sequence[Phase], job: Job) -> list[Phase]:
    """The phases, cut where billing begins or ends, with ``billed`` set; still contiguous."""
    if job.started is None:
        return [replace(part, billed=False) for part in parts]
    edges = [job.started, *([job.ended] if job.ended else [])]
    flagged: list[Phase] = []
    away = worked = False
    for part in _cut(parts, edges):
        inside = part.start >= job.started and (job.ended is None or part.start < job.ended)
        # The first instances are billed from TrainingStartTime on, whatever the status says; new ones when they work.
        away = part.name == "interrupted" or (part.name in _WAITING and (away or worked))
        worked |= part.name not in _WAITING
        flagged.append(replace(part, billed=inside and not away and part.name != "pending"))
    if job.training_seconds is None:
        return flagged
    over_s = billed_seconds(flagged) - job.training_seconds
    if abs(over_s) < _ROUNDING_S:
        return flagged
    # Waiting first, what is nearest to the work last; then whatever came first.
    waits = [part for part in flagged if part.name in _WAITING]
    rest = [part for part in flagged if part.name not in _WAITING]
    return _flipped(flagged, [*waits, *rest] if over_s > 0 else [*reversed(waits), *reversed(rest)], over_s)


def _flipped(parts: Sequence[Phase], order: Sequence[Phase], over_s: float) -> list[Phase]:
    """With so much of the phases, in this order, billed or not that the sum changes by ``-over_s``."""
    left = timedelta(seconds=abs(over_s))
    changed: dict[Phase, list[Phase]] = {}
    for part in order:
        if left <= timedelta(0):
            break
        if part.billed != (over_s > 0):
            continue
        took = min(left, part.end - part.start)
        left -= took
        # Billing begins later than told, or earlier.
        middle = part.start + took if over_s > 0 else part.end - took
        changed[part] = [
            Phase(part.name, part.start, middle, False),
            Phase(part.name, middle, part.end, True),
        ]
    out = [piece for part in parts for piece in changed.get(part, [part])]
    return [piece for piece in out if piece.end > piece.start]


def _cut(parts: Iterable[Phase], edges: Sequence[datetime]) -> Iterable[Phase]:
    for part in parts:
        marks = [part.start, *sorted(edge for edge in edges if part.start < edge < part.end), part.end]
        yield from (replace(part, start=a, end=b) for a, b in itertools.pairwise(marks))


# A GPU that is busier than this most of the time is training, whether or not lines tell of it.
AT_WORK_PCT = 50.0
MOSTLY = 0.8
# Lines of one block have nearly one time.
_BLOCK = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Beginning:
    """The first Training span up to the end of the first step."""

    start: datetime
    first_line: datetime | None
    """When the container first spoke: until then its image was pulled, or it was started. None where no line tells."""
    first_step: datetime | None
    """When it ended, loading, tracing and compiling within it; None where none has ended yet."""
    began: datetime | None = None
    """When that step itself began, by the time that it prints."""
    usual_s: float | None = None
    """What a step of this job usually takes."""
    sure: bool = True
    """False where the first report stands for many steps, or its line may have come late."""

    def seconds(self, now: datetime) -> float:
        """How long the first step has been waited for."""
        return ((self.first_step or now) - self.start).total_seconds()

    @property
    def step_s(self) -> float:
        """What the first step itself took; 0 where that is not known."""
        return 0.0 if self.began is None or self.first_step is None else (self.first_step - self.began).total_seconds()


def beginning(run: Run, journal: pd.DataFrame, now: datetime) -> Beginning | None:
    """How the job came to its first step; None where it never trained, or lines have no times."""
    start = _training_start(run.job, now)
    if start is None:
        return None
    heads = run.events.loc[run.events["kind"] == "first-line", "timestamp"].dropna()
    heads = heads[heads >= start]
    first_line = heads.min().to_pydatetime() if len(heads) else None
    first = _first_report(run.steps)
    if first is None:
        return Beginning(start, first_line, None)
    if first < start:
        return None  # a clock of its own, or another run's lines
    if journal.empty or pd.isna(journal["at"].iloc[0]):
        return Beginning(start, first_line, first, sure=False)
    usual_s = usual_step_s(journal)
    # Hosts' clocks differ: the first line may be another's than the one that is followed.
    at = min(first, journal["at"].iloc[0].to_pydatetime())
    count = _covered(journal)
    ended = max(start, at - timedelta(seconds=(count - 1) * (usual_s or 0.0)))
    began = max(start, at - timedelta(seconds=_own_s(journal, count, usual_s)))
    alone = len(journal) > 1 and bool(journal["wall_s"].notna().any()) and float(journal["steps"].median()) == 1.0
    sure = alone and bool(pd.notna(journal["step_time_s"].iloc[0]))
    return Beginning(start, first_line, max(ended, began), began, usual_s, sure)


def gpus_at_work(metrics: pd.DataFrame, since: datetime, until: datetime) -> bool | None:
    """Whether the GPUs were busy most of the minutes of the span; None of fewer than three minutes."""
    rows = metrics[(metrics["metric"] == "gpu_utilization") & metrics["timestamp"].between(since, until)]
    by_minute = rows.groupby("timestamp")["value_pct"].median()
    return bool((by_minute > AT_WORK_PCT).mean() >= MOSTLY) if len(by_minute) >= 3 else None


def working_since(metrics: pd.DataFrame, until: datetime) -> datetime | None:
    """Since when the GPUs have been busy without a break up to ``until``; None where they were not, just before it."""
    rows = metrics[(metrics["metric"] == "gpu_utilization") & (metrics["timestamp"] < until - timedelta(minutes=1))]
    by_minute = rows.groupby("timestamp")["value_pct"].median()
    if by_minute.empty or by_minute.index[-1] < until - timedelta(minutes=4):
        return None
    idle = by_minute.index[by_minute <= AT_WORK_PCT]
    busy = by_minute.index[by_minute.index > idle[-1]] if len(idle) else by_minute.index
    return busy[0].to_pydatetime() if len(busy) else None


def _training_start(job: Job, now: datetime) -> datetime | None:
    pulling = [t.start for t in job.transitions if "ownloading the training image" in t.message]
    spans = [start for start, _ in training_spans(job, now) if start not in pulling]
    return spans[0] if spans else None


def _first_report(steps: pd.DataFrame) -> datetime | None:
    stamped = steps["timestamp"].dropna() if len(steps) else pd.Series(dtype="datetime64[ms, UTC]")
    return None if stamped.empty else stamped.min().to_pydatetime()


def _covered(journal: pd.DataFrame) -> float:
    """How many steps the first report stands for; where lines come in blocks, those of the first block."""
    usual = journal["steps"].median()
    steps = 1.0 if pd.isna(usual) else min(float(usual), max(1.0, float(journal["step"].iloc[0])))
    if journal["wall_s"].isna().all():
        block = journal["at"] <= journal["at"].iloc[0] + _BLOCK
        steps += float(journal.loc[block, "steps"].fillna(0.0).sum())
    return steps


def _own_s(journal: pd.DataFrame, count: float, usual_s: float | None) -> float:
    """The time of these steps by what the first report prints, which a smoothed time does not tell."""
    printed = journal["step_time_s"].iloc[0] if journal["kind"].iloc[0] != "smoothed" else float("nan")
    return count * float(printed if pd.notna(printed) else usual_s or 0.0)


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
    last_line = None if run.logs.last_line_at is None else to_ms(run.logs.last_line_at)
    last_training = max((start for name, start, _ in spans if name == "Training"), default=None)
    parts: list[Phase] = []
    for name, start, end in spans:
        if name != "Training":
            parts.append(Phase(_BY_STATUS.get(name, "unknown"), start, end, False))
            continue
        ending = _ending(job, name == spans[-1][0] and end == spans[-1][2], start == last_training)
        tail = TrainingTail(ending, _silent(run, journal, start, end, ending), last_line, *marks(run.events))
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
    held = gpu_pattern(run.metrics, found.since, end)
    if ending == "badly":  # lines came with the failure
        return "unknown" if at_work(held) else "stall"
    return "stall" if is_standstill(found, held, run.logs.last_line_at) else "unknown"


def _ending(job: Job, current: bool, last: bool) -> Ending:
    if not last:
        return "interrupted"
    if job.is_running:
        return "running" if current else "well"
    return "badly" if job.status in {"Failed", "Stopped"} else "well"


def _training(
    run: Run,
    told: ReportColumns,
    span: tuple[datetime, datetime],
    tail: TrainingTail,
    restarts: Ints,
    activities: Sequence[Activity],
    lost: LostWork | None,
) -> list[Phase]:
    """The phases of one Training span, the pull of the image until the container first spoke before all."""
    start, end = span
    spoke = _first_line(run, start, end) if run.logs.complete else None
    begun = start if spoke is None else spoke
    # To the millisecond inside, to the microsecond where it touches its neighbors.
    low, high = to_ms(begun), max(to_ms(begun) + 1, to_ms(end))
    found = training(run, told, low, high, tail, restarts)
    for kind in ("checkpoint", "evaluation"):
        spans = ((to_ms(one.start), to_ms(one.end)) for one in activities if one.kind == kind)
        found = found.over(spans, kind, {"productive"})
    losses = ((to_ms(one.start), to_ms(one.end)) for one in (lost.losses if lost else ()) if one.start and one.end)
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


def usd_per_hour(job: Job, found: Cost) -> float | None:
    """What all instances of a job cost an hour; None where no price or no number of instances is known."""
    if found.price_usd_per_instance_hour is None or not job.instance_count:
        return None
    return found.price_usd_per_instance_hour * job.instance_count * billing_factor(job)


def cost(job: Job, parts: Sequence[Phase], buckets: Iterable[Bucket], price: Price | None) -> Cost:
    """The bill so far, of TrainingTimeInSeconds or, until that is known, of the billed phases.

    ``usd`` is None without a price, and 0 for a job that never started.

    ``overhead_usd`` is the cost of all billed buckets but productive, evaluation and checkpoint; None where no step was
    seen, since then nobody knows what the time was spent on.
    """
    if price is None:
        return Cost()
    usd_per_hour, instances = price.usd_per_instance_hour, job.instance_count or 1
    # Until a spot job has ended nobody is told for how much of its time it pays.
    at_most = job.spot and (job.billable_seconds is None or not job.training_seconds)
    source = f"{price.source}; on-demand; a spot job pays at most that" if at_most else price.source
    retained_s = job.warm_pool_billable_seconds
    retained = None if retained_s is None else retained_s * instances * usd_per_hour / 3600
    if job.training_seconds is None and job.ended is None and not job.is_running and job.started is not None:
        # Part of a log: nobody knows how long it ran.
        return Cost(None, None, usd_per_hour, source, at_most, retained)
    seconds = billed_seconds(parts) if job.training_seconds is None else job.training_seconds
    usd = seconds * instances * billing_factor(job) * usd_per_hour / 3600
    buckets = tuple(buckets)
    seen = any(bucket.name in USEFUL for bucket in buckets)
    overhead = sum(bucket.cost_usd or 0.0 for bucket in buckets if bucket.name not in USEFUL) if seen else None
    return Cost(usd, overhead, usd_per_hour, source, at_most, retained)


def goodput(job: Job, parts: Sequence[Phase]) -> float | None:
    """Productive billed seconds / billed seconds, 0 to 1: the share of billed time spent training steps that were kept.

    Evaluations and checkpoints are not in it, though they are no waste. None where no step was seen, or nothing billed.
    """
    billed_s = billed_seconds(parts) if job.training_seconds is None else float(job.training_seconds)
    if billed_s <= 0 or not any(part.name in {"productive", "lost-work"} for part in parts):
        return None
    return min(1.0, billed_seconds(part for part in parts if part.name == "productive") / billed_s)


def mean_price(groups: Sequence[InstanceGroup], prices: Mapping[str, Price]) -> Price | None:
    """The price of an instance-hour of a job, by instance type; None unless that of every group is known.

    All instances of a job start and end together, so that instances times the mean, weighted by the groups' counts, is
    exactly what they cost together.
    """
    known = [(group.count, prices[group.instance_type]) for group in groups if group.instance_type in prices]
    count = sum(instances for instances, _ in known)
    if not count or len(known) < len(groups):
        return None
    mean = sum(instances * price.usd_per_instance_hour for instances, price in known) / count
    sources = list(dict.fromkeys(price.source for _, price in known))
    several = len({group.instance_type for group in groups}) > 1
    return Price(mean, " and ".join(sources) + (", mean over the instance groups" if several else ""))
