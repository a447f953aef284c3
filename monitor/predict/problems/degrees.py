"""Degrees and batches that do not divide, groups of ranks that lie where their traffic is dear, and what Megatron-LM and
DeepSpeed reject of both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from monitor.predict.layout import pipeline_of
from monitor.predict.problems.problem import SMP1_PRACTICES, Problem, divisor, problem
from monitor.predict.setup import Setup
from monitor.words import count

_MEGATRON = "Megatron-LM's check of its arguments"
_DEEPSPEED = "DeepSpeed's check of its configuration"
_RANKS = "ranks are split into groups of equal size"


def of_degrees(setup: Setup) -> Iterator[Problem]:
    """Of any framework: degrees that do not divide the world, then those that lie badly."""
    yield from _division(setup)
    yield from _batch(setup)
    yield from _tensor(setup)
    yield from _pipeline(setup)
    yield from _prescaled(setup)


def _division(setup: Setup) -> Iterator[Problem]:
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


def _batch(setup: Setup) -> Iterator[Problem]:
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


def _tensor(setup: Setup) -> Iterator[Problem]:
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


def _pipeline(setup: Setup) -> Iterator[Problem]:
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


def _prescaled(setup: Setup) -> Iterator[Problem]:
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


def of_megatron(setup: Setup) -> Iterator[Problem]:
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


def of_deepspeed(setup: Setup) -> Iterator[Problem]:
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
