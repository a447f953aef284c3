"""Faults of use: GPUs that idle, wait, overflow, or talk over the wrong wire."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.planted.draw import SMALL_GPUS, TIMED, Rng, Wish, ordinary, steady
from benchmarks.planted.faults_ended import Planted
from benchmarks.planted.hardware import P4D, SEVERAL_GPUS, WITH_EFA
from benchmarks.planted.plan import Levels, Plan, Wait
from benchmarks.planted.truth import fault

_CALM = Wish(ends=("completed", "running"))
_ONE_NODE = Wish(hardware=SEVERAL_GPUS, nodes=(1,), ends=("completed", "running"))


def _with(plan: Plan, **changes: float | int | None) -> Plan:
    levels: Levels = replace(plan.levels, **changes)  # type: ignore[arg-type]
    return replace(plan, levels=levels)


def one_gpu_in_use(rng: Rng, name: str, seed: int) -> Planted:
    """A plain script on a host of several GPUs uses the first."""
    frameworks = ("hf", "nanogpt", "pairs", "lightning", "vision")
    plan = ordinary(rng, name, seed, replace(_ONE_NODE, frameworks=frameworks))
    plan = replace(plan, launcher="script", processes_per_host=1, mfu=plan.mfu * 0.8)
    return _with(plan, gpus_used=1), fault("one-gpu-in-use", "unused-gpus")


def unused_gpus(rng: Rng, name: str, seed: int) -> Planted:
    """Fewer processes than GPUs: half of them, or all but two."""
    wide = tuple(hardware for hardware in SEVERAL_GPUS if hardware.gpus == 8)
    configured = rng.random() < 0.6
    frameworks = ("pairs", "smp", "vit") if configured else ("pairs", "nanogpt", "torchtitan")
    plan = ordinary(rng, name, seed, Wish(frameworks, wide, (1, 1, 2, 4), ends=("completed", "running")))
    used = (2, 4, 4, 6)[int(rng.integers(4))]
    plan = replace(plan, launcher="mpi" if configured else "torchrun", processes_per_host=used)
    plan = _with(plan, gpus_used=used, gpu=float(rng.uniform(93, 98)), wobble=0.6)
    return plan, fault("unused-gpus", "efa-not-in-use", kind="configured" if configured else "seen")


def idle_gpus(rng: Rng, name: str, seed: int) -> Planted:
    """In the middle of the job nothing is computed for a quarter of an hour and more, then it goes on."""
    plan = ordinary(rng, name, seed, replace(_CALM, minutes=(120, 400)))
    count = int(rng.integers(1, 3))
    lines = ("fetching the next part of the data set from S3", "unpacking")
    until = plan.ending.at if plan.ending.kind == "running" else 1.0
    waits = tuple(
        Wait(
            float(rng.uniform(0.2, 0.45)) * until + 0.45 * k * until,
            float(rng.uniform(16, 40)) * 60,
            0.0,
            float(rng.uniform(3, 60)),
            lines,
            tuple(f"unpacked {10 * (j + 1)} %" for j in range(9)) if k else (),
        )
        for k in range(count)
    )
    return replace(plan, pace=replace(plan.pace, waits=waits)), fault("idle-gpus", "fluctuating-gpu-utilization")


def low_gpu_utilization(rng: Rng, name: str, seed: int) -> Planted:
    """GPUs are busy half of the time though their memory is well filled: many small kernels, waits in each step."""
    plan = ordinary(rng, name, seed, _CALM)
    gpu = float(rng.uniform(32, 60))
    plan = _with(plan, gpu=gpu, memory=float(rng.uniform(76, 89)), cpu=float(rng.uniform(15, 55)), waiting_gpu=gpu)
    return replace(plan, mfu=plan.mfu * gpu / 95 * 0.8), fault("low-gpu-utilization")


def fluctuating(rng: Rng, name: str, seed: int) -> Planted:
    """Every few minutes the input stands still for minutes: full speed, then nothing."""
    frameworks = ("pairs", "torchtitan", "vision", "nanogpt", "megatron")
    plan = ordinary(rng, name, seed, Wish(frameworks, step_s=(0.4, 1.2), minutes=(90, 150), reports=(1500, 3000)))
    plan = replace(plan, evaluation=None)
    share, waits = 0.03, []
    minutes = plan.steps * plan.pace.step_s / 60
    while share < 0.99:
        waits.append(Wait(share, float(rng.uniform(130, 230)), 0.5, float(rng.uniform(30, 95))))
        share += float(rng.uniform(8, 14)) / minutes
    plan = _with(replace(plan, pace=replace(plan.pace, waits=tuple(waits))), gpu=float(rng.uniform(92, 98)))
    return plan, fault("fluctuating-gpu-utilization", "slow-steps", "cpu-bottleneck", "checkpoint-overdue")


def small_batch(rng: Rng, name: str, seed: int) -> Planted:
    """Steady small steps that fill neither the GPUs nor their memory, with cores to spare."""
    frameworks = ("pairs", "nanogpt", "hf", "vision", "lightning", "torchtitan")
    plan = ordinary(
        rng, name, seed, Wish(frameworks, step_s=(0.3, 2), nodes=(1, 1, 1, 2, 4), ends=("completed", "running"))
    )
    gpu = float(rng.uniform(28, 60))
    plan = _with(
        plan, gpu=gpu, memory=float(rng.uniform(14, 55)), cpu=float(rng.uniform(8, 45)), waiting_gpu=gpu, wobble=0.8
    )
    plan = replace(plan, pace=steady(plan.pace, 0.012), mfu=plan.mfu * gpu / 95 * 0.6, batch=plan.world)
    if plan.network == "socket":
        # A slow network would be as good an explanation.
        plan = replace(plan, network="")
    return plan, fault("small-batch", "low-gpu-utilization")


def cpu_bottleneck(rng: Rng, name: str, seed: int) -> Planted:
    """All cores decode, and the GPUs wait for them."""
    frameworks = ("pairs", "vision", "hf", "lightning", "quiet")
    plan = ordinary(rng, name, seed, Wish(frameworks, SMALL_GPUS, (1, 1, 1, 2, 4), ends=("completed", "running")))
    gpu = float(rng.uniform(18, 48))
    plan = _with(plan, gpu=gpu, cpu=float(rng.uniform(95, 98.5)), waiting_gpu=gpu, wobble=4.0)
    pace = replace(plan.pace, jitter=float(rng.uniform(0.06, 0.16)))
    also = ("low-gpu-utilization", "slow-steps")
    return replace(plan, pace=pace, mfu=plan.mfu * gpu / 95), fault("cpu-bottleneck", *also, kind=plan.framework)


def communication_bound(rng: Rng, name: str, seed: int) -> Planted:
    """GPUs look busy and get little done: over plain sockets, or in layers that are split across nodes."""
    split = rng.random() < 0.4
    frameworks = ("megatron",) if split else ("nanogpt", "torchtitan", "megatron")
    hardware = (P4D,) if split else WITH_EFA
    plan = ordinary(rng, name, seed, Wish(frameworks, hardware, (4, 8, 8, 16), ends=("completed", "running")))
    plan = replace(plan, network="efa" if split else "socket", mfu=float(rng.uniform(0.06, 0.13)))
    if split:
        plan = replace(plan, tensor_parallel=16, batch=plan.world)
    plan = _with(plan, gpu=float(rng.uniform(96, 99.5)), cpu=float(rng.uniform(5, 20)))
    either = ("tensor-parallel-across-nodes",) if split else ("efa-not-in-use",)
    sort = "tensor parallel over nodes" if split else "sockets"
    return plan, fault("communication-bound", *either, "instance-type", kind=sort, or_first=either)


def gpu_memory_pressure(rng: Rng, name: str, seed: int) -> Planted:
    """Memory is full to the brim: the allocator gives blocks back and asks again, and steps stumble."""
    plan = ordinary(rng, name, seed, Wish(("deepspeed",), nodes=(1, 2, 4, 8), ends=("completed", "running")))
    plan = _with(plan, memory=float(rng.uniform(94.5, 98)))
    pace = replace(plan.pace, rare_share=0.012, rare_high=3.5, jitter=0.04)
    plan = replace(plan, pace=pace, cache_flushes=float(rng.uniform(0.1, 0.5)))
    also = ("slow-steps", "shard-optimizer-state", "activation-checkpointing", "offload-activations")
    return plan, fault("gpu-memory-pressure", *also)


def _seen_on_the_way(rng: Rng, plan: Plan, begin: float, now: float) -> tuple[Plan, float]:
    """A running job that has come from ``begin`` to ``now`` percent, and its gain to the end: it will not fit."""
    gain = float(rng.uniform(116, 140)) - begin
    return replace(plan, ending=replace(plan.ending, at=(now - begin) / gain)), gain


def gpu_memory_growth(rng: Rng, name: str, seed: int) -> Planted:
    """A leak: 20 points and more from the first step to the last, to the edge."""
    running = rng.random() < 0.5
    plan = ordinary(
        rng, name, seed, Wish(frameworks=TIMED, minutes=(180, 500), ends=("running",) if running else ("completed",))
    )
    memory = float(rng.uniform(45, 62))
    if running:
        plan, gain = _seen_on_the_way(rng, plan, memory, float(rng.uniform(76, 88)))
    else:
        gain = float(rng.uniform(87.5, 91.5)) - memory
    also = ("gpu-memory-pressure", "activation-checkpointing")
    return _with(plan, memory=memory, memory_gain=gain), fault("gpu-memory-growth", *also, kind=plan.ending.kind)


def host_memory_growth(rng: Rng, name: str, seed: int) -> Planted:
    """Loader workers or a growing list fill the host."""
    running = rng.random() < 0.5
    plan = ordinary(
        rng, name, seed, Wish(frameworks=TIMED, minutes=(180, 500), ends=("running",) if running else ("completed",))
    )
    host = float(rng.uniform(15, 45))
    if running:
        plan, gain = _seen_on_the_way(rng, plan, host, float(rng.uniform(65, 88)))
    else:
        gain = float(rng.uniform(88, 96)) - host
    return _with(plan, host_memory=host, host_gain=gain), fault("host-memory-growth", kind=plan.ending.kind)


def disk_nearly_full(rng: Rng, name: str, seed: int) -> Planted:
    """Checkpoints are kept, all of them, until the volume is full."""
    running = rng.random() < 0.5
    plan = ordinary(rng, name, seed, Wish(minutes=(150, 500), ends=("running",) if running else ("completed",)))
    while plan.checkpoint is None:
        plan = ordinary(rng, name, seed, Wish(minutes=(150, 500), ends=("running",) if running else ("completed",)))
    every = max(int(plan.steps / 30 / plan.log_every), 1) * plan.log_every
    seconds = min(15.0, every * plan.pace.step_s * 0.02)
    plan = replace(plan, checkpoint=replace(plan.checkpoint, every=every, seconds=seconds))
    disk = float(rng.uniform(8, 30))
    if running:
        plan, gain = _seen_on_the_way(rng, plan, disk, float(rng.uniform(60, 86)))
    else:
        gain = float(rng.uniform(93, 98)) - disk
    return _with(plan, disk=disk, disk_gain=gain), fault("disk-nearly-full", kind=plan.ending.kind)


def efa_not_in_use(rng: Rng, name: str, seed: int) -> Planted:
    """The instances have EFA, and NCCL talks over sockets; all else looks well."""
    plan = ordinary(
        rng, name, seed, Wish(hardware=(P4D, *WITH_EFA), nodes=(2, 4, 8, 16), ends=("completed", "running"))
    )
    network = "socket" if rng.random() < 0.5 else "no-efa"
    plan = _with(replace(plan, network=network, mfu=plan.mfu * 0.7), gpu=float(rng.uniform(94, 99)))
    return plan, fault("efa-not-in-use", "communication-bound", kind=network)
