"""Rules about what runs out: memory of the GPUs now, of GPUs and hosts before the job's end, and space on disks."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

import pandas as pd

from monitor.analyze.journal import plain_rows
from monitor.analyze.memory import Growth, growths
from monitor.analyze.single_gpus import Fullest, fullest
from monitor.analyze.step_time import variation
from monitor.analyze.utilization import training_spans
from monitor.diagnose.hints import when_memory_is_short
from monitor.diagnose.rulebook import Case, rule
from monitor.diagnose.words.devices import fewest_points, span
from monitor.model import Evidence, Finding, Parameter, Recommendation, Severity, View, moment_of
from monitor.words import count, duration, instant, nodes, percent

FULL_PCT = 90.0
# One point may be a file that is moved; two are a level.
FEWEST_FULL = 2
LEAST_GAIN = 3.0


@rule("disk-nearly-full", needs="metrics", about="risk")
def disk_nearly_full(case: Case) -> Finding | None:
    """A disk is nearly full, or will be before the job ends.

    What it means: a node's DiskUtilization (used space) is above 90 % at its latest level; or a running job would
    fill the disk before its planned end: usage (with a sawtooth of checkpoints, its peaks) rises significantly
    (Theil-Sen, 95 %) and in each third of the time.

    Why it matters: the write that finds no space ends the job, usually in the middle of a checkpoint.

    What to do: keep only the last few checkpoints (save_total_limit), write them to /opt/ml/checkpoints with an S3
    path, or use a larger volume (VolumeSizeInGB).

    Source: SageMaker's DiskUtilization is the share of disk space (developer guide, monitoring-cloudwatch); the limit is this
    project's.
    """
    rows = case.run.metrics[case.run.metrics["metric"] == "disk_utilization"]
    spans = training_spans(case.run.job, case.now)
    if rows.empty or not spans:
        return None
    rows = rows[rows["timestamp"] >= spans[0][0]]
    full = _full(rows)
    growing = [one for one in growths(case.metrics, "disk_utilization") if fills_before_end(case, one, LEAST_GAIN)]
    if not full and not growing:
        return None
    words, evidence = [], []
    if full:
        name = max(full, key=lambda node: full[node][0])
        level, at = full[name]
        where = nodes(list(full), len(case.run.job.nodes))
        words.append(
            f"The disk is {percent(level)} full {where}, above {FULL_PCT:.0f} % on {name} since {case.clock(at)}."
        )
        evidence.append(Evidence("disk space in use", level, "%", name, at.to_pydatetime(), view="disk_utilization"))
    if growing:
        one = growing[0]
        words.append(
            f"Disk space in use grows by {one.per_hour[1]:.1f} points an hour "
            f"{nodes([each.node for each in growing], len(case.run.job.nodes))}: {percent(one.settled)} to "
            f"{percent(one.level)} on {one.node}.{full_words(case, one)}"
        )
        evidence += [
            Evidence("disk space in use, peaks", one.level, "%", one.node, None, one.end, view="disk_utilization"),
            Evidence("slope (Theil-Sen)", one.per_hour[1], "points/h", one.node, one.start, one.end),
        ]
    title = (
        f"Disk {percent(level)} full"
        if full
        else f"Disk will be full at about {instant(growing[0].full_at(growing[0].per_hour[1]))}"
    )
    return Finding(
        "disk-nearly-full",
        "warning",
        "high" if full else "medium",
        title,
        " ".join(words),
        tuple(evidence),
        Recommendation(
            "Delete all but the last checkpoints (save_total_limit), or use a larger volume (VolumeSizeInGB).",
            parameter="VolumeSizeInGB",
            source="SageMaker developer guide: DiskUtilization",
        ),
        not_checked=("what fills it: run du in the job's script",),
    )


def _full(rows: pd.DataFrame) -> dict[str, tuple[float, pd.Timestamp]]:
    """Node -> (height, since when) of the disks that are above the limit for two points and more, up to the last quarter."""
    found = {}
    for name, mine in rows.groupby("node", observed=True):
        mine = mine.sort_values("timestamp")
        above = mine[mine["value_pct"] > FULL_PCT]
        late = mine["timestamp"].iloc[0] + (mine["timestamp"].iloc[-1] - mine["timestamp"].iloc[0]) * 0.75
        if len(above) >= FEWEST_FULL and above["timestamp"].iloc[-1] >= late:
            found[str(name)] = (float(above["value_pct"].max()), above["timestamp"].iloc[0])
    return found


PRESSURE_PCT = 92.0
# Steps that are as regular as this do not suffer.
STEADY_MAD = 0.10
SLOW_SHARE = 0.02
# One flush is the first large batch; so many are a state.
FEWEST_FLUSHES = 3
FLUSHED_SHARE = 0.01
GAINED_POINTS = 10.0
ENDS_ABOVE_PCT = 85.0
# A pace is drawn on for so long, and from so much: seen growth times five.
FURTHER = 5.0
GAINED_BEFORE_DRAWN_ON = 5.0
# Memory that grows with the step time is that of longer sequences.
TOGETHER = 0.8
LONGER_STEPS = 1.05
AS_MUCH = 0.8


@rule(
    "gpu-memory-pressure",
    needs="metrics",
    silenced_by=("stall", "cuda-out-of-memory"),
    about="risk",
    explains=("slow-steps", "fluctuating-gpu-utilization"),
)
def gpu_memory_pressure(case: Case) -> Finding | None:
    """GPU memory is nearly full, or the allocator keeps flushing its cache.

    What it means: GPU memory utilization of a node is above 92 % at its 95th percentile (that of its fullest GPU,
    where the job's profiler tells), or the log mentions allocator cache flushes. A warning if flushes keep coming
    (at least three, and on 1 % of the reported steps), or if memory is full and the steps are irregular; otherwise
    information: some frameworks reserve nearly all memory at the start and manage it themselves.

    Why it matters: each flush waits for the GPU and slows its step, and the next longer sequence may end the job.

    What to do: use a smaller microbatch, activation checkpointing or more sharding; set PYTORCH_CUDA_ALLOC_CONF to
    expandable_segments:True against fragmentation; empty the cache on all ranks at the same step.

    Source: DeepSpeed's warning about allocator cache flushes; the 92 % limit and the regularity criterion are this
    project's.
    """
    held = case.metrics[case.metrics["metric"] == "gpu_memory_utilization"]
    full = {
        str(name): float(rows["value_pct"].quantile(0.95))
        for name, rows in held.groupby("node", observed=True)
        if len(rows) >= fewest_points(case) and rows["value_pct"].quantile(0.95) > PRESSURE_PCT
    }
    alone = {name: one for name, one in fullest(case.gpus).items() if one.pct > max(PRESSURE_PCT, full.get(name, 0.0))}
    full |= {name: one.pct for name, one in alone.items()}
    flushes = _flushes(case)
    if not full and flushes.empty:
        return None
    slow = _irregular(case)
    often = len(flushes) >= max(FEWEST_FLUSHES, FLUSHED_SHARE * len(case.journal))
    severity: Severity = "warning" if often or (full and slow) else "info"
    worst = max(full, key=lambda name: full[name], default=None)
    steps = {True: "; steps are irregular", False: "; steps are steady nonetheless", None: ""}[slow]
    held_words = "" if worst is None else f"GPU memory is at {percent(full[worst])} (p95) on {_where(worst, alone)}"
    if len(full) > 1:
        held_words += f", above {PRESSURE_PCT:.0f} % {nodes(list(full), case.gpu_nodes or len(full))}"
    said = "; ".join(part for part in (held_words, _flush_words(case, flushes)) if part)
    return Finding(
        "gpu-memory-pressure",
        severity,
        "high" if often else "medium",
        f"GPU memory nearly full: {percent(full[worst])}"
        if worst is not None
        else f"The allocator flushes its cache: {count(len(flushes), 'time')}",
        f"{said[:1].upper()}{said[1:]}{steps}.",
        (
            *(
                (
                    Evidence(
                        "GPU memory utilization, p95",
                        full[worst],
                        "%",
                        worst,
                        *span(case),
                        view="gpu_memory_utilization",
                    ),
                )
                if worst is not None
                else ()
            ),
            *(
                Evidence("allocator cache flush", None, "", row.node or None, moment_of(row.timestamp), line=row.text)
                for row in flushes.head(2).itertuples()
            ),
        ),
        Recommendation(
            "Try PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; then a smaller microbatch, or activation checkpointing, until "
            f"GPU memory stays below {PRESSURE_PCT:.0f} %.{_also(case)}",
            source="DeepSpeed: allocator cache flushes; PyTorch CUDA memory notes",
        ),
        not_checked=(
            "how much of the held memory is in use: the allocator keeps freed memory",
            *(() if fullest(case.gpus) else ("the fullest individual GPU",)),
        ),
    )


def _also(case: Case) -> str:
    """What the library's guide has besides."""
    hints = when_memory_is_short(case)
    return f" Library options: {'; '.join(hints)}." if hints else ""


@rule("gpu-memory-growth", needs="metrics", silenced_by=("cuda-out-of-memory",), about="risk")
def gpu_memory_growth(case: Case) -> Finding | None:
    """GPU memory keeps growing.

    What it means: GPU memory utilization of a node rises significantly (Theil-Sen, 95 %) and in each third of the
    time after the first epoch (or the first third of the job), gains at least 10 points over the high-water mark
    before that and ends above 85 %; or a running job would fill it before its planned end even at the lower end of
    that pace. A one-time rise, or one that comes with longer steps (longer sequences), does not count.

    Why it matters: the job will end with an out-of-memory error, and the work since the last checkpoint will be lost.

    What to do: look for tensors kept with their graph (losses summed without .item() or .detach()), unbounded caches,
    and metrics collected on the GPU.

    Source: SageMaker Debugger's GPUMemoryIncrease (10 points); Theil-Sen because it tolerates outliers; the rest is
    this project's.
    """
    return _growing(
        case,
        "gpu_memory_utilization",
        "gpu-memory-growth",
        "GPU memory",
        "Print torch.cuda.memory_allocated() once per epoch: if it rises, something keeps tensors (a loss summed without "
        ".item(), a list of outputs); if only memory_reserved() rises, set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
    )


@rule("host-memory-growth", needs="metrics", silenced_by=("host-out-of-memory",), about="risk")
def host_memory_growth(case: Case) -> Finding | None:
    """Host memory keeps growing.

    What it means: MemoryUtilization of a node (RAM of the container) rises significantly (Theil-Sen, 95 %) and in
    each third of the time after the first epoch (or the first third of the job), gains at least 10 points over the
    high-water mark before that and ends above 85 %; or a running job would fill it before its planned end even at the
    lower end of that pace. In a sawtooth the peaks count. A cache that fills during the first epoch does not count.

    Why it matters: when it is full, the kernel kills a process (exit code 137), and the work since the last
    checkpoint is lost.

    What to do: data sets that hold Python objects grow in every loader worker: use arrays instead; bound the caches;
    use fewer workers or less prefetching; restart the workers each epoch (persistent_workers=False).

    Source: reference counting copies pages into every worker (PyTorch issue on DataLoader memory); thresholds as for
    GPU memory.
    """
    return _growing(
        case,
        "memory_utilization",
        "host-memory-growth",
        "Host memory",
        "Run a few hundred steps with num_workers=0: if memory stops growing, the loader's workers are the cause "
        "(hold the data in arrays, not in Python objects); if not, look for lists and caches in the training loop.",
    )


def planned_end(case: Case) -> tuple[datetime, str] | None:
    """When a running job will end: by its steps, else by its longest run time; None where neither is known."""
    job = case.run.job
    if not job.is_running:
        return None
    if case.steps is not None and case.steps.seconds_to_finish is not None:
        return case.now + timedelta(seconds=case.steps.seconds_to_finish[1]), "its last step"
    if job.started is not None and job.max_runtime_s:
        return job.started + timedelta(seconds=job.max_runtime_s), "MaxRuntimeInSeconds"
    return None


def fills_before_end(case: Case, one: Growth, least_gain: float = GAINED_BEFORE_DRAWN_ON) -> bool:
    """Whether even the slow end of the pace fills the level before the planned end, and not too far in the future."""
    plan = planned_end(case)
    if plan is None or one.gained < least_gain:
        return False
    full = one.full_at(one.per_hour[0])
    return full < plan[0] and full - one.end <= FURTHER * (one.end - one.start)


def full_words(case: Case, one: Growth) -> str:
    """When it would be full at its pace, for a running job; else empty."""
    plan = planned_end(case)
    if plan is None:
        return ""
    full = one.full_at(one.per_hour[1])
    left = duration((full - case.now).total_seconds())
    until = f"; {plan[1]} is expected at {instant(plan[0])}" if full < plan[0] else ""
    return (
        f" At that pace it will be full at {instant(full)}, in {left}{until}."
        if full > case.now
        else " It is full now."
    )


def _growing(case: Case, metric: View, id: str, name: str, advice: str) -> Finding | None:
    found = [
        one
        for one in growths(case.metrics, metric, _first_epoch(case))
        if (one.gained >= GAINED_POINTS and one.level > ENDS_ABOVE_PCT) or fills_before_end(case, one)
    ]
    if metric == "gpu_memory_utilization":
        found = [one for one in found if one.level > PRESSURE_PCT or not _longer_sequences(case, one)]
    if not found:
        return None
    worst = found[0]
    low, middle, high = worst.per_hour
    return Finding(
        id,
        "warning",
        "high" if len(found) > 1 or worst.gained >= 2 * GAINED_POINTS else "medium",
        f"{name} grows: {percent(worst.settled)} to {percent(worst.level)}",
        f"{name} grows {nodes([one.node for one in found], len(case.run.job.nodes))}: {_on(worst.node, found)}from "
        f"{percent(worst.settled)} to {percent(worst.level)} between {case.clock(worst.start)} and {case.clock(worst.end)}, "
        f"{middle:.1f} points an hour (95 % interval {low:.1f} to {high:.1f}).{full_words(case, worst)}",
        (
            Evidence(f"{name}, initial high-water mark", worst.settled, "%", worst.node, worst.start, view=metric),
            Evidence(f"{name}, now", worst.level, "%", worst.node, None, worst.end, view=metric),
            Evidence("slope (Theil-Sen)", middle, "points/h", worst.node, worst.start, worst.end),
        ),
        Recommendation(advice, source=f"rule {id}"),
        not_checked=("which process or GPU grows: CloudWatch has one figure per host",),
    )


def _on(node: str, found: list[Growth]) -> str:
    return f"on {node} " if len(found) > 1 else ""


def _first_epoch(case: Case) -> datetime | None:
    """When the first epoch ended, where the log tells how many steps it has."""
    told = case.run.events.loc[case.run.events["kind"] == "steps-per-epoch", "text"]
    steps = None if told.empty else Parameter(str(told.iloc[-1]), "").whole
    if steps is None:
        return None
    rows = case.journal[(case.journal["step"] >= steps) & case.journal["at"].notna()]
    return None if rows.empty else rows["at"].iloc[0].to_pydatetime()


def _longer_sequences(case: Case, one: Growth) -> bool:
    """Whether the steps become longer as memory grows."""
    rows = plain_rows(case.journal)[["at", "time_s"]].dropna()
    held = case.metrics[(case.metrics["metric"] == "gpu_memory_utilization") & (case.metrics["node"] == one.node)]
    period = int(held["period_s"].iloc[0])
    minutes = rows.groupby(rows["at"].dt.floor(f"{period}s"))["time_s"].median()
    both = pd.concat([minutes, held.set_index("timestamp")["value_pct"]], axis=1, sort=True).dropna()
    if len(both) < fewest_points(case):
        return False
    # As growth itself is judged: behind the first third.
    both = both.iloc[len(both) // 3 :]
    few = max(1, len(both) // 5)
    time_ratio, held_ratio = (
        both[name].iloc[-few:].median() / both[name].iloc[:few].median() for name in ("time_s", "value_pct")
    )
    # Activations grow with the sequence and the rest of the memory does not, so that steps grow at least as much.
    longer = time_ratio >= LONGER_STEPS and time_ratio - 1 >= AS_MUCH * (held_ratio - 1)
    return bool(longer and both.rank().corr().iloc[0, 1] >= TOGETHER)


def _flushes(case: Case) -> pd.DataFrame:
    """The flushes that the process which tells most of them tells of, those of the first step left out."""
    rows = case.run.events[case.run.events["kind"] == "cache-flush"]
    if case.window is not None:
        rows = rows[~(rows["timestamp"] < case.window.start)]
    if rows.empty:
        return rows
    writers = rows.groupby(["node", "rank", "stream"], dropna=False, observed=True).ngroup()
    return rows[writers == writers.value_counts().sort_index().idxmax()]


def _flush_words(case: Case, flushes: pd.DataFrame) -> str:
    times = flushes["timestamp"].dropna()
    when = f" since {case.clock(times.min())}" if len(times) else ""
    return f"the allocator flushed its cache {count(len(flushes), 'time')}{when}" if len(flushes) else ""


def _where(node: str, alone: Mapping[str, Fullest]) -> str:
    """``algo-2``, or ``GPU 3 of algo-2`` where one is fuller than its host's mean."""
    return f"GPU {alone[node].gpu} of {node}" if node in alone else node


def _irregular(case: Case) -> bool | None:
    """Whether steps vary by more than a tenth, or 2 % of them take twice the median; None where no time is known."""
    wobble = variation(case.run.steps)
    times = plain_rows(case.journal)["time_s"].dropna()
    if wobble is None or len(times) < 10:
        return None
    return wobble > STEADY_MAD or float((times > 2 * times.median()).mean()) >= SLOW_SHARE
