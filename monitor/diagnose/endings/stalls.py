"""What is said about a stall besides its length: what the GPUs do, who stopped first, where to restart from."""

from __future__ import annotations

from monitor.analyze.cascade import cascade, cascade_words
from monitor.analyze.checkpoints import saves
from monitor.analyze.silence import HeldGpus, Silence
from monitor.diagnose.rule import Case
from monitor.model import Evidence
from monitor.words import duration, nodes, percent


def pattern_words(case: Case, held: HeldGpus | None) -> tuple[str, str]:
    """What the GPUs did in the silence: (clause, sentence), both empty where nothing can be said."""
    if held is None:
        return "", ""
    where = nodes(sorted(held.levels), case.gpu_nodes or len(held.levels))
    if held.pattern == "waiting":
        same = " They were at that level before as well." if held.changed is False else ""
        words = (
            " That pattern means a collective operation that never completes: the GPUs wait in it. NCCL gives up "
            "after 10 min by default (30 in older PyTorch), if at all."
        )
        return f"; GPUs pinned near 100 % {where}", words + same
    if held.pattern == "idle":
        return (
            f"; GPUs idle {where}",
            " The processes wait for something other than the GPU; likely a data read, a lock, or a dead peer.",
        )
    low, high = percent(min(held.levels.values())), percent(max(held.levels.values()))
    if held.pattern == "split":
        idle = nodes(held.idle_nodes, len(held.levels))
        return f"; GPUs idle {idle}, the others wait", f" The others (up to {high}) wait for something {idle}."
    return f"; GPUs flat between {low} and {high}", " Training never keeps utilization that flat."


def gpu_evidence(held: HeldGpus | None, found: Silence) -> tuple[Evidence, ...]:
    if held is None:
        return ()
    ordered = sorted(held.levels.items(), key=lambda item: item[1])
    chosen = ordered if len(ordered) <= 4 else [*ordered[:2], *ordered[-2:]]
    return tuple(
        Evidence(
            "GPU utilization during the silence", level, "%", node, found.since, found.until, view="gpu_utilization"
        )
        for node, level in chosen
    )


def first_to_stop(case: Case) -> tuple[Evidence, ...]:
    """The node whose last report is of an earlier step than those of all others, if several nodes print."""
    rows = case.run.steps.loc[case.run.steps["node"] != "", ["node", "step", "timestamp"]].dropna()
    if rows["node"].nunique() < 2:
        return ()
    last = rows.groupby("node", observed=True).last().sort_values("step")
    behind = last[last["step"] < last["step"].iloc[1]]
    if len(behind) != 1:
        return ()
    row = behind.iloc[0]
    at = row["timestamp"].to_pydatetime()
    return (
        Evidence(
            "last step of the node that stopped first",
            float(row["step"]),
            "step",
            behind.index[0],
            at,
            at,
            view="steps",
        ),
    )


def last_checkpoint(case: Case, found: Silence) -> tuple[str, tuple[Evidence, ...]]:
    """The advice with the last checkpoint in it, and that as evidence."""
    known = [save for save in saves(case.journal, case.run.events) if save.at <= found.since]
    ends = case.run.job.is_running
    if not known:
        words = "the log shows no checkpoint"
        return (
            f"Stop the job and restart it from its last checkpoint ({words}); every instance is billed while it hangs."
            if ends
            else f"Look for the rank that stopped first before the next run; {words}."
        ), ()
    save = known[-1]
    after = "" if save.step is None else f", step {save.step:,}"
    age_s = (found.since - save.at).total_seconds()
    words = f"from its last checkpoint, {case.clock(save.at)}{after} ({duration(age_s)} of work to repeat)"
    evidence = (
        Evidence("last checkpoint before the last step", age_s, "s of work", None, save.at, found.since, view="steps"),
    )
    if ends:
        return f"Stop the job and restart it {words}.", evidence
    return f"Look for the rank that stopped first, then restart the job {words}.", evidence


def error(case: Case, found: Silence) -> str:
    """The error that the silence began with, where the log of a running job tells of one."""
    if not case.run.job.is_running:
        return ""
    first = cascade(case.run.events, case.run.steps)
    if first is None or first.at is None or abs((first.at - found.since).total_seconds()) > found.least_s:
        return ""
    return f" It began with an error: {cascade_words(first)}."
