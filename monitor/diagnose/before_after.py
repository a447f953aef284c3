"""What the devices did before and after the steps became slower, and the causes that this makes likely."""

from __future__ import annotations

from datetime import timedelta

from monitor.analyze.slowdown import Slowdown
from monitor.diagnose.rule import Case
from monitor.model import Evidence, MetricName
from monitor.model.host_metrics import HOST_METRICS
from monitor.words import percent

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
