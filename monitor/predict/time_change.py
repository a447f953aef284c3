"""The change of the time for the same samples between two setups: what each kind of change does, multiplied.

Each kind has a range of its own: what its model leaves open, and how far published changes of that kind lay from it
(``spread``). Ranges of several kinds are independent: their distances from the middle add as squares. A change whose effect
on time nobody measured and no equation gives is named, and then no figure is given. Where equations, or one measured pair, are
all there is, nothing calibrates a range: then it is said which way the change goes, and the figures only order remedies.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from monitor.predict.layout import (
    STATED_GAIN_PCT,
    ShardedJob,
    checkpointed_layers,
    degree_change_pct,
    in_half_precision,
    pipeline_of,
    shape_of,
    sharding_of,
    with_nvlink,
    without_nvlink,
)
from monitor.predict.memory import OF_SHARDING
from monitor.predict.parameters import names
from monitor.predict.pipeline import MOST_DRAWS, SAMPLE_TOKENS, PipelineSetting, step_time_change_pct
from monitor.predict.setup import Setup
from monitor.predict.spread import NONE, SPREADS, Promise, Range, one_after_the_other, weakest, widened

# What a step does and in which order: the pipeline's simulation answers for these together.
_OF_THE_PIPELINE = names(
    "pipeline_parallel_degree microbatches active_microbatches pipeline batch_size micro_batch_size global_batch_size "
    "gradient_accumulation_steps virtual_stages layers_per_virtual_stage"
)
_OF_THE_MODEL = names("layers hidden_size attention_heads vocabulary_size sequence_length parameters_billion")
# They change memory, or nothing that takes time.
_NEUTRAL = names(
    "activation_loading_horizon gpu_memory_utilization step_time_s sdp_max_live_parameters stage3_max_live_parameters "
    "delayed_parameter_initialization world_size data_parallel_size gpu_memory_gib"
)
# Facts of the machines, which may become known without any change.
_MACHINES = ("gpus_per_node", "interconnect", "network_gbps", "processes_per_host")
# Full recomputation does the forward once more: 4 in place of 3 forwards' work.
_RECOMPUTATION = 4 / 3
# Twice the hosts at the same batch of one GPU cost so much (MosaicML's tables of llm-foundry, on average); with NVLink, the
#: worst pair of theirs.
_DOUBLING_PCT = 1.4
_WORST_DOUBLING_PCT = 18.0
#: On more GPUs than these, without pipeline or tensor parallelism, recomputation was measured to cost less (InternLM: 512 and
#: 1,024 A100).
MANY_REPLICAS = 64
#: Below so many billions of parameters a step is launches: T5-base takes as long for one sample as for 32 (issues 14608 and
#: 15026 of huggingface/transformers).
SMALLEST_BILLION = 0.3
# The same traffic, but the gathering after the step hides behind nothing: over all of so many ranks in place of a node's 8 it
#: cost that much (InternLM, 7 billion parameters on A100: 7 % of 64 ranks, 22 of 256, 60 of 1,024). None of its runs shards
#: nothing, so that this only orders remedies.
_OPTIMIZER_PCT, _OPTIMIZER_RANKS, _OPTIMIZER_POWER = 60.0, 1024, 0.75
# Selective recomputation, arXiv 2205.05198: 2 to 7 % of a step.
_SELECTIVE_PCT = (2.0, 4.5, 7.0)
# The middle of the gain where a group of ranks moves into a node without NVLink, out of the simulation of the one
#: measured case (which is inside the range, and not on the middle).
_STATED_MIDDLE_PCT = 13.0
# Unsharded in place of fully sharded, 150 million parameters on 2 x g5.12xlarge: 253 against 162 samples/s (AWS).
_MEASURED_WITHOUT_PCT = -36.0
# Of the step, what is compute at the least; and layers of a model whose number nobody told.
_LEAST_COMPUTE = 0.5
_LAYERS = 32


@dataclass(frozen=True, slots=True)
class Effect:
    """What one kind of change does to the time for the same samples, and what says so."""

    model_pct: Range
    """What the model itself leaves open."""
    method: str
    kinds: tuple[tuple[str, float], ...] = ()
    """The kinds of change that measurements were held against, each with its size as ``spread.unit`` has it."""
    sign: Literal[-1, 0, 1] = 0
    """-1 where it is never slower, 1 where it is never faster: a range ends at 0. 0 where that is open."""
    direction: str = ""
    """Which way it goes, in words, where no data calibrate a range: then none is shown, but by the findings whose severity
    needs one, with the method that says so."""

    @property
    def change_pct(self) -> Range:
        """(low, middle, high) percent, as far as measured changes of its kinds lay from the model."""
        low, _, high = widened(logs(self.model_pct), [(SPREADS.get(kind, NONE), size) for kind, size in self.kinds])
        low = max(low, 0.0) if self.sign > 0 else low
        high = min(high, 0.0) if self.sign < 0 else high
        return 100 * math.expm1(low), self.model_pct[1], 100 * math.expm1(high)

    @property
    def promise(self) -> Promise:
        """What the range promises of measured changes. What has no effect at all is certain."""
        if not self.kinds and not any(self.model_pct):
            return "share"
        return "none" if self.direction else weakest(SPREADS.get(kind, NONE).coverage.promise for kind, _ in self.kinds)

    @property
    def words(self) -> str:
        """The method, and what stands behind the range."""
        said = dict.fromkeys(SPREADS.get(kind, NONE).coverage.words() for kind, _ in self.kinds)
        return "; ".join(part for part in (self.method, *said) if part)


@dataclass(frozen=True, slots=True)
class TimeChange:
    """``change_pct`` is None where one of the changes has an effect that is not known, or that no data calibrate: ``unknown``
    says which."""

    change_pct: Range | None
    effects: tuple[Effect, ...]
    unknown: tuple[str, ...] = ()
    estimate_pct: Range | None = None
    """The same with what no data calibrate: it orders remedies, and promises no share of changes."""

    @property
    def promise(self) -> Promise:
        """What the range of ``change_pct`` promises: as little as that of any of its effects."""
        return weakest(effect.promise for effect in self.effects)


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
    directions = tuple(each.direction for each in found if each.direction)
    estimate = None if unknown else _together(found)
    return TimeChange(None if directions else estimate, found, (*unknown, *directions), estimate)


def _together(effects: tuple[Effect, ...]) -> Range:
    """All effects one after the other."""
    if len(effects) == 1:
        return effects[0].change_pct
    low, middle, high = one_after_the_other([logs(effect.change_pct) for effect in effects])
    return 100 * math.expm1(low), 100 * math.expm1(middle), 100 * math.expm1(high)


def _effects(
    start: Setup, change: Setup, changes: frozenset[str], size_kept: bool, most_draws: int
) -> Iterator[Effect | str]:
    left = changes - _NEUTRAL - set(_MACHINES)
    if left & _OF_THE_PIPELINE or ("sequence_length" in left and start.microbatch_size is not None):
        yield from _pipeline(start, change, size_kept, most_draws)
    yield from _recomputation(start, change)
    if (
        "activation_checkpointing_layers" in left
        and len({checkpointed_layers(each) for each in (start, change)} | {0, 1}) > 2
    ):
        yield "larger groups of recomputed layers cost compute, and nobody published how much"
    if {"offload_activations", "sm_activation_offloading"} & left:
        yield _offload(start, change)
    if left & OF_SHARDING:
        yield _sharding(start, change)
    if "instance_count" in left:
        yield _hosts(start, change)
    yield from _machines(start, change)
    if left & _OF_THE_MODEL:
        yield _model(start, change, left & _OF_THE_MODEL)
    known = _OF_THE_PIPELINE | OF_SHARDING | _OF_THE_MODEL | _NEUTRAL
    known |= {"activation_checkpointing", "selective_recomputation", "offload_activations", "instance_count"}
    known |= {"sm_activation_offloading", "activation_checkpointing_layers"}
    for name in sorted(left - known):
        yield _UNKNOWN.get(name, f"the model does not cover the effect of {name} on the step time")


_UNKNOWN = {
    "tensor_parallel_degree": "the cost of a tensor-parallel degree depends on links and kernels, which the model "
    "does not cover",
    "prescaled_batch": "prescaled_batch changes the meaning of batch_size: give the batch of the whole group on both sides",
    "instance_type": "GPUs of two types cannot be compared here",
}


def _pipeline(start: Setup, change: Setup, size_kept: bool, most_draws: int) -> Iterator[Effect | str]:
    """The schedule and the size of its microbatches; and without a pipeline what is done once a step."""
    before, after = _setting(start), _setting(change)
    if before is None or after is None:
        yield "stages or microbatches are not known"
        return
    if any(start.number(name) != change.number(name) for name in ("batch_size", "microbatches")):
        for setup in (start, change):
            if setup.microbatch_size is None and setup.framework == "smp1" and (batch := setup.number("batch_size")):
                yield f"a batch of {batch} does not divide into {setup.microbatches} microbatches"
                return
    if (before.microbatch_size is None) != (after.microbatch_size is None):
        yield "the batch is known on one side only"
        return
    if before.microbatch_size is None and before.microbatches != after.microbatches and not size_kept:
        # The same batch, whatever it is, in other parts; the unit is a microbatch of the start.
        before = replace(before, microbatch_size=1.0)
        after = replace(after, microbatch_size=before.microbatches / after.microbatches)
    for setting in (before, after) if before != after else ():
        if not setting.is_possible:
            yield f"an interleaved schedule needs a number of microbatches divisible by its {setting.stages} stages"
            return
        if most_draws and not setting.is_small:
            yield f"{setting.microbatches} microbatches on {setting.stages} stages are too many to simulate here"
            return
    if before.microbatch_size != after.microbatch_size and _is_small(start):
        yield "a model this small is bound by launches: a larger microbatch may cost no time at all, or its share"
        return
    found = step_time_change_pct(before, after, most_draws)
    kinds = _kinds(before, after, found) if most_draws else ()
    share = after.stages / before.stages
    if share != 1:
        # On the same GPUs there are fewer pipelines, each with more stages.
        low, middle, high = (100 * ((1 + each / 100) * share - 1) for each in found)
        found = low, middle, high
    sign: Literal[-1, 0, 1] = 0
    if {kind for kind, _ in kinds} <= {"microbatches", "window"}:
        sign = -1 if found[2] <= 0 else 1 if found[0] >= 0 else 0
    yield Effect(found, _schedule_words(before, after), kinds, sign)
    if before.stages == after.stages == 1 and before.samples != after.samples:
        yield _once_a_step(after.samples / before.samples)


def _is_small(setup: Setup) -> bool:
    shape = shape_of(setup)
    billions = setup.real("parameters_billion") or (shape.parameters / 1e9 if shape is not None else None)
    return billions is not None and billions < SMALLEST_BILLION


def _setting(setup: Setup) -> PipelineSetting | None:
    """The pipeline, its microbatches in samples of ``SAMPLE_TOKENS`` where their length is known; without stages the time of
    a sample does not hang on how many microbatches there are."""
    found, size = pipeline_of(setup), setup.microbatch_size
    if found is None and (setup.pipeline_degree or 1) == 1 and setup.microbatches is None and size is not None:
        found = PipelineSetting(1, 1, "1f1b", None, 1, float(size))
    tokens = setup.number("sequence_length")
    if found is None or found.microbatch_size is None or not tokens or tokens < 1:
        return found
    return replace(found, microbatch_size=found.microbatch_size * tokens / SAMPLE_TOKENS)


def _kinds(before: PipelineSetting, after: PipelineSetting, found: Range) -> tuple[tuple[str, float], ...]:
    """Which measured kinds of change these are, and how large each is."""
    whole = logs(found)[1]
    out = []
    if before.stages != after.stages:
        out.append(("stages", math.log(after.stages / before.stages)))
    if before.chunks != after.chunks:
        out.append(("interleaving", whole))
    if before.microbatch_size and after.microbatch_size and before.microbatch_size != after.microbatch_size:
        out.append(("size", math.log(after.microbatch_size / before.microbatch_size)))
    elif before.stages == after.stages > 1 and before.chunks == after.chunks and any(found):
        out.append(("window" if before.microbatches == after.microbatches else "microbatches", whole))
    return tuple(out)


def _schedule_words(before: PipelineSetting, after: PipelineSetting) -> str:
    if before.stages == after.stages == 1:
        return "time of a microbatch = a fixed part + a part per sample"
    name = {"smp": "SMP's window", "gpipe": "GPipe", "1f1b": "1F1B"}[after.schedule]
    return f"simulation of the pipeline ({name}; middle: equal stages, no hop cost)"


def _once_a_step(samples: float) -> Effect:
    """A step with ``samples`` times as many samples, of which a share is done once a step: more samples never cost more."""
    return Effect(
        (0.0, 0.0, 0.0),
        "what is done once a step, gradients and optimizer, is left out of the middle",
        (("accumulation", math.log(samples)),),
        -1 if samples > 1 else 1,
    )


def _recomputation(start: Setup, change: Setup) -> Iterator[Effect]:
    full = _switched(start, change, "activation_checkpointing")
    selective = _switched(start, change, "selective_recomputation")
    kind = "recomputation of many replicas" if _many_replicas(start) else "recomputation"
    if full and full == -selective:
        # The one in place of the other, which was measured.
        low, middle, high = (100 * (_RECOMPUTATION / (1 + each / 100) - 1) for each in reversed(_SELECTIVE_PCT))
        found = (low, middle, high) if full > 0 else _back((low, middle, high))
        words = "full in place of selective recomputation: 4/3 of the time, less the 2 to 7 % of selective (published)"
        yield Effect(found, words, ((kind, logs(found)[1]),))
        return
    if full:
        ratio = _RECOMPUTATION**full
        change_pct = 100 * (ratio - 1)
        yield Effect((change_pct,) * 3, "full recomputation: 4/3 of the time", ((kind, math.log(ratio)),))
    if selective:
        yield Effect(
            _SELECTIVE_PCT if selective > 0 else _back(_SELECTIVE_PCT),
            "selective recomputation: 2 to 7 % of a step by its authors, which promises no share of changes",
            direction="selective recomputation takes longer than none, and far less than full recomputation; no published pairs "
            "calibrate by how much",
        )


def _switched(start: Setup, change: Setup, name: str) -> int:
    """1 where it is switched on, -1 where it is switched off, else 0."""
    return bool(change.flag(name)) - bool(start.flag(name))


def _many_replicas(setup: Setup) -> bool:
    """Whether traffic between replicas can hide what is computed once more."""
    return (setup.gpus or 0) > MANY_REPLICAS and (setup.pipeline_degree or 1) * (setup.tensor_degree or 1) == 1


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
        found = _optimizer_pct(after[1] if after[0] != "none" else 1)
        back = _back(_optimizer_pct(before[1] if before[0] != "none" else 1))
        low, middle, high = (100 * ((1 + a / 100) * (1 + b / 100) - 1) for a, b in zip(found, back, strict=True))
        return Effect(
            (low, middle, high),
            "sharding the optimizer state: the same traffic, of which what is gathered after the step hides behind nothing; that "
            "promises no share of changes",
            direction="sharding the optimizer state costs little time on one node and more with every further node; no published "
            "pairs calibrate how much",
        )
    if before[0] != after[0]:
        kept = after if before[0] == "full" else before
        if kept[0] == "gradients":
            return "the model does not cover what full sharding costs compared with sharding the gradients alone"
        effect = _against_replicas(start, before[1] if before[0] == "full" else after[1])
        if isinstance(effect, str) or before[0] == "full":
            return effect
        return replace(effect, model_pct=_back(effect.model_pct))
    return _degree(start, before[1], after[1])


def _optimizer_pct(ranks: int) -> Range:
    """What it costs that so many ranks share the optimizer's states, against none."""
    if ranks <= 1:
        return 0.0, 0.0, 0.0
    found = _OPTIMIZER_PCT * (ranks / _OPTIMIZER_RANKS) ** _OPTIMIZER_POWER
    return -2.0, found, 1.5 * found + 5.0


def _against_replicas(setup: Setup, degree: int) -> Effect | str:
    """Replicas whose gradients are reduced once a step, in place of full sharding over ``degree``."""
    step_s, billions, shape = setup.real("step_time_s"), setup.real("parameters_billion"), shape_of(setup)
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
    pair = "it rests on one measured pair (36 % less time unsharded)"
    if joined != "none":
        pair = "the one measured pair had no NVLink"
    return Effect(
        (low, middle, high),
        "three transfers of all parameters a microbatch against two of the gradients a step, over links as fast as such "
        f"machines have them; this range promises no share of changes: {pair}",
        direction="whole replicas save the gathering of parameters that full sharding pays for; the single measured pair does "
        "not calibrate how much time that is",
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
        method = (
            "groups inside a node keep gathering off the network: the direction is certain; 5 to 30 % promises no share of "
            "changes, since one pair was measured (14 %, ViT-630M on T4)"
        )
    else:
        doublings = math.log2(large / max(small, each))
        found = (-_WORST_DOUBLING_PCT, -_DOUBLING_PCT * doublings, 0.0)
        method = "sharding over more nodes with NVLink costs little (MosaicML); that promises no share of changes"
    return Effect(found if after < before else _back(found), method, direction=_DEGREE_DIRECTION[joined == "none"])


_DEGREE_DIRECTION = {
    True: "without NVLink, groups inside a node take less time than groups across nodes; the single measured pair does not "
    "calibrate how much",
    False: "with NVLink, groups inside a node take a little less time than groups across nodes; no published pairs calibrate "
    "how much",
}


def _machines(start: Setup, change: Setup) -> Iterator[str]:
    """Other links, or other processes, of the same type of machine: nothing says what they cost."""
    if start.text("instance_type") != change.text("instance_type"):
        return
    for name in _MACHINES:
        one, other = start.known(name), change.known(name)
        if one is not None and other is not None and one.value != other.value:
            yield f"the model does not cover the effect of {name} on the step time"
            return
    if start.nodes == change.nodes and start.world and change.world and start.world != change.world:
        yield "the model does not cover another number of processes on the same nodes"


def _hosts(start: Setup, change: Setup) -> Effect | str:
    before, after = start.nodes, change.nodes
    if before is None or after is None:
        return "the number of instances is not known"
    doublings = math.log2(after / before)
    found = 100 * ((1 + _DOUBLING_PCT / 100) ** doublings * before / after - 1)
    # Errors of doublings that follow each other do not all point the same way.
    size = math.copysign(math.sqrt(abs(doublings)), doublings)
    return Effect((found, found, found), "twice the hosts cost 1.4 % on average (MosaicML)", (("hosts", size),))


def _model(start: Setup, change: Setup, changes: frozenset[str]) -> Effect | str:
    before, after = _operations(start), _operations(change)
    if before is None or after is None:
        return "the operations per sample depend on layers, hidden_size and sequence_length, not all of which are known"
    if _is_small(start) or _is_small(change):
        return "a model this small is bound by launches: more operations may cost no time at all, or their share"
    ratio = after / before
    found = 100 * (ratio - 1)
    one, other = start.real("sequence_length"), change.real("sequence_length")
    if changes == {"sequence_length"} and one and other:
        tokens = other / one
        of_a_token = 100 * (ratio / tokens - 1)
        words = f"floating-point operations per sample, which has {tokens:.3g} times the tokens: {of_a_token:+.0f} % per token"
        return Effect((found, found, found), words, (("sequence length", math.log(tokens)),))
    return Effect((found, found, found), "floating-point operations per sample", (("model", math.log(ratio)),))


def _operations(setup: Setup) -> float | None:
    """FLOPs of one sample, forward and backward."""
    shape = shape_of(setup)
    if shape is None:
        return None
    return shape.sequence * (6 * shape.parameters + 12 * shape.layers * shape.hidden * shape.sequence)


def logs(found: Range) -> Range:
    """The logarithms of a range's factors; of one that rounds to 0, that of the least."""
    low, middle, high = (math.log1p(max(each / 100, -1 + 1e-15)) for each in found)
    return low, middle, high


def _back(found: Range) -> Range:
    """The range of the opposite change."""
    low, middle, high = (100 * (1 / (1 + each / 100) - 1) for each in reversed(found))
    return low, middle, high
