"""Healthy jobs of which something cannot be seen."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.planted.draw import Rng, Wish, ordinary
from benchmarks.planted.faults_ended import Planted
from benchmarks.planted.plan import View
from benchmarks.planted.truth import remark


def node_timing_unobservable(rng: Rng, name: str, seed: int) -> Planted:
    """Several nodes, and rank 0 alone prints."""
    wish = Wish(("megatron", "smp", "nanogpt", "pairs", "deepspeed"), nodes=(2, 4, 8, 16), printing="rank0")
    return ordinary(rng, name, seed, wish), remark("node-timing-unobservable", "stopped-by-user")


def no_step_lines(rng: Rng, name: str, seed: int) -> Planted:
    """Text enough, and no step in it."""
    plan = ordinary(rng, name, seed, Wish(("quiet",), nodes=(1, 1, 2, 4)))
    return plan, remark("no-step-lines", "stopped-by-user")


def metrics_unavailable(rng: Rng, name: str, seed: int) -> Planted:
    """The role may not read metrics."""
    plan = ordinary(rng, name, seed, Wish())
    return replace(plan, view=View(metrics=False)), remark("metrics-unavailable", "stopped-by-user")


def logs_unavailable(rng: Rng, name: str, seed: int) -> Planted:
    """The role may not read logs."""
    plan = ordinary(rng, name, seed, Wish(ends=("completed",)))
    return replace(plan, view=View(logs=False)), remark("logs-unavailable")


def coarse_metrics(rng: Rng, name: str, seed: int) -> Planted:
    """The job is weeks old: a point every five minutes is left."""
    plan = ordinary(rng, name, seed, Wish(minutes=(150, 600), ends=("completed", "stopped")))
    return replace(plan, view=View(period_s=300)), remark("coarse-metrics", "stopped-by-user")
