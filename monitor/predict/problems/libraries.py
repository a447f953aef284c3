"""What a problem in a setup is and what it rests on, and what libraries reject or ignore: SMP v1 and v2, Megatron-LM and
DeepSpeed; degrees and batches that do not divide, and groups of ranks that lie where their traffic is dear.

Rules of v1's validator: an unknown name is an error, a type must match exactly, what a parameter needs is asked only where
it is not at its default, and two names of one parameter may not contradict each other.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from monitor.model import Recommendation, Severity
from monitor.predict.layout import pipeline_of
from monitor.predict.parameters import ALIASES_V1, INTERNAL_V1, V1, V2, ParameterSpec
from monitor.predict.setup import Setup
from monitor.words import count

SMP1_SCHEMA = "SMP v1 configuration schema, release 1.12.1"
SMP1_GUIDE = "SageMaker developer guide, SMP v1 configuration"
SMP1_PRACTICES = "SageMaker developer guide, SMP v1 best practices"
SMP2_REFERENCE = "SageMaker developer guide, SMP v2 reference"


@dataclass(frozen=True, slots=True)
class SetupProblem:
    """Something that the library rejects or ignores, or that costs time; as ``info``, what is missing to judge by."""

    id: str
    """Of the finding that it is."""
    severity: Severity
    parameter: str
    value: Any
    read_from: str
    words: str
    """What and why, as a sentence with its figures."""
    recommendation: Recommendation
    rejected: bool = False
    """The library refuses it when it starts."""
    refutable: bool = False
    """A job that did steps shows that it does not hold: its release takes it, or its script says more than is known."""

    @property
    def source(self) -> str:
        return self.recommendation.source


def problem(
    setup: Setup,
    parameter: str,
    words: str,
    remedy: str,
    source: str,
    *,
    id: str = "invalid-configuration",
    severity: Severity = "warning",
    to: Any = None,
    change: str = "",
    rejected: bool = False,
    refutable: bool = False,
) -> SetupProblem:
    """A problem of ``parameter``; its remedy changes it, or the parameter ``change``, to ``to``."""
    name, given = change or parameter, setup.library
    known = setup.values.get(parameter)
    start = setup.value(name) if name in setup.values else given.get(name)
    advice = Recommendation(remedy, source=source) if to is None else Recommendation(remedy, name, start, to, source)
    value = given.get(parameter) if known is None else known.value
    read_from = known.read_from if known is not None else "mp_parameters" if parameter in given else ""
    return SetupProblem(id, severity, parameter, value, read_from, words, advice, rejected, refutable)


def divisor(number: int, most: int) -> int:
    """The largest divisor of ``number`` that is at most ``most``; of numbers that no cluster has a power of two."""
    if min(most, number) > 100_000:
        return min(number & -number, 1 << (most.bit_length() - 1))
    return next((k for k in range(min(most, number), 0, -1) if number % k == 0), 1)


_MEGATRON = "Megatron-LM's check of its arguments"
_DEEPSPEED = "DeepSpeed's check of its configuration"
_RANKS = "ranks are split into groups of equal size"


def of_degrees(setup: Setup) -> Iterator[SetupProblem]:
    """Of any framework: degrees that do not divide the world, then those that lie badly."""
    yield from _division(setup)
    yield from _batch(setup)
    yield from _tensor(setup)
    yield from _pipeline(setup)
    yield from _prescaled(setup)


def _division(setup: Setup) -> Iterator[SetupProblem]:
    world, p, t = setup.world, setup.pipeline_degree, setup.tensor_degree
    if world is None:
        return
    reject = partial(problem, setup, source=_RANKS, rejected=True, refutable=setup.world_is_assumed)
    for name, degree in (("pipeline_parallel_degree", p), ("tensor_parallel_degree", t)):
        if degree is not None and world % degree:
            to, words = divisor(world, degree), f"{name}={degree} does not divide the {world} processes of the job."
            yield reject(name, words, f"Use a divisor of {world}, such as {to}.", to=to)
            return
    if p is not None and t is not None and world % (p * t):
        to = divisor(world // t, p)
        words = f"pipeline_parallel_degree={p} times tensor_parallel_degree={t} does not divide the {world} processes of the job."
        remedy = f"Their product has to divide {world}: {to} stages would work."
        yield reject("pipeline_parallel_degree", words, remedy, to=to)


def _batch(setup: Setup) -> Iterator[SetupProblem]:
    batch, m = setup.count("batch_size"), setup.count("microbatches")
    if setup.framework != "smp1" or batch is None or m is None or not batch % m:
        return
    to = max(m, batch - batch % m)
    yield problem(
        setup,
        "batch_size",
        f"A batch of {batch} does not divide into {m} microbatches: {batch % m} samples are left over, and the step fails "
        "or is uneven.",
        f"Use a batch of {to}, or a number of microbatches that divides {batch}; drop the last, smaller batch of an "
        "epoch (drop_last).",
        "SageMaker developer guide, SMP v1 configuration tips and pitfalls",
        id="batch-not-divisible",
        to=to,
        # With fewer samples than microbatches no step is done: where some are, the batch is another one.
        refutable=batch < m,
    )


def _tensor(setup: Setup) -> Iterator[SetupProblem]:
    t, each, nodes = setup.tensor_degree, setup.gpus_per_node, setup.nodes
    if t is None or t < 2:
        return
    warn = partial(problem, setup, "tensor_parallel_degree", source=SMP1_PRACTICES)
    if t & (t - 1):
        to = 1 << (t.bit_length() - 1)
        yield warn(
            f"tensor_parallel_degree={t} is not a power of two: layers, heads and nodes of 8 GPUs do not split "
            f"evenly by {t}.",
            f"Use 2, 4 or 8, at most the GPUs of a node: {to} instead of {t}.",
            id="tensor-parallel-degree",
            to=to,
        )
    if each is None:
        return
    if t > each:
        yield warn(
            f"tensor_parallel_degree={t} is more than the {each} GPUs of a node: every layer's collectives cross the network.",
            f"Set tensor_parallel_degree to {each} and use a pipeline, or sharding, across nodes.",
            id="tensor-parallel-across-nodes",
            to=each,
        )
        return
    stride = _stride(setup, "T")
    if stride is not None and nodes is not None and nodes > 1 and stride * (t - 1) >= each:
        placed = setup.text("placement_strategy")
        yield warn(
            f"Tensor-parallel groups of {t} span nodes: with placement_strategy={placed} their ranks are {stride} apart, and "
            f"a node has {each} GPUs.",
            "Set placement_strategy to cluster, which places tensor-parallel ranks next to each other.",
            id="tensor-parallel-across-nodes",
            to="cluster",
            change="placement_strategy",
        )


def _pipeline(setup: Setup) -> Iterator[SetupProblem]:
    p, t, each, nodes = setup.pipeline_degree, setup.tensor_degree, setup.gpus_per_node, setup.nodes
    stride = _stride(setup, "P")
    if p is None or t is None or each is None or nodes is None or stride is None:
        return
    if p > 1 and t > 1 and nodes > 1 and t < each and stride < each:
        to = min(each, p * t)
        yield problem(
            setup,
            "tensor_parallel_degree",
            f"{min(p, each // stride)} pipeline stages share a node of {each} GPUs, although "
            f"tensor_parallel_degree={t} leaves room there and the job has {nodes} nodes.",
            f"Use tensor parallelism inside a node and the pipeline across nodes: change "
            f"tensor_parallel_degree from {t} to {to}, with {count(max(1, p * t // to), 'stage')}. Compare both before a "
            "long run.",
            SMP1_PRACTICES,
            id="pipeline-inside-node",
            severity="info",
            to=to,
        )


def _prescaled(setup: Setup) -> Iterator[SetupProblem]:
    p, t = setup.pipeline_degree or 1, setup.tensor_degree or 1
    if setup.framework == "smp1" and setup.flag("prescaled_batch") is False and p > 1 and t > 1:
        also = " It needs optimize=speed." if setup.text("optimize") == "memory" else ""
        yield problem(
            setup,
            "prescaled_batch",
            f"prescaled_batch is off with {p} pipeline stages and tensor_parallel_degree={t}: each of the {t} ranks "
            "of a tensor-parallel group reads its own batch, and they exchange their samples in every step.",
            f"Set prescaled_batch to true and have the script read one batch for the {t} ranks, {t} times as large.{also}",
            SMP1_PRACTICES,
            id="prescaled-batch-off",
            to=True,
        )


def _stride(setup: Setup, letter: str) -> int | None:
    """How far apart the ranks of neighboring members of a group are (D data, P pipeline, T tensor); None where the order of
    ranks is unknown."""
    # The group whose ranks are neighbors is named last.
    order = ""
    if setup.framework == "smp1":
        placed = setup.text("placement_strategy") or ""
        order = {"cluster": "DPT", "spread": "TPD"}.get(placed, placed)
    elif setup.framework == "megatron" and (setup.number("context_parallel_degree") or 1) == 1:
        # Megatron-LM's order of ranks; where context parallelism is in use it stands between.
        order = "PDT"
    if sorted(order) != ["D", "P", "T"]:
        return None
    sizes = {"D": setup.reduced_data_parallel, "P": setup.pipeline_degree, "T": setup.tensor_degree}
    nearer = [size for other in order[order.index(letter) + 1 :] if (size := sizes[other]) is not None]
    return math.prod(nearer) if len(nearer) == len(order) - order.index(letter) - 1 else None


def of_megatron(setup: Setup) -> Iterator[SetupProblem]:
    """A batch that does not divide, and heads that do not split."""
    reject = partial(problem, setup, source=_MEGATRON, rejected=True)
    whole, micro, ranks = setup.number("global_batch_size"), setup.number("micro_batch_size"), setup.data_parallel
    if whole and micro and ranks and whole % (each := micro * ranks):
        to = max(each, whole - whole % each)
        words = (
            f"global_batch_size={whole} is not divisible by micro_batch_size={micro} times {ranks} data-parallel ranks."
        )
        remedy = f"Use a multiple of {each}, such as {to}."
        yield reject("global_batch_size", words, remedy, to=to, refutable=setup.world_is_assumed)
    pipeline = pipeline_of(setup)
    if pipeline is not None and not pipeline.is_possible:
        m, p = pipeline.microbatches, pipeline.stages
        words = (
            f"Interleaved stages ({pipeline.chunks} parts each) need a number of microbatches divisible by the {p} "
            f"stages: {m} is not."
        )
        remedy = f"Use {m + p - m % p} microbatches per batch, or no virtual stages."
        yield reject("virtual_stages", words, remedy, refutable=True)
    heads, tensor = setup.number("attention_heads"), setup.tensor_degree or 1
    if heads and heads % tensor:
        words = f"tensor_parallel_degree={tensor} does not divide the {heads} attention heads."
        yield reject("tensor_parallel_degree", words, f"Use a divisor of {heads}.", to=math.gcd(heads, tensor))


def of_deepspeed(setup: Setup) -> Iterator[SetupProblem]:
    """Batch sizes that contradict each other, and stages that there are not."""
    reject = partial(problem, setup, source=_DEEPSPEED, rejected=True)
    batches = ("global_batch_size", "micro_batch_size", "gradient_accumulation_steps")
    (whole, micro, steps), ranks = map(setup.number, batches), setup.data_parallel
    if all(map(setup.is_given, batches)) and whole and micro and steps and ranks and whole != micro * steps * ranks:
        to = micro * steps * ranks
        words = f"train_batch_size={whole} is not {micro} samples x {steps} accumulation steps x {ranks} ranks, which is {to}."
        remedy = f"Set train_batch_size to {to}, or leave one of the three out."
        yield reject("global_batch_size", words, remedy, to=to, refutable=setup.world_is_assumed)
    stage, stages = setup.number("zero_stage"), setup.pipeline_degree or 1
    if stage is not None and not 0 <= stage <= 3:
        yield reject("zero_stage", f"ZeRO has no stage {stage}.", "Use 0 to 3.")
    elif stage is not None and stage >= 2 and stages > 1:
        words = f"ZeRO stage {stage} cannot be combined with a pipeline of {stages} stages."
        yield reject("zero_stage", words, "Use stage 1 with a pipeline.", to=1)


_NAMES = {"int": "a whole number", "bool": "true or false", "str": "a word", "float": "a number"}
# How like a known name an unknown one must be to be called a slip of the pen.
_ALIKE = 0.8


def of_smp1(setup: Setup) -> Iterator[SetupProblem]:
    """The problems that this library's rules name, the names and types first."""
    yield from _names(setup)
    yield from _values(setup)
    yield from _needs(setup)
    yield from _sharding(setup)
    yield from _useless(setup)


def _names(setup: Setup) -> Iterator[SetupProblem]:
    reject, given = partial(problem, setup, source=SMP1_SCHEMA, rejected=True), setup.library
    known = V1.keys() | INTERNAL_V1 | ALIASES_V1.keys()
    for name in () if setup.is_printed else [name for name in given if name not in known]:
        near = next(iter(difflib.get_close_matches(name, sorted(known), 1, _ALIKE)), "")
        why = "it belongs to SMP v2." if name in V2 else "its schema does not contain it."
        remedy = f'Remove "{name}" from mp_parameters.'
        if near:
            why, remedy = f'did you mean "{near}"?', f'Write "{near}" instead.'
        words = f'SMP v1 knows no parameter "{name}": {why}'
        yield reject(name, words, remedy, refutable=not near and name not in V2)
    for other, name in ALIASES_V1.items():
        if other in given and name in given and given[other] != given[name]:
            words = f"{other}={given[other]} and {name}={given[name]} set one parameter to two values."
            yield reject(name, words, f"Give only {name}.")


def _values(setup: Setup) -> Iterator[SetupProblem]:
    for written, value in setup.library.items():
        name = ALIASES_V1.get(written, written)
        entry = V1.get(name)
        if entry is None or value is None or not (wrong := _what_is_wrong(entry, value)):
            continue
        to = setup.number(name) if entry.kind == "int" and not isinstance(value, bool) else None
        to = to if to is not None and not _what_is_wrong(entry, to) else _nearest(entry, value)
        remedy = f"Set {name} to {to}." if to is not None else f"Give {name} a value that it accepts."
        yield problem(setup, name, f"{written}={value!r} is {wrong}.", remedy, SMP1_SCHEMA, to=to, rejected=True)


def _what_is_wrong(entry: ParameterSpec, value: Any) -> str:
    """Why a value is none for an entry of the schema, in words; "" where it is."""
    type_name = type(value).__name__
    fits = entry.kind == "any" or type_name == entry.kind or (entry.kind == "float" and type_name == "int")
    if not fits:
        return f"not {_NAMES[entry.kind]} (its type must match exactly)"
    if entry.least is not None and value < entry.least:
        return f"below {entry.least:g}, the minimum"
    if entry.most is not None and value > entry.most:
        return f"above {entry.most:g}, the maximum"
    if entry.choices and value not in entry.choices:
        return f"not one of {', '.join(entry.choices)}"
    return ""


def _nearest(entry: ParameterSpec, value: Any) -> Any:
    if entry.kind == "bool" and value in (0, 1):
        return bool(value)
    if entry.kind in {"int", "float"} and isinstance(value, int | float) and not isinstance(value, bool):
        if entry.least is not None and value < entry.least:
            return int(entry.least)
        if entry.most is not None and value > entry.most:
            return int(entry.most)
    return None


def _needs(setup: Setup) -> Iterator[SetupProblem]:
    reject = partial(problem, setup, source=SMP1_SCHEMA, rejected=True)
    tensor, p = setup.tensor_degree or 1, setup.pipeline_degree or 1
    active, microbatches = setup.number("active_microbatches"), setup.number("microbatches")
    if active is not None and microbatches is not None and active > microbatches:
        words = f"active_microbatches={active} is above microbatches={microbatches}: there are no more that could be active."
        remedy = f"Set active_microbatches to {microbatches} or raise microbatches."
        yield reject("active_microbatches", words, remedy, to=microbatches)
    # A plan that is silent about ddp does not mean it off.
    if tensor > 1 and setup.flag("ddp") is False and (setup.is_job or setup.is_given("ddp")):
        words = f"tensor_parallel_degree={tensor} needs ddp=true (since 1.6)."
        refutable = not setup.is_given("ddp")
        yield reject("tensor_parallel_degree", words, "Set ddp to true.", to=True, change="ddp", refutable=refutable)
    if setup.flag("prescaled_batch") and setup.text("optimize") == "memory":
        words = "prescaled_batch=true needs optimize=speed, but optimize is memory."
        remedy = "Set optimize to speed, or prescaled_batch to false."
        yield reject("prescaled_batch", words, remedy, to="speed", change="optimize")
    if setup.flag("ddp") and setup.flag("horovod"):
        words = "ddp and horovod are both true: only one of them may be."
        yield reject("horovod", words, "Set horovod to false (it is for TensorFlow).", to=False)
    for name in ("ddp_port", "ddp_dist_backend"):
        if setup.library.get(name) is not None and setup.flag("ddp") is False:
            words, remedy = f"{name}={setup.library[name]} needs ddp=true.", f"Set ddp to true or leave {name} out."
            yield reject(name, words, remedy, to=True, change="ddp", rejected=name == "ddp_port")
    if setup.flag("bf16") and (setup.flag("fp16") or setup.flag("fp16_params")):
        yield reject("bf16", "bf16 and fp16 are both true: only one of them may be.", "Turn off bf16 or fp16.")
    default, is_manual = setup.number("default_partition"), setup.flag("auto_partition") is False
    if is_manual and setup.is_given("auto_partition") and default is None:
        words, change = f"auto_partition=false needs default_partition, one of 0 to {p - 1}.", "default_partition"
        yield reject("auto_partition", words, "Set default_partition.", to=0, change=change, refutable=True)
    if is_manual and default is not None and default >= p:
        words = f"default_partition={default} is not a stage of a {p}-stage pipeline: stages are 0 to {p - 1}."
        yield reject("default_partition", words, f"Set it to 0 to {p - 1}.", to=0)


def _sharding(setup: Setup) -> Iterator[SetupProblem]:
    """What does not go with sharded data parallelism, or only with it."""
    degree = setup.number("sharded_data_parallel_degree") or 1
    if setup.flag("bf16") and degree == 1:
        words = "bf16=true is only for sharded data parallelism, and sharded_data_parallel_degree is 1."
        yield problem(setup, "bf16", words, "Use fp16, or shard with sharded_data_parallel_degree above 1.", SMP1_GUIDE)
    if degree <= 1:
        return
    p, tensor, ranks = setup.pipeline_degree or 1, setup.tensor_degree or 1, setup.data_parallel
    own, reject = "sharded_data_parallel_degree", partial(problem, setup, rejected=True)
    name = f"{own}={degree}"
    if p > 1:
        words = f"{name} cannot be combined with a pipeline, and pipeline_parallel_degree is {p}."
        remedy = "Set pipeline_parallel_degree to 1, or sharded_data_parallel_degree to 1."
        yield reject(own, words, remedy, SMP1_SCHEMA, to=1, change="pipeline_parallel_degree")
    if setup.flag("shard_optimizer_state"):
        words = f"{name} shards the optimizer's state already and cannot be combined with shard_optimizer_state."
        yield reject("shard_optimizer_state", words, "Set shard_optimizer_state to false.", SMP1_SCHEMA, to=False)
    if tensor > 1 and setup.flag("prescaled_batch") is False:
        words = f"{name} with tensor_parallel_degree={tensor} is refused before 1.15, and since then needs prescaled_batch=true."
        remedy = "Set prescaled_batch to true (1.15), or tensor_parallel_degree to 1."
        yield reject(own, words, remedy, SMP1_GUIDE, to=True, change="prescaled_batch")
    if ranks is not None and ranks % degree:
        to, words = divisor(ranks, degree), f"{name} does not divide the {ranks} data-parallel ranks."
        remedy = f"Use a divisor of {ranks}, such as {to}."
        yield reject(own, words, remedy, SMP1_GUIDE, to=to, refutable=setup.world_is_assumed)


def _useless(setup: Setup) -> Iterator[SetupProblem]:
    """What is taken and does nothing."""
    warn = partial(problem, setup)
    p, microbatches, active = setup.pipeline_degree, setup.microbatches, setup.window
    if setup.text("pipeline") == "simple" and _is_chosen(setup, "pipeline") and p and p > 1 and active != microbatches:
        words = f"pipeline=simple silently becomes interleaved: active_microbatches={active}, but microbatches={microbatches}."
        remedy = f"Set active_microbatches to {microbatches}, or pipeline to interleaved."
        yield warn("pipeline", words, remedy, SMP1_SCHEMA, to="interleaved")
    if p == 1 and _is_chosen(setup, "active_microbatches") and microbatches and active and active < microbatches:
        words = f"active_microbatches={active} does nothing: with pipeline_parallel_degree=1 there is no pipeline."
        yield warn("active_microbatches", words, "Leave active_microbatches out.", SMP1_GUIDE)
    if setup.flag("shard_optimizer_state") and setup.data_parallel == 1:
        words = "shard_optimizer_state=true does nothing: there is only 1 data-parallel rank."
        remedy = "Set shard_optimizer_state to false, or lower the model's degrees."
        yield warn("shard_optimizer_state", words, remedy, SMP1_GUIDE, to=False)
    if not setup.flag("offload_activations"):
        return
    if setup.flag("activation_checkpointing") is False:
        words = (
            "offload_activations=true does nothing: it moves checkpointed activations, but checkpointing is off (0)."
        )
        remedy = "Turn on activation checkpointing, or turn off offload_activations."
        yield warn("offload_activations", words, remedy, SMP1_GUIDE, to=True, change="activation_checkpointing")
        return
    # AWS's own examples of sharded data parallelism offload with one microbatch.
    if (setup.number("sharded_data_parallel_degree") or 1) > 1:
        return
    name = "microbatches" if microbatches == 1 else "active_microbatches"
    if 1 in (microbatches, active):
        words = f"offload_activations=true saves nothing with {name}=1: it needs more than one in flight."
        remedy = f"Raise {name}, or set offload_activations to false."
        yield warn("offload_activations", words, remedy, SMP1_GUIDE, to=False)


def _is_chosen(setup: Setup, name: str) -> bool:
    """Given by somebody, not only printed by the library, which prints its defaults, too."""
    return setup.is_given(name) and not setup.read_from(name).startswith("log")


def of_smp2(setup: Setup) -> Iterator[SetupProblem]:
    """Names of v1, values out of range, and degrees that do not go together."""
    reject = partial(problem, setup, source=SMP2_REFERENCE, rejected=True)
    for name, value in setup.library.items():
        if ALIASES_V1.get(name, name) in V1 and name not in V2 and value not in (None, False, 1):
            words = f'"{name}" is a parameter of SMP v1; v2 has no pipeline or microbatches and does not know it.'
            yield reject(name, words, f'Remove "{name}".', refutable=True)
        wrong = _what_is_wrong(V2[name], value) if name in V2 and value is not None else ""
        if wrong:
            yield reject(name, f"{name}={value!r} is {wrong}.", f"Give {name} a value that it accepts.")
    degrees = {
        name: setup.number(name) or least
        for name, least in (("hybrid_shard_degree", 0), ("context_parallel_degree", 1), ("expert_parallel_degree", 1))
    }
    world, tensor, (shard, context, expert) = setup.world, setup.tensor_degree or 1, degrees.values()
    for name, degree in degrees.items():
        if world is not None and degree > 1 and world % degree:
            words, to = f"{name}={degree} does not divide the {world} processes of the job.", math.gcd(world, degree)
            yield reject(name, words, f"Use a divisor of {world}.", to=to, refutable=setup.world_is_assumed)
    if 0 < shard < context:
        words = f"context_parallel_degree={context} is above hybrid_shard_degree={shard}, which is not allowed."
        remedy = f"Raise hybrid_shard_degree to {context} or more."
        yield reject("context_parallel_degree", words, remedy, to=context, change="hybrid_shard_degree")
    if expert > 1 and tensor > 1:
        words = f"expert_parallel_degree={expert} cannot be combined with tensor_parallel_degree={tensor}."
        yield reject("expert_parallel_degree", words, "Set one of them to 1.", to=1)
