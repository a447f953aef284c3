"""What is an ordinary training job like? Drawn at random, as jobs differ: size, framework, pace, habits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.planted.hardware import CLUSTER, G4DN, G5, G5_LARGE, G5_SMALL, G6, P3_SMALL, SEVERAL_GPUS, Hardware
from benchmarks.planted.plan import Ending, Launcher, Levels, Opening, Pace, Pause, Plan, Printing

Rng = np.random.Generator

#: Framework -> launcher, the nodes it is drawn for, its shortest step in seconds (what its lines need).
FRAMEWORKS: dict[str, tuple[Launcher, int, float]] = {
    "megatron": ("torchrun", 256, 0.8),
    "deepspeed": ("torchrun", 16, 0.6),
    "torchtitan": ("torchrun", 256, 0.8),
    "smp": ("mpi", 16, 0.6),
    "vit": ("mpi", 8, 0.5),
    "hf": ("torchrun", 4, 1.5),
    "lightning": ("torchrun", 4, 0.5),
    "nanogpt": ("torchrun", 16, 0.3),
    "pairs": ("torchrun", 256, 0.3),
    "vision": ("torchrun", 8, 0.25),
    "quiet": ("torchrun", 8, 0.5),
}
TIMED = tuple(name for name in FRAMEWORKS if name != "quiet")
_MFU = {"Tesla T4": 0.3, "Tesla V100-SXM2-16GB": 0.36, "Tesla V100-SXM2-32GB": 0.37, "NVIDIA A10G": 0.4}
_CHATTER = (
    "/opt/conda/lib/python3.10/site-packages/torch/utils/checkpoint.py:429: UserWarning: use_reentrant should be set",
    "Token indices sequence length is longer than the specified maximum sequence length (2201 > 2048)",
    "WARNING: error rate estimate not available yet, using default",
    "libibverbs: Warning: couldn't load driver 'libbnxt_re-rdmav34.so'",
    "huggingface/tokenizers: The current process just got forked, after parallelism has already been used.",
)


@dataclass(frozen=True, slots=True)
class Wish:
    """What a job must be, where chance is not to decide."""

    frameworks: Sequence[str] = TIMED
    hardware: Sequence[Hardware] | None = None
    nodes: Sequence[int] = (1, 1, 1, 2, 2, 2, 4, 4, 4, 8, 8, 16, 32, 64)
    minutes: tuple[float, float] = (70, 420)
    step_s: tuple[float, float] = (0.3, 20)
    reports: tuple[float, float] = (150, 900)
    """How many lines of steps there are, about, in a node's log."""
    printing: Printing | None = None
    ends: tuple[str, ...] = ("completed", "completed", "running", "stopped")


def _of(rng: Rng, among: Sequence[object]) -> int:
    return int(rng.integers(len(among)))


def ordinary(rng: Rng, name: str, seed: int, wish: Wish = Wish()) -> Plan:
    """A healthy job of a usual kind: steady steps, busy GPUs, checkpoints and evaluations that cost little."""
    nodes = wish.nodes[_of(rng, wish.nodes)]
    fitting = [framework for framework in wish.frameworks if FRAMEWORKS[framework][1] >= nodes]
    if not fitting:
        fitting = list(wish.frameworks)
        nodes = min(nodes, max(FRAMEWORKS[framework][1] for framework in fitting))
        fitting = [framework for framework in fitting if FRAMEWORKS[framework][1] >= nodes]
    framework = fitting[_of(rng, fitting)]
    launcher, _, shortest = FRAMEWORKS[framework]
    hardware = _hardware(rng, wish, nodes)
    minutes = float(rng.uniform(*wish.minutes))
    step_s = float(
        np.exp(rng.uniform(np.log(max(wish.step_s[0], shortest)), np.log(max(wish.step_s[1], shortest * 2))))
    )
    steps = int(np.clip(minutes * 60 / step_s, 40, 14_000))
    step_s = minutes * 60 / steps
    # Where many nodes print, people ask for fewer lines.
    crowd = max(nodes / 8, 1.0) if framework in {"torchtitan", "pairs"} else 1.0
    log_every = _round_interval(steps / float(rng.uniform(*wish.reports)) * crowd)
    if framework in {"lightning", "pairs"} and rng.random() < 0.3 and launcher == "torchrun" and nodes > 1:
        launcher = "mpi"
    printing: Printing = "nodes" if framework in {"torchtitan", "hf", "lightning"} and nodes > 1 else "rank0"
    if framework == "pairs":
        choices: tuple[Printing, ...] = ("rank0", "nodes", "own") if nodes > 1 else ("rank0",)
        printing = choices[int(rng.integers(len(choices)))]
    if wish.printing is not None and framework == "pairs":
        printing = wish.printing
    world = nodes * max(hardware.gpus, 1)
    end = wish.ends[_of(rng, wish.ends)]
    plan = Plan(
        name=name,
        seed=seed,
        hardware=hardware,
        nodes=nodes,
        framework=framework,
        launcher=launcher,
        printing=printing,
        steps=steps,
        log_every=log_every,
        pace=_pace(rng, step_s),
        levels=_levels(rng, hardware),
        opening=_opening(rng, framework),
        ending=_ending(rng, end, step_s * log_every),
        batch=world * int(2 ** rng.integers(0, 5)),
        sequence=int(2 ** rng.integers(9, 13)),
        mfu=_MFU.get(hardware.gpu, 0.46) * float(rng.uniform(0.9, 1.15)),
        steps_an_epoch=max(steps // int(rng.integers(2, 6)), 20)
        if framework in {"hf", "lightning", "vision"}
        else None,
        network=_network(rng, hardware, nodes),
        chatter=_CHATTER if rng.random() < 0.5 else (),
    )
    return with_habits(rng, plan)


def _hardware(rng: Rng, wish: Wish, nodes: int) -> Hardware:
    if wish.hardware is not None:
        return wish.hardware[_of(rng, wish.hardware)]
    among = CLUSTER if nodes > 4 else (*SEVERAL_GPUS, *CLUSTER) if nodes > 1 else (*SEVERAL_GPUS, G5_SMALL)
    return among[_of(rng, among)]


def _round_interval(steps: float) -> int:
    """People choose round intervals."""
    return min((1, 2, 5, 10, 20, 25, 50, 100), key=lambda choice: abs(np.log(max(steps, 1) / choice)))


def _pace(rng: Rng, step_s: float) -> Pace:
    return Pace(
        step_s=step_s,
        jitter=float(np.exp(rng.uniform(np.log(0.005), np.log(0.04)))),
        node_jitter=float(np.exp(rng.uniform(np.log(0.002), np.log(0.015)))),
        first_factor=float(np.exp(rng.uniform(np.log(1.5), np.log(25)))),
        warm_up=int(rng.integers(1, 12)),
        rare_share=float(rng.uniform(0, 0.0025)),
        rare_high=float(rng.uniform(1.5, 4)),
    )


def _levels(rng: Rng, hardware: Hardware) -> Levels:
    gpu = float(rng.uniform(86, 99))
    return Levels(
        gpu=gpu,
        waiting_gpu=float(rng.uniform(97, 100)),
        memory=float(rng.uniform(45, 89)),
        cpu=float(rng.uniform(10, 55)),
        host_memory=float(rng.uniform(8, 55)),
        disk=float(rng.uniform(3, 45)),
        wobble=float(rng.uniform(0.3, 1.8)),
        saw=float(rng.uniform(0.5, 8)),
    )


def _opening(rng: Rng, framework: str) -> Opening:
    loading = tuple(f"Loading checkpoint shards: {k}/4" for k in range(1, 5)) if framework == "hf" else ()
    return Opening(
        image_s=float(rng.uniform(40, 220)),
        imports_s=float(rng.uniform(10, 60)),
        data_s=float(rng.uniform(5, 90)),
        data_cpu=float(rng.uniform(5, 50)),
        data_lines=("loading the data set", "data set ready", *loading),
        model_s=float(rng.uniform(10, 150)),
    )


def _ending(rng: Rng, kind: str, report_s: float) -> Ending:
    if kind == "running":
        # Whoever looks, looks at any moment: the last line may be as old as lines are apart.
        return Ending("running", float(rng.uniform(0.3, 0.97)), seen_after_s=float(rng.uniform(2, 8 + 0.5 * report_s)))
    if kind == "stopped":
        return Ending("stopped", float(rng.uniform(0.5, 0.98)))
    return Ending()


def _network(rng: Rng, hardware: Hardware, nodes: int) -> str:
    if nodes == 1 or rng.random() < 0.4:
        return ""
    if hardware in {G4DN, G5, G5_LARGE, G6}:
        return "efa" if rng.random() < 0.5 else ""
    return "efa" if hardware.efa else "socket"


def with_habits(rng: Rng, plan: Plan) -> Plan:
    """Checkpoints that cost about one percent, and evaluations that cost a few; some jobs have neither."""
    minutes = plan.steps * plan.pace.step_s / 60
    checkpoint = evaluation = None
    if rng.random() < 0.85:
        times = int(rng.integers(3, max(5, min(25, int(minutes // 8)))))
        every = _multiple(plan.steps / times, plan.log_every)
        lasted = min(float(rng.uniform(2, 45)), 0.02 * every * plan.pace.step_s)
        checkpoint = Pause(every, lasted, float(rng.uniform(3, 60)), float(rng.uniform(8, 40)))
    if rng.random() < 0.55:
        times = int(rng.integers(2, 16))
        every = _multiple(plan.steps / times, plan.log_every)
        share = float(rng.uniform(0.005, 0.05))
        lasted = max(share * every * plan.pace.step_s, 4.0)
        evaluation = Pause(every, lasted, plan.levels.gpu * float(rng.uniform(0.8, 1.0)), plan.levels.cpu, spread=0.02)
    return replace(plan, checkpoint=checkpoint, evaluation=evaluation)


def _multiple(steps: float, of: int) -> int:
    return max(round(steps / of), 2) * of


def steady(pace: Pace, jitter: float = 0.01) -> Pace:
    """The same without rare slow steps."""
    return replace(pace, jitter=min(pace.jitter, jitter), rare_share=0.0)


SMALL_GPUS = (G4DN, G5, G6, P3_SMALL)
