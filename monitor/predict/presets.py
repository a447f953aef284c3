"""Configurations that were published, as starting points of a plan.

GPT-2 with 10, 30 and 60 billion parameters: the reference table of AWS's SMP v1 best practices (sequence 512, vocabulary
50k, optimizer sharding, checkpointing of each layer, prescaled batch on p4d.24xlarge). It names no shapes: those here are
the ones with which the counts come out. ViT-630M: the published run of MiCS on g4dn.12xlarge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_GPT: Mapping[str, Any] = {
    "activation_checkpointing": True,
    "active_microbatches": 1,
    "attention_heads": 32,
    "ddp": True,
    "fp16": True,
    "instance_type": "ml.p4d.24xlarge",
    "layers": 48,
    "microbatches": 1,
    "optimize": "speed",
    "pipeline_parallel_degree": 1,
    "prescaled_batch": True,
    "sequence_length": 512,
    "shard_optimizer_state": True,
    "vocabulary_size": 50_000,
}


@dataclass(frozen=True, slots=True)
class Preset:
    """``values`` under the names of ``monitor plan``; ``change`` is the question that the source answers, if it does."""

    name: str
    model: str
    setting: str
    """How it was run: ``on 16 x p4d``."""
    values: Mapping[str, Any]
    source: str
    change: Mapping[str, Any]

    @property
    def title(self) -> str:
        return f"{self.model} {self.setting}"


_GUIDE = "SageMaker developer guide, SMP v1 best practices: reference configurations"

PRESETS: tuple[Preset, ...] = (
    Preset(
        "gpt2-10b",
        "GPT-2 10B",
        "on 16 x p4d",
        {**_GPT, "hidden_size": 4096, "instance_count": 16, "tensor_parallel_degree": 4, "batch_size": 40},
        _GUIDE,
        {},
    ),
    Preset(
        "gpt2-30b",
        "GPT-2 30B",
        "on 16 x p4d",
        {
            **_GPT,
            "hidden_size": 7168,
            "attention_heads": 56,
            "instance_count": 16,
            "tensor_parallel_degree": 8,
            "batch_size": 32,
        },
        _GUIDE,
        {},
    ),
    Preset(
        "gpt2-60b",
        "GPT-2 60B",
        "on 32 x p4d",
        {
            **_GPT,
            "hidden_size": 10_240,
            "attention_heads": 80,
            "instance_count": 32,
            "pipeline_parallel_degree": 2,
            "tensor_parallel_degree": 8,
            "microbatches": 4,
            "active_microbatches": 2,
            "batch_size": 56,
        },
        _GUIDE,
        {"active_microbatches": 4},
    ),
    Preset(
        "vit-630m",
        "ViT-630M",
        "with MiCS on 8 x g4dn.12xlarge",
        {
            "activation_checkpointing": True,
            "attention_heads": 16,
            "batch_size": 4,
            "ddp": True,
            "hidden_size": 1280,
            "instance_count": 8,
            "instance_type": "ml.g4dn.12xlarge",
            "layers": 32,
            "parameters_billion": 0.632,
            "pipeline_parallel_degree": 1,
            "precision": "fp32",
            "sequence_length": 257,
            "sharded_data_parallel_degree": 32,
            "vocabulary_size": 1000,
        },
        "A published run of a ViT with 632 million parameters: a group of 4 GPUs was about 14 % faster than one of 32",
        {"sharded_data_parallel_degree": 4},
    ),
)


def preset(name: str) -> Preset | None:
    """The preset of a name; None where there is none."""
    return next((each for each in PRESETS if each.name == name), None)
