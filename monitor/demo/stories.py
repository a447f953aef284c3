"""The sample jobs of the account, newest first; the figures are made up, the shapes are those of real jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from monitor.demo.story import Group, Interruption, Load, NoCapacity, OddGpu, OutOfMemory, SlowNode, Stall, Story, nodes

P4D = "ml.p4d.24xlarge"
G5 = "ml.g5.12xlarge"


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

OLD_RUN = replace(
    HEALTHY,
    about="The healthy job's forerunner with half the microbatches, 34 days old: five-minute points only.",
    load=Load(gpu_pct=83, gpu_memory_pct=69, cpu_pct=12, memory_pct=37, disk_pct=18),
    # Bubble 1/(m+1): 20 % of the time with four microbatches, 11 % with eight, for half the samples each.
    step_s=2.2,
    steps=1_800,
    ended_ago=timedelta(days=34),
    first_step_s=61.0,
    hyperparameters=_gpt(48, 7168, 56, 48, max_steps=1_800, logging_freq=10, activation_checkpointing=1),
    mp_parameters={**HEALTHY.mp_parameters, "microbatches": 4},
    units_per_step=48 * 2,
    loss=(10.9, 5.3),
    checkpoint_every=600,
)

SMALL_WINDOW = replace(
    HEALTHY,
    base_name="gpt2-20b-smp-pp4",
    about="GPU and GPU memory half empty: of four pipeline stages two wait, the window is too small.",
    load=Load(gpu_pct=46, gpu_memory_pct=38, cpu_pct=7, memory_pct=26, disk_pct=17, gpu_noise_pct=1.8),
    step_s=4.1,
    steps=900,
    ended_ago=timedelta(hours=20),
    first_step_s=58.0,
    setup_s=130,
    hyperparameters=_gpt(44, 6144, 48, 128, max_steps=900, logging_freq=10, activation_checkpointing=1),
    # Two in flight of eight on four stages leaves the GPUs idle for half of the time; that is the 46 % above.
    mp_parameters={**HEALTHY.mp_parameters, "pipeline_parallel_degree": 4, "active_microbatches": 2},
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

STALLED = Story(
    base_name="llama2-13b-smp2",
    about="Running, but the last step was 26 minutes ago: a collective that never completes.",
    groups=(Group(P4D, nodes(2)),),
    launcher="torchrun",
    dialect="smp-v2",
    script="train_external.py",
    load=Load(gpu_pct=95, gpu_memory_pct=79, cpu_pct=12, memory_pct=34, disk_pct=23),
    step_s=6.4,
    steps=9_000,
    created_ago=timedelta(minutes=83),
    first_step_s=21.0,
    hyperparameters={
        "model_type": "llama_v2",
        "num_layers": 40,
        "hidden_width": 5120,
        "num_heads": 40,
        "max_context_width": 4096,
        "train_batch_size": 2,
        "max_steps": 9_000,
        "checkpoint_freq": 150,
        "distributed_timeout_minutes": 180,
        "bf16": 1,
        "activation_checkpointing": 1,
    },
    mp_parameters={"hybrid_shard_degree": 8, "sm_activation_offloading": False},
    units_per_step=2 * 16,
    tflops_factor=8 * 13e9 * 2 * 4096 / 1e12,
    checkpoint_every=150,
    checkpoint_s=27.0,
    max_runtime_s=259_200,
    # Containers begin 435 s after the job was made; 83 min - 435 s - 26 min.
    fault=Stall(after_s=83 * 60 - 435 - 26 * 60),
)

SLOW_NODE = Story(
    base_name="llama2-7b-fsdp",
    about="From its twelfth minute on algo-3 needs 1.3 times as long as its peers, and all wait for its GPU 5.",
    groups=(Group(P4D, nodes(4)),),
    launcher="torchrun",
    dialect="logging",
    script="train_fsdp.py",
    load=Load(gpu_pct=96, gpu_memory_pct=82, cpu_pct=16, memory_pct=38, disk_pct=24),
    step_s=2.3,
    steps=1_500,
    ended_ago=timedelta(days=1, hours=7),
    hyperparameters={
        "model": "llama2-7b",
        "sharding_strategy": "hybrid_shard",
        "per_device_train_batch_size": 2,
        "sequence_length": 4096,
        "max_steps": 1_500,
        "bf16": True,
        "gradient_checkpointing": True,
    },
    units_per_step=2 * 32 * 4096,
    unit="tok/s",
    loss=(10.4, 2.4),
    checkpoint_every=500,
    checkpoint_s=29.0,
    fault=SlowNode(node="algo-3", factor=1.3, after_s=12 * 60 + 95, gpu_pct=78),
    profiled=OddGpu(node="algo-3", gpu=5, busy_pct=99, below_pct=88),
)

NO_CAPACITY = Story(
    base_name="llama2-70b-pretrain",
    about="Never started: eight p5 were not to be had.",
    groups=(Group("ml.p5.48xlarge", nodes(8)),),
    launcher="torchrun",
    dialect="smp-v2",
    script="train_external.py",
    load=Load(gpu_pct=90, gpu_memory_pct=80, cpu_pct=10, memory_pct=30, disk_pct=20),
    step_s=9.0,
    steps=100_000,
    ended_ago=timedelta(days=2, hours=3),
    hyperparameters={"model_type": "llama_v2", "train_batch_size": 2, "max_steps": 100_000},
    mp_parameters={"hybrid_shard_degree": 64, "tensor_parallel_degree": 2},
    fault=NoCapacity(waited_s=52 * 60),
)

SPOT = Story(
    base_name="bert-large-mlm-spot",
    about="Spot: taken away after 27 minutes, resumed from its last checkpoint, a third of the price.",
    groups=(Group(G5, nodes(2)),),
    launcher="torchrun",
    dialect="logging",
    script="run_mlm.py",
    load=Load(gpu_pct=89, gpu_memory_pct=74, cpu_pct=31, memory_pct=27, disk_pct=21),
    step_s=1.45,
    steps=2_400,
    ended_ago=timedelta(days=3, hours=5),
    hyperparameters={"model_name": "bert-large-uncased", "per_device_train_batch_size": 24, "max_steps": 2_400},
    units_per_step=24 * 8,
    loss=(9.6, 1.7),
    log_every=5,
    checkpoint_every=300,
    checkpoint_s=11.0,
    spot=True,
    billable_share=0.34,
    fault=Interruption(after_s=27 * 60, waited_s=11 * 60),
)

ONE_GPU = Story(
    base_name="whisper-small-finetune",
    about="Four GPUs are paid for, one works.",
    groups=(Group(G5, nodes(1)),),
    launcher="script",
    dialect="tqdm",
    script="finetune.py",
    load=Load(gpu_pct=96, gpu_memory_pct=63, cpu_pct=9, memory_pct=14, disk_pct=12),
    gpus_in_use=1,
    step_s=0.82,
    steps=3_600,
    ended_ago=timedelta(days=7, hours=2),
    first_step_s=4.0,
    setup_s=70,
    hyperparameters={"model_name": "whisper-small", "batch_size": 16, "max_steps": 3_600},
    loss=(3.4, 0.4),
    log_every=100,
)

SMALL_BATCH = Story(
    base_name="deberta-ner-finetune",
    about="Steady steps, but GPU, GPU memory and CPU are all mostly free: the batch is too small.",
    groups=(Group(G5, nodes(2)),),
    launcher="torchrun",
    dialect="tqdm",
    script="run_ner.py",
    load=Load(gpu_pct=44, gpu_memory_pct=23, cpu_pct=18, memory_pct=12, disk_pct=9, gpu_noise_pct=1.5),
    step_s=0.58,
    steps=4_200,
    ended_ago=timedelta(days=8, hours=12),
    first_step_s=3.0,
    setup_s=70,
    hyperparameters={
        "model_name_or_path": "deberta-v3-base",
        "per_device_train_batch_size": 4,
        "max_steps": 4_200,
        "fp16": True,
    },
    step_noise=0.008,
    loss=(2.1, 0.06),
    log_every=100,
)

HETEROGENEOUS = Story(
    base_name="deeplab-hetero",
    about="Two instance groups: one node decodes images, two train.",
    groups=(Group("ml.c5.9xlarge", ("algo-2",), "decode"), Group(G5, ("algo-1", "algo-3"), "train")),
    launcher="torchrun",
    dialect="logging",
    script="train_deeplab.py",
    load=Load(gpu_pct=91, gpu_memory_pct=68, cpu_pct=24, memory_pct=21, disk_pct=15),
    data_nodes=("algo-2",),
    data_load=Load(gpu_pct=0, gpu_memory_pct=0, cpu_pct=79, memory_pct=44, disk_pct=11),
    step_s=0.96,
    steps=1_500,
    ended_ago=timedelta(days=11, hours=9),
    hyperparameters={"backbone": "resnet101", "batch_size": 12, "max_steps": 1_500},
    units_per_step=12 * 8,
    loss=(1.9, 0.24),
    log_every=2,
)

CPU_ONLY = Story(
    base_name="churn-mlp",
    about="No GPU at all, and old enough that CloudWatch has five-minute points only.",
    groups=(Group("ml.c5.4xlarge", nodes(1)),),
    launcher="script",
    dialect="logging",
    script="train_mlp.py",
    load=Load(gpu_pct=0, gpu_memory_pct=0, cpu_pct=91, memory_pct=41, disk_pct=16),
    step_s=4.4,
    steps=1_500,
    ended_ago=timedelta(days=20),
    first_step_s=6.0,
    setup_s=40,
    hyperparameters={"hidden_units": 2048, "batch_size": 8192, "max_steps": 1_500},
    units_per_step=8192,
    loss=(0.69, 0.31),
)

STORIES: tuple[Story, ...] = (
    LIVE,
    STALLED,
    OUT_OF_MEMORY,
    HEALTHY,
    SMALL_WINDOW,
    SLOW_NODE,
    NO_CAPACITY,
    SPOT,
    MICS_NODE,
    MICS_ALL,
    ONE_GPU,
    SMALL_BATCH,
    HETEROGENEOUS,
    CPU_ONLY,
    OLD_RUN,
)
