"""The figures of a job in one row: how busy, how full, how fast, how long, how many."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from monitor.diagnose.verdict import has_gpus
from monitor.diagnose.words.devices import LEFT_OUT
from monitor.diagnose.words.report import OVERHEAD_MEANS, RECOVERABLE_MEANS, mfu_words, recoverable_words, usual_words
from monitor.diagnose.words.step_readings import how_words
from monitor.model import MetricName, Report, StepStats
from monitor.model.host_metrics import HOST_METRICS, OF_GPUS, HostMetric
from monitor.show.plain import plain
from monitor.words import DASH, capitalised, duration, percent, sentence, step_seconds, usd, warm_pool

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


def figures(report: Report) -> tuple[Figure, ...]:
    """The tiles of a report; a CPU job shows CPU and memory in place of GPU and GPU memory."""
    job = report.job
    pair: tuple[MetricName, ...] = OF_GPUS if has_gpus(report) else ("cpu_utilization", "memory_utilization")
    tiles = [_device(report, HOST_METRICS[metric]) for metric in pair]
    steps = report.steps
    tiles.append(
        Figure(
            "Step time, median",
            step_seconds(steps.median_s if steps else None),
            _step_context(report),
            sentence(
                "Time of one optimizer step over all nodes that report it, warm-up left out"
                + (f": {how}" if (how := how_words(report.run.logs.readings)) else "")
            ),
        )
    )
    if report.mfu is not None:
        tiles.append(Figure("MFU", percent(report.mfu.mfu_pct), usual_words(report.mfu), mfu_words(report.mfu)))
    progress = _progress(steps) if job.started else "not started"
    tiles.append(Figure("Duration", duration(report.ran_s), progress, "Since the job's instances started."))
    if report.goodput is not None:
        tiles.append(
            Figure(
                "Goodput",
                percent(100 * report.goodput),
                "of the billed time",
                "The share of billed time spent training steps that were kept: startup, slow steps, checkpoints, "
                "evaluations, stalls and work done again do not count.",
            )
        )
    if report.cost.usd is not None:
        tiles += [_cost(report), _recoverable(report)]
    else:
        total = job.instance_count or len(job.nodes)
        observed = _observed(steps.nodes_observed if steps else 0, total) if report.run.logs.lines else "no logs read"
        tiles.append(Figure("Nodes", f"{total or DASH}", observed))
    return tuple(tiles)


def _cost(report: Report) -> Figure:
    cost, job = report.cost, report.job
    context = "so far" if job.is_running else "in total"
    words = [f"Price: {usd(cost.price_usd_per_instance_hour)} per instance-hour ({cost.price_source})."]
    if cost.overhead_usd is not None:
        context = f"overhead {usd(cost.overhead_usd)}"
        words.append(f"Overhead: {OVERHEAD_MEANS}")
    if job.warm_pool_billable_seconds:
        words.append(warm_pool(job.warm_pool_billable_seconds, cost.retained_usd))
    value = f"≤ {usd(cost.usd)}" if cost.at_most else usd(cost.usd)
    return Figure("Cost", value, context, " ".join(words))


def _recoverable(report: Report) -> Figure:
    value, context = recoverable_words(report)
    # A tile has no room for more words.
    return Figure("Recoverable", value.replace(" an hour", "/h"), context, f"{capitalised(RECOVERABLE_MEANS)}")


def show_figures(report: Report) -> None:
    tiles = figures(report)
    with st.grid(len(tiles), min_column_width=150):
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
        return "no times in step lines"
    return f"p10 {step_seconds(steps.p10_s)}, p90 {step_seconds(steps.p90_s)}"


def _progress(steps: StepStats | None) -> str:
    if steps is None or steps.done is None:
        return "since the start"
    return f"{steps.done:,} of {steps.total:,} steps" if steps.total else f"{steps.done:,} steps"


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


def _device(report: Report, metric: HostMetric) -> Figure:
    found = report.devices.get(metric.name)
    if found is None:
        measured = bool((report.run.metrics["metric"] == metric.name).any())
        return Figure(metric.device, DASH, "too short to average" if measured else "no data")
    return Figure(
        metric.device,
        percent(found.mean),
        f"p5 {percent(found.p5)}, p95 {percent(found.p95)}",
        f"Percent of one device, over all nodes and minutes of training; {LEFT_OUT}.",
    )
