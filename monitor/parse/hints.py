"""Warnings of libraries about settings that cost time; what they mean is in ``monitor.diagnose.hints``."""

from __future__ import annotations

from monitor.parse.reader import event

ROWS = (
    event("hint", "find_unused_parameters=True was specified", r"find_unused_parameters=True was specified in DDP"),
    event(
        "hint",
        "worker processes in total",
        r"will create \d{1,4} worker processes in total\. .{0,40}suggested max number of worker.{0,60} is \d{1,4}",
    ),
    event("hint", "does not have many workers", r"does not have many workers.{0,200}num_workers=\d{1,4}"),
    event(
        "hint",
        "huggingface/tokenizers: The current process",
        r"huggingface/tokenizers: The current process just got forked",
    ),
    event("hint", "TensorFloat32 tensor cores", r"TensorFloat32 tensor cores .{0,80} not enabled"),
    event("hint", "torch.set_float32_matmul_precision", r"you should set `torch\.set_float32_matmul_precision"),
    event("hint", "Grad strides do not match", r"Grad strides do not match bucket view strides"),
    event("hint", "torch._dynamo hit config.", r"torch\._dynamo hit config\.(?:cache_size_limit|recompile_limit)"),
)
