"""How much GPU memory does a layout need? By component, on the fullest stage.

Model states: bytes a parameter with Adam, arXiv 1910.02054 (ZeRO). Activations: arXiv 2205.05198, equations 1 to 6, as
bytes in units of s b h. What a process holds besides: context, communication buffers and what its allocator cannot use;
these constants were fitted to published measurements (``benchmarks/predictions.py`` prints how well).
"""

from __future__ import annotations

from dataclasses import dataclass

from monitor.predict.shapes import Layout, ModelShape

#: What a process holds that neither states nor activations explain, and the share that the allocator cannot use.
OVERHEAD_BYTES = 2.5e9
SMALL_GPU_OVERHEAD_BYTES = 1.0e9
SMALL_GPU_BYTES = 20e9
FRAGMENTATION = 0.05
#: Logits and their gradients, in bytes an entry: 16-bit logits, their softmax in 32 bits.
LOGIT_BYTES = 6.0
GIB = 2.0**30


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of one GPU, by component."""

    states: float
    gathered: float
    activations: float
    logits: float
    overhead: float

    @property
    def total(self) -> float:
        return self.states + self.gathered + self.activations + self.logits + self.overhead

    def components_gib(self) -> dict[str, float]:
        """The components that take anything, in GiB."""
        parts = {
            "model states": self.states,
            "gathered parameters": self.gathered,
            "activations": self.activations,
            "logits": self.logits,
            "context, buffers, fragmentation": self.overhead,
        }
        return {name: size / GIB for name, size in parts.items() if size > 0}


def memory(shape: ModelShape, layout: Layout, device_bytes: float = 42.9e9) -> Memory:
    """What the fullest GPU of a layout holds at its peak."""
    parameters = stage_parameters(shape, layout)
    states = state_bytes(parameters, layout)
    gathered = gathered_bytes(parameters, layout)
    activations = activation_bytes(shape, layout)
    logits = shape.sequence * layout.microbatch_size * shape.vocabulary / layout.tensor * LOGIT_BYTES
    if not layout.half_precision:
        logits *= 8 / LOGIT_BYTES
    held = states + gathered + activations + logits
    context = SMALL_GPU_OVERHEAD_BYTES if device_bytes < SMALL_GPU_BYTES else OVERHEAD_BYTES
    return Memory(states, gathered, activations, logits, context + FRAGMENTATION * held)


def stage_parameters(shape: ModelShape, layout: Layout) -> float:
    """Parameters of one GPU's part of the fullest stage, before any sharding."""
    if layout.pipeline == 1:
        return shape.parameters / layout.tensor
    body = max(0.0, shape.parameters - shape.embedding) / (layout.pipeline * layout.tensor)
    return body + shape.embedding / layout.tensor


def state_bytes(parameters: float, layout: Layout) -> float:
    """Parameters, gradients and Adam's states: 16 bytes a parameter, those that are sharded divided."""
    d = max(1, layout.shard_degree)
    own = {"none": 16.0, "full": 0.0}
    if layout.half_precision:
        own |= {"optimizer": 4.0, "gradients": 2.0}
    else:
        own |= {"optimizer": 8.0, "gradients": 4.0}
    whole = own[layout.sharding]
    return parameters * (whole + (16.0 - whole) / d)


def gathered_bytes(parameters: float, layout: Layout) -> float:
    """What full sharding gathers at once of the parts of other ranks."""
    if layout.sharding != "full" or layout.shard_degree <= 1:
        return 0.0
    return min(parameters, layout.live_parameters) * (2.0 if layout.half_precision else 4.0)


def layer_bytes(shape: ModelShape, layout: Layout) -> float:
    """The activations of one microbatch in one layer that is not recomputed."""
    h, t = shape.hidden, layout.tensor
    unit = float(shape.sequence) * layout.microbatch_size * h
    attention = 5 * shape.heads * shape.sequence / h if layout.attention_kept else 0.0
    per_unit = (34 + attention) / t if layout.sequence_parallel else 10 + (24 + attention) / t
    return unit * per_unit * (1.0 if layout.half_precision else 2.0)


def boundary_bytes(shape: ModelShape, layout: Layout) -> float:
    """The input of one checkpointed group of layers, of one microbatch."""
    size = 2.0 * shape.sequence * layout.microbatch_size * shape.hidden
    size /= layout.tensor if layout.sequence_parallel else 1
    return size * (1.0 if layout.half_precision else 2.0)


def activation_bytes(shape: ModelShape, layout: Layout) -> float:
    """All activations that the fullest stage keeps at once."""
    layers = -(-shape.layers // layout.pipeline)
    if not layout.checkpointed_layers:
        return layout.in_flight * layers * layer_bytes(shape, layout)
    group = min(layout.checkpointed_layers, layers)
    kept = layout.in_flight * -(-layers // group)
    if layout.offload:
        kept = min(kept, layout.loading_horizon)
    return kept * boundary_bytes(shape, layout) + group * layer_bytes(shape, layout)
