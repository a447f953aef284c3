"""Small jobs for the tests of thresholds: minutes and steps with the very values that a test is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd

from monitor.alert.conditions import AlertRule
from monitor.alert.evaluate import RuleVerdict, judge
from monitor.alert.rules import rules_of
from monitor.model import Cost, Finding, Gap, Report, metrics_frame, steps_frame
from tests.builders import nodes_of, report

START = datetime(2026, 9, 25, 12, 0, tzinfo=UTC)


def minutes(
    values: Mapping[str, Sequence[float | None]], metric: str = "gpu_utilization", period_s: int = 60
) -> pd.DataFrame:
    """One point a minute and node from START on; None is a minute without a point."""
    rows = [
        {
            "timestamp": START + timedelta(seconds=period_s * place),
            "node": node,
            "metric": metric,
            "value_pct": value,
            "period_s": period_s,
        }
        for node, levels in values.items()
        for place, value in enumerate(levels)
        if value is not None
    ]
    return metrics_frame(rows)


def reported(
    values: Mapping[str, Sequence[float | None]],
    column: str = "step_time_s",
    step_s: float = 2.0,
    clock: bool = True,
    every: int = 1,
) -> pd.DataFrame:
    """One report a step and node; None is a step that nobody reported."""
    rows = []
    for node, figures in values.items():
        at_s = 0.0
        for place, figure in enumerate(figures):
            took_s = figure if column == "step_time_s" and figure is not None else step_s
            at_s += took_s * every
            if figure is None:
                continue
            row = {
                "node": node,
                "rank": 0,
                "step": every * (place + 1),
                "timestamp": START + timedelta(seconds=at_s),
                "step_time_s": took_s,
                "throughput": np.nan,
                "throughput_unit": "samples/s" if column == "throughput" else "",
                "loss": np.nan,
                "gpu_memory_gib": np.nan,
                "format": "key-value",
                "kind": "step",
                "stream": f"job/{node}-1",
                "line": place + 1,
                "total": pd.NA,
                "segment": 0,
                "warm_up": False,
            }
            rows.append(row | {column: figure})
    frame = steps_frame(rows)
    return frame if clock else without_times(frame)


def without_times(rows: pd.DataFrame) -> pd.DataFrame:
    """The same reports of a log whose lines carry no time."""
    return rows.assign(timestamp=rows["timestamp"].mask(rows["timestamp"].notna()))


def job(
    metrics: pd.DataFrame | None = None,
    steps: pd.DataFrame | None = None,
    *,
    running: bool = False,
    length: float = 60,
    nodes: int = 2,
    usd: float | None = None,
    findings: tuple[Finding, ...] = (),
    gaps: tuple[Gap, ...] = (),
) -> Report:
    """A job that began at START and, unless it runs, ended ``length`` minutes later."""
    found = report(
        "case",
        status="InProgress" if running else "Completed",
        nodes=nodes_of(nodes),
        metric_frame=metrics,
        step_frame=steps,
        start=START,
        minutes=int(length),
        findings=findings,
        gaps=gaps,
        cost=Cost(usd, None, 10.0, "test") if usd is not None else None,
    )
    return replace(found, reviewed_at=START + timedelta(minutes=length))


def asked(expression: str) -> AlertRule:
    return rules_of([expression])[0]


def verdict(found: Report, expression: str, after: float | None = None) -> RuleVerdict:
    """The verdict as of ``after`` minutes; of a job that is over, an hour after its end."""
    late = after if after is not None else 60 + (found.reviewed_at - START).total_seconds() / 60
    if found.job.is_running and after is None:
        late -= 60
    return judge(found, asked(expression), START + timedelta(minutes=late))


def at(minute: float) -> datetime:
    return START + timedelta(minutes=minute)
