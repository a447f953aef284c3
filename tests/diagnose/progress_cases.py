"""Jobs that the rules about progress, pace and checkpoints must speak about, and jobs that they must be silent about."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from monitor.model import LogCoverage, Outputs, Run, Transition, events_frame, metrics_frame, steps_frame
from tests.diagnose.progress_jobs import Pause, Plan, looked_at
from tests.diagnose.runs import Cases

CHECKPOINT = Pause("checkpoint", 200, 4, disk=0.3)
EVALUATION = Pause("evaluation", 300, 60, gpu=70)
HEALTHY = Plan(pauses=(CHECKPOINT, EVALUATION))
HUNG = Plan(hang_step=800)
FOUR = Plan(nodes=4)
_LATE = (800, 10**6, 1.25)


def _restarted(of: Run) -> Run:
    """The container starts anew after the last step: a new stream, and no step yet."""
    head = {"node": "algo-1", "rank": None, "kind": "first-line", "text": "", "stream": "job/algo-1-2", "line": 1}
    at = of.steps["timestamp"].max() + pd.Timedelta(minutes=2)
    return replace(of, events=events_frame(pd.concat([of.events, pd.DataFrame([head | {"timestamp": at}])])))


def _told(of: Run, kind: str) -> Run:
    """A line at step 800."""
    at = of.steps.loc[of.steps["step"] == 800, "timestamp"].iloc[0]
    row = {
        "timestamp": at,
        "node": "algo-1",
        "rank": 0,
        "kind": kind,
        "text": "",
        "stream": "job/algo-1-1",
        "line": 2399,
    }
    return replace(of, events=events_frame(pd.concat([of.events, pd.DataFrame([row])])))


def _kept(of: Run) -> Run:
    """Its checkpoints go to S3."""
    return replace(of, job=replace(of.job, outputs=Outputs(checkpoints="s3://bucket/checkpoints")))


_LONG = Plan(status="Completed", minutes=150, step_s=6.0, pauses=(replace(CHECKPOINT, every=100),), with_metrics=False)


def _uploading(of: Run) -> Run:
    at = of.steps["timestamp"].max().to_pydatetime()
    first = replace(of.job.transitions[0], end=at)
    job = replace(of.job, secondary_status="Uploading", transitions=(first, Transition("Uploading", at)))
    return replace(of, job=job)


def _global_figures(of: Run) -> Run:
    """All nodes print what the first one measures: one figure, that was reduced over all."""
    first = of.steps[of.steps["node"] == "algo-1"].set_index("step")["step_time_s"]
    return replace(of, steps=steps_frame(of.steps.assign(step_time_s=of.steps["step"].map(first).to_numpy())))


def _unlike(of: Run, metric: str, node: str, points: float, minutes: int | None = None) -> Run:
    rows = of.metrics
    mine = (rows["metric"] == metric) & (rows["node"] == node)
    if minutes is not None:
        mine &= rows["timestamp"] < rows["timestamp"].min() + pd.Timedelta(minutes=minutes)
    return replace(of, metrics=metrics_frame(rows.assign(value_pct=rows["value_pct"] + mine * points)))


def _drifting(of: Run) -> Run:
    """Nodes that are not held together: each at its own pace, and slower steps later on for all."""
    rows = of.steps.assign(step_time_s=of.steps["step_time_s"] * (1 + of.steps["step"] / 1000))
    frames = []
    for place, (_, mine) in enumerate(rows.groupby("node")):
        began = mine["timestamp"].iloc[0]
        frames.append(mine.assign(timestamp=began + (mine["timestamp"] - began) * (1 + 0.08 * place)))
    return replace(of, steps=steps_frame(pd.concat(frames)))


def _no_step_yet(of: Run) -> Run:
    coverage = LogCoverage(2, 400, of.logs.last_line_at)
    return replace(of, steps=steps_frame(), logs=coverage)


def _varied(of: Run) -> Run:
    """Sequences of all lengths: the time of a step follows its tokens, the tokens a second do not."""
    rng = np.random.default_rng(3)
    length = np.exp(rng.normal(0, 0.45, int(of.steps["step"].max()) + 1))[of.steps["step"].to_numpy("int64")]
    rows = of.steps.assign(step_time_s=of.steps["step_time_s"] * length)
    return replace(of, steps=steps_frame(rows))


@cache
def _pinned() -> Run:
    return looked_at(HUNG)


def _working() -> Run:
    """No line comes, and its GPUs are as busy as ever."""
    of = looked_at(HUNG, hang_gpu=(92.0,))
    noise = np.random.default_rng(5).normal(0, 4, len(of.metrics))
    values = of.metrics["value_pct"] + noise * (of.metrics["metric"] == "gpu_utilization")
    return replace(of, metrics=metrics_frame(of.metrics.assign(value_pct=values)))


FIRES: Cases = {
    "stall": lambda: [
        _pinned(),
        looked_at(HUNG, hang_gpu=(0.4,)),
        looked_at(HUNG, nodes=4, hang_gpu=(99.8, 0.2, 99.8)),
        looked_at(HUNG, status="Stopped"),
        looked_at(HUNG, with_metrics=False),
        # Five minutes are enough, and the newest metrics are not needed.
        looked_at(HUNG, hang_step=1640),
        # A checkpoint that hangs: the ones before took seconds.
        looked_at(HUNG, pauses=(CHECKPOINT,)),
        # No pause is due after step 850, and none is announced.
        looked_at(HUNG, hang_step=850, pauses=(Pause("checkpoint", 200, 400, begin=False),)),
        # Some process still talks, but no GPU moves.
        looked_at(HUNG, last_line_s=1900.0),
    ],
    "long-initialization": lambda: [
        looked_at(Plan(before_s=1500)),
        # It compiles in its first step, which prints what it took.
        looked_at(Plan(factor=((1, 1, 200.0),), minutes=90)),
        looked_at(Plan(before_s=1800, first_line_s=1500)),
        _no_step_yet(looked_at(Plan(before_s=1800), hang_step=1, hang_gpu=(0.3,))),
    ],
    "slow-node": lambda: [
        looked_at(FOUR, slow={3: 1.3}),
        looked_at(Plan(nodes=8), slow={3: 1.3, 5: 1.4}),
        looked_at(Plan(), slow={2: 1.3}),
        _drifting(looked_at(FOUR, slow={2: 1.25})),
        _global_figures(_unlike(looked_at(FOUR), "gpu_utilization", "algo-2", -25)),
    ],
    "step-time-regression": lambda: [
        looked_at(Plan(factor=(_LATE,))),
        looked_at(Plan(factor=(_LATE,), tokens=8192)),
        looked_at(Plan(factor=(_LATE,), kind="smoothed")),
        looked_at(Plan(factor=(_LATE,), report_every=10, pauses=(EVALUATION,))),
        looked_at(Plan(factor=tuple((first, first + 99, 1 + first / 4000) for first in range(1, 1800, 100)))),
    ],
    "slow-steps": lambda: [
        looked_at(Plan(spikes=0.04)),
        looked_at(Plan(spikes=0.1)),  # a deviation would hide these
        looked_at(Plan(spike_every=25), pauses=(EVALUATION,)),
        looked_at(Plan(spikes=0.05, kind="smoothed")),
    ],
    "checkpoint-stall": lambda: [
        looked_at(Plan(pauses=(replace(CHECKPOINT, seconds=30),))),
        looked_at(Plan(pauses=(replace(CHECKPOINT, seconds=30, end=False), EVALUATION))),
        looked_at(Plan(pauses=(replace(CHECKPOINT, seconds=90, begin=False, end=False),))),
    ],
    "checkpoint-overdue": lambda: [
        looked_at(Plan(pauses=(replace(CHECKPOINT, until_step=800),))),
        looked_at(Plan(pauses=(replace(CHECKPOINT, until_step=800, beside=True),))),
        looked_at(Plan(pauses=(replace(CHECKPOINT, until_step=800),), status="Completed")),
        looked_at(Plan(spot=True, step_s=1.0, minutes=60.5)),
    ],
    "managed-spot": lambda: [
        _kept(looked_at(_LONG)),
        _kept(looked_at(_LONG, with_metrics=True)),
    ],
}

SILENT: Cases = {
    "stall": lambda: [
        looked_at(HEALTHY),
        # The first checkpoint and the first evaluation say that they have begun.
        looked_at(HUNG, hang_step=1400, pauses=(Pause("checkpoint", 1400, 900),)),
        looked_at(HUNG, hang_step=1000, pauses=(Pause("evaluation", 1000, 3000, gpu=99.9),), hang_gpu=(99.9,)),
        # Pauses of ten minutes came before, and one is due now.
        looked_at(HUNG, hang_step=1200, pauses=(Pause("checkpoint", 400, 600, begin=False),)),
        looked_at(HUNG, hang_step=1700, total=1700, minutes=60),
        looked_at(HUNG, hang_step=1500, total=1500),
        looked_at(HUNG, status="Completed"),
        _working(),  # lines are late, GPUs work
        looked_at(Plan(block_s=400)),
        looked_at(Plan(report_every=200)),
        replace(_pinned(), logs=replace(_pinned().logs, complete=False)),
        _restarted(_pinned()),
        _uploading(_pinned()),
        looked_at(HUNG, hang_gpu=(60.0,), gpu=60.0, gpu_noise=0.1, last_line_s=1900.0),
    ],
    "long-initialization": lambda: [
        looked_at(Plan(before_s=1100)),
        # Every step takes that long.
        looked_at(Plan(step_s=1300.0, factor=((1, 1, 0.25),), minutes=600)),
        # The first line tells of 200 steps, or comes with a block of lines.
        looked_at(Plan(before_s=1000, report_every=200)),
        looked_at(Plan(before_s=1000, block_s=400)),
        _no_step_yet(looked_at(Plan(before_s=1800))),  # no line is recognized, but GPUs work
    ],
    "slow-node": lambda: [
        looked_at(FOUR),
        looked_at(FOUR, noise=0.1, gpu_noise=8.0),
        _global_figures(looked_at(FOUR, slow={1: 1.3})),
        _unlike(looked_at(FOUR), "cpu_utilization", "algo-1", 30),
        _unlike(_global_figures(looked_at(FOUR)), "gpu_utilization", "algo-2", -25, minutes=12),
        # It holds less, too: other work, or fewer GPUs.
        _unlike(
            _unlike(_global_figures(looked_at(FOUR)), "gpu_utilization", "algo-2", -25),
            "gpu_memory_utilization",
            "algo-2",
            -30,
        ),
        _drifting(looked_at(FOUR)),
        looked_at(Plan(slow={2: 1.05})),
    ],
    "step-time-regression": lambda: [
        looked_at(HEALTHY),
        looked_at(Plan(factor=(_LATE,), tokens=8192, tokens_follow=True)),
        looked_at(Plan(factor=((500, 900, 1.5),))),  # it recovered
        looked_at(Plan(factor=((1, 200, 0.8),), noise=0.15, minutes=6)),
        looked_at(Plan(factor=(_LATE,), parameters={"rampup_batch_size": "16 16 5000"})),
        _told(looked_at(Plan(factor=(_LATE,))), "curriculum"),
        looked_at(Plan(factor=((1000, 10**6, 1.07),))),
        looked_at(FOUR, factor=((1600, 10**6, 1.5),)),  # for a few minutes so far
    ],
    "slow-steps": lambda: [
        looked_at(HEALTHY),
        looked_at(Plan(spikes=0.01)),
        looked_at(Plan(noise=0.3)),
        looked_at(Plan(factor=((1, 40, 8.0),))),  # warm-up
        _varied(looked_at(Plan(tokens=8192))),
        looked_at(Plan(pauses=(Pause("evaluation", 30, 20),))),
        looked_at(Plan(pauses=(Pause("checkpoint", 30, 20, begin=False),))),
        looked_at(Plan(block_s=60)),
    ],
    "checkpoint-stall": lambda: [
        looked_at(HEALTHY),
        looked_at(Plan(pauses=(replace(CHECKPOINT, every=50, seconds=60, beside=True),))),
        looked_at(Plan(pauses=(replace(EVALUATION, seconds=200),))),
        looked_at(Plan(pauses=(replace(EVALUATION, seconds=90, begin=False, end=False),))),  # no disk space is taken
        looked_at(Plan(pauses=(replace(CHECKPOINT, every=900, seconds=300),))),  # one so far
        looked_at(Plan(block_s=400, pauses=(CHECKPOINT,))),
    ],
    "checkpoint-overdue": lambda: [
        looked_at(HEALTHY),
        looked_at(HEALTHY, status="Completed"),
        looked_at(Plan(pauses=(replace(CHECKPOINT, until_step=400),))),  # two tell of no cadence
        looked_at(Plan(pauses=(replace(CHECKPOINT, until_step=1500),))),
        looked_at(Plan(spot=True, minutes=60)),
        looked_at(Plan(spot=True, step_s=1.0, minutes=60.5, pauses=(replace(CHECKPOINT, every=3000),))),
        looked_at(Plan(spot=True, minutes=60.5, pauses=(replace(CHECKPOINT, begin=False, end=False),))),
    ],
    "managed-spot": lambda: [
        looked_at(_LONG),  # nothing is copied to S3
        _kept(looked_at(_LONG, spot=True)),
        _kept(looked_at(_LONG, minutes=60)),
        _kept(looked_at(_LONG, pauses=())),
        _kept(looked_at(_LONG, status="Failed")),
        _kept(looked_at(_LONG, before_s=1500)),  # a restart takes too long
        _kept(looked_at(_LONG, pauses=(replace(CHECKPOINT, every=400),))),  # so does what is lost
    ],
}
