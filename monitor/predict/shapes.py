"""What a model consists of, and how it is laid out over GPUs, as far as memory and traffic are concerned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Sharding = Literal["none", "optimizer", "gradients", "full"]


@dataclass(frozen=True, slots=True)
class ModelShape:
    """A transformer. ``parameters`` is its count where known; else that of a GPT of this shape."""

    layers: int
    hidden: int
    heads: int
    vocabulary: int
    sequence: int
    known_parameters: float | None = None

    @property
    def embedding(self) -> float:
        """Parameters of the table of tokens."""
        return float(self.vocabulary) * self.hidden

    @property
    def parameters(self) -> float:
        """12 L h^2 (1 + 13 / (12 h)) + (V + s) h: arXiv 2104.04473, equation 2."""
        if self.known_parameters is not None:
            return self.known_parameters
        body = 12 * self.layers * self.hidden**2 * (1 + 13 / (12 * self.hidden))
        return body + self.embedding + self.sequence * self.hidden


@dataclass(frozen=True, slots=True)
class Layout:
    """How a step of a model is spread: degrees, sharding, and what is kept of the forward pass."""

    pipeline: int = 1
    tensor: int = 1
    sharding: Sharding = "none"
    shard_degree: int = 1
    """Over how many ranks states are sharded; 1 is not at all."""
    microbatch_size: int = 1
    """Samples of one microbatch, of one tensor parallel group."""
    in_flight: float = 1
    """Microbatches whose activations the fullest stage holds at once; a part where some of its layers hold one more."""
    half_precision: bool = True
    checkpointed_layers: int = 0
    """How many layers are recomputed together; 0 where nothing is recomputed."""
    offload: bool = False
    """Kept inputs of checkpointed layers go to the host."""
    loading_horizon: int = 4
    """How many of those the GPU keeps at most (SMP v1: activation_loading_horizon)."""
    sequence_parallel: bool = False
    """What is outside of tensor parallel parts is split too (SMP v1: optimize="memory")."""
    attention_kept: bool = True
    """False with flash attention or selective recomputation."""
    live_parameters: float = 1e9
    """Parameters that full sharding may gather at once (SMP v1: sdp_max_live_parameters)."""
