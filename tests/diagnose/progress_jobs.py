"""Training jobs that are simulated step by step: their reports, the lines between them, and a minute's means of each GPU."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import numpy as np
import pandas as pd

from monitor.model import (
    InstanceGroup,
    Job,
    LogCoverage,
    Parameter,
    Run,
    Transition,
    events_frame,
    metrics_frame,
    steps_frame,
)
from tests.builders import START, nodes_of


@dataclass(frozen=True)
class Pause:
    """Every so many steps the training does something else for some seconds; its lines come at the beginning, the end."""

    kind: str
    every: int
    seconds: float
    begin: bool = True
    end: bool = True
    beside: bool = False
    """Lines, but no pause: it is done while the steps go on."""
    gpu: float = 3.0
    disk: float = 0.0
    until_step: int = 10**9


@dataclass(frozen=True)
class Plan:
    """A job of two nodes and an hour, healthy unless told otherwise; it ends (or is looked at) after ``minutes``."""

    minutes: float = 60.0
    nodes: int = 2
    printing: int = 0
    """How many nodes print steps; 0: all."""
    step_s: float = 2.0
    noise: float = 0.02
    seed: int = 1
    report_every: int = 1
    kind: str = "step"
    before_s: float = 120.0
    """From the status Training to the beginning of the first step."""
    first_line_s: float = 30.0
    pauses: tuple[Pause, ...] = ()
    slow: dict[int, float] = field(default_factory=dict)
    """node number -> factor of its own printed times."""
    factor: tuple[tuple[int, int, float], ...] = ()
    """(from step, to step, factor of all steps)"""
    spikes: float = 0.0
    """The share of steps that take ``spike`` times as long, at random."""
    spike_every: int = 0
    spike: float = 5.0
    block_s: float = 0.0
    """Lines come in blocks of so many seconds."""
    hang_step: int | None = None
    last_line_s: float = 0.0
    """So long after the last report a line is still logged."""
    gpu: float = 92.0
    gpu_noise: float = 2.0
    hang_gpu: tuple[float, ...] = (99.8,)
    """By node, the last one for all others."""
    tokens: int = 0
    """Tokens of a step: its throughput is printed."""
    tokens_follow: bool = False
    """A step that takes longer by plan has as many more tokens."""
    status: str = "InProgress"
    spot: bool = False
    total: int | None = None
    parameters: dict[str, object] = field(default_factory=dict)
    with_metrics: bool = True


def simulate(plan: Plan) -> tuple[Run, datetime]:
    """The run, and the moment it is looked at."""
    rng = np.random.default_rng(plan.seed)
    begun = START - timedelta(seconds=plan.before_s)
    end_s = plan.minutes * 60
    count = int(end_s / plan.step_s * 1.2) + 10
    usual = np.full(count, plan.step_s)
    for first, last, factor in plan.factor:
        usual[first - 1 : last] *= factor
    took = usual * np.exp(rng.normal(0, plan.noise, count))
    if plan.spikes:
        took[rng.random(count) < plan.spikes] *= plan.spike
    if plan.spike_every:
        took[plan.spike_every - 1 :: plan.spike_every] *= plan.spike
    took[0] *= 4
    pause_s = np.zeros(count)
    events, states = [], []
    for pause in plan.pauses:
        for step in range(pause.every, min(count, pause.until_step) + 1, pause.every):
            if not pause.beside:
                pause_s[step - 1] += pause.seconds
    done_s = np.cumsum(took) + np.concatenate([[0], np.cumsum(pause_s)[:-1]])
    last = int(np.searchsorted(done_s, end_s, "left"))
    if plan.hang_step is not None:
        last = min(last, plan.hang_step)
    if plan.total is not None:
        last = min(last, plan.total)
    for step in range(1, last + 1):
        at = float(done_s[step - 1])
        for pause in plan.pauses:
            if step % pause.every or step > pause.until_step:
                continue
            if plan.hang_step == step and not pause.begin:
                continue
            if pause.begin:
                events.append((f"{pause.kind}-begin", at + 0.05, 3 * step + 1))
            over = at + pause.seconds
            if not pause.beside:
                states.append((at, over, pause.gpu, pause.disk))
            if pause.end and over < end_s and plan.hang_step != step:
                events.append((f"{pause.kind}-end", over - 0.05, 3 * step + 2))
            at = over if not pause.beside else at
    numbers = np.arange(plan.report_every, last + 1, plan.report_every)
    frames = []
    for place in range(plan.printing or plan.nodes):
        own = took * plan.slow.get(place + 1, 1.0) * np.exp(rng.normal(0, 0.004, count))
        means = pd.Series(own).rolling(plan.report_every, min_periods=1).mean().to_numpy()[numbers - 1]
        at = done_s[numbers - 1] + rng.uniform(0, 0.02, len(numbers))
        if plan.block_s:
            at = np.ceil(at / plan.block_s) * plan.block_s
            keep = at <= end_s
            numbers_seen, at, means = numbers[keep], at[keep], means[keep]
        else:
            numbers_seen = numbers
        work = plan.tokens * (usual / plan.step_s if plan.tokens_follow else 1.0)
        per_s = (np.broadcast_to(work, (count,)) / took)[numbers_seen - 1]
        frames.append(
            pd.DataFrame(
                {
                    "node": f"algo-{place + 1}",
                    "rank": place * 8,
                    "step": numbers_seen,
                    "timestamp": pd.Timestamp(START) + pd.to_timedelta(at, unit="s"),
                    "step_time_s": means,
                    "throughput": per_s if plan.tokens else np.nan,
                    "throughput_unit": "tokens/s" if plan.tokens else "",
                    "loss": 2.0,
                    "gpu_memory_gib": np.nan,
                    "format": "simulated",
                    "kind": "interval" if plan.report_every > 1 else plan.kind,
                    "stream": f"job/algo-{place + 1}-1",
                    "line": numbers_seen * 3,
                    "total": plan.total,
                    "segment": 0,
                    "warm_up": np.arange(len(numbers_seen)) == 0,
                }
            )
        )
    rows = steps_frame(pd.concat(frames))
    told = [
        {
            "timestamp": START + timedelta(seconds=at),
            "node": "algo-1",
            "rank": 0,
            "kind": kind,
            "text": "",
            "stream": "job/algo-1-1",
            "line": line,
        }
        for kind, at, line in events
        if at <= end_s
    ]
    for place in range(plan.nodes):
        head = {"node": f"algo-{place + 1}", "stream": f"job/algo-{place + 1}-1", "rank": None, "kind": "first-line"}
        told.append(head | {"timestamp": begun + timedelta(seconds=plan.first_line_s), "text": "", "line": 1})
    hang_s = float(done_s[last - 1]) if last and (plan.hang_step is not None) else None
    metric_rows = _metrics(plan, rng, begun, end_s, states, hang_s) if plan.with_metrics else metrics_frame()
    now = START + timedelta(seconds=end_s)
    return _run(plan, rows, events_frame(told), metric_rows, begun, now), now


def _metrics(
    plan: Plan,
    rng: np.random.Generator,
    begun: datetime,
    end_s: float,
    states: list[tuple[float, float, float, float]],
    hang_s: float | None,
) -> pd.DataFrame:
    frames = []
    running = plan.status == "InProgress"
    seconds = np.arange(-plan.before_s, end_s)
    for place in range(plan.nodes):
        level = np.where(seconds < 0, 0.5, plan.gpu)
        disk = np.full(len(seconds), 20.0)
        for start, end, gpu, grows in states:
            level[(seconds >= start) & (seconds < end)] = gpu
            disk[seconds >= end] += grows
        hang = plan.hang_gpu[min(place, len(plan.hang_gpu) - 1)]
        quiet = seconds >= (end_s + 1 if hang_s is None else hang_s)
        level[quiet] = hang
        whole = len(seconds) // 60
        if running:
            whole -= 2  # the newest minutes are late
        means = level[: whole * 60].reshape(-1, 60).mean(axis=1)
        # What waits or idles does not move.
        still = quiet[: whole * 60].reshape(-1, 60).all(axis=1) | (means < 3)
        means = np.clip(means + np.where(still, 0.05, plan.gpu_noise) * rng.normal(0, 1, whole), 0, 100)
        space = disk[: whole * 60].reshape(-1, 60).mean(axis=1)
        for metric, values in (
            ("gpu_utilization", means),
            ("gpu_memory_utilization", np.full(whole, 75.0)),
            ("cpu_utilization", np.clip(30 + rng.normal(0, 2, whole), 0, 100)),
            ("disk_utilization", space),
        ):
            frames.append(
                pd.DataFrame(
                    {
                        "timestamp": pd.date_range(begun.replace(microsecond=0), periods=whole, freq="min"),
                        "node": f"algo-{place + 1}",
                        "metric": metric,
                        "value_pct": values,
                        "period_s": 60,
                    }
                )
            )
    return metrics_frame(pd.concat(frames))


def _run(
    plan: Plan, rows: pd.DataFrame, events: pd.DataFrame, metric_rows: pd.DataFrame, begun: datetime, now: datetime
) -> Run:
    running = plan.status == "InProgress"
    last = [START + timedelta(seconds=0)]
    if len(rows):
        last.append(rows["timestamp"].max().to_pydatetime() + timedelta(seconds=plan.last_line_s))
    if events["timestamp"].notna().any():
        last.append(events["timestamp"].max().to_pydatetime())
    hosts = nodes_of(plan.nodes)
    job = Job(
        "simulated",
        status=plan.status,
        secondary_status="Training" if running else plan.status,
        instance_groups=(InstanceGroup("", hosts[0].instance_type or "", plan.nodes),),
        created=begun - timedelta(minutes=5),
        started=begun,
        ended=None if running else now,
        transitions=(Transition("Training", begun, None if running else now),),
        spot=plan.spot,
        nodes=hosts,
        configuration={name: Parameter(value, "hyperparameters") for name, value in plan.parameters.items()},
    )
    coverage = LogCoverage(plan.nodes, 3 * len(rows), min(max(last), now))
    return Run(job, rows, metric_rows, events, (), 60, coverage)


_MADE: dict[str, Run] = {}


def looked_at(plan: Plan, **changes: object) -> Run:
    """The run of a plan with other values in it; the same object where the plan is the same."""
    changed = replace(plan, **changes)  # type: ignore[arg-type]
    if str(changed) not in _MADE:
        _MADE[str(changed)] = simulate(changed)[0]
    return _MADE[str(changed)]
