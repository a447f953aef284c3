"""Healthy jobs whose nodes or pace are not quite even, as real ones are not."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.planted.draw import Rng, Wish, ordinary
from benchmarks.planted.hardware import NO_GPU
from benchmarks.planted.plan import Pause, Plan, Slow, Stage

_LIVE = ("completed", "running")


def resumed(rng: Rng, name: str, seed: int) -> Plan:
    """It goes on from the checkpoint of an earlier job: its first step is not the first."""
    frameworks = ("megatron", "deepspeed", "torchtitan", "nanogpt", "pairs")
    plan = ordinary(rng, name, seed, Wish(frameworks, ends=_LIVE, minutes=(150, 480)))
    if plan.ending.kind == "running":
        plan = replace(plan, ending=replace(plan.ending, at=float(rng.uniform(0.75, 0.97))))
    return replace(plan, resumed_at=float(rng.uniform(0.2, 0.5)))


def a_little_slower(rng: Rng, name: str, seed: int) -> Plan:
    """No two instances are quite alike: one takes a few percent longer for its own work."""
    plan = ordinary(
        rng, name, seed, Wish(("pairs", "torchtitan", "megatron"), nodes=(4, 8, 16), printing="own", ends=_LIVE)
    )
    slow = Slow(int(rng.integers(plan.nodes)), float(rng.uniform(1.02, 1.05)))
    return replace(plan, pace=replace(plan.pace, slow=(slow,), jitter=min(plan.pace.jitter, 0.02)))


def passing(rng: Rng, name: str, seed: int) -> Plan:
    """A quarter of an hour at three quarters of the pace, then as before."""
    plan = ordinary(rng, name, seed, Wish(ends=_LIVE, minutes=(240, 480)))
    share = float(rng.uniform(8, 18)) / (plan.steps * plan.pace.step_s / 60)
    begin = float(rng.uniform(0.15, 0.6)) * plan.ending.at
    stages = (Stage(begin, float(rng.uniform(1.15, 1.35))), Stage(begin + share, 1.0))
    return replace(plan, pace=replace(plan.pace, stages=stages))


def drift(rng: Rng, name: str, seed: int) -> Plan:
    """Warmer GPUs, fuller disks: three to six percent slower at the end than at the beginning."""
    plan = ordinary(rng, name, seed, Wish(ends=_LIVE, minutes=(150, 480)))
    whole = float(rng.uniform(0.03, 0.06))
    stages = tuple(Stage(k / 20, 1 + whole * k / 20) for k in range(1, 20))
    return replace(plan, pace=replace(plan.pace, stages=stages))


def rank_0_evaluates(rng: Rng, name: str, seed: int) -> Plan:
    """The first node evaluates for some minutes, and the others wait for it, spinning or not."""
    frameworks = ("pairs", "nanogpt", "deepspeed")
    plan = ordinary(rng, name, seed, Wish(frameworks, nodes=(2, 4, 8), ends=_LIVE, minutes=(150, 420)))
    every = max(int(plan.steps / int(rng.integers(3, 8)) / plan.log_every), 2) * plan.log_every
    seconds = max(every * plan.pace.step_s * float(rng.uniform(0.008, 0.022)), 5.0)
    waiting = 99.0 if rng.random() < 0.6 else 2.0
    levels = replace(plan.levels, alone_gpu=waiting)
    evaluation = Pause(every, seconds, plan.levels.gpu / 3, plan.levels.cpu, spread=0.02)
    return replace(plan, levels=levels, evaluation=evaluation)


def without_gpus(rng: Rng, name: str, seed: int) -> Plan:
    """A job of cores alone."""
    plan = ordinary(rng, name, seed, Wish(("pairs",), (NO_GPU,), (1,), minutes=(30, 200), ends=_LIVE))
    levels = replace(plan.levels, cpu=float(rng.uniform(60, 97)))
    return replace(plan, levels=levels, launcher="script", network="")
