"""Is a disk full, or will it be before the job ends? DiskUtilization is used space, not load."""

from __future__ import annotations

import pandas as pd

from monitor.analyze.growth import growths
from monitor.analyze.utilization import training_spans
from monitor.diagnose.rulebook import Case, rule
from monitor.diagnose.rules.memory import fills_before_end, full_words
from monitor.model import Evidence, Finding, Recommendation
from monitor.words import instant, nodes, percent

FULL_PCT = 90.0
# One point may be a file that is moved; two are a level.
FEWEST_FULL = 2
LEAST_GAIN = 3.0


@rule("disk-nearly-full", about="risk")
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
