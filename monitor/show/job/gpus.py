"""The GPUs of one node, where the job's profiler tells them apart: a heatmap, and what they do within a step."""

from __future__ import annotations

from datetime import tzinfo

import pandas as pd
import streamlit as st

from monitor.analyze.step_anatomy import StepAnatomy, step_anatomy
from monitor.charts import gpus as charts
from monitor.diagnose.words.gpus import anatomy_said, gpus_said
from monitor.model import NodeStats, Report
from monitor.show import data
from monitor.show.drawing import alt_of, draw_frames, head
from monitor.show.plain import plain
from monitor.words import count, step_seconds, zone_name

_PER_STEP = "Mean over the node's GPUs, folded by the time of each step's line; the band is p10 to p90."


def profiled_nodes(report: Report) -> tuple[str, ...]:
    """The nodes whose GPUs were sampled: first those that a finding on single GPUs names, then by number."""
    sampled = [stats.node.name for stats in report.nodes if stats.gpus]
    named = [item.node for finding in report.findings for item in finding.evidence if item.node in sampled]
    said = [item for item in named if item is not None]
    return tuple(dict.fromkeys([*said, *sampled]))


def show_gpus(report: Report, node: str, zone: tzinfo) -> None:
    """The heatmap of one node, and the anatomy of its step where enough samples lie in steps."""
    stats = next(stats for stats in report.nodes if stats.node.name == node)
    found = data.of_report(report, f"anatomy {node}", lambda: step_anatomy(report.run.gpus, report.run.steps, node))
    columns = st.columns([3, 2] if found is not None else 1)
    with columns[0]:
        _heatmap(report, stats, zone)
    if found is not None:
        with columns[1]:
            _anatomy(report, found)


def _heatmap(report: Report, stats: NodeStats, zone: tzinfo) -> None:
    node = stats.node.name
    with st.container(border=True, height="stretch", gap="xsmall"):
        cells = data.of_report(report, f"gpus {node} {zone}", lambda: _cells(report, node, zone))
        said = gpus_said(stats)
        minutes = int(cells["minute"].nunique())
        where = zone_name(report.reviewed_at, zone)
        about = f"% of one GPU · each column is one of {count(minutes, 'minute')} that were read · times are {where}"
        head(said, about, lambda: cells.drop(columns=["at", "number"]), f"{report.job.name}-{node}-gpus")
        rows = int(cells["gpu"].nunique())
        draw_frames(("chart-gpus", rows), (cells,), charts.gpu_heatmap, alt_of(report, f"GPUs of {node}", said))


def _cells(report: Report, node: str, zone: tzinfo) -> pd.DataFrame:
    gpus = report.run.gpus
    start, end = report.job.started, report.job.ended or report.reviewed_at
    days = start is not None and (end - start).total_seconds() > 86_400
    return charts.minute_cells(gpus[gpus["node"] == node], days, zone)


def _anatomy(report: Report, found: StepAnatomy) -> None:
    with st.container(border=True, height="stretch", gap="xsmall"):
        said = anatomy_said(found)
        about = (
            f"GPU use within a step of {step_seconds(found.step_s)} · {count(found.samples, 'sample')} "
            f"of {count(found.steps, 'step')}"
        )
        head(said, about, lambda: found.pieces, f"{report.job.name}-{found.node}-step")
        alt = alt_of(report, f"GPU use within a step on {found.node}", said)
        draw_frames(("chart-step-anatomy",), (charts.closed(found.pieces),), charts.anatomy, alt)
        st.caption(plain(_PER_STEP))
