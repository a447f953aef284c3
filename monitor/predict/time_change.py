"""By how much does the time for the same samples change between two setups? What each kind of change does, multiplied.

Each kind has a range of its own: schedules are simulated, the rest is bounded by what was published of it. A change whose
effect on time nobody measured and no equation gives is named, and then no figure is given.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from monitor.predict.change import MOST_DRAWS, PipelineSetting, step_time_change_pct
from monitor.predict.kernels import recomputation_change_pct
from monitor.predict.memory_change import OF_SHARDING
from monitor.predict.setup_layout import in_half_precision, sharding_of
from monitor.predict.setup_types import Setup
from monitor.predict.sharding import STATED_GAIN_PCT, ShardedJob, degree_change_pct, with_nvlink, without_nvlink

Range = tuple[float, float, float]

#: What a step does and in which order: the pipeline's simulation answers for these together.
OF_THE_PIPELINE = frozenset(
    {
        "pipeline_parallel_degree",
        "microbatches",
        "active_microbatches",
        "pipeline",
        "batch_size",
        "micro_batch_size",
        "global_batch_size",
        "gradient_accumulation_steps",
        "virtual_stages",
        "layers_per_virtual_stage",
    }
)
_OF_THE_MODEL = frozenset(
    {"layers", "hidden_size", "attention_heads", "vocabulary_size", "sequence_length", "parameters_billion"}
)
#: They change memory, or nothing that takes time.
_NEUTRAL = frozenset(
    {
        "activation_checkpointing_layers",
        "activation_loading_horizon",
        "gpu_memory_utilization",
        "step_time_s",
        "sdp_max_live_parameters",
        "stage3_max_live_parameters",
        "delayed_parameter_initialization",
        "world_size",
        "data_parallel_size",
        "gpus_per_node",
        "gpu_memory_gib",
        "interconnect",
        "network_gbps",
        "processes_per_host",
    }
)
#: Twice the hosts at the same batch of one GPU cost so much (MosaicML's tables of llm-foundry: mean and worst pair).
DOUBLING_PCT = (0.0, 1.4, 18.0)
#: The same traffic, but the gathering after the step hides behind nothing (AWS's guide); no measurement is known.
OPTIMIZER_SHARDING_PCT = (-2.0, 0.0, 5.0)
#: Selective recomputation, arXiv 2205.05198: 2 to 7 % of a step.
SELECTIVE_PCT = (2.0, 4.5, 7.0)
#: The middle of the gain where a group of ranks moves into a node without NVLink, out of the simulation of the one
#: measured case (which is inside the range, and not on the middle).
_STATED_MIDDLE_PCT = 13.0
#: Unsharded in place of fully sharded, 150 million parameters on 2 x g5.12xlarge: 253 against 162 samples/s (AWS).
_MEASURED_WITHOUT_PCT = -36.0
#: Of the step, what is compute at the least; and layers of a model whose number nobody told.
_LEAST_COMPUTE = 0.5
_LAYERS = 32
#: FLOPs alone do not tell how well kernels fit: other shapes of one size differ by so much.
_SHAPE_RESIDUAL = 0.10


@dataclass(frozen=True, slots=True)
class Effect:
    """What one kind of change does to the time for the same samples, and what says so."""

    change_pct: Range
    method: str


@dataclass(frozen=True, slots=True)
class TimeChange:
    """``change_pct`` is None where one of the changes has an effect that is not known: ``unknown`` says which."""

    change_pct: Range | None
    effects: tuple[Effect, ...]
    unknown: tuple[str, ...] = ()


def time_change(
    start: Setup, change: Setup, changes: frozenset[str], size_kept: bool = False, most_draws: int = MOST_DRAWS
) -> TimeChange:
    """(low, middle, high) percent of the time for the same samples; negative is faster. ``changes`` names what differs.

    Where the batch is not known it is the same on both sides, or with ``size_kept`` the size of a microbatch is. With no
    draws the schedule has a middle and no range.
    """
    effects = tuple(_effects(start, change, changes, size_kept, most_draws))
    found = tuple(each for each in effects if isinstance(each, Effect))
    unknown = tuple(each for each in effects if isinstance(each, str))
    total = (1.0, 1.0, 1.0)
    for effect in found:
        total = tuple(a * (1 + b / 100) for a, b in zip(total, effect.change_pct, strict=True))  # type: ignore[assignment]
    low, middle, high = (100 * (each - 1) for each in total)
    return TimeChange(None if unknown else (low, middle, high), found, unknown)


def _effects(
    start: Setup, change: Setup, changes: frozenset[str], size_kept: bool, most_draws: int
) -> Iterator[Effect | str]:
    left = changes - _NEUTRAL
    if left & OF_THE_PIPELINE:
        yield _pipeline(start, change, size_kept, most_draws)
    yield from _recomputation(start, change)
    if {"offload_activations", "sm_activation_offloading"} & left:
        yield _offload(start, change)
    if left & OF_SHARDING:
        yield _sharding(start, change)
    if "instance_count" in left:
        yield _hosts(start, change)
    if left & _OF_THE_MODEL:
        yield _model(start, change)
    known = OF_THE_PIPELINE | OF_SHARDING | _OF_THE_MODEL | _NEUTRAL
    known |= {"activation_checkpointing", "selective_recomputation", "offload_activations", "instance_count"}
    known |= {"sm_activation_offloading"}
    for name in sorted(left - known):
        yield _UNKNOWN.get(name, f"the model does not cover the effect of {name} on the step time")


_UNKNOWN = {
    "tensor_parallel_degree": "the cost of a tensor-parallel degree depends on links and kernels, which the model "
    "does not cover",
    "prescaled_batch": "prescaled_batch changes the meaning of batch_size: give the batch of the whole group on both sides",
    "instance_type": "GPUs of two types cannot be compared here",
}


def _pipeline(start: Setup, change: Setup, size_kept: bool, most_draws: int) -> Effect | str:
    before, after = _setting(start), _setting(change)
    if before is None or after is None:
        return "stages or microbatches are not known"
    if any(start.number(name) != change.number(name) for name in ("batch_size", "microbatches")):
        for setup in (start, change):
            if setup.microbatch_size is None and setup.framework == "smp1" and (batch := setup.number("batch_size")):
                return f"a batch of {batch} does not divide into {setup.microbatches} microbatches"
    if (before.microbatch_size is None) != (after.microbatch_size is None):
        return "the batch is known on one side only"
    if before.microbatch_size is None and before.microbatches != after.microbatches and not size_kept:
        # The same batch, whatever it is, in other parts; the unit is a microbatch of the start.
        before = replace(before, microbatch_size=1.0)
        after = replace(after, microbatch_size=before.microbatches / after.microbatches)
    for setting in (before, after) if before != after else ():
        if not setting.is_possible:
            return f"an interleaved schedule needs a number of microbatches divisible by its {setting.stages} stages"
        if most_draws and not setting.is_small:
            return f"{setting.microbatches} microbatches on {setting.stages} stages are too many to simulate here"
    found = step_time_change_pct(before, after, False, most_draws)
    share = after.stages / before.stages
    if share != 1:
        # On the same GPUs there are fewer pipelines, each with more stages.
        low, middle, high = (100 * ((1 + each / 100) * share - 1) for each in found)
        found = low, middle, high
    return Effect(found, _schedule_words(before, after))


def _setting(setup: Setup) -> PipelineSetting | None:
    """The pipeline; without one the time of a sample does not hang on how many microbatches there are."""
    found, size = setup.pipeline(), setup.microbatch_size
    if found is None and (setup.pipeline_degree or 1) == 1 and setup.microbatches is None and size is not None:
        return PipelineSetting(1, 1, "1f1b", None, 1, float(size))
    return found


def _schedule_words(before: PipelineSetting, after: PipelineSetting) -> str:
    if before.stages == after.stages == 1:
        return "time of a microbatch = a fixed part + a part per sample"
    name = {"smp": "SMP's window", "gpipe": "GPipe", "1f1b": "1F1B"}[after.schedule]
    return f"simulation of the pipeline ({name}; middle: equal stages, no hop cost)"


def _recomputation(start: Setup, change: Setup) -> Iterator[Effect]:
    before, after = (bool(setup.flag("activation_checkpointing")) for setup in (start, change))
    if before != after:
        yield Effect(
            recomputation_change_pct(after), "full recomputation: 4/3 of the time (published pairs are within 6 %)"
        )
    before, after = (bool(setup.flag("selective_recomputation")) for setup in (start, change))
    if before != after:
        yield Effect(SELECTIVE_PCT if after else _back(SELECTIVE_PCT), "selective recomputation: 2 to 7 % (published)")


def _offload(start: Setup, change: Setup) -> Effect | str:
    name = "offload_activations" if start.framework != "smp2" else "sm_activation_offloading"
    if bool(change.flag(name)) == bool(start.flag(name)):
        return Effect((0.0, 0.0, 0.0), "")
    # On paper a layer's compute hides the copies from some width on; nobody published that it does.
    return "no measurement of offloading is known: its copies over PCIe cost what the layers' compute does not hide"


def _sharding(start: Setup, change: Setup) -> Effect | str:
    before, after = sharding_of(start), sharding_of(change)
    if before is None or after is None:
        return "the number of ranks that share the states is not known"
    if before == after:
        return Effect((0.0, 0.0, 0.0), "")
    if "full" not in (before[0], after[0]):
        grows = before[0] == "none"
        found = OPTIMIZER_SHARDING_PCT if grows else _back(OPTIMIZER_SHARDING_PCT) if after[0] == "none" else (0, 0, 0)
        return Effect(found, "sharding the optimizer state: same traffic (no measurement is known)")
    if before[0] != after[0]:
        kept = after if before[0] == "full" else before
        if kept[0] == "gradients":
            return "the model does not cover what full sharding costs compared with sharding the gradients alone"
        effect = _against_replicas(start, before[1] if before[0] == "full" else after[1])
        if isinstance(effect, str) or before[0] == "full":
            return effect
        return replace(effect, change_pct=_back(effect.change_pct))
    return _degree(start, before[1], after[1])


def _against_replicas(setup: Setup, degree: int) -> Effect | str:
    """Replicas whose gradients are reduced once a step, in place of full sharding over ``degree``."""
    step_s, billions, shape = setup.real("step_time_s"), setup.real("parameters_billion"), setup.shape()
    gpus, each, joined = setup.gpus, setup.gpus_per_node, setup.text("interconnect")
    parameters = 1e9 * billions if billions else shape.parameters if shape is not None else None
    network = setup.real("network_gbps")
    if not step_s or not parameters or gpus is None or each is None or joined is None or (gpus > each and not network):
        return "what full sharding costs depends on step time, parameters and links, not all of which are known"
    if gpus % degree:
        return "the ranks that share the states do not divide the GPUs"
    links = (without_nvlink if joined == "none" else with_nvlink)((network or 1e3) * 1e9 / 8)
    size = 2.0 if in_half_precision(setup) else 4.0
    layers = setup.number("layers") or _LAYERS
    compute = (_LEAST_COMPUTE * step_s, step_s)
    job = ShardedJob(parameters, layers, gpus, each, degree, compute, size, setup.microbatches or 1)
    low, middle, high = degree_change_pct(job, 1, links)
    if joined == "none":
        low = min(low, _MEASURED_WITHOUT_PCT)
    return Effect(
        (low, middle, high),
        "three transfers of all parameters a microbatch against two of the gradients a step, over links as fast as such "
        "machines have them (of one measured pair, without NVLink, the step took 36 % less time unsharded)",
    )


def _degree(setup: Setup, before: int, after: int) -> Effect | str:
    """Full sharding over ``after`` ranks in place of ``before``."""
    each, joined = setup.gpus_per_node, setup.text("interconnect")
    if each is None or joined is None:
        return "the links between the GPUs of a node are not known"
    small, large = sorted((before, after))
    if large <= each:
        return "both degrees stay inside a node, where the difference is small"
    if joined == "none":
        if small > each:
            return "both degrees span nodes, and the model does not cover how much they differ"
        least, most = STATED_GAIN_PCT
        found = (-most, -_STATED_MIDDLE_PCT, -least)
        method = "groups inside a node keep gathering off the network: the direction is certain, 5 to 30 % (one measured case)"
    else:
        doublings = math.log2(large / max(small, each))
        found = (-DOUBLING_PCT[2], -DOUBLING_PCT[1] * doublings, -DOUBLING_PCT[0])
        method = "sharding over twice as many nodes with NVLink costs 1.4 % on average, 18 % at worst (MosaicML)"
    return Effect(found if after < before else _back(found), method)


def _hosts(start: Setup, change: Setup) -> Effect | str:
    before, after = start.nodes, change.nodes
    if before is None or after is None:
        return "the number of instances is not known"
    doublings = math.log2(after / before)
    lost = tuple((1 + each / 100) ** doublings for each in DOUBLING_PCT)
    low, middle, high = sorted(100 * (each * before / after - 1) for each in lost)
    return Effect(
        (low, middle, high), "twice the hosts cost 1.4 % on average, 18 % at worst (MosaicML, NVLink and EFA)"
    )


def _model(start: Setup, change: Setup) -> Effect | str:
    before, after = _operations(start), _operations(change)
    if before is None or after is None:
        return "the operations per sample depend on layers, hidden_size and sequence_length, not all of which are known"
    ratio = after / before
    low, middle, high = sorted(100 * (ratio * (1 + each) - 1) for each in (-_SHAPE_RESIDUAL, 0, _SHAPE_RESIDUAL))
    return Effect((low, middle, high), "floating-point operations per sample, ±10 %")


def _operations(setup: Setup) -> float | None:
    """FLOPs of one sample, forward and backward."""
    shape = setup.shape()
    if shape is None:
        return None
    return shape.sequence * (6 * shape.parameters + 12 * shape.layers * shape.hidden * shape.sequence)


def _back(found: Range) -> Range:
    """The range of the opposite change."""
    low, middle, high = (100 * (1 / (1 + each / 100) - 1) for each in reversed(found))
    return low, middle, high
