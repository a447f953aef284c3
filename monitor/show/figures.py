"""The figures of a job in one row: how busy, how full, how fast, how long, how many."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import streamlit as st

from monitor.diagnose.verdict import has_gpus, mean_of
from monitor.model import Report, StepStats
from monitor.show.plain import plain
from monitor.words import DASH, duration, percent, step_seconds, usd, warm_pool

#: A label, a value and a line of context, which are cut and never wrapped. Told beforehand, so that what stands below the
#: tiles does not move when they come.
TILE_HEIGHT_PX = 101


@dataclass(frozen=True, slots=True)
class Figure:
    """One tile: a label with its unit's meaning, a value, and a line of context."""

    label: str
    value: str
    context: str
    help: str = ""


def figures(report: Report, now: datetime) -> tuple[Figure, ...]:
    """The tiles of a report; a CPU job shows CPU and memory in place of GPU and GPU memory."""
    job = report.job
    pair = (
        ("gpu_utilization", "gpu_memory_utilization") if has_gpus(report) else ("cpu_utilization", "memory_utilization")
    )
    names = {
        "gpu_utilization": "GPU",
        "gpu_memory_utilization": "GPU memory",
        "cpu_utilization": "CPU",
        "memory_utilization": "Memory",
    }
    tiles = [_device(report, metric, names[metric]) for metric in pair]
    steps = report.steps
    tiles.append(
        Figure(
            "Step time, median",
            step_seconds(steps.median_s if steps else None),
            _step_context(report),
            "Time of one optimizer step over all nodes that report it, warm-up left out.",
        )
    )
    end = job.ended or now
    progress = _progress(steps) if job.started else "not started"
    tiles.append(Figure("Duration", duration((end - job.started).total_seconds() if job.started else None), progress))
    if report.goodput is not None:
        tiles.append(
            Figure(
                "Goodput",
                percent(100 * report.goodput),
                "of the billed time",
                "The share of the billed time that trained steps which were kept: without start, slow steps, checkpoints, "
                "evaluations, stalls and work that was lost.",
            )
        )
    if report.cost.usd is not None:
        tiles.append(_cost(report))
    else:
        total = job.instance_count or len(job.nodes)
        observed = _observed(steps.nodes_observed if steps else 0, total) if report.run.logs.lines else "no logs read"
        tiles.append(Figure("Nodes", f"{total or DASH}", observed))
    return tuple(tiles)


def _cost(report: Report) -> Figure:
    cost, job = report.cost, report.job
    context = "so far" if job.is_running else "in total"
    if cost.overhead_usd is not None:
        context = f"{usd(cost.overhead_usd)} of it wasted"
    words = [f"Price: {usd(cost.price_usd_per_instance_hour)} per instance-hour ({cost.price_source})."]
    words.append("Wasted is what was billed outside of training, evaluation and checkpoints.")
    if job.warm_pool_billable_seconds:
        words.append(warm_pool(job.warm_pool_billable_seconds, cost.retained_usd))
    value = f"≤ {usd(cost.usd)}" if cost.at_most else usd(cost.usd)
    return Figure("Cost", value, context, " ".join(words))


def show_figures(report: Report, now: datetime) -> None:
    tiles = figures(report, now)
    with st.grid(len(tiles), min_column_width=190):
        for tile in tiles:
            st.metric(
                tile.label,
                tile.value,
                delta_description=tile.context,
                help=plain(tile.help) or None,
                border=True,
                height=TILE_HEIGHT_PX,
            )


def _step_context(report: Report) -> str:
    steps = report.steps
    if steps is None:
        return "no step lines" if report.run.logs.lines else "no logs read"
    if steps.median_s is None:
        return "step lines have no time"
    return f"p10 {step_seconds(steps.p10_s)}, p90 {step_seconds(steps.p90_s)}"


def _progress(steps: StepStats | None) -> str:
    if steps is None or steps.done is None:
        return "since the start"
    lost = f", {steps.lost_steps:,} done twice" if steps.lost_steps else ""
    return (f"{steps.done:,} of {steps.total:,} steps" if steps.total else f"{steps.done:,} steps") + lost


def _observed(nodes: int, total: int) -> str:
    if not nodes:
        return "none reports steps"
    return (
        "all report steps"
        if nodes == total > 1
        else f"{nodes} of {total} report steps"
        if total > 1
        else "reports steps"
    )


def _device(report: Report, metric: str, name: str) -> Figure:
    spreads = [stats for node in report.nodes if (stats := getattr(node, metric)) is not None]
    if not spreads:
        measured = bool((report.run.metrics["metric"] == metric).any())
        return Figure(name, DASH, "too short for a one-minute average" if measured else "no data")
    low, high = min(stats.p5 for stats in spreads), max(stats.p95 for stats in spreads)
    return Figure(
        name,
        percent(mean_of(report.nodes, metric)),
        f"p5 {percent(low)}, p95 {percent(high)}",
        "Percent of one device, mean over the nodes in the time of work; the lowest p5 and the highest p95 of a node.",
    )
