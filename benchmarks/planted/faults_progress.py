"""Faults of progress: a job that stands, crawls, limps, or saves too much or too little."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.planted.draw import TIMED, Rng, Wish, ordinary, steady
from benchmarks.planted.faults_ended import Planted
from benchmarks.planted.hardware import CLUSTER
from benchmarks.planted.plan import Ending, EndKind, Outliers, Pause, Slow, Stage
from benchmarks.planted.truth import fault

_LOOPS = ("megatron", "deepspeed", "torchtitan", "smp", "hf", "nanogpt", "pairs")


def stall(rng: Rng, name: str, seed: int) -> Planted:
    """No step any more: the GPUs spin in a collective or stand still; running, or stopped by its tired owner."""
    plan = ordinary(rng, name, seed, Wish(ends=("completed",), minutes=(60, 240)))
    gpu = float(rng.uniform(99.2, 100)) if rng.random() < 0.6 else 0.0
    running = rng.random() < 0.7
    silence = max(float(rng.uniform(25, 90)) * 60, plan.pace.step_s * plan.log_every * 9)
    silence = max(silence, 4 * (plan.checkpoint.seconds if plan.checkpoint else 0))
    kind: EndKind = "running" if running else "stopped"
    ending = Ending(kind, float(rng.uniform(0.25, 0.85)), silence_s=silence, silence_gpu=gpu)
    also = () if running else ("stopped-by-user",)
    sort = f"{kind}, GPUs {'spin' if gpu else 'rest'}"
    return replace(plan, ending=ending), fault("stall", *also, "idle-gpus", "checkpoint-overdue", kind=sort)


def long_initialization(rng: Rng, name: str, seed: int) -> Planted:
    """Half an hour and more of preparation that every run pays again."""
    plan = ordinary(rng, name, seed, Wish(ends=("completed", "running"), minutes=(90, 300)))
    seconds = float(rng.uniform(26, 55)) * 60
    kind = ("tokenising", "copying", "loading")[int(rng.integers(3))]
    lines = tuple(f"{kind}: part {k} of 12" for k in range(1, 13))
    cpu = {"tokenising": 88.0, "copying": 12.0, "loading": 9.0}[kind]
    opening = replace(plan.opening, data_s=seconds, data_cpu=cpu, data_lines=lines)
    return replace(plan, opening=opening), fault("long-initialization", "idle-gpus", kind=kind)


def long_download(rng: Rng, name: str, seed: int) -> Planted:
    """Hundreds of gigabytes are copied to every instance first: a fifth of the bill and more."""
    plan = ordinary(rng, name, seed, Wish(ends=("completed", "running"), minutes=(60, 150)))
    opening = replace(plan.opening, download_s=float(rng.uniform(45, 80)) * 60)
    return replace(plan, opening=opening), fault("long-download", kind=plan.ending.kind)


def long_upload(rng: Rng, name: str, seed: int) -> Planted:
    """All checkpoints of the run are packed into the model's archive."""
    plan = ordinary(rng, name, seed, Wish(ends=("completed",), minutes=(60, 150)))
    ending = replace(plan.ending, upload_s=float(rng.uniform(40, 80)) * 60)
    return replace(plan, ending=ending), fault("long-upload", kind=plan.ending.kind)


def slow_node(rng: Rng, name: str, seed: int) -> Planted:
    """One node is 1.2 to 1.6 times as slow; lines of its own work show it, or only the metrics of those who wait."""
    printed = rng.random() < 0.5
    frameworks = ("pairs",) if printed else ("megatron", "torchtitan", "deepspeed", "pairs", "nanogpt")
    wish = Wish(
        frameworks, CLUSTER, (4, 4, 8, 8, 16, 32, 64) if printed else (4, 8, 16), printing="own" if printed else "rank0"
    )
    plan = ordinary(rng, name, seed, wish)
    node = int(rng.integers(plan.nodes))
    factor = float(rng.uniform(1.2, 1.6))
    begin = 0.0 if rng.random() < 0.6 else float(rng.uniform(0.2, 0.5)) * plan.ending.at
    spins = rng.random() < 0.5
    # A node that waits for its input or its clock is less busy than one whose peers spin until it comes.
    gpu_factor = 0.97 if printed and spins else float(rng.uniform(0.6, 0.8))
    waiting = 99.5 if spins else float(rng.uniform(5, 20))
    levels = replace(plan.levels, waiting_gpu=waiting, gpu=float(rng.uniform(90, 98)))
    if not spins:
        gpu_factor = 1.0
    pace = replace(steady(plan.pace, 0.02), slow=(Slow(node, factor, begin, 1.0, gpu_factor),))
    sort = f"{'own times printed' if printed else 'metrics alone'}, {'spinning' if spins else 'idle'} peers"
    also = ("step-time-regression",) if begin else ()
    return replace(plan, pace=pace, levels=levels), fault("slow-node", *also, "low-gpu-utilization", kind=sort)


def step_time_regression(rng: Rng, name: str, seed: int) -> Planted:
    """From some step on all nodes are 18 to 60 percent slower, for good: storage, network, another reader."""
    plan = ordinary(
        rng, name, seed, Wish(frameworks=(*_LOOPS, "vision"), minutes=(100, 400), ends=("completed", "running"))
    )
    begin = float(rng.uniform(0.3, 0.65)) * (plan.ending.at if plan.ending.kind == "running" else 1.0)
    stage = Stage(begin, float(rng.uniform(1.18, 1.6)), idle=bool(rng.random() < 0.5))
    pace = replace(plan.pace, stages=(stage,), jitter=min(plan.pace.jitter, 0.025))
    return replace(plan, pace=pace), fault("step-time-regression", kind=plan.framework)


def slow_steps(rng: Rng, name: str, seed: int) -> Planted:
    """A few percent of the steps take three to seven times as long; at random, or each k-th."""
    frameworks = ("nanogpt", "pairs", "megatron", "smp", "vision")
    plan = ordinary(rng, name, seed, Wish(frameworks, reports=(900, 2500), minutes=(60, 300), step_s=(1.0, 12)))
    plan = replace(plan, log_every=1, steps=min(plan.steps, 4000))
    every = int(rng.integers(12, 34)) if rng.random() < 0.5 else None
    outliers = Outliers(float(rng.uniform(0.04, 0.1)), 3.2, 7.0, every)
    pace = replace(plan.pace, outliers=outliers)
    also = ("fluctuating-gpu-utilization", "low-gpu-utilization", "cpu-bottleneck")
    return replace(plan, pace=pace), fault("slow-steps", *also, kind="periodic" if every else "random")


def checkpoint_stall(rng: Rng, name: str, seed: int) -> Planted:
    """Saving takes 8 to 20 percent of the time; most logs tell, some do not."""
    plan = ordinary(rng, name, seed, Wish(ends=("completed", "running"), minutes=(100, 400), step_s=(0.5, 8)))
    told = rng.random() < 0.75
    every = max(round(float(rng.uniform(7, 20)) * 60 / plan.pace.step_s / plan.log_every), 2) * plan.log_every
    share = float(rng.uniform(0.09, 0.19))
    seconds = every * plan.pace.step_s * share / (1 - share)
    checkpoint = Pause(every, seconds, float(rng.uniform(0, 8)), float(rng.uniform(8, 30)), said=told)
    plan = replace(plan, checkpoint=checkpoint, levels=replace(plan.levels, saw=float(rng.uniform(4, 10))))
    unsaid = () if told else ("slow-steps", "fluctuating-gpu-utilization")
    also = ("slow-steps", "fluctuating-gpu-utilization")
    return plan, fault("checkpoint-stall", *also, kind="told" if told else "not told", or_first=unsaid)


def checkpoint_overdue(rng: Rng, name: str, seed: int) -> Planted:
    """A running job saved every so often and does no more, or runs on spot instances and never saved at all."""
    plan = ordinary(rng, name, seed, Wish(ends=("running",), minutes=(240, 500), frameworks=TIMED))
    if rng.random() < 0.5:
        at = float(rng.uniform(0.6, 0.95))
        plan = replace(plan, spot=True, checkpoint=None, ending=replace(plan.ending, at=at))
        return plan, fault("checkpoint-overdue", kind="spot, never")
    every = max(int(plan.steps / 24 / plan.log_every), 1) * plan.log_every
    checkpoint = Pause(
        every, min(20.0, every * plan.pace.step_s * 0.02), 20.0, 20.0, until=float(rng.uniform(0.3, 0.5))
    )
    at = float(rng.uniform(0.75, 0.95))
    plan = replace(plan, checkpoint=checkpoint, ending=replace(plan.ending, at=at))
    return plan, fault("checkpoint-overdue", kind="cadence broken")
