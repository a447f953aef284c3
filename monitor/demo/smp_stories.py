"""Which sample jobs use the model parallel library's first version? GPT-2, GPT-J and a pair of vision transformers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from monitor.demo.story import Group, Load, OutOfMemory, Story, nodes

P4D = "ml.p4d.24xlarge"


def _gpt(layers: int, width: int, heads: int, batch: int, **more: object) -> Mapping[str, object]:
    """Parameters of the GPT script; ``batch`` is of one data-parallel rank (of one group with prescaled batches)."""
    shape = {"num_layers": layers, "hidden_width": width, "num_heads": heads, "max_context_width": 512}
    return {**shape, "train_batch_size": batch, "vocab_size": 50257, "fp16": 1, "lr": 0.0002, "seed": 12345, **more}


LIVE = Story(
    base_name="gpt2-10b-smp",
    about="A healthy job that runs while you look.",
    groups=(Group(P4D, nodes(2)),),
    launcher="mpi",
    dialect="smp-v1",
    script="train_gpt_simple.py",
    load=Load(gpu_pct=92, gpu_memory_pct=76, cpu_pct=13, memory_pct=31, disk_pct=19),
    step_s=2.1,
    steps=40_000,
    created_ago=timedelta(minutes=52),
    first_step_s=31.0,
    hyperparameters=_gpt(48, 4096, 32, 10, max_steps=40_000, logging_freq=1, activation_checkpointing=1),
    mp_parameters={
        "ddp": True,
        "partitions": 1,
        "tensor_parallel_degree": 4,
        "shard_optimizer_state": True,
        "fp16": True,
        "optimize": "speed",
    },
    units_per_step=10 * 16,
    tflops_factor=8 * 9.87e9 * 10 * 512 / 1e12,
    checkpoint_every=500,
    checkpoint_s=21.0,
    max_runtime_s=432_000,
)

OUT_OF_MEMORY = Story(
    base_name="gptj-6b-smp",
    about="Rank 14 runs out of GPU memory in the fourth minute of training.",
    groups=(Group(P4D, nodes(2)),),
    launcher="mpi",
    dialect="smp-v1",
    script="train_gptj_smp_script.py",
    load=Load(gpu_pct=88, gpu_memory_pct=96, cpu_pct=12, memory_pct=29, disk_pct=16),
    step_s=1.3,
    steps=6_000,
    ended_ago=timedelta(hours=2, minutes=25),
    first_step_s=19.0,
    hyperparameters=_gpt(28, 4096, 16, 2, max_context_width=2048, max_steps=6_000, activation_checkpointing=0),
    mp_parameters={"ddp": True, "partitions": 1, "tensor_parallel_degree": 4, "fp16": True},
    units_per_step=2 * 16,
    fault=OutOfMemory(rank=14, after_s=205),
)

HEALTHY = Story(
    base_name="gpt2-30b-smp",
    about="As it should be: GPUs at 93 %, two full pipeline stages.",
    groups=(Group(P4D, nodes(4)),),
    launcher="mpi",
    dialect="smp-v1",
    script="train_gpt_simple.py",
    load=Load(gpu_pct=93, gpu_memory_pct=71, cpu_pct=13, memory_pct=38, disk_pct=18),
    step_s=3.9,
    steps=1_000,
    ended_ago=timedelta(hours=4, minutes=40),
    first_step_s=64.0,
    setup_s=140,
    hyperparameters=_gpt(48, 7168, 56, 96, max_steps=1_000, logging_freq=10, activation_checkpointing=1),
    mp_parameters={
        "ddp": True,
        "pipeline_parallel_degree": 2,
        "tensor_parallel_degree": 8,
        "microbatches": 8,
        "active_microbatches": 4,
        "prescaled_batch": True,
        "shard_optimizer_state": True,
        "fp16": True,
        "optimize": "speed",
    },
    log_every=10,
    units_per_step=96 * 2,
    loss=(10.9, 5.2),
    checkpoint_every=400,
    checkpoint_s=38.0,
)

OLD_RUN = Story(
    base_name="gpt2-30b-smp",
    about="The healthy job's forerunner with half the microbatches, 34 days old: five-minute points only.",
    groups=HEALTHY.groups,
    launcher="mpi",
    dialect="smp-v1",
    script=HEALTHY.script,
    load=Load(gpu_pct=83, gpu_memory_pct=69, cpu_pct=12, memory_pct=37, disk_pct=18),
    # Bubble 1/(m+1): 20 % of the time with four microbatches, 11 % with eight, for half the samples each.
    step_s=2.2,
    steps=1_800,
    ended_ago=timedelta(days=34),
    first_step_s=61.0,
    setup_s=140,
    hyperparameters=_gpt(48, 7168, 56, 48, max_steps=1_800, logging_freq=10, activation_checkpointing=1),
    mp_parameters={**HEALTHY.mp_parameters, "microbatches": 4},
    log_every=10,
    units_per_step=48 * 2,
    loss=(10.9, 5.3),
    checkpoint_every=600,
    checkpoint_s=38.0,
)

SMALL_WINDOW = Story(
    base_name="gpt2-20b-smp-pp4",
    about="GPU and GPU memory half empty: of four pipeline stages two wait, the window is too small.",
    groups=(Group(P4D, nodes(4)),),
    launcher="mpi",
    dialect="smp-v1",
    script="train_gpt_simple.py",
    load=Load(gpu_pct=46, gpu_memory_pct=38, cpu_pct=7, memory_pct=26, disk_pct=17, gpu_noise_pct=1.8),
    step_s=4.1,
    steps=900,
    ended_ago=timedelta(hours=20),
    first_step_s=58.0,
    setup_s=130,
    hyperparameters=_gpt(44, 6144, 48, 128, max_steps=900, logging_freq=10, activation_checkpointing=1),
    # Two in flight of eight on four stages leaves the GPUs idle for half of the time; that is the 46 % above.
    mp_parameters={
        "ddp": True,
        "pipeline_parallel_degree": 4,
        "tensor_parallel_degree": 8,
        "microbatches": 8,
        "active_microbatches": 2,
        "prescaled_batch": True,
        "shard_optimizer_state": True,
        "fp16": True,
        "optimize": "speed",
    },
    log_every=10,
    units_per_step=128,
    loss=(10.9, 5.6),
    checkpoint_every=450,
    checkpoint_s=31.0,
)


def _vit(degree: int, step_s: float, ended_ago: timedelta, load: Load) -> Story:
    return Story(
        base_name=f"vit-630m-mics-{degree}",
        about=f"One of a pair that differs in nothing but sharded_data_parallel_degree: {degree} here.",
        groups=(Group("ml.g4dn.12xlarge", nodes(8)),),
        launcher="mpi",
        dialect="cumulative",
        script="train_vit.py",
        load=load,
        step_s=step_s,
        steps=1_600,
        ended_ago=ended_ago,
        first_step_s=14.0,
        hyperparameters={
            "model": "vit-630m",
            "num_layers": 32,
            "hidden_width": 1280,
            "image_size": 224,
            "train_batch_size": 4,
            "max_steps": 1_600,
            "activation_checkpointing": 1,
        },
        mp_parameters={"ddp": True, "partitions": 1, "sharded_data_parallel_degree": degree},
        loss=(6.9, 3.0),
    )


# The published case: a group that stays inside a node makes the step 14 % faster.
MICS_NODE = _vit(4, 1.21, timedelta(days=5), Load(88, 44, 23, 28, 14))
MICS_ALL = _vit(32, 1.407, timedelta(days=5, hours=6), Load(83, 30, 21, 27, 14))
