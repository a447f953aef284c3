"""How does a job run? A clock over its steps, and what its devices do meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.planted.plan import Plan

Floats = NDArray[np.float64]

STEP, EVALUATION, CHECKPOINT, WAIT = range(4)


@dataclass(frozen=True, slots=True)
class Course:
    """One attempt, in seconds since its container began. Arrays over steps have ``first_step`` as their first."""

    first_step: int
    own: Floats
    """Steps x nodes: each node's own work."""
    took: Floats
    """Steps x (step, evaluation, checkpoint, wait)."""
    begins: Floats
    """Steps x the same: when it began."""
    tokens: Floats
    """Of a step, as a multiple of the plan's."""
    loop_began_s: float
    ended_s: float
    edges: Floats
    """Beginnings and the end of all spans, in time."""
    gpu: Floats
    """Spans x nodes: percent."""
    cpu: Floats

    @property
    def ends(self) -> Floats:
        """When each step ended."""
        found: Floats = self.begins[:, STEP] + self.took[:, STEP]
        return found


def course(plan: Plan, first_step: int, last_step: int, tail: tuple[tuple[float, float, float], ...] = ()) -> Course:
    """Steps ``first_step`` to ``last_step`` (of the whole plan, the last excluded); ``tail`` is (seconds, gpu, cpu)."""
    rng = np.random.default_rng((plan.seed, 11, first_step))
    whole = np.random.default_rng((plan.seed, 12))
    count = last_step - first_step
    share = (np.arange(first_step, last_step) + 0.5) / plan.steps
    own, idle, tokens = _own(plan, share, rng)
    _restarted(plan, own, rng)
    took = np.zeros((count, 4))
    took[:, STEP] = own.max(axis=1) if count else 0.0
    steps = np.arange(first_step, last_step) + 1
    for kind, pause in ((EVALUATION, plan.evaluation), (CHECKPOINT, plan.checkpoint)):
        if pause is not None:
            lasted = pause.seconds * np.exp(pause.spread * whole.standard_normal(plan.steps))[first_step:last_step]
            due = (steps % pause.every == 0) & (share <= pause.until)
            took[:, kind] = np.where(due, lasted, 0.0)
    for wait in plan.pace.waits:
        at = int(wait.at * plan.steps) - first_step
        if 0 <= at < count:
            took[at, WAIT] += wait.seconds
    opening = plan.opening
    loop_began = opening.imports_s + opening.data_s + opening.model_s
    starts = loop_began + np.concatenate([[0.0], np.cumsum(took.ravel())])
    begins = starts[:-1].reshape(count, 4)
    gpu, cpu = _busy(plan, share, own, idle, took, whole)
    head = [(opening.imports_s, 0.0, 12.0), (opening.data_s, 0.0, opening.data_cpu), (opening.model_s, 2.0, 18.0)]
    nodes = plan.nodes
    edges = np.concatenate([[0.0], np.cumsum([seconds for seconds, _, _ in head])[:-1], starts])
    for seconds, _, _ in tail:
        edges = np.append(edges, edges[-1] + seconds)
    gpu = np.vstack([*[np.full((1, nodes), level) for _, level, _ in head], gpu, *_rows(tail, 1, nodes)])
    cpu = np.vstack([*[np.full((1, nodes), level) for _, _, level in head], cpu, *_rows(tail, 2, nodes)])
    return Course(first_step, own, took, begins, tokens, loop_began, float(edges[-1]), edges, gpu, cpu)


def _rows(spans: tuple[tuple[float, float, float], ...], column: int, nodes: int) -> list[Floats]:
    return [np.full((1, nodes), span[column]) for span in spans]


def _own(plan: Plan, share: Floats, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Each node's own work at each step, the seconds of it in which its GPUs idle, and the tokens of a step."""
    pace, count = plan.pace, len(share)
    together = pace.step_s * np.exp(pace.jitter * rng.standard_normal(count))
    rare = rng.random(count) < pace.rare_share
    together = np.where(rare, together * rng.uniform(1.3, pace.rare_high, count), together)
    factor = 1 + pace.trend * share
    tokens = 1 + pace.trend * share
    idle_s = np.zeros(count)
    for stage in pace.stages:
        inside = share >= stage.begin
        factor = np.where(inside, stage.factor, factor)
        tokens = np.where(inside, stage.tokens, tokens)
        if stage.idle:
            idle_s = np.where(inside, together * (stage.factor - 1), idle_s)
    together = together * factor
    if pace.outliers is not None:
        chosen = rng.random(count) < pace.outliers.share
        if pace.outliers.every is not None:
            chosen = np.arange(count) % pace.outliers.every == pace.outliers.every - 1
        added = np.where(chosen, together * (rng.uniform(pace.outliers.low, pace.outliers.high, count) - 1), 0.0)
        together = together + added
        idle_s = idle_s + added * (1 - pace.outliers.gpu / 100)
    own = together[:, None] * np.exp(pace.node_jitter * rng.standard_normal((count, plan.nodes)))
    for slow in pace.slow:
        inside = (share >= slow.begin) & (share < slow.end)
        own[:, slow.node] = np.where(inside, own[:, slow.node] * slow.factor, own[:, slow.node])
    return own, idle_s, tokens


def _restarted(plan: Plan, own: Floats, rng: np.random.Generator) -> None:
    """The first steps of an attempt are longer: allocation, tracing, autotuning."""
    warm = min(plan.pace.warm_up, len(own))
    if warm:
        # Compilation and allocation take their minutes, however long a step is.
        own[0] *= min(plan.pace.first_factor, 1 + 240.0 / plan.pace.step_s)
        extra = min((plan.pace.first_factor - 1) * 0.08, 1.6)
        own[1:warm] *= (1 + extra * rng.random(warm - 1))[:, None]


def _busy(
    plan: Plan, share: Floats, own: Floats, idle: Floats, took: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Percent of GPU and CPU in each span (steps x kinds, flattened) and node."""
    levels, count, nodes = plan.levels, len(own), plan.nodes
    gpu, cpu = np.zeros((count, 4, nodes)), np.zeros((count, 4, nodes))
    level = levels.gpu + np.array(levels.gpu_of_node or (0.0,) * nodes) + rng.normal(0, 0.4, nodes)
    working = np.broadcast_to(np.clip(level, 1, 99.6), (count, nodes)).copy()
    for slow in plan.pace.slow:
        inside = (share >= slow.begin) & (share < slow.end)
        working[:, slow.node] = np.where(inside, working[:, slow.node] * slow.gpu_factor, working[:, slow.node])
    whole = np.maximum(took[:, STEP : STEP + 1], 1e-9)
    busy = np.maximum(own - idle[:, None], 0.0) / whole
    waiting = np.clip(1 - own / whole, 0.0, 1.0)
    resting = np.clip(1 - busy - waiting, 0.0, 1.0)
    gpu[:, STEP] = busy * working + waiting * levels.waiting_gpu + resting * 3.0
    cpu[:, STEP] = levels.cpu + rng.normal(0, 0.6, nodes)
    for kind, pause in ((EVALUATION, plan.evaluation), (CHECKPOINT, plan.checkpoint)):
        if pause is not None:
            gpu[:, kind], cpu[:, kind] = pause.gpu, pause.cpu
    if levels.alone_gpu is not None:
        gpu[:, EVALUATION, 1:] = levels.alone_gpu
    for wait in plan.pace.waits:
        at = int(wait.at * plan.steps) - (int(share[0] * plan.steps) if count else 0)
        if 0 <= at < count:
            gpu[at, WAIT], cpu[at, WAIT] = wait.gpu, wait.cpu
    return gpu.reshape(-1, nodes), cpu.reshape(-1, nodes)
