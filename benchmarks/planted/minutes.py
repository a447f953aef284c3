"""What does CloudWatch show of a run? Host sums of five metrics, a mean for each minute and node."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks.planted.course import CHECKPOINT, Course, Floats
from benchmarks.planted.plan import Plan

_NAMES = ("gpu_utilization", "gpu_memory_utilization", "cpu_utilization", "memory_utilization", "disk_utilization")


# Every node writes its own part of a checkpoint.
_SHARDED = {"megatron", "deepspeed", "torchtitan"}


@dataclass(frozen=True, slots=True)
class Attempt:
    """A course on the wall clock: its container began at this Unix time in seconds."""

    course: Course
    began_s: float
    until_s: float
    """Nothing is seen after this Unix time."""


def host_sums(plan: Plan, attempts: Iterable[Attempt]) -> pd.DataFrame:
    """``timestamp node metric value`` as CloudWatch sums them over a host, at the plan's period."""
    rng = np.random.default_rng((plan.seed, 21))
    parts = [part for attempt in attempts for part in _of_one(plan, attempt, rng)]
    columns = ["timestamp", "node", "metric", "value"]
    frame = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
    if plan.view.period_s > 60 and len(frame):
        frame["timestamp"] = frame["timestamp"] // plan.view.period_s * plan.view.period_s
        frame = frame.groupby(["timestamp", "node", "metric"], as_index=False, sort=False)["value"].mean()
    elif plan.view.missing and len(frame):
        frame = frame[_kept(frame, plan.view.missing, rng)]
    stamps = pd.to_datetime(frame["timestamp"].astype("float64"), unit="s", utc=True)
    return frame.assign(timestamp=stamps.astype("datetime64[ms, UTC]")).astype({"node": "str", "metric": "str"})


def _kept(frame: pd.DataFrame, missing: float, rng: np.random.Generator) -> Floats:
    """Minutes go missing of a node as a whole, as where its agent could not publish."""
    keys = pd.factorize(frame["timestamp"].astype(str) + frame["node"])[0]
    kept: Floats = rng.random(keys.max() + 1)[keys] >= missing
    return kept


def _of_one(plan: Plan, attempt: Attempt, rng: np.random.Generator) -> list[pd.DataFrame]:
    run, began = attempt.course, attempt.began_s
    end = min(began + run.ended_s, attempt.until_s)
    first = np.ceil(began / 60) * 60
    minutes = np.arange(first, end - 20, 60.0)
    if not len(minutes):
        return []
    inner = np.minimum(np.append(minutes, minutes[-1] + 60), end) - began
    share = _share_done(plan, run, inner[:-1])
    working = inner[1:] > run.loop_began_s
    shape = (len(minutes), plan.nodes)
    levels, hardware = plan.levels, plan.hardware
    noise = rng.normal(0, levels.wobble, shape)
    used = levels.gpus_used or hardware.gpus
    gpu = _means(run.edges, run.gpu, inner)
    gpu = np.where(gpu > 3, np.clip(gpu + noise, 0, 100), np.clip(gpu + 0.05 * noise, 0, 100)) * used
    cpu = np.clip(_means(run.edges, run.cpu, inner) + rng.normal(0, 1.0, shape), 0.3, 99.9) * hardware.vcpus
    memory = _held(plan, run, inner[:-1], share) + rng.normal(0, 0.05, shape)
    host = (
        _host_memory(plan, run, inner[:-1], share)[:, None] + rng.normal(0, 0.25, shape) + rng.normal(0, 0.8, shape[1])
    )
    disk = _disks(plan, run, inner[1:], share) + rng.normal(0, 0.01, shape)
    # Containers of one job do not begin at the same second.
    later = np.concatenate([[0.0], rng.uniform(0, 45, plan.nodes - 1)])
    there = (minutes[:, None] >= began + later[None, :]).ravel()
    # Rank 0 logs, saves and serves the rendezvous.
    cpu[:, 0] += rng.uniform(0, 4) * hardware.vcpus
    host[:, 0] += rng.uniform(0, 5)
    memory = np.where(working[:, None], np.clip(memory, 0.5, 99.4), np.clip(memory * 0 + 1.2, 0, 100)) * used
    tables = (gpu, memory, np.minimum(cpu, 100.0 * hardware.vcpus), np.clip(host, 0.5, 99.5), np.clip(disk, 0.1, 100))
    nodes = np.array([f"algo-{number + 1}" for number in range(plan.nodes)])
    return [
        pd.DataFrame(
            {
                "timestamp": np.repeat(minutes, plan.nodes),
                "node": np.tile(nodes, len(minutes)),
                "metric": name,
                "value": np.round(table.ravel(), 4),
            }
        )[there]
        for name, table in zip(_NAMES, tables, strict=True)
        if hardware.gpus or not name.startswith("gpu")
    ]


def _means(edges: Floats, levels: Floats, bounds: Floats) -> Floats:
    """The mean of a step function between each two neighbors of ``bounds``, one column for each node."""
    lasted = np.diff(edges)
    area = np.vstack([np.zeros((1, levels.shape[1])), np.cumsum(levels * lasted[:, None], axis=0)])
    at = np.clip(np.searchsorted(edges, bounds, side="right") - 1, 0, len(lasted) - 1)
    inside = np.minimum(bounds - edges[at], lasted[at])
    sums = area[at] + levels[at] * inside[:, None]
    found: Floats = np.diff(sums, axis=0) / np.maximum(np.diff(bounds), 1e-9)[:, None]
    return found


def _share_done(plan: Plan, run: Course, at: Floats) -> Floats:
    """Which share of the whole plan's steps is done at these times."""
    done: Floats = (run.first_step + np.searchsorted(run.ends, at)) / plan.steps
    return done


def _held(plan: Plan, run: Course, at: Floats, share: Floats) -> Floats:
    """GPU memory that the allocator holds: nearly all after the first step, its high-water mark some minutes later."""
    levels = plan.levels
    since = np.maximum(at - run.loop_began_s, 0.0)
    filled = 0.93 + 0.07 * (1 - np.exp(-since / 240.0))
    level = levels.memory + np.array(levels.memory_of_node or (0.0,) * plan.nodes)
    grown = levels.memory_gain * np.clip(share, 0, 1)
    found: Floats = level[None, :] * filled[:, None] + grown[:, None]
    return found


def _host_memory(plan: Plan, run: Course, at: Floats, share: Floats) -> Floats:
    """Container memory: loader workers and caches fill it in the first minutes."""
    filled = 0.55 + 0.45 * (1 - np.exp(-np.maximum(at, 0.0) / plan.levels.host_fill_s))
    found: Floats = plan.levels.host_memory * filled + plan.levels.host_gain * np.clip(share, 0, 1)
    return found


def _disks(plan: Plan, run: Course, at: Floats, share: Floats) -> Floats:
    """Of each node: where rank 0 alone saves, the others' disks stay as they are."""
    found = np.repeat(_disk(plan, run, at, share)[:, None], plan.nodes, axis=1)
    if plan.framework not in _SHARDED and plan.checkpoint is not None:
        found[:, 1:] = plan.levels.disk
    return found


def _disk(plan: Plan, run: Course, at: Floats, share: Floats) -> Floats:
    """Space: what lies there from the start, and checkpoints, of which the older are deleted or not."""
    levels = plan.levels
    base = np.full(len(at), levels.disk)
    if plan.checkpoint is None:
        grown: Floats = base + levels.disk_gain * np.clip(share, 0, 1)
        return grown
    saved = np.flatnonzero(run.took[:, CHECKPOINT])
    begins = run.begins[saved, CHECKPOINT]
    count = np.searchsorted(begins, at)
    if levels.disk_gain:
        each = levels.disk_gain * plan.checkpoint.every / plan.steps
        stairs: Floats = base + each * (count + run.first_step // plan.checkpoint.every)
        return stairs
    # A new one is written beside the last, which is deleted when the new one is complete.
    writing = np.zeros(len(at))
    for begin, lasted in zip(begins, run.took[saved, CHECKPOINT], strict=True):
        writing += np.where((at > begin) & (at <= begin + lasted + 60), levels.saw, 0.0)
    found: Floats = base + np.where(count > 0, levels.saw, 0.0) + writing
    return found
