"""The tables of a job: its nodes, its configuration, and what the review is based on.

A node's own GPUs, where the job's profiler tells them apart, are a heatmap, and what they do within a step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any

import pandas as pd
import streamlit as st

from monitor.analyze.stalls import StepAnatomy, step_anatomy
from monitor.aws.console import s3_url, stream_url, streams_url
from monitor.charts import utilization as charts
from monitor.diagnose.unlike import odd_nodes
from monitor.diagnose.words.charts import anatomy_sentence, gpus_sentence
from monitor.diagnose.words.report import file_rows, hidden_words
from monitor.fetch.logs.events import node_of_stream, prefix, stream_order
from monitor.model import METRICS, NodeStats, Report
from monitor.model.host_metrics import HOST_METRICS, OF_GPUS
from monitor.predict.setup import resolved
from monitor.show import data
from monitor.show.drawing import alt_of, draw_frames, head
from monitor.show.trouble import part, plain
from monitor.words import DASH, about_usd, count, from_cache, instant, profiler_objects, step_seconds, zone_name

#: So many places are shown without scrolling.
_FILES = 12


def node_rows(report: Report) -> pd.DataFrame:
    """One row a node, those worth a look first: GPU (mean percent, p5 to p95), steps (median, p10 to p90), mean percent of
    the other metrics, reports."""
    rows = []
    first = {name: place for place, name in enumerate(odd_nodes(report))}
    for stats in sorted(report.nodes, key=lambda stats: first.get(stats.node.name, len(first))):
        row: dict[str, object] = {"node": stats.node.name}
        for metric in METRICS:
            spread = getattr(stats, metric)
            row[metric] = None if spread is None else spread.mean
            if metric == "gpu_utilization":
                row["gpu_spread"] = None if spread is None else f"{spread.p5:.0f} to {spread.p95:.0f}"
        row["step_median_s"] = stats.steps.median_s if stats.steps else None
        row["step_spread"] = _step_spread(stats.steps.p10_s, stats.steps.p90_s) if stats.steps else None
        row["step_reports"] = stats.steps.count if stats.steps else None
        rows.append(row)
    frame = pd.DataFrame(rows, columns=[*rows[0]] if rows else ["node"])
    if not rows:
        return frame
    numbers = [*METRICS, "step_median_s", "step_reports"]
    frame[numbers] = frame[numbers].astype("float64")
    # A narrow window shows the first columns.
    last = ("cpu_utilization", "memory_utilization", "disk_utilization", "step_reports")
    frame = frame[[*(name for name in frame.columns if name not in last), *last]]
    return frame.dropna(axis="columns", how="all")


def log_urls(report: Report) -> dict[str, str]:
    """Node -> AWS's own page of its log stream; of its streams' list where the review saw no line of it."""
    seen = {str(name) for frame in (report.run.steps, report.run.events) for name in frame["stream"].dropna().unique()}
    # Of several streams of a node the newest: their names end in the time of their start.
    streams = {node_of_stream(name): name for name in sorted(seen, key=stream_order) if "/" in name}
    found = {
        node: stream_url(report.job.arn, streams[node])
        if node in streams
        else streams_url(report.job.arn, f"{prefix(report.job.name)}{node}-")
        for node in report.job.node_names
    }
    return {node: url for node, url in found.items() if url is not None}


def show_nodes_with_gpus(report: Report, console: bool, zone: tzinfo) -> None:
    """The table of nodes; where the job's profiler tells their GPUs apart, a row opens those of its node."""
    known = profiled_nodes(report)
    if not known:
        show_nodes(report, console)
        return

    def nodes() -> None:
        chosen = show_nodes(report, console, known)
        node = chosen if chosen in known else known[0]
        st.markdown(f"**GPUs of {plain(node)}**")
        if len(known) > 1:
            st.caption("Select a row of the table to see the GPUs of its node.")
        if chosen is not None and chosen not in known:
            st.caption(f"No samples of {plain(chosen)} were read.")
        part(report, "GPUs of a node", show_gpus, report, node, zone)

    st.fragment(lambda: part(report, "Nodes", nodes))()


def show_nodes(report: Report, console: bool = False, opens: Sequence[str] = ()) -> str | None:
    """The table of nodes, and the one whose row is selected; columns nobody has are left out, and the table where nothing is
    known of any.

    ``console``: AWS's console has their logs, and each row leads there. Rows can be selected where there is something that
    they open.
    """
    frame = node_rows(report)
    if len(frame.columns) < 2:
        return None
    if console and (urls := log_urls(report)):
        frame["log"] = frame["node"].map(urls)
    st.markdown("**Nodes**")
    config = st.column_config
    means: dict[str, Any] = {
        metric: config.ProgressColumn(each.device, format="%.0f %%", min_value=0, max_value=100, width=100)
        if metric in OF_GPUS
        else config.NumberColumn(each.device, format="%.0f %%", width=75)
        for metric, each in HOST_METRICS.items()
    }
    selects: dict[str, Any] = {"on_select": "rerun", "selection_mode": "single-row"} if opens else {}
    drawn = st.dataframe(
        frame,
        key="nodes",
        **selects,
        hide_index=True,
        height="auto",
        placeholder=DASH,
        alt="Utilization and step time of each node",
        column_config={
            "node": config.TextColumn("Node", width=90),
            **means,
            "gpu_spread": config.TextColumn("GPU p5 to p95, %", width=115),
            "step_median_s": config.NumberColumn("Step, median", format="%.3f s", width=100),
            "step_spread": config.TextColumn("Step p10 to p90, s", width=130),
            "log": config.LinkColumn("Log", display_text="CloudWatch", width=90),
            "step_reports": config.NumberColumn("Step reports", format="localized", width=95),
        },
    )
    rows = drawn["selection"]["rows"] if isinstance(drawn, dict) else []
    # After a refresh there may be fewer.
    return str(frame["node"].iloc[rows[0]]) if rows and rows[0] < len(frame) else None


def show_configuration(report: Report) -> None:
    """Parameter, value, and where it was read or that it is the library's default."""
    known = resolved(report.job)
    if not known:
        st.caption("No configuration was found, neither in the hyperparameters nor in the log.")
        return
    st.dataframe(
        pd.DataFrame(
            [(name, str(parameter.value), parameter.read_from) for name, parameter in known.items()],
            columns=["Parameter", "Value", "Read from"],
        ),
        key="configuration",
        hide_index=True,
        alt="Configuration of the job and where each value was read",
    )
    if said := hidden_words(report.job):
        st.caption(f":material/visibility_off: {plain(said)}")


def show_files(report: Report, tags: Mapping[str, str], console: bool = False) -> None:
    """What the job reads, where it leaves what it makes, its tags; with ``console`` each place leads to S3's own page."""
    rows = file_rows(report.job)
    frame = pd.DataFrame(rows, columns=["what", "where", "how"])
    if console:
        frame["s3"] = [s3_url(report.job.arn, row.where) for row in rows]
    config = st.column_config
    if rows:
        st.dataframe(
            frame,
            key="files",
            hide_index=True,
            height="content" if len(rows) <= _FILES else "auto",
            placeholder=DASH,
            alt="Input channels and outputs of the job",
            column_config={
                "what": config.TextColumn("What", width=150),
                "where": config.TextColumn("Where", width=560),
                "how": config.TextColumn("How", width=230),
                "s3": config.LinkColumn("S3 console", display_text="Open", width=90),
            },
        )
    elif report.job.source == "aws":
        st.caption("The job has no input channels.")
    if tags:
        st.caption("Tags")
        with st.container(horizontal=True, gap="xsmall"):
            for key, text in sorted(tags.items()):
                st.badge(plain(f"{key}: {text}" if text else key), color="gray")


def show_coverage(report: Report, zone: tzinfo) -> None:
    """What the review rests on and what it asked of AWS."""
    run = report.run
    calls = sum(report.api.calls.values())
    parts = [
        f"Metrics every {run.metrics_period_s} s" if run.metrics_period_s else "No metrics",
        f"{count(run.logs.lines, 'log line')} from {count(run.logs.streams, 'stream')}{_last(run.logs.last_line_at, zone)}",
        *_profiled(report),
        f"{count(calls, 'API call')} for this page, {about_usd(report.api.estimated_usd)}; "
        f"{count(sum(report.api_total.calls.values()), 'call')} by this dashboard so far, "
        f"{about_usd(report.api_total.estimated_usd)}",
    ]
    if report.archive is not None:
        parts.append(f"From the archive {report.archive}, as reviewed on {instant(report.reviewed_at, zone)}")
    if report.kept_at is not None:
        parts.append(f"Read {from_cache(report.kept_at, zone)}")
    st.caption(plain(" · ".join(parts)))


def _profiled(report: Report) -> tuple[str, ...]:
    read = report.run.profiler
    if read is None:
        return ()
    return (profiler_objects(read.objects, read.size_bytes, read.usd, read.skipped_lines),)


def _last(at: datetime | None, zone: tzinfo) -> str:
    return "" if at is None else f", the last at {instant(at, zone)}"


def _step_spread(p10_s: float | None, p90_s: float | None) -> str | None:
    return None if p10_s is None or p90_s is None else f"{p10_s:.3g} to {p90_s:.3g}"


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
        said = gpus_sentence(stats)
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
        said = anatomy_sentence(found)
        about = (
            f"GPU use within a step of {step_seconds(found.step_s)} · {count(found.samples, 'sample')} "
            f"of {count(found.steps, 'step')}"
        )
        head(said, about, lambda: found.pieces, f"{report.job.name}-{found.node}-step")
        alt = alt_of(report, f"GPU use within a step on {found.node}", said)
        draw_frames(("chart-step-anatomy",), (charts.closed(found.pieces),), charts.anatomy, alt)
        st.caption(plain(_PER_STEP))
