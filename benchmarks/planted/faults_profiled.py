"""Faults that only the output of a job's profiler shows, and jobs with one that are healthy though they look alike."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.planted.draw import Rng, Wish, ordinary
from benchmarks.planted.faults_ended import Planted
from benchmarks.planted.hardware import G5, G5_LARGE, G6, P3, P3DN, P4D
from benchmarks.planted.plan import Habit, Plan
from benchmarks.planted.truth import fault, healthy

_EIGHT = (P4D, P3DN, P3, G5_LARGE)
_FRAMEWORKS = ("pairs", "nanogpt", "torchtitan", "vision")
#: Gbit/s, of data sheets.
_NETWORK = ((P3, 25.0), (G5, 40.0), (P3DN, 100.0), (G6, 40.0))


_WISH = Wish(_FRAMEWORKS, _EIGHT, (1, 2, 4), ends=("completed", "running"))


def _job(rng: Rng, name: str, seed: int, wish: Wish = _WISH) -> Plan:
    plan = ordinary(rng, name, seed, wish)
    # Of what is not seen in single GPUs and cores, there is nothing to be said.
    return replace(plan, evaluation=None, network="efa" if plan.network else "")


def _one_of(rng: Rng, plan: Plan) -> tuple[int, int]:
    return int(rng.integers(plan.nodes)), int(rng.integers(plan.hardware.gpus))


def _waiting(rng: Rng, name: str, seed: int) -> tuple[Plan, Habit]:
    """Each step begins with a wait for its input: a third of it."""
    plan = _job(rng, name, seed, replace(_WISH, step_s=(6.0, 12.0), hardware=(G5, G6, P3), nodes=(1, 1, 2)))
    period_s, share = plan.pace.step_s, float(rng.uniform(0.28, 0.4))
    pace = replace(plan.pace, jitter=min(plan.pace.jitter, 0.01))
    level = 96 * (1 - share)
    levels = replace(plan.levels, gpu=level, waiting_gpu=level, cpu=float(rng.uniform(8, 25)), memory=82.0)
    habit = Habit(samples=120, still_s=share * period_s, period_s=period_s)
    return replace(plan, pace=pace, levels=levels, checkpoint=None, mfu=plan.mfu * (1 - share)), habit


def unlike_gpu(rng: Rng, name: str, seed: int) -> Planted:
    """One GPU of eight is 25 points and more behind the others."""
    plan = _job(rng, name, seed)
    node, gpu = _one_of(rng, plan)
    habit = Habit(odd=(node, gpu, -float(rng.uniform(25, 50))))
    return replace(plan, habit=habit), fault("unlike-gpu")


def alike_gpus(rng: Rng, name: str, seed: int) -> Planted:
    """One GPU is some points behind, as its rank has a little less to do."""
    plan = _job(rng, name, seed)
    node, gpu = _one_of(rng, plan)
    habit = Habit(odd=(node, gpu, -float(rng.uniform(2, 7))))
    return replace(plan, habit=habit), healthy("GPUs a little apart")


def gpu_binding(rng: Rng, name: str, seed: int) -> Planted:
    """Two processes share a GPU, and another has none."""
    plan = _job(rng, name, seed)
    plan = replace(plan, levels=replace(plan.levels, memory=float(rng.uniform(35, 55))))
    node, gpu = _one_of(rng, plan)
    other = (gpu + 1 + int(rng.integers(plan.hardware.gpus - 1))) % plan.hardware.gpus
    habit = Habit(empty=(node, gpu), memory=(node, other, float(rng.uniform(80, 92))))
    return replace(plan, habit=habit), fault("gpu-binding", "unlike-gpu", "small-batch")


def first_gpu_holds_more(rng: Rng, name: str, seed: int) -> Planted:
    """Rank 0 gathers: its GPU holds more than the others, and all are at work."""
    plan = _job(rng, name, seed)
    plan = replace(plan, levels=replace(plan.levels, memory=float(rng.uniform(56, 62))))
    return replace(plan, habit=Habit(memory=(0, 0, float(rng.uniform(80, 88))))), healthy("rank 0 holds more")


def recurring_stalls(rng: Rng, name: str, seed: int) -> Planted:
    """All GPUs wait at each step, and neither core nor disk is at its limit."""
    plan, habit = _waiting(rng, name, seed)
    also = ("low-gpu-utilization", "small-batch", "low-mfu", "slow-steps")
    return replace(plan, habit=habit), fault("recurring-stalls", *also)


def short_dips(rng: Rng, name: str, seed: int) -> Planted:
    """Between two steps GPUs rest for a blink."""
    plan, habit = _waiting(rng, name, seed)
    level = float(rng.uniform(93, 96))
    levels = replace(plan.levels, gpu=level, waiting_gpu=level)
    return replace(plan, levels=levels, habit=replace(habit, still_s=0.3)), healthy("short dips")


def busy_core(rng: Rng, name: str, seed: int) -> Planted:
    """One thread prepares each step's input alone."""
    plan, habit = _waiting(rng, name, seed)
    habit = replace(habit, cores_full=(1, int(rng.integers(2))))
    also = ("recurring-stalls", "low-gpu-utilization", "small-batch", "low-mfu", "slow-steps")
    return replace(plan, habit=habit), fault("busy-core", *also)


def spinning_core(rng: Rng, name: str, seed: int) -> Planted:
    """A core is full all the time, as the main process spins while it waits for the GPU, which is at work."""
    plan = _job(rng, name, seed)
    return replace(plan, habit=Habit(cores_full=(plan.hardware.gpus, plan.hardware.gpus))), healthy("a core spins")


def io_wait(rng: Rng, name: str, seed: int) -> Planted:
    """Loader workers wait for the file system at each step."""
    plan, habit = _waiting(rng, name, seed)
    habit = replace(habit, cores_waiting=(float(rng.uniform(2, 8)), 0.2))
    also = ("recurring-stalls", "low-gpu-utilization", "small-batch", "low-mfu", "slow-steps")
    return replace(plan, habit=habit), fault("io-wait", *also)


def reading_ahead(rng: Rng, name: str, seed: int) -> Planted:
    """Workers wait for the file system all the time, and are early enough."""
    plan = _job(rng, name, seed)
    waits = float(rng.uniform(2, 8))
    return replace(plan, habit=Habit(cores_waiting=(waits, waits))), healthy("workers read ahead")


def network_limit(rng: Rng, name: str, seed: int) -> Planted:
    """The host's network is full."""
    hardware, gbps = _NETWORK[int(rng.integers(len(_NETWORK)))]
    plan = _job(rng, name, seed, replace(_WISH, hardware=(hardware,)))
    return replace(plan, habit=Habit(gbps=gbps * float(rng.uniform(0.9, 0.98)))), fault("network-limit")


def busy_network(rng: Rng, name: str, seed: int) -> Planted:
    """The host's network has much to do, and room."""
    hardware, gbps = _NETWORK[int(rng.integers(len(_NETWORK)))]
    plan = _job(rng, name, seed, replace(_WISH, hardware=(hardware,)))
    return replace(plan, habit=Habit(gbps=gbps * float(rng.uniform(0.4, 0.7)))), healthy("a busy network")
