"""How long had no step been reported, at any moment? By node, over all of them, or on average."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pandas as pd

from monitor.alert.conditions import Threshold
from monitor.alert.pieces import Pieces, cut
from monitor.alert.step_series import LEAST_STEPS
from monitor.alert.track import Floats, median_so_far
from monitor.alert.tracked import Tracked, in_order, seconds
from monitor.analyze.utilization import training_spans
from monitor.model import Report


def silence_tracks(report: Report, when: Threshold, now: datetime) -> Tracked:
    """The time since the last step as of every moment up to ``now``, or to the end of the training."""
    steps = report.run.steps
    steps = steps[steps["timestamp"].notna()]
    if steps.empty:
        return Tracked(why_none=_why_none(report))
    if report.job.is_running and any(gap.what == "logs" and gap.transient for gap in report.run.gaps):
        return Tracked(why_none="Some of the newest log lines could not be read, so there may be newer steps.")
    times = {str(node): _times(rows) for node, rows in steps.groupby("node", observed=True)}
    if when.scope in {"all", "mean"}:
        pieces = [_joint(list(times.values()), when, _end(report, now))]
    else:
        pieces = [_of_node(node, mine, _end(report, now)) for node, mine in times.items()]
    return Tracked(in_order([cut(piece, when) for piece in pieces]), "s")


def _times(rows: pd.DataFrame) -> Floats:
    found: Floats = np.unique(seconds(rows["timestamp"]).to_numpy("float64"))
    return found


def _end(report: Report, now: datetime) -> float | None:
    """Until when a silence counts; None where nothing tells: up to the last step."""
    spans = training_spans(report.job, now)
    if spans:
        return spans[-1][1].timestamp()
    if report.job.is_running:
        return now.timestamp()
    last = report.job.ended or report.run.logs.last_line_at
    return None if last is None else last.timestamp()


def _of_node(node: str, times: Floats, end: float | None) -> Pieces:
    edges = np.append(times, max(times[-1], end if end is not None else times[-1]))
    return Pieces(node or None, edges[:-1], edges[1:], np.zeros(len(times)), np.diff(edges), _usual(times))


def _usual(times: Floats) -> Floats:
    """The median of the gaps before each silence."""
    gaps = np.diff(times)
    _, medians = median_so_far(np.arange(len(times)), np.append(gaps, 0.0), LEAST_STEPS)
    return medians


def _joint(nodes: list[Floats], when: Threshold, end: float | None) -> Pieces:
    """Over several nodes, from when each has done a step: for ``all`` that of the node nearest to the other side."""
    edges = np.unique(np.concatenate(nodes))
    edges = edges[edges >= max(times[0] for times in nodes)]
    since = [edges - times[np.searchsorted(times, edges, "right") - 1] for times in nodes]
    if when.scope == "mean":
        low = np.mean(since, axis=0)
    else:
        low = np.min(since, axis=0) if when.op.startswith(">") else np.max(since, axis=0)
    ends = np.append(edges[1:], max(edges[-1], end if end is not None else edges[-1]))
    every = np.unique(np.concatenate(nodes))
    usual = _usual(every)[np.searchsorted(every, edges)]
    return Pieces(None, edges, ends, low, low + (ends - edges), usual)


def _why_none(report: Report) -> str:
    if len(report.run.steps):
        return "The log lines carry no time, so the time of the last step is not known."
    gaps = [gap for gap in report.run.gaps if gap.what == "logs"]
    if not report.run.logs.lines and gaps:
        return " ".join(part for part in (gaps[0].why, gaps[0].remedy) if part)
    return "No step has been reported yet." if report.job.is_running else "No line of the log was recognized as a step."
