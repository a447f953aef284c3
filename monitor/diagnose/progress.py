"""Rules about jobs that stop moving, and nodes that hold the others up."""

from __future__ import annotations

from datetime import datetime, timedelta

import pandas as pd

from monitor.analyze.peers import Outlier, slow_nodes, unlike_nodes
from monitor.diagnose.rule import Case, parameter, rule
from monitor.model import Evidence, Finding, Recommendation
from monitor.words import clock, count, duration, percent, step_seconds

STALL_GAPS = 5
STALL_LEAST = timedelta(minutes=5)
# A pause this much longer than any that the job got over before is none of its rhythm (evaluation, checkpoints).
STALL_OVER_LONGEST = 1.5
FEWEST_REPORTS = 5
# A silence at the end belongs to the failure that began it.
ENDED_BY_ERROR = ("cuda-out-of-memory", "host-out-of-memory", "nccl-timeout", "data-error", "script-error")
LOST_WORTH_A_CHANGE = 0.05
FLAT_BUSY_PCT = 95.0
FLAT_IDLE_PCT = 5.0


@rule("stall", silenced_by=ENDED_BY_ERROR, about="now")
def stall(case: Case) -> Finding | None:
    """No step for far longer than this job's own rhythm, and nothing else in its logs.

    What it means: since the last step more time has passed than five of the job's usual gaps, than five minutes, and
    than one and a half times the longest pause it got over before; no process has logged anything in the meantime.

    Why it matters: every instance goes on billing with no progress. A collective operation that never completes keeps
    GPUs at 100 % while they wait, so utilization looks perfect; NCCL gives up only after 10 to 30 minutes, if at all.

    What to do: stop the job and start again from its last checkpoint; find the rank that is missing with
    TORCH_NCCL_TRACE_BUFFER_SIZE, or look for ranks with fewer batches than the others.

    Source: the rhythm and thresholds are this project's; NCCL's default timeout is in the PyTorch documentation.
    """
    job = case.run.job
    stamped = case.run.steps[["timestamp", "step"]].dropna(subset=["timestamp"])
    times = stamped["timestamp"].drop_duplicates().sort_values()
    last_line = case.run.logs.last_line_at
    if len(times) < FEWEST_REPORTS or last_line is None or not (job.is_running or job.status in {"Failed", "Stopped"}):
        return None
    end = case.now if job.is_running else job.ended or case.now
    if job.is_running and job.secondary_status not in {None, "Training"}:
        return None
    gaps = times.diff().dropna()
    usual, longest = gaps.median(), gaps.max()
    allowed = max(STALL_GAPS * usual, pd.Timedelta(STALL_LEAST), STALL_OVER_LONGEST * longest)
    last = times.iloc[-1].to_pydatetime()
    silence, quiet = end - last, end - last_line
    if silence <= allowed or quiet <= max(STALL_GAPS * usual, pd.Timedelta(STALL_LEAST)):
        return None
    last_step = stamped.loc[stamped["timestamp"] == times.iloc[-1], "step"].max()
    step = "" if pd.isna(last_step) else f" {int(last_step):,}"
    pattern, why = _gpu_pattern(case, last, end)
    return Finding(
        "stall",
        "critical",
        "high" if why else "medium",
        f"No step for {duration(silence.total_seconds())}",
        f"No step for {duration(silence.total_seconds())}{pattern}. Last step{step} at {clock(last)}, usual gap "
        f"{step_seconds(usual.total_seconds())}, longest pause before {duration(longest.total_seconds())}; no process has "
        f"logged anything since {clock(last_line)}.{why}",
        (
            Evidence("silence since the last step", silence.total_seconds(), "s", None, last, end),
            Evidence("usual gap between step reports", usual.total_seconds(), "s"),
        ),
        Recommendation(
            "Stop the job and start again from its last checkpoint; every instance is billed meanwhile."
            if job.is_running
            else "Look for the rank that stopped first before the next run.",
            source="rule stall",
        ),
        not_checked=(
            "which rank is missing (TORCH_NCCL_TRACE_BUFFER_SIZE records it)",
            "how old the last checkpoint is",
        ),
    )


def _gpu_pattern(case: Case, last: datetime, end: datetime) -> tuple[str, str]:
    """What the GPUs did in the silence: (clause, sentence), both empty where nothing can be said."""
    rows = case.run.metrics[case.run.metrics["metric"] == "gpu_utilization"]
    # The minute of the last step is mixed, the newest ones may be incomplete.
    rows = rows[(rows["timestamp"] > last) & (rows["timestamp"] < end - timedelta(minutes=2))]
    if rows["timestamp"].nunique() < 3:
        return "", ""
    levels = rows.groupby("node", observed=True)["value_pct"].mean()
    if (levels >= FLAT_BUSY_PCT).all():
        return (
            "; GPUs pinned near 100 % on every node",
            " That pattern is a collective operation that never completes: the GPUs wait in it.",
        )
    if (levels <= FLAT_IDLE_PCT).all():
        return "; GPUs idle on every node", " The processes hang outside the GPU: a data read, a lock, or a dead peer."
    return f"; GPUs between {percent(levels.min())} and {percent(levels.max())}", ""


@rule("lost-work", silenced_by=("spot-interruption",))
def lost_work(case: Case) -> Finding | None:
    """Steps were done, lost to a restart, and done again.

    What it means: the step counter fell back to an earlier checkpoint; the steps between it and the last one before the
    restart were done for nothing. A warning where they are 5 % of all steps done or more, else information.

    Why it matters: every instance is billed for them twice; what is lost at a restart is, on average, half of what is done
    between two checkpoints.

    What to do: save more often, the more often a run is interrupted; keep checkpoints where a restarted job finds them.

    Source: the counter and the restarts in the job's own log; the threshold is this project's.
    """
    lost, steps = case.lost, case.steps
    if lost is None or steps is None:
        return None
    restarts = len(lost.losses)
    share = lost.steps / ((steps.done or 0) + lost.steps)
    took = "" if lost.seconds is None else f", {duration(lost.seconds)} of step time"
    worst = max(lost.losses, key=lambda loss: loss.steps)
    return Finding(
        "lost-work",
        "warning" if share >= LOST_WORTH_A_CHANGE else "info",
        "high",
        f"{count(lost.steps, 'step')} lost to {count(restarts, 'restart')}",
        f"{count(lost.steps, 'step')} were lost to {count(restarts, 'restart')} and done again{took}: "
        f"{percent(100 * share)} of the steps done. The largest loss fell from step {worst.reached:,} back to {worst.kept:,}.",
        (
            Evidence("steps done again", float(lost.steps), "steps"),
            *(() if lost.seconds is None else (Evidence("their step time", lost.seconds, "s"),)),
            *(
                Evidence(
                    f"back to step {loss.kept:,}", float(loss.steps), "steps", loss.node or None, loss.start, loss.end
                )
                for loss in lost.losses
            ),
        ),
        Recommendation(
            "Save checkpoints more often: about half of what is done between two of them is lost at every restart.",
            source="rule lost-work",
        ),
        not_checked=("the time from the failure to the first step after it",),
    )


@rule("slow-node", silenced_by=("stall",))
def slow_node(case: Case) -> Finding | None:
    """One node is slower than its peers, and the others wait for it.

    What it means: in at least 5 of 10 minutes the step times of one node (or, without a pipeline, its GPU utilization)
    differ from the median of its peers of the same instance type in the same minute by more than 5 robust standard
    deviations and by at least 10 %.

    Why it matters: synchronous training runs at the pace of its slowest node.

    What to do: replace the instance (a new run gets another one); if the node of the same number is slow again, look at
    its share of the data.

    Source: peer comparison by median and MAD as in published straggler detectors; thresholds are this project's.
    """
    same_type = {node.name: node.instance_type or "" for node in case.run.job.nodes}
    found = slow_nodes(case.run.steps, same_type)
    by_steps = True
    if found is None and max(parameter(case, "pipeline_parallel_degree") or 1, parameter(case, "partitions") or 1) == 1:
        found, by_steps = unlike_nodes(case.metrics, same_type), False
    if found is None:
        return None
    where, ratio = found.node, found.value / found.peers
    what, unit = ("step time", "s") if by_steps else ("GPU utilization", "%")
    if by_steps:
        title = f"{where} is slow: {ratio:.2f} x its peers' step time"
        said = (
            f"{where} is slow: its steps take {ratio:.2f} x the median of its peers since {clock(found.start)} "
            f"({step_seconds(found.value)} against {step_seconds(found.peers)}, {found.minutes} minutes)."
        )
    else:
        lower = "lower" if found.value < found.peers else "higher"
        title = f"{where}'s GPUs are unlike its peers': {percent(found.value)} against {percent(found.peers)}"
        said = (
            f"{where} is unlike its peers: its GPU utilization is {abs(found.value - found.peers):.0f} points {lower} than their "
            f"median since {clock(found.start)} ({percent(found.value)} against {percent(found.peers)}, {found.minutes} minutes)."
        )
    return Finding(
        "slow-node",
        "warning",
        "high" if by_steps else "medium",
        title,
        f"{said} All nodes wait for the slowest one at every step.{_others(case, found) if by_steps else ''}",
        (
            Evidence(what, found.value, unit, where, found.start, found.end),
            Evidence("median of its peers", found.peers, unit, None, found.start, found.end),
        ),
        Recommendation(
            f"Replace the instance: a new run gets another one. If {where} of the next run is slow again, "
            "look at its data shard.",
            source="rule slow-node",
        ),
        not_checked=("the cause: temperature, ECC errors and network of an instance are not in CloudWatch",),
    )


def _others(case: Case, found: Outlier) -> str:
    """How the node's GPU and CPU compare in the same span, where they do."""
    rows = case.metrics[(case.metrics["timestamp"] >= found.start) & (case.metrics["timestamp"] <= found.end)]
    said = []
    for metric, name in (("gpu_utilization", "GPU"), ("cpu_utilization", "CPU")):
        means = rows[rows["metric"] == metric].groupby("node", observed=True)["value_pct"].mean()
        if found.node in means and len(means) > 2:
            gap = means[found.node] - means.drop(found.node).median()
            lower = "lower" if gap < 0 else "higher"
            said.append(
                f"its {name} is {abs(gap):.0f} points {lower}" if abs(gap) >= 5 else f"its {name} is like theirs"
            )
    return f" {'; '.join(said).capitalize()}.".replace(" gpu", " GPU").replace(" cpu", " CPU") if said else ""
