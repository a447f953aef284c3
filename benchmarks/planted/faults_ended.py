"""Faults that end a job."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.planted.draw import Rng, Wish, ordinary
from benchmarks.planted.failures import FAILURES
from benchmarks.planted.hardware import CLUSTER, G5, P3_SMALL, P4D
from benchmarks.planted.plan import Ending, Plan
from benchmarks.planted.truth import Truth, fault, remark

Planted = tuple[Plan, Truth]

_DONE = Wish(ends=("completed",))


def _failed(rng: Rng, name: str, seed: int, errors: tuple[str, ...], early: float, wish: Wish = _DONE) -> Plan:
    """A job that dies of one of these errors; of ``early`` such jobs one in so many before its first report."""
    plan = ordinary(rng, name, seed, wish)
    error = errors[int(rng.integers(len(errors)))]
    at = 0.0 if rng.random() < early else float(rng.uniform(0.08, 0.95))
    rank = int(rng.integers(plan.world))
    return replace(plan, ending=Ending("failed", at, error, rank))


def cuda_out_of_memory(rng: Rng, name: str, seed: int) -> Planted:
    """At once, when the batch does not fit, or later, at a longer sequence; memory is nearly full before."""
    plan = _failed(rng, name, seed, ("cuda", "cuda", "cuda-old", "cublas"), 0.4)
    plan = replace(plan, levels=replace(plan.levels, memory=float(rng.uniform(82, 94))))
    also = ("gpu-memory-pressure", "gpu-memory-growth", "activation-checkpointing", "offload-activations")
    return plan, fault("cuda-out-of-memory", *also, kind="at once" if plan.ending.at == 0 else "later")


def host_out_of_memory(rng: Rng, name: str, seed: int) -> Planted:
    """The kernel kills a process when the host's memory has filled."""
    plan = _failed(rng, name, seed, ("killed",), 0.0)
    at = max(plan.ending.at, 0.3)
    host = plan.levels.host_memory
    gain = (float(rng.uniform(95, 98)) - host) / at
    plan = replace(plan, ending=replace(plan.ending, at=at), levels=replace(plan.levels, host_gain=gain))
    return plan, fault("host-out-of-memory", "host-memory-growth")


def nccl_timeout(rng: Rng, name: str, seed: int) -> Planted:
    """One rank stops taking part; after ten or thirty minutes the others' watchdogs end the job."""
    wish = Wish(ends=("completed",), nodes=(2, 2, 4, 8, 16), hardware=CLUSTER)
    plan = _failed(rng, name, seed, ("watchdog",), 0.0, wish)
    silence = 600.0 if rng.random() < 0.6 else 1800.0
    return replace(plan, ending=replace(plan.ending, silence_s=silence)), fault("nccl-timeout")


def spot_interruption(rng: Rng, name: str, seed: int) -> Planted:
    """Spot instances are taken away once or twice, and the job goes on from its last checkpoint."""
    plan = ordinary(rng, name, seed, Wish(ends=("completed", "completed", "running"), nodes=(1, 1, 2, 4)))
    while plan.checkpoint is None:
        plan = ordinary(rng, name, seed, Wish(ends=("completed",), nodes=(1, 1, 2, 4)))
    first = float(rng.uniform(0.25, 0.5))
    breaks = (first,) if rng.random() < 0.7 else (first, first + float(rng.uniform(0.15, 0.3)))
    ending = plan.ending
    if ending.kind == "running":
        ending = replace(ending, at=float(rng.uniform(breaks[-1] + 0.08, 0.97)))
    elif rng.random() < 0.25:
        ending = replace(ending, kind="max-wait")
        plan = replace(plan, max_runtime_s=int(rng.uniform(2, 12) * 3600))
    plan = replace(plan, spot=True, ending=replace(ending, spot_breaks=breaks))
    ended = ending.kind == "max-wait"
    sort = f"{len(breaks)} times, {'and the end' if ended else ending.kind}"
    also = ("lost-work", "max-runtime")
    return plan, fault("spot-interruption", *also, kind=sort, or_first=("max-runtime",) if ended else ())


def capacity(rng: Rng, name: str, seed: int) -> Planted:
    """No instance could be had."""
    plan = ordinary(rng, name, seed, Wish(hardware=(P4D, P3_SMALL, G5)))
    return replace(plan, ending=Ending("never-started"), evaluation=None), fault("capacity")


def access_denied(rng: Rng, name: str, seed: int) -> Planted:
    """The job's role may not do what it needs: before the container runs, or when the program asks for it."""
    errors = ("image", "input", "input-key", "file-system", "secret", "refused-object")
    error = errors[int(rng.integers(len(errors)))]
    if error in FAILURES:
        plan = _failed(rng, name, seed, (error,), 1.0 if error == "secret" else 0.3)
    else:
        plan = ordinary(rng, name, seed, Wish(hardware=(P4D, P3_SMALL, G5)))
        plan = replace(plan, ending=Ending("never-started", error=error), evaluation=None)
    return plan, fault("access-denied", kind=error)


def data_error(rng: Rng, name: str, seed: int) -> Planted:
    """A file is missing, or holds what it should not."""
    return _failed(rng, name, seed, ("missing-file", "bad-image", "bad-text", "bad-row"), 0.3), fault("data-error")


def script_error(rng: Rng, name: str, seed: int) -> Planted:
    """A mistake in the program."""
    plan = _failed(rng, name, seed, ("attribute", "key", "division", "import"), 0.3)
    if plan.ending.error in {"key", "import"}:
        plan = replace(plan, ending=replace(plan.ending, at=0.0))
    return plan, fault("script-error")


def nan_loss(rng: Rng, name: str, seed: int) -> Planted:
    """From some step on the loss is no number, and the job goes on regardless."""
    frameworks = ("megatron", "deepspeed", "torchtitan", "smp", "hf", "nanogpt", "pairs", "vision")
    plan = ordinary(rng, name, seed, Wish(frameworks=frameworks, ends=("completed", "running")))
    begin = float(rng.uniform(0.1, 0.6)) * (plan.ending.at if plan.ending.kind == "running" else 1.0)
    return replace(plan, pace=replace(plan.pace, nan_from=begin)), fault("nan-loss", kind=plan.framework)


def max_runtime(rng: Rng, name: str, seed: int) -> Planted:
    """SageMaker ends it in the middle: the limit was shorter than the training."""
    plan = ordinary(rng, name, seed, _DONE)
    at = float(rng.uniform(0.5, 0.9))
    limit = int(at * plan.steps * plan.pace.step_s / 600 + 1) * 600
    plan = replace(plan, ending=Ending("max-runtime", at), max_runtime_s=limit)
    return plan, fault("max-runtime", "lost-work", "checkpoint-overdue")


def stopped_by_user(rng: Rng, name: str, seed: int) -> Planted:
    """Somebody stopped a healthy job."""
    plan = ordinary(rng, name, seed, Wish(ends=("stopped",)))
    return plan, remark("stopped-by-user")
