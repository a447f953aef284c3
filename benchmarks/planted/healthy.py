"""Healthy jobs of many sorts: what looks like a fault at first sight, and is none."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from benchmarks.planted import healthy_uneven
from benchmarks.planted.draw import Rng, Wish, ordinary, steady
from benchmarks.planted.faults_ended import Planted
from benchmarks.planted.faults_useful import pipelined
from benchmarks.planted.hardware import P3DN, P4D, P5
from benchmarks.planted.plan import Ending, Outliers, Pause, Plan, Stage, View, Wait
from benchmarks.planted.truth import healthy

_LIVE = ("completed", "running")
_PRINTS_WALL = ("pairs", "torchtitan", "megatron", "deepspeed", "smp", "hf", "vision")


def _minutes(plan: Plan) -> float:
    return plan.steps * plan.pace.step_s / 60


def _usual(rng: Rng, name: str, seed: int) -> Plan:
    return ordinary(rng, name, seed)


def _long_evaluation(rng: Rng, name: str, seed: int) -> Plan:
    """Few evaluations, each of many minutes, in which no step is printed."""
    plan = ordinary(rng, name, seed, Wish(ends=_LIVE, minutes=(150, 420)))
    every = max(int(plan.steps / int(rng.integers(2, 5)) / plan.log_every), 2) * plan.log_every
    share = float(rng.uniform(0.04, 0.09))
    seconds = max(every * plan.pace.step_s * share, 30.0)
    return replace(plan, evaluation=Pause(every, seconds, plan.levels.gpu * 0.95, plan.levels.cpu, spread=0.02))


def _long_checkpoint(rng: Rng, name: str, seed: int) -> Plan:
    """A large model is saved seldom, for some minutes."""
    plan = ordinary(rng, name, seed, Wish(ends=_LIVE, minutes=(200, 480), nodes=(2, 4, 8, 16)))
    every = max(int(plan.steps / int(rng.integers(2, 5)) / plan.log_every), 2) * plan.log_every
    share = float(rng.uniform(0.015, 0.03))
    seconds = every * plan.pace.step_s * share
    return replace(plan, checkpoint=Pause(every, seconds, float(rng.uniform(0, 30)), 20.0))


def _curriculum(rng: Rng, name: str, seed: int) -> Plan:
    """Sequence length grows in announced stages, and the time of a step with it."""
    plan = ordinary(rng, name, seed, Wish(_PRINTS_WALL, ends=_LIVE, minutes=(120, 420)))
    second = float(rng.uniform(0.25, 0.4))
    third = second + float(rng.uniform(0.2, 0.35))
    grown = (float(rng.uniform(1.6, 2.0)), float(rng.uniform(2.8, 3.8)))
    length = plan.sequence
    stages = tuple(
        Stage(
            begin,
            factor,
            said=f"curriculum: stage {number}, sequence length {length * 2 ** (number - 2)} -> {length * 2 ** (number - 1)}",
            tokens=float(2 ** (number - 1)),
        )
        for number, begin, factor in ((2, second, grown[0]), (3, third, grown[1]))
    )
    return replace(plan, pace=replace(plan.pace, stages=stages), checkpoint=None, evaluation=None)


def _trend(rng: Rng, name: str, seed: int) -> Plan:
    """Sequences grow little by little; tokens of a step, printed, grow alike."""
    plan = ordinary(rng, name, seed, Wish(("pairs", "torchtitan"), ends=_LIVE, minutes=(120, 420)))
    return replace(plan, pace=replace(plan.pace, trend=float(rng.uniform(0.15, 0.6))))


def _slow_start(rng: Rng, name: str, seed: int) -> Plan:
    """The first minutes are slow: autotuning, compilation, allocator."""
    plan = ordinary(rng, name, seed, Wish(ends=_LIVE))
    pace = replace(plan.pace, first_factor=float(rng.uniform(10, 60)), warm_up=int(rng.integers(10, 30)))
    return replace(plan, pace=pace)


def _noisy(rng: Rng, name: str, seed: int) -> Plan:
    """Step times scatter by four percent, and a few in a thousand take twice as long and more."""
    plan = ordinary(rng, name, seed, Wish(ends=_LIVE, reports=(600, 1500)))
    pace = replace(plan.pace, jitter=0.04, node_jitter=0.02, rare_share=float(rng.uniform(0.003, 0.007)), rare_high=4.0)
    return replace(plan, pace=pace, levels=replace(plan.levels, wobble=2.5))


def _pipeline(rng: Rng, name: str, seed: int) -> Plan:
    """Stages of a pipeline on different nodes hold different layers: memory and use differ, and the pace is even."""
    nodes = (2, 4)[int(rng.integers(2))]
    plan = ordinary(rng, name, seed, Wish(("smp",), (P4D, P3DN), (nodes,), ends=_LIVE, minutes=(80, 300)))
    microbatches = 8 * nodes
    plan = replace(plan, batch=microbatches * 8, network="efa")
    parameters = {
        "pipeline_parallel_degree": nodes,
        "tensor_parallel_degree": 1,
        "microbatches": microbatches,
        "active_microbatches": min(nodes + 2, microbatches),
        "placement_strategy": "spread",
        "optimize": "speed",
        "ddp": True,
        "shard_optimizer_state": True,
    }
    given = {
        "mp_parameters": json.dumps(parameters),
        "batch_size": str(plan.batch),
        "train_batch_size": str(plan.batch),
    }
    gpu = tuple(float(value) for value in rng.uniform(-13, 1, nodes))
    memory = tuple(float(value) for value in rng.uniform(-25, 4, nodes))
    level = float(rng.uniform(91, 97))
    levels = replace(plan.levels, gpu=level, waiting_gpu=level, gpu_of_node=gpu, memory_of_node=memory, memory=80.0)
    return replace(plan, levels=levels, hyperparameters=given)


def _cache_fill(rng: Rng, name: str, seed: int) -> Plan:
    """The first epoch reads from S3 and fills a cache; later ones are faster."""
    plan = ordinary(rng, name, seed, Wish(("vision", "pairs", "hf", "torchtitan"), nodes=(1, 2, 4), ends=_LIVE))
    slow = float(rng.uniform(1.12, 1.4))
    stage = Stage(float(rng.uniform(0.12, 0.3)), 1 / slow)
    pace = replace(plan.pace, step_s=plan.pace.step_s * slow, stages=(stage,))
    return replace(plan, pace=pace, levels=replace(plan.levels, host_fill_s=1500.0))


def _tokenising(rng: Rng, name: str, seed: int) -> Plan:
    """Some minutes on all cores before the first step."""
    plan = ordinary(rng, name, seed, Wish(("hf", "pairs", "lightning"), ends=_LIVE))
    lines = tuple(f"Running tokenizer on dataset:  {k * 10}%" for k in range(11))
    opening = replace(
        plan.opening, data_s=float(rng.uniform(180, 720)), data_cpu=float(rng.uniform(70, 99)), data_lines=lines
    )
    return replace(plan, opening=opening)


def _short(rng: Rng, name: str, seed: int) -> Plan:
    """Over in some minutes."""
    plan = ordinary(rng, name, seed, Wish(minutes=(3, 14), nodes=(1, 1, 2, 4), step_s=(0.3, 3), reports=(15, 80)))
    return replace(plan, evaluation=None, checkpoint=None)


def _buffered(rng: Rng, name: str, seed: int) -> Plan:
    """Python keeps its output back, and lines come in bursts."""
    plan = ordinary(rng, name, seed, Wish(("pairs", "smp", "nanogpt", "megatron"), ends=_LIVE, step_s=(0.3, 6)))
    return replace(plan, view=View(buffered_s=float(rng.uniform(60, 420))))


def _gaps(rng: Rng, name: str, seed: int) -> Plan:
    """One minute in ten of a node's metrics is missing."""
    return replace(_usual(rng, name, seed), view=View(missing=float(rng.uniform(0.05, 0.2))))


def _quiet(rng: Rng, name: str, seed: int) -> Plan:
    return ordinary(rng, name, seed, Wish(("quiet",)))


def _spot(rng: Rng, name: str, seed: int) -> Plan:
    """Spot instances that stay, and checkpoints every so often."""
    plan = ordinary(rng, name, seed, Wish(ends=_LIVE, nodes=(1, 2, 4)))
    every = max(int(float(rng.uniform(12, 30)) * 60 / plan.pace.step_s / plan.log_every), 2) * plan.log_every
    seconds = every * plan.pace.step_s * float(rng.uniform(0.004, 0.02))
    return replace(plan, spot=True, checkpoint=Pause(every, seconds, 20.0, 15.0))


def _beginning(rng: Rng, name: str, seed: int) -> Plan:
    """Looked at before its first step, or minutes after it."""
    plan = ordinary(rng, name, seed, Wish())
    at = 0.0 if rng.random() < 0.4 else float(rng.uniform(0.01, 0.05))
    ending = Ending("running", at, seen_after_s=float(rng.uniform(3, 20)))
    return replace(plan, ending=ending)


def _long_between_lines(rng: Rng, name: str, seed: int) -> Plan:
    """Large steps, and a line each tenth: minutes pass between two lines, and now is somewhere in between."""
    plan = ordinary(
        rng, name, seed, Wish(("megatron", "pairs", "smp"), step_s=(20, 60), minutes=(300, 720), reports=(20, 60))
    )
    plan = replace(plan, log_every=10, evaluation=None, checkpoint=None)
    wait = float(rng.uniform(0.1, 0.95)) * plan.pace.step_s * 10
    at = round(float(rng.uniform(0.5, 0.9)) * plan.steps / 10) * 10 / plan.steps
    return replace(plan, ending=Ending("running", at - 1.0 / plan.steps, seen_after_s=wait))


def _epochs(rng: Rng, name: str, seed: int) -> Plan:
    """Loader workers start again at each epoch: half a minute without a step."""
    plan = ordinary(rng, name, seed, Wish(("vision", "hf", "lightning", "pairs"), ends=_LIVE, minutes=(100, 400)))
    count = int(rng.integers(3, 8))
    seconds = min(float(rng.uniform(10, 50)), 0.01 * _minutes(plan) * 60 / count)
    waits = tuple(Wait((k + 1) / count, seconds, 0.5, 25.0, ("starting the next epoch",)) for k in range(count - 1))
    return replace(plan, pace=replace(plan.pace, waits=waits))


def _overflow(rng: Rng, name: str, seed: int) -> Plan:
    """One report without a number, as loss scaling has them, and on it goes."""
    plan = ordinary(rng, name, seed, Wish(("megatron", "pairs", "torchtitan"), ends=("completed",)))
    return replace(plan, pace=replace(plan.pace, nan_from=float(rng.uniform(0.1, 0.7)), nan_reports=1))


def _old(rng: Rng, name: str, seed: int) -> Plan:
    plan = ordinary(rng, name, seed, Wish(minutes=(120, 600), ends=("completed", "stopped")))
    return replace(plan, view=View(period_s=300))


def _large(rng: Rng, name: str, seed: int) -> Plan:
    return ordinary(rng, name, seed, Wish(("megatron", "torchtitan", "pairs"), nodes=(16, 32, 64), reports=(100, 250)))


def _full_memory(rng: Rng, name: str, seed: int) -> Plan:
    """Memory is well used and steady."""
    plan = ordinary(rng, name, seed, Wish(ends=_LIVE))
    levels = replace(plan.levels, memory=float(rng.uniform(86, 90.5)))
    return replace(plan, levels=levels, pace=steady(plan.pace))


def _rising_then_flat(rng: Rng, name: str, seed: int) -> Plan:
    """Host memory climbs for the first epoch and stays."""
    plan = ordinary(rng, name, seed, Wish(ends=_LIVE, minutes=(180, 480)))
    return replace(plan, levels=replace(plan.levels, host_memory=float(rng.uniform(50, 78)), host_gain=2.0))


def _busy_cpu(rng: Rng, name: str, seed: int) -> Plan:
    """Cores decode at full load, and the GPUs are fed."""
    plan = ordinary(rng, name, seed, Wish(("vision", "pairs", "hf"), nodes=(1, 2), ends=_LIVE))
    levels = replace(plan.levels, cpu=float(rng.uniform(80, 96)), gpu=float(rng.uniform(92, 98)))
    return replace(plan, levels=levels)


def _logged_steps(rng: Rng, name: str, seed: int) -> Plan:
    """A longer step now and then, each thousandth, when the script writes pictures."""
    plan = ordinary(
        rng, name, seed, Wish(("pairs", "nanogpt", "vision"), ends=_LIVE, step_s=(0.3, 2), reports=(600, 1500))
    )
    every = int(rng.integers(150, 400))
    return replace(plan, pace=replace(plan.pace, outliers=Outliers(0.0, 2.5, 4.0, every, gpu=30.0)))


def _deep(rng: Rng, name: str, seed: int) -> Plan:
    """A pipeline of Megatron-LM whose bubble is a few percent."""
    return pipelined(rng, name, seed, 0.12, 0.0)


def _sharded(rng: Rng, name: str, seed: int) -> Plan:
    """A model of billions of parameters is sharded over all GPUs, since none could hold it."""
    plan = ordinary(rng, name, seed, Wish(("hf", "pairs", "lightning"), (P4D, P5), (2, 4), ends=_LIVE))
    given = {
        "fsdp": json.dumps("full_shard auto_wrap"),
        "per_device_train_batch_size": "4",
        "gradient_accumulation_steps": str((1, 2, 4)[int(rng.integers(3))]),
        "gradient_checkpointing": "true",
        "bf16": "true",
        "parameters_billion": f"{float(rng.uniform(6, 14)):.1f}",
    }
    levels = replace(plan.levels, memory=float(rng.uniform(60, 84)))
    return replace(plan, hyperparameters=given, levels=levels, network="efa")


def _accumulating(rng: Rng, name: str, seed: int) -> Plan:
    """Gradients are accumulated over microbatches that fill the memory."""
    plan = ordinary(rng, name, seed, Wish(("hf", "pairs", "lightning"), (P4D, P5), (1, 2, 4), ends=_LIVE))
    given = {
        "per_device_train_batch_size": str((1, 2, 4)[int(rng.integers(3))]),
        "gradient_accumulation_steps": str((4, 8, 32)[int(rng.integers(3))]),
        "bf16": "true",
    }
    return replace(plan, hyperparameters=given, levels=replace(plan.levels, memory=float(rng.uniform(62, 88))))


def _prints_mfu(rng: Rng, name: str, seed: int) -> Plan:
    """It prints what it gets of the peak: 26 to 50 percent."""
    plan = ordinary(rng, name, seed, Wish(("nanogpt", "torchtitan", "megatron"), (P4D, P5), ends=_LIVE))
    return replace(plan, mfu=float(rng.uniform(0.26, 0.5)))


_SORTS: dict[str, tuple[float, Callable[[Rng, str, int], Plan]]] = {
    "usual": (6, _usual),
    "long evaluation": (2, _long_evaluation),
    "long checkpoint": (1.5, _long_checkpoint),
    "curriculum": (1.5, _curriculum),
    "trend": (1, _trend),
    "slow start": (1.5, _slow_start),
    "noisy": (1.5, _noisy),
    "pipeline": (1.5, _pipeline),
    "cache fill": (1.5, _cache_fill),
    "tokenising": (1, _tokenising),
    "short": (1.5, _short),
    "buffered": (1.5, _buffered),
    "missing minutes": (1.5, _gaps),
    "no step lines": (1.5, _quiet),
    "spot": (1.5, _spot),
    "beginning": (1.5, _beginning),
    "far between lines": (1, _long_between_lines),
    "epochs": (1.5, _epochs),
    "one overflow": (1, _overflow),
    "weeks old": (1, _old),
    "large": (2, _large),
    "full memory": (1, _full_memory),
    "host memory flat": (1, _rising_then_flat),
    "busy cores": (1, _busy_cpu),
    "deep pipeline": (1.5, _deep),
    "sharded by need": (1.5, _sharded),
    "accumulating": (1.5, _accumulating),
    "prints its MFU": (1.5, _prints_mfu),
    "pictures": (1, _logged_steps),
    "resumed": (1, healthy_uneven.resumed),
    "one node a little slower": (1.5, healthy_uneven.a_little_slower),
    "passing slowness": (1, healthy_uneven.passing),
    "drift": (1, healthy_uneven.drift),
    "rank 0 evaluates": (1, healthy_uneven.rank_0_evaluates),
    "no GPU": (0.5, healthy_uneven.without_gpus),
}
SORTS = tuple(_SORTS)


def draw(rng: Rng, name: str, seed: int, sort: str) -> Planted:
    """A healthy job of this sort."""
    return _SORTS[sort][1](rng, name, seed), healthy(sort)


def sort_of(number: int) -> str:
    """The sort of the healthy job of this number: each as often as its weight says, in turn."""
    turns = [sort for sort, (weight, _) in _SORTS.items() for _ in range(int(weight * 2))]
    return turns[(number * 17) % len(turns)]
