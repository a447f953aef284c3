"""Which findings are there by contract, and which of them are planted here?"""

from __future__ import annotations

PLANTED = (
    *("cuda-out-of-memory", "host-out-of-memory", "nccl-timeout", "spot-interruption", "capacity", "access-denied"),
    "data-error",
    *("script-error", "nan-loss", "max-runtime", "stopped-by-user"),
    *(
        "stall",
        "long-initialization",
        "long-download",
        "long-upload",
        "slow-node",
        "step-time-regression",
        "slow-steps",
        "checkpoint-stall",
    ),
    "checkpoint-overdue",
    *(
        "one-gpu-in-use",
        "unused-gpus",
        "idle-gpus",
        "low-gpu-utilization",
        "fluctuating-gpu-utilization",
        "small-batch",
    ),
    *("low-mfu", "pipeline-bubble", "full-precision", "small-microbatch", "needless-sharding"),
    *("cpu-bottleneck", "communication-bound", "gpu-memory-pressure", "gpu-memory-growth", "host-memory-growth"),
    "disk-nearly-full",
    "efa-not-in-use",
    *("unlike-gpu", "gpu-binding", "recurring-stalls", "busy-core", "io-wait", "network-limit"),
    *("node-timing-unobservable", "no-step-lines", "metrics-unavailable", "logs-unavailable", "coarse-metrics"),
)
"""What ended it, progress, utilization, network, what a profiler shows, not seen."""

ADVICE = frozenset(
    (
        *("raise-active-microbatches", "lower-active-microbatches", "raise-microbatches", "prescaled-batch-off"),
        *("tensor-parallel-degree", "tensor-parallel-across-nodes", "pipeline-inside-node", "shard-optimizer-state"),
        *(
            "activation-checkpointing",
            "offload-activations",
            "sharding-across-nodes",
            "fewer-features",
            "instance-type",
            "managed-spot",
            "unbalanced-stages",
        ),
        *("batch-not-divisible", "invalid-configuration"),
    )
)
"""Model-parallel advice follows from the configuration, not from a simulated run."""

CONSEQUENCES = frozenset(("lost-work",))
"""Said beside a fault that is planted, never planted alone."""
