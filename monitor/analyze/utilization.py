"""How busy the devices were: raw host sums to percent of one device, and its distribution by node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from monitor.model import METRICS, Distribution, Gap, Node, RawMetrics, metrics_frame

# CloudWatch reports these as sums over a host's GPUs or vCPUs; the others are 0-100 already.
_PER_GPU = {"gpu_utilization", "gpu_memory_utilization"}
_PER_VCPU = {"cpu_utilization"}


def normalised(raw: RawMetrics, nodes: tuple[Node, ...]) -> tuple[pd.DataFrame, tuple[Gap, ...]]:
    """The Metrics frame (percent of ONE device), each node divided by its own counts, and what had to be left out.

    A node whose counts nobody knows gets no figure for the metrics that need them: a wrong divisor is worse than none.
    """
    frame = raw.frame
    if frame.empty or raw.period_s is None:
        return metrics_frame(), ()
    gpus = {node.name: node.gpus for node in nodes}
    vcpus = {node.name: node.vcpus for node in nodes}
    divisor = pd.Series(1.0, index=frame.index)
    for metrics, counts in ((_PER_GPU, gpus), (_PER_VCPU, vcpus)):
        rows = frame["metric"].isin(metrics)
        divisor[rows] = frame.loc[rows, "node"].map(counts).astype("float64")
    known = divisor > 0
    out = frame[known].assign(value_pct=(frame["value"] / divisor)[known].clip(lower=0.0), period_s=raw.period_s)
    unknown = frame[~known & ~(frame["metric"].isin(_PER_GPU) & frame["node"].map(gpus).eq(0))]
    gaps: tuple[Gap, ...] = ()
    if len(unknown):
        gaps = (_not_normalised([node for node in nodes if node.name in set(unknown["node"])]),)
    return metrics_frame(out), gaps


def _not_normalised(nodes: Sequence[Node]) -> Gap:
    """Why sums over the devices of these hosts stay sums."""
    names = [node.name for node in nodes]
    which = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    types = sorted({node.instance_type for node in nodes if node.instance_type})
    why = f"how many GPUs and vCPUs {' and '.join(types)} {'has' if len(types) == 1 else 'have'} is not known"
    remedy = "Allow ec2:DescribeInstanceTypes, or have the script print SM_NUM_GPUS and SM_NUM_CPUS."
    if not types:
        why = "which instance group each of these nodes belongs to is not known"
        remedy = "SageMaker's toolkit logs it at the start (current_instance_type); a script can print it too."
    return Gap(
        "normalisation",
        f"No GPU and CPU percentages for {which}: CloudWatch reports sums over a host's devices, and {why}.",
        remedy,
        transient=True,
    )


def distribution(values: pd.Series) -> Distribution | None:
    """Mean, p5, p50 and p95 of a column of percent values; None of no values."""
    # A review asks for some of each node; by way of pandas that takes ten times as long.
    known = values.to_numpy("float64")
    known = known[~np.isnan(known)]
    if not len(known):
        return None
    p5, p50, p95 = np.quantile(known, [0.05, 0.5, 0.95])
    return Distribution(float(known.mean()), float(p5), float(p50), float(p95))


def by_node(metrics: pd.DataFrame) -> dict[str, dict[str, Distribution]]:
    """node -> metric -> distribution, of the rows given (the window of work)."""
    out: dict[str, dict[str, Distribution]] = {}
    for (node, metric), rows in metrics.groupby(["node", "metric"], observed=True):
        found = distribution(rows["value_pct"])
        if found is not None:
            out.setdefault(str(node), {})[str(metric)] = found
    return out


def pooled(metrics: pd.DataFrame) -> dict[str, Distribution]:
    """metric -> distribution over all nodes and minutes together, of the rows given."""
    found = {name: distribution(metrics.loc[metrics["metric"] == name, "value_pct"]) for name in METRICS}
    return {name: value for name, value in found.items() if value is not None}
