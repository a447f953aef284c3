"""GPU memory of a layout and of a change, by component, on the fullest stage.

Model states: bytes a parameter with Adam, arXiv 1910.02054 (ZeRO). Activations: arXiv 2205.05198, equations 1 to 6, as
bytes in units of s b h. What a process holds besides: context, communication buffers and what its allocator cannot use;
these constants were fitted to published measurements (``benchmarks/predictions.py`` prints how well).

What was measured holds all that no equation knows, so that of a change from a measured start only the difference is worked
out. Without the shape of the model, the activations of microbatches in flight bound it: at most all of the memory grows with
them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from monitor.predict.layout import Layout, ModelShape, in_half_precision, layout_of, pipeline_of, shape_of, sharding_of
from monitor.predict.parameters import names
from monitor.predict.setup import Setup
from monitor.predict.spread import Coverage, Range

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


#: More is no percentage. Above 100 is what a job would have taken that a GPU refused.
MOST_USED_PCT = 1000.0
Fits = Literal["yes", "borderline", "no", "unknown"]

#: Of the device's memory: below the first it fits, above the second it does not. Between them 65 published configurations
#: went both ways.
FITS_BELOW, FITS_NOT_ABOVE = 0.85, 1.10
#: How far measurements lie from the equations, so that 9 of 10 lie inside; all of it is worked out by
#: ``benchmarks/published/memory_ranges.py``. As shares: of what was measured (two runs of one setup differ by that), of the
#: difference of activations (more where stages get other parts), of the difference of sharded states, and, where the degrees of
#: parallelism change, of what was measured. Then of the whole where nothing was measured, as a logarithm.
NOISE = 0.022
ACTIVATIONS_ERROR = 0.30
INTERLEAVING_ERROR = 0.95
STATES_ERROR = 0.10
DEGREES_ERROR = 0.45
WHOLE_REACH = 0.35
#: Of FSDP the peaks of one source alone are known: so much of what the equations say, at the least.
FSDP_LEAST = 0.52
_INTERLEAVING = names("virtual_stages layers_per_virtual_stage")
#: Of ranges by kind of difference; of the whole, of peaks.
COVERAGE: Mapping[str, Coverage] = {
    "activations": Coverage(47, 48, 2),
    "interleaving": Coverage(12, 12, 1),
    "sharded states": Coverage(8, 8, 1),
    "degrees": Coverage(38, 40, 1),
    "whole": Coverage(50, 55, 2),
}
# They change what no equation has.
_DEGREES = names("pipeline_parallel_degree tensor_parallel_degree")
# Parameters that hold more or less memory than the microbatches in flight do.
_IN_FLIGHT_ALONE = names(
    "active_microbatches microbatches pipeline batch_size micro_batch_size global_batch_size gradient_accumulation_steps"
)
#: How states are shared out among ranks.
OF_SHARDING = names(
    "sharded_data_parallel_degree hybrid_shard_degree zero_stage mics_shard_size sharding_strategy shard_optimizer_state"
)
_OF_HOSTS = names("instance_count world_size data_parallel_size")


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """GiB of the fullest GPU; None where it is not known. ``change`` is (low, middle, high)."""

    start_gib: float | None
    change_gib: Range | None
    limit_gib: float | None
    components: Mapping[str, float] = field(default_factory=dict)
    """Of the changed setup, by the equations; only the states where the shape of the model is not known."""
    measured: bool = False
    """The start was measured, and the change is counted from there."""
    bound: bool = False
    """The shape of the model is not known: the high end is a bound that is not passed."""

    @property
    def expected_gib(self) -> float | None:
        """What a decision is made by: the middle, and of a bound its high end."""
        return None if self.change_gib is None else self.change_gib[2 if self.bound else 1]

    def utilization_pct(self) -> Range | None:
        """The change in percent of the device; None where either is not known."""
        if self.change_gib is None or not self.limit_gib:
            return None
        low, middle, high = (100 * each / self.limit_gib for each in self.change_gib)
        return low, middle, high

    @property
    def fits(self) -> Fits:
        limit = self.limit_gib
        if not limit:
            return "unknown"
        if self.expected_gib is not None:
            return fits(self.expected_gib / limit)
        # States alone are the least that it takes.
        return "no" if sum(self.components.values()) > FITS_NOT_ABOVE * limit else "unknown"


def fits(share: float) -> Fits:
    """Whether so much of a device's memory fits; borderline where nobody can tell."""
    return "yes" if share < FITS_BELOW else "borderline" if share <= FITS_NOT_ABOVE else "no"


def memory_change(start: Setup, change: Setup, changes: frozenset[str], size_kept: bool = False) -> MemoryChange:
    """The memory of both, as far as it is known; ``changes`` names the parameters that differ.

    Where the batch is not known it is the same on both sides, or with ``size_kept`` the size of a microbatch is.
    """
    limit = change.real("gpu_memory_gib")
    measured, before, after = _measured_gib(start), modelled(start), modelled(change)
    components = after.components_gib() if after is not None else _states_gib(change)
    if measured is None:
        whole = None
        if after is not None:
            middle = after.total / GIB
            least = FSDP_LEAST if change.framework == "fsdp" else math.exp(-WHOLE_REACH)
            whole = least * middle, middle, math.exp(WHOLE_REACH) * middle
        return MemoryChange(None if before is None else before.total / GIB, whole, limit, components)
    found: Range | None = None
    is_bound = False
    states = [sum(_states_gib(setup).values()) for setup in (start, change)]
    if before is not None and after is not None:
        found = _from_parts(measured, before, after, changes)
    elif not changes:
        found = measured, measured, measured
    elif changes <= OF_SHARDING and all(states):
        found = _from_difference(measured, states[0], states[1])
    elif changes <= _IN_FLIGHT_ALONE and (ratio := _in_flight_ratio(start, change, size_kept)) is not None:
        low, high = sorted((measured, measured * ratio))
        low = min(high, max(low, states[0]))
        found, is_bound = (low, (low + high) / 2, high), ratio != 1
    return MemoryChange(measured, found, limit, components, True, is_bound)


def modelled(setup: Setup) -> Memory | None:
    """The memory by the equations; None where shape or layout is not known."""
    shape, layout = shape_of(setup), layout_of(setup)
    if shape is None or layout is None:
        return None
    limit = setup.real("gpu_memory_gib")
    return memory(shape, layout, limit * GIB) if limit else memory(shape, layout)


def _measured_gib(setup: Setup) -> float | None:
    used, limit = setup.real("gpu_memory_utilization"), setup.real("gpu_memory_gib")
    return None if used is None or used > MOST_USED_PCT or not limit else used / 100 * limit


def differences_gib(measured: float, before: Memory, after: Memory) -> tuple[float, float]:
    """By how much states and activations differ, by the equations. Of what was measured, all that states do not take is
    activations at most: where the equations have more of these, theirs are smaller throughout by as much. What the allocator
    cannot use grows with both."""
    left = max(0.0, measured * GIB - before.states - before.gathered)
    held = before.activations + before.logits
    scale = min(1.0, left / held) if held else 1.0
    states = after.states + after.gathered - before.states - before.gathered
    lost = (1 + FRAGMENTATION) / GIB
    return states * lost, scale * (after.activations + after.logits - held) * lost


def _from_parts(measured: float, before: Memory, after: Memory, changes: frozenset[str]) -> Range:
    """What was measured and, from there, what the equations say of the difference."""
    states, activations = differences_gib(measured, before, after)
    if not states and not activations:
        return measured, measured, measured
    of_activations = (INTERLEAVING_ERROR if changes & _INTERLEAVING else ACTIVATIONS_ERROR) * activations
    of_degrees = DEGREES_ERROR * measured if changes & _DEGREES else 0.0
    error = math.hypot(NOISE * measured, STATES_ERROR * states, of_activations, of_degrees)
    plain = measured + states + activations
    if plain < after.states / GIB:
        # Less than its states is nothing that a job takes: the equations have more of the start than was measured.
        plain = max(plain, measured * after.total / before.total)
    low, middle, high = _around(plain, error)
    # The states stay, whatever the activations are.
    return max(low, min(middle, after.states / GIB)), middle, high


def _from_difference(measured: float, before: float, after: float) -> Range:
    """What was measured and, from there, what the equations say of the difference. Where they say more of the start than was
    measured, a part of it cannot save all that they say of it: no more than in proportion."""
    difference = after - before
    plain, in_proportion = measured + difference, measured * after / before
    middle = max(plain, in_proportion) if difference < 0 else plain
    low, _, high = _around(middle, math.hypot(NOISE * measured, STATES_ERROR * difference))
    if before > measured:
        low = min(low, max(0.0, min(plain, in_proportion)))
    return low, middle, high


def _in_flight_ratio(start: Setup, change: Setup, size_kept: bool) -> float | None:
    """By how much the samples grow whose activations the first stage holds."""
    held = []
    for setup in (start, change):
        pipeline = pipeline_of(setup)
        if pipeline is None:
            return None
        if pipeline.stages == 1:
            at_once = 1
        elif pipeline.schedule == "1f1b":
            at_once = min(pipeline.stages, pipeline.microbatches)
        else:
            at_once = min(pipeline.window or pipeline.microbatches, pipeline.microbatches)
        held.append((at_once, pipeline.microbatch_size))
    (one, size), (other, other_size) = held
    if (size is None) != (other_size is None):
        return None
    if size is None or other_size is None:
        size, other_size = (1.0, 1.0) if size_kept else (1 / (start.microbatches or 1), 1 / (change.microbatches or 1))
    return other * other_size / (one * size)


def kinds_of(changes: frozenset[str]) -> tuple[str, ...]:
    """The kinds of ``COVERAGE`` that a change from a measured start is made of."""
    if changes & _DEGREES:
        return ("degrees",)
    shared = changes & (OF_SHARDING | _OF_HOSTS)
    found = ["interleaving"] if changes & _INTERLEAVING else ["activations"] if changes - shared else []
    return (*found, *(["sharded states"] if shared else []))


def _states_gib(setup: Setup) -> dict[str, float]:
    """What sharding shares out, where parameters and degrees are known and the shape is not."""
    billions, sharded = setup.real("parameters_billion"), sharding_of(setup)
    p, t = setup.pipeline_degree, setup.tensor_degree
    if billions is None or sharded is None or p is None or t is None:
        return {}
    shape = ModelShape(1, 1, 1, 0, 0, 1e9 * billions)
    layout = Layout(
        pipeline=p, tensor=t, sharding=sharded[0], shard_degree=sharded[1], half_precision=in_half_precision(setup)
    )
    parameters = stage_parameters(shape, layout)
    gathered = gathered_bytes(parameters, layout) / GIB
    found = {"model states": state_bytes(parameters, layout) / GIB}
    return {**found, "gathered parameters": gathered} if gathered else found


def _around(middle: float, error: float) -> Range:
    return max(0.0, middle - error), middle, middle + error
