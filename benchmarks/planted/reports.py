"""What is there to print of a run, and when? Independent of how a framework spells it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from benchmarks.planted.course import CHECKPOINT, EVALUATION, STEP, Course, Floats
from benchmarks.planted.plan import Plan


@dataclass(frozen=True, slots=True)
class Report:
    """What a training loop knows when it prints after ``step`` steps, the last ``steps`` of them since the last print."""

    at_s: float
    """Seconds since the container began."""
    clock: datetime
    node: int
    rank: int
    step: int
    steps: int
    mean_s: float
    """Of the steps alone, since the last print."""
    wall_mean_s: float
    """The same with all that was done between them."""
    last_s: float
    last_wall_s: float
    own_s: float
    """The node's own work, mean since the last print."""
    elapsed_s: float
    """Since the loop began."""
    smoothed_s: float
    """As a progress bar smooths it."""
    loss: float
    tokens: float
    flushed: bool


@dataclass(frozen=True, slots=True)
class Moment:
    """An evaluation or a checkpoint after ``step`` steps."""

    at_s: float
    clock: datetime
    kind: int
    step: int
    seconds: float
    loss: float
    elapsed_s: float


def reports(plan: Plan, run: Course, began_s: float) -> Iterator[Report]:
    """In time, for each node that prints."""
    count = len(run.took)
    steps = np.arange(run.first_step, run.first_step + count) + 1
    due = np.flatnonzero((steps % plan.log_every == 0) | (steps == plan.steps) | (steps == 1))
    nodes = (0,) if plan.printing == "rank0" else tuple(range(plan.nodes))
    if plan.framework == "megatron":
        nodes = (plan.nodes - 1,)
    first_ranks = [plan.first_rank(node) for node in range(plan.nodes)]
    losses = loss_of(plan, steps)
    rng = np.random.default_rng((plan.seed, 31, run.first_step))
    flushed = rng.random(len(due)) < plan.cache_flushes
    skew = np.abs(rng.normal(0, 0.004, (len(due), plan.nodes))) + rng.normal(0, 0.05, plan.nodes)[None, :]
    smooth_sum, smooth_weight = 0.0, 0.0
    since = 0
    ends = run.ends
    for number, at in enumerate(due):
        taken = run.took[since : at + 1, STEP]
        wall_from = ends[since - 1] if since else run.loop_began_s
        wall = (ends[at] - wall_from) / len(taken)
        last_wall = ends[at] - (ends[at - 1] if at else run.loop_began_s)
        smooth_sum, smooth_weight = 0.3 * wall + 0.7 * smooth_sum, 0.3 + 0.7 * smooth_weight
        # Each rank has its own clock, and comes out of the collective a little sooner or later.
        drift = (skew[number] - skew[number - 1] if number else skew[number] * 0) / len(taken)
        own = run.own[since : at + 1].mean(axis=0)
        for node in nodes:
            moment = float(ends[at] + 0.01 + max(skew[number, node], -ends[at]))
            yield Report(
                moment,
                datetime.fromtimestamp(began_s + moment, UTC),
                node,
                first_ranks[node] + (plan.ranks_a_node - 1 if plan.framework == "megatron" else 0),
                int(steps[at]),
                len(taken),
                float(taken.mean()) + drift[node],
                float(wall) + drift[node],
                float(taken[-1]),
                float(last_wall),
                float(own[node]),
                float(ends[at] - run.loop_began_s),
                smooth_sum / smooth_weight,
                float(losses[at]),
                float(run.tokens[at]),
                bool(flushed[number]),
            )
        since = int(at) + 1


def moments(plan: Plan, run: Course, began_s: float) -> Iterator[Moment]:
    """Evaluations and checkpoints that the log tells of."""
    steps = np.arange(run.first_step, run.first_step + len(run.took)) + 1
    losses = loss_of(plan, steps)
    for kind, pause in ((EVALUATION, plan.evaluation), (CHECKPOINT, plan.checkpoint)):
        if pause is None or not pause.said:
            continue
        for at in np.flatnonzero(run.took[:, kind]):
            began = float(run.begins[at, kind]) + 0.02
            clock = datetime.fromtimestamp(began_s + began, UTC)
            lasted = float(run.took[at, kind])
            yield Moment(began, clock, kind, int(steps[at]), lasted, float(losses[at]), began - run.loop_began_s)


def loss_of(plan: Plan, steps: NDArray[np.int64]) -> Floats:
    """A loss that falls as losses do; NaN from where the plan says."""
    noise = np.random.default_rng((plan.seed, 32)).normal(0, 0.012, plan.steps + 1)[steps]
    loss: Floats = (2.1 + 7.5 * (1 + steps / max(plan.steps / 60, 1)) ** -0.55) * (1 + noise)
    if plan.pace.nan_from is not None:
        begin = int(plan.pace.nan_from * plan.steps)
        end = plan.steps if plan.pace.nan_reports is None else begin + plan.pace.nan_reports * plan.log_every - 1
        loss = np.where((steps > begin) & (steps <= end), np.nan, loss)
    return loss
