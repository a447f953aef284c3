"""What in a setup do SMP v2, Megatron-LM and DeepSpeed reject?"""

from __future__ import annotations

import math
from collections.abc import Iterator

from monitor.predict.problem import SMP2_REFERENCE, Problem, problem
from monitor.predict.problems_smp1 import what_is_wrong
from monitor.predict.setup_types import Setup
from monitor.predict.smp_schema import ALIASES_V1, V1, V2

_MEGATRON = "Megatron-LM's check of its arguments"
_DEEPSPEED = "DeepSpeed's check of its configuration"


def of_smp2(setup: Setup) -> Iterator[Problem]:
    """Names of v1, values out of range, and degrees that do not go together."""
    for name, value in setup.library.items():
        if ALIASES_V1.get(name, name) in V1 and name not in V2 and value not in (None, False, 1):
            words = f'"{name}" is a parameter of SMP v1; v2 has no pipeline or microbatches and does not know it.'
            yield problem(setup, name, words, f'Remove "{name}".', SMP2_REFERENCE, rejected=True, refutable=True)
        wrong = what_is_wrong(V2[name], value) if name in V2 and value is not None else ""
        if wrong:
            words = f"{name}={value!r} is {wrong}."
            yield problem(setup, name, words, f"Give {name} a value that it accepts.", SMP2_REFERENCE, rejected=True)
    yield from _degrees_of_smp2(setup)


def _degrees_of_smp2(setup: Setup) -> Iterator[Problem]:
    shard, tensor = setup.number("hybrid_shard_degree") or 0, setup.tensor_degree or 1
    context, expert = setup.number("context_parallel_degree") or 1, setup.number("expert_parallel_degree") or 1
    world = setup.world
    if world is not None:
        degrees = {"hybrid_shard_degree": shard, "context_parallel_degree": context, "expert_parallel_degree": expert}
        for name, degree in degrees.items():
            if degree > 1 and world % degree:
                words = f"{name}={degree} does not divide the {world} processes of the job."
                remedy = f"Use a divisor of {world}."
                yield problem(
                    setup,
                    name,
                    words,
                    remedy,
                    SMP2_REFERENCE,
                    to=math.gcd(world, degree),
                    rejected=True,
                    refutable=setup.world_is_assumed,
                )
    if 0 < shard < context:
        words = f"context_parallel_degree={context} is above hybrid_shard_degree={shard}, which is not allowed."
        remedy = f"Raise hybrid_shard_degree to {context} or more."
        yield problem(
            setup,
            "context_parallel_degree",
            words,
            remedy,
            SMP2_REFERENCE,
            to=context,
            change="hybrid_shard_degree",
            rejected=True,
        )
    if expert > 1 and tensor > 1:
        words = f"expert_parallel_degree={expert} cannot be combined with tensor_parallel_degree={tensor}."
        remedy = "Set one of them to 1."
        yield problem(setup, "expert_parallel_degree", words, remedy, SMP2_REFERENCE, to=1, rejected=True)


def of_megatron(setup: Setup) -> Iterator[Problem]:
    """A batch that does not divide, and heads that do not split."""
    whole, micro, ranks = setup.number("global_batch_size"), setup.number("micro_batch_size"), setup.data_parallel
    if whole and micro and ranks and whole % (micro * ranks):
        each = micro * ranks
        to = max(each, whole - whole % each)
        words = (
            f"global_batch_size={whole} is not divisible by micro_batch_size={micro} times {ranks} data-parallel ranks."
        )
        remedy = f"Use a multiple of {each}, such as {to}."
        yield problem(
            setup, "global_batch_size", words, remedy, _MEGATRON, to=to, rejected=True, refutable=setup.world_is_assumed
        )
    pipeline = setup.pipeline()
    if pipeline is not None and not pipeline.is_possible:
        m, p = pipeline.microbatches, pipeline.stages
        words = (
            f"Interleaved stages ({pipeline.chunks} parts each) need a number of microbatches divisible by the {p} "
            f"stages: {m} is not."
        )
        remedy = f"Use {m + p - m % p} microbatches per batch, or no virtual stages."
        yield problem(setup, "virtual_stages", words, remedy, _MEGATRON, rejected=True, refutable=True)
    heads, tensor = setup.number("attention_heads"), setup.tensor_degree or 1
    if heads and heads % tensor:
        words = f"tensor_parallel_degree={tensor} does not divide the {heads} attention heads."
        yield problem(
            setup,
            "tensor_parallel_degree",
            words,
            f"Use a divisor of {heads}.",
            _MEGATRON,
            to=math.gcd(heads, tensor),
            rejected=True,
        )


def of_deepspeed(setup: Setup) -> Iterator[Problem]:
    """Batch sizes that contradict each other, and stages that there are not."""
    whole, micro = setup.number("global_batch_size"), setup.number("micro_batch_size")
    steps, ranks = setup.number("gradient_accumulation_steps"), setup.data_parallel
    given = all(
        setup.is_given(name) for name in ("global_batch_size", "micro_batch_size", "gradient_accumulation_steps")
    )
    if given and whole and micro and steps and ranks and whole != micro * steps * ranks:
        to = micro * steps * ranks
        words = f"train_batch_size={whole} is not {micro} samples x {steps} accumulation steps x {ranks} ranks, which is {to}."
        remedy = f"Set train_batch_size to {to}, or leave one of the three out."
        yield problem(
            setup,
            "global_batch_size",
            words,
            remedy,
            _DEEPSPEED,
            to=to,
            rejected=True,
            refutable=setup.world_is_assumed,
        )
    stage, stages = setup.number("zero_stage"), setup.pipeline_degree or 1
    if stage is not None and not 0 <= stage <= 3:
        yield problem(setup, "zero_stage", f"ZeRO has no stage {stage}.", "Use 0 to 3.", _DEEPSPEED, rejected=True)
    elif stage is not None and stage >= 2 and stages > 1:
        words = f"ZeRO stage {stage} cannot be combined with a pipeline of {stages} stages."
        yield problem(setup, "zero_stage", words, "Use stage 1 with a pipeline.", _DEEPSPEED, to=1, rejected=True)
