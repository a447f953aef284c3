"""Rules about steps that are slower than they were, than others, or than necessary."""

from __future__ import annotations

from datetime import datetime, timedelta

import pandas as pd

from monitor.analyze.checkpoints import checkpoint_pauses
from monitor.analyze.pace import SlowSteps, slow_steps
from monitor.analyze.peers import peer_groups, slow_nodes, unlike_nodes
from monitor.analyze.slowdown import Slowdown, slowdown
from monitor.diagnose.rulebook import Case, rule
from monitor.diagnose.stakes import STEPS
from monitor.diagnose.unlike import by_gpu, by_steps
from monitor.diagnose.words.report import saved_words
from monitor.model import Evidence, Finding, MetricName, Recommendation, Saving
from monitor.model.host_metrics import HOST_METRICS
from monitor.words import duration, percent, step_seconds

IDLE_PCT = 5.0
# A change of level is found within a few reports of where it is.
ANNOUNCED_WITHIN = timedelta(minutes=5)
# Parameters of schedules in which a step does more work later on; their names contain one of these.
_GROWING_WORK = ("curriculum", "rampup", "ramp_up", "seqlen_warmup", "sequence_length_schedule", "progressive")


@rule(
    "slow-node",
    needs="nothing",
    silenced_by=("stall",),
    explains=(
        "step-time-regression",
        "slow-steps",
        "small-batch",
        "low-gpu-utilization",
        "fluctuating-gpu-utilization",
    ),
)
def slow_node(case: Case) -> Finding | None:
    """A node is slower than its peers, and the others wait for it.

    What it means: in at least 5 of 10 minutes, the step times that a node itself prints (or, if it prints none, its
    GPU utilization) differ from the median of its peers at the same steps, or in the same minute, by more than 5
    robust standard deviations and by at least 10 %. Peers have the same instance type and, for utilization, the same
    pipeline stages. With two nodes the difference is reported, but neither is blamed without further evidence.

    Why it matters: synchronous training runs at the pace of its slowest node.

    What to do: replace the instance (a new run gets a different one); if the node with the same number is slow again,
    look at its share of the data.

    Source: peer comparison by median and MAD, as in published straggler detectors; thresholds are this project's.
    """
    job = case.run.job
    stages = peer_groups(job)
    types = {node.name: node.instance_type or "" for node in job.nodes}
    observed = case.steps.nodes_observed if case.steps else 0
    printing = len(set(case.run.steps["node"].unique()) - {""}) if observed > 1 else observed
    own = observed >= max(2, printing / 2)
    found = slow_nodes(case.run.steps, types) if own else ()
    if found:
        return by_steps(case, found, pipelined=stages is None or stages != types)
    if stages is None:
        return None
    # A node whose GPUs do nothing is not slow: that is a finding of its own.
    found = tuple(one for one in unlike_nodes(_without_activities(case), stages) if one.value >= IDLE_PCT)
    return by_gpu(case, found) if found else None


def _without_activities(case: Case) -> pd.DataFrame:
    """The metrics of the minutes that hold no evaluation and no checkpoint: there nodes do different things."""
    out = case.metrics
    for span in case.activities:
        out = out[~out["timestamp"].between(span.start - timedelta(minutes=1), span.end)]
    return out


@rule(
    "step-time-regression",
    needs="steps",
    silenced_by=("slow-node",),
    explains=("low-gpu-utilization", "slow-steps"),
    whole_log=True,
)
def step_time_regression(case: Case) -> Finding | None:
    """Steps have become slower, and stayed slower, on all nodes.

    What it means: a change point in the step times (evaluations, checkpoints, restarts and warm-up left out) after
    which every level until the end is at least 10 % above the one before it, for ten minutes or more; or a climb of
    that size from the first fifth to the last. Not reported if the steps contain more tokens or samples, or if the
    steps of another run or epoch become slower at the same step number.

    Why it matters: from then on, every step costs that much more.

    What to do: look at what changed at that time: the finding says how GPU, CPU and memory changed with it.
    Restarting from the last checkpoint on new instances tells hardware from software.

    Source: change points from ruptures (KernelCPD, penalty 3 ln n MAD^2), verified with adjacent windows at 10 % as
    in FALCON.
    """
    found = slowdown(case.journal, case.run.steps, case.run.events, case.run.job.source == "logs")
    if found is None or _work_may_grow(case, found.at) or memory_grew(case, found):
        return None
    ratio = found.ratio
    share = (ratio - 1) / ratio
    savings = (Saving(STEPS, share * found.lasts_share, goes_on=share),)
    cost = (
        f" It {'costs' if case.bill.is_running else 'cost'} {money}."
        if (money := saved_words(case.bill, savings))
        else ""
    )
    at = f" since {case.clock(found.at)}" if found.at else ""
    timed = found.by in {"printed", "clock"}
    figures = (
        f"{step_seconds(found.before_s)} to {step_seconds(found.after_s)}"
        if timed
        else f"{1 / found.before_s:,.4g} to {1 / found.after_s:,.4g} {found.by}"
    )
    how = "have gradually become slower" if found.gradual else "have become slower"
    nodes = "" if found.nodes < 2 else " on both nodes" if found.nodes == 2 else f" on all {found.nodes} nodes"
    restart = " It began with a restart: the instances may have changed." if found.restarted else ""
    by_clock = " The log's timestamps show it; the printed times may leave it out." if found.by == "clock" else ""
    unknown_work = bool(case.journal["throughput"].isna().all())
    with_it, likely = moved(case, found)
    unit = "s" if timed else found.by
    before, after = (found.before_s, found.after_s) if timed else (1 / found.before_s, 1 / found.after_s)
    start = case.window.start if case.window else None
    return Finding(
        "step-time-regression",
        "warning",
        "medium" if unknown_work else "high",
        f"{slower_words(ratio)}{at}",
        f"Steps {how}: they take {ratio:.2f} x as long{at} (step {found.step:,}){nodes}, from {figures}"
        f"{f', for {duration(found.lasts_s)} so far' if found.lasts_s else ', and it lasts'}.{by_clock}{with_it}{restart}{cost}",
        (
            Evidence("before: median", before, unit, None, start if found.at else None, found.at, role="pace before"),
            Evidence("since: median", after, unit, None, found.at, found.end, role="pace since"),
            *level_evidence(case, found),
        ),
        Recommendation(
            f"Look at what changed at {case.clock(found.at) if found.at else f'step {found.step:,}'}. Likely, in "
            f"this order: {'; '.join(likely)}. If nothing did, restart from the last checkpoint: new instances will "
            "tell hardware from software.",
            source="rule step-time-regression",
        ),
        not_checked=(
            "clock speed, temperature and network of the instances: CloudWatch does not have them",
            "whether a step does more work now: the log has no tokens or samples per second"
            if unknown_work
            else "individual layers and kernels: no trace is taken",
        ),
        savings=savings,
    )


def slower_words(ratio: float) -> str:
    """``Steps take 1.31 x as long``."""
    return f"Steps take {ratio:.2f} x as long"


def _work_may_grow(case: Case, at: datetime | None) -> bool:
    """Whether the log announces longer steps shortly before ``at``; or job or log tell of a schedule that makes them longer,
    and no throughput tells of their work."""
    announced = case.run.events.loc[case.run.events["kind"] == "curriculum", "timestamp"].dropna()
    if at is not None and ((announced - at).abs() <= ANNOUNCED_WITHIN).any():
        return True
    known = case.journal["throughput"].notna()
    by_token = known & case.journal["throughput_unit"].str.contains("token")
    if by_token.any():
        return False
    # Samples a second fall with longer samples as steps do.
    if (case.run.events["kind"] == "curriculum").any():
        return True
    if known.any():
        return False
    names = [*case.run.job.configuration, *case.run.job.hyperparameters]
    return any(part in name.lower().replace("-", "_") for name in names for part in _GROWING_WORK)


@rule(
    "slow-steps",
    needs="steps",
    silenced_by=("slow-node", "step-time-regression"),
    explains=("fluctuating-gpu-utilization",),
    whole_log=True,
)
def slow_steps_rule(case: Case) -> Finding | None:
    """Some steps take more than twice as long as usual.

    What it means: at least 2 % of the reports, and at least five, took more than twice the median and more than five
    robust standard deviations above it, with no checkpoint, evaluation or restart before them and no more tokens in
    them. If a report is the mean of several steps, a single slow one can hide in it. If one step in several prints its
    time, those at a period of the reports are counted as they are seen, and of others as many between the reports.

    Why it matters: all nodes wait for a slow step on any one of them.

    What to do: if they are periodic, look for what the script does at that interval (logging, saving, garbage
    collection, the end of an epoch); if not, look at the data: large or remote files, too few workers.

    Source: multiples of the median, because standard deviations are inflated by the very steps they should find
    (SageMaker Debugger's StepOutlier misses one slow step in ten); thresholds are this project's.
    """
    if case.journal.empty:
        return None
    if (unlogged := checkpoint_pauses(case.journal, case.run.metrics)) is not None:
        found = slow_steps(case.journal, unlogged.spans)
    else:
        found = slow_steps(case.journal)
    if found is None or _only_late(case, found):
        return None
    share = found.lost_s / found.total_s if found.total_s else None
    savings = (Saving(("slow-excess",), most_s=found.lost_s),)
    cost = f", {money}" if (money := saved_words(case.bill, savings)) else ""
    single = found.steps_a_report <= 1
    what = "steps" if single else f"means of {found.steps_a_report:.0f} steps"
    # One in ten prints its time: what comes at a period is seldom among all.
    sampled = single and found.apart > 1
    of_those = f"{what} that print their time" if sampled else what
    rare = sampled and found.period is not None
    head = f"One step in {found.period:,} takes" if rare else f"{percent(100 * found.share)} of the {what} take"
    often = "" if found.period is None else f" They come every {found.period:,} steps."
    slowest = (
        ""
        if found.longest is None
        else f", the slowest is step {found.longest[0]:,} at {step_seconds(found.longest[1])}"
    )
    since = f" between {case.clock(found.start)} and {case.clock(found.end)}" if found.start and found.end else ""
    lost = "" if share is None else f" Together they cost {percent(100 * share)} of the time{cost}."
    by_clock = " The log's timestamps show them; the printed times leave them out." if found.by == "clock" else ""
    return Finding(
        "slow-steps",
        "warning",
        "high" if found.count >= 20 or found.period is not None else "medium",
        f"{head} {found.slow_s / found.median_s:.1f} x the usual time",
        f"{found.count:,} of {found.of:,} {of_those} take more than twice the median of {step_seconds(found.median_s)}{since}: "
        f"{step_seconds(found.slow_s)} at their median{slowest}; the log shows no checkpoint or evaluation before them."
        f"{often}{by_clock}{lost}",
        (
            Evidence(
                f"{of_those} over twice the median", 100 * found.share, "%", None, found.start, found.end, view="steps"
            ),
            Evidence("their median", found.slow_s, "s", None, found.start, found.end),
            Evidence("median of all", found.median_s, "s"),
            *(() if found.period is None else (Evidence("period", float(found.period), "steps"),)),
            *(
                ()
                if found.longest is None
                else (Evidence("slowest step", found.longest[1], "s", line=f"step {found.longest[0]}"),)
            ),
        ),
        Recommendation(_what_next(found), source="rule slow-steps"),
        not_checked=(
            "which node was late: the logs do not show the cause of a single slow step",
            *(("single steps: the lines give means over several",) if not single else ()),
        ),
        savings=savings,
    )


def _only_late(case: Case, found: SlowSteps) -> bool:
    """By the clock alone, and of lines that wait for their block: nothing is known of single steps."""
    return found.by == "clock" and bool(case.journal["wall_s"].isna().mean() > 0.5)


def _what_next(found: SlowSteps) -> str:
    if found.period is not None:
        return (
            f"Look for what the script does every {found.period:,} steps: saving or evaluating without logging it, "
            "the end of an epoch (the data loader's persistent_workers), logging, garbage collection."
        )
    return (
        "Time the data loader separately from the step: give it more workers and prefetching, read from FSx or in "
        "FastFile mode, and look at the samples of the slowest steps."
    )


# Points of one device: less is no difference that explains anything.
_POINTS = 5.0

_METRICS: tuple[MetricName, ...] = ("gpu_utilization", "cpu_utilization", "gpu_memory_utilization")


def levels_of(case: Case, found: Slowdown) -> dict[MetricName, tuple[float, float]]:
    """metric -> median before and after; empty without times."""
    if found.at is None:
        return {}
    out: dict[MetricName, tuple[float, float]] = {}
    for name in _METRICS:
        rows = case.metrics[case.metrics["metric"] == name]
        before = rows.loc[rows["timestamp"] < found.at, "value_pct"]
        after = rows.loc[rows["timestamp"] >= found.at, "value_pct"]
        if len(before) >= 3 and len(after) >= 3:
            out[name] = (float(before.median()), float(after.median()))
    return out


def memory_grew(case: Case, found: Slowdown) -> bool:
    """More GPU memory, far from full, and GPUs as busy as before: steps of longer sequences or larger batches."""
    levels = levels_of(case, found)
    if len(levels) < 3 or not case.journal["throughput"].isna().all():
        return False
    (busy, busy_now), (held, held_now) = levels["gpu_utilization"], levels["gpu_memory_utilization"]
    return held_now >= held + _POINTS and held_now <= 92.0 and busy_now >= busy - _POINTS


def moved(case: Case, found: Slowdown) -> tuple[str, list[str]]:
    """What the devices did with it, and the causes that this makes likely."""
    levels = levels_of(case, found)
    said = []
    for metric, (before, after) in levels.items():
        name = HOST_METRICS[metric].device
        same = abs(after - before) < _POINTS
        said.append(f"{name} unchanged" if same else f"{name} from {before:.0f} to {percent(after)}")
    busy, busy_now = levels.get("gpu_utilization", (None, None))
    cpu_now = levels.get("cpu_utilization", (0.0, 0.0))[1]
    events = case.run.events
    flushed = events[(events["kind"] == "cache-flush")]
    flushed = flushed[flushed["timestamp"] >= found.at - timedelta(minutes=1)] if found.at else flushed
    likely = []
    if len(flushed):
        likely.append("GPU memory is short (the log shows allocator cache flushes since then)")
    if busy is not None and busy_now is not None and busy_now <= busy - _POINTS:
        likely.append("the input pipeline" + (f" (CPU {percent(cpu_now)})" if cpu_now > 80 else ""))
        likely.append("storage reads or host work between steps")
    else:
        likely += [
            "lower clocks or a slower link on one instance, which all others wait for",
            "longer sequences or larger batches",
        ]
    return (f" Since then: {', '.join(said)}." if said else ""), likely


def level_evidence(case: Case, found: Slowdown) -> tuple[Evidence, ...]:
    metrics: tuple[MetricName, ...] = ("gpu_utilization", "cpu_utilization")
    levels = levels_of(case, found)
    return tuple(
        Evidence(
            f"{HOST_METRICS[metric].utilization} since then, median (before: {levels[metric][0]:.0f} %)",
            levels[metric][1],
            "%",
            None,
            found.at,
            found.end,
            view=metric,
        )
        for metric in metrics
        if metric in levels
    )
