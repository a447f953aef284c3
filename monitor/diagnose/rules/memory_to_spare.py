"""Rules about memory that is left: microbatches that are smaller than it allows, and models that are sharded over GPUs each of
which could hold them whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from monitor.choices import FRAMEWORK_NAMES, Framework
from monitor.diagnose.advised import (
    LEAST_GAIN_PCT,
    Option,
    estimated,
    fits,
    gain,
    memory_evidence,
    memory_words,
    prediction,
    read,
    saved,
    sound,
    written_name,
)
from monitor.diagnose.rulebook import Case, rule
from monitor.model import Finding, Recommendation
from monitor.predict.layout import in_half_precision, shape_of, sharding_of
from monitor.predict.memory import GIB
from monitor.predict.outcome import Outcome, what_if
from monitor.predict.setup import Setup, changed
from monitor.words import count, percent

#: A gain that is worth a change by itself.
WORTH_PCT = 10.0
_FACTORS = (16, 8, 4, 2)
_BROKEN = ("stall", "nccl-timeout", "cuda-out-of-memory", "one-gpu-in-use", "unused-gpus", "invalid-configuration")


@rule("small-microbatch", needs="metrics", silenced_by=_BROKEN)
def small_microbatch(case: Case) -> Finding | None:
    """Gradients are accumulated over microbatches that could be larger.

    What it means: without a pipeline, each step accumulates the gradients of several microbatches, and GPU memory would
    hold microbatches of twice the size or more.

    Why it matters: launches, half-filled kernels and, with sharded parameters, the gathering of every layer are paid for
    once a microbatch: fewer and larger ones do the same global batch in less time.

    What to do: raise the microbatch and lower the accumulation steps by the same factor; the global batch, and with it
    the training, stays the same.

    Source: time of a microbatch as a fixed part and a part per sample, fitted to published sweeps (docs/predictions.md).
    """
    setup = _without_pipeline(case.setup)
    size, steps = setup.microbatch_size, setup.microbatches
    if size is None or steps is None or steps < 2 or (setup.pipeline_degree or 1) > 1:
        return None
    factor = next((each for each in _FACTORS if steps % each == 0 and _has_room(setup, each)), None)
    if factor is None:
        return None
    values = _values(setup, factor)
    found = what_if(setup, values)
    change = found.step_time_change_pct
    if change is None or change[1] > -LEAST_GAIN_PCT:
        return None
    batch, accumulated = _names(case, setup)
    worth = change[1] <= -WORTH_PCT and change[2] < 0
    each = count(size, "sample")
    along = f" and {accumulated} from {steps} to {steps // factor}" if accumulated else ""
    return Finding(
        "small-microbatch",
        "warning" if worth else "info",
        "medium",
        f"Small microbatches: {steps} of {each} a step",
        f"Each step accumulates {steps} microbatches of {each} a process, and GPU memory would hold "
        f"{'twice' if factor == 2 else f'{factor} times'} as many at once: {memory_words(found)}. The same global batch in "
        f"{count(steps // factor, 'microbatch', 'microbatches')} would take about {percent(-change[1])} less time.",
        (
            *read(case, "micro_batch_size", "batch_size", "gradient_accumulation_steps", "microbatches", "global_batch_size"),
            *memory_evidence(case),
        ),
        Recommendation(
            f"Raise {batch} from {size} to {size * factor}{along}: the global batch stays the same.{saved(case, found)} "
            f"It uses more memory: {memory_words(found)}.",
            batch,
            size,
            size * factor,
            "time of a microbatch: published sweeps",
        ),
        prediction(found),
        ("whether single sequences are so long that one fills the GPU",),
        savings=gain(found, "computing"),
    )  # fmt: skip


def has_larger(case: Case) -> bool:
    """Whether larger microbatches of the same batch are advised, and worth it by themselves."""
    found = small_microbatch.check(case)
    return found is not None and found.severity == "warning"


def _without_pipeline(setup: Setup) -> Setup:
    """The setup of a script that names no library, as what it is: nothing is split."""
    if setup.framework is not None or setup.pipeline_degree is not None:
        return setup
    return changed(replace(setup, framework="ddp"), {})


def _has_room(setup: Setup, factor: int) -> bool:
    values = _values(setup, factor)
    return sound(setup, values) and fits(setup, values)


def _values(setup: Setup, factor: int) -> dict[str, Any]:
    """What makes microbatches ``factor`` times as large for the same batch."""
    size, steps = setup.microbatch_size or 1, setup.microbatches or 1
    if setup.framework == "smp1":
        fewer = steps // factor
        return {"microbatches": fewer, "active_microbatches": min(fewer, setup.window or 1)}
    values: dict[str, Any] = {"micro_batch_size": size * factor}
    if setup.number("micro_batch_size") is None:
        values = {"batch_size": size * factor}
    if setup.number("gradient_accumulation_steps") is not None:
        values["gradient_accumulation_steps"] = steps // factor
    elif setup.number("microbatches") is not None:
        values["microbatches"] = steps // factor
    return values


def _names(case: Case, setup: Setup) -> tuple[str, str]:
    """What the job calls the microbatch and, where it is set, the number of them."""
    canonical = "micro_batch_size" if setup.number("micro_batch_size") is not None else "batch_size"
    steps = "gradient_accumulation_steps" if setup.number("gradient_accumulation_steps") is not None else ""
    return written_name(case.run.job, canonical), written_name(case.run.job, steps) if steps else ""


# With the buckets in which gradients are reduced, no more than this of a GPU.
_COMFORTABLE_PCT = 85.0
_UNSHARDED: Mapping[Framework, Option] = {
    "smp1": Option("sharded_data_parallel_degree", 1, "Set sharded_data_parallel_degree to 1 in mp_parameters"),
    "smp2": Option("hybrid_shard_degree", 1, "Set hybrid_shard_degree to 1"),
    "fsdp": Option("sharding_strategy", "NO_SHARD", "Use DistributedDataParallel (or ShardingStrategy.NO_SHARD)"),
    "deepspeed": Option("zero_stage", 1, 'Set "zero_optimization": {"stage": 1} in the DeepSpeed configuration'),
}


@rule("needless-sharding", needs="metrics", silenced_by=("invalid-configuration", "stall", "cuda-out-of-memory"))
def needless_sharding(case: Case) -> Finding | None:
    """Parameters are sharded over GPUs each of which could hold the whole training state.

    What it means: FSDP, ZeRO stage 3 or SMP's sharded data parallelism splits parameters, gradients and optimizer state,
    although all of it would fit into one GPU together with its activations and the buckets of the gradients.

    Why it matters: fully sharded parameters are gathered for every microbatch, forward and backward; replicas only
    reduce their gradients, once a step. The more microbatches a step accumulates, the more that costs.

    What to do: train with replicas (DDP), or with only the optimizer state sharded (ZeRO stage 1), and compare the step
    times.

    Source: SMP best practices (a model that fits with fewer features seldom gains from more); one measured pair, 150
    million parameters on 2 x g5.12xlarge: 253 samples/s with DDP, 162 with FSDP (AWS); traffic as in docs/predictions.md.
    """
    setup, sharded = case.setup, sharding_of(case.setup)
    option = _UNSHARDED.get(setup.framework) if setup.framework else None
    if option is None or sharded is None or sharded[0] != "full" or sharded[1] < 2:
        return None
    values: dict[str, Any] = {option.parameter: option.to}
    if setup.framework == "deepspeed":
        # Stage 3 has no pipeline; of stage 1 nobody would know.
        values["pipeline_parallel_degree"] = setup.pipeline_degree or 1
    found = estimated(what_if(setup, values))
    if not _fits(setup, found) or not sound(setup, values):
        return None
    change = found.step_time_change_pct
    if change is not None and change[1] > 0:
        return None
    worth = change is not None and change[1] <= -WORTH_PCT
    if not worth and setup.text("interconnect") == "none" and sharded[1] > (setup.gpus_per_node or sharded[1]):
        return None  # groups inside a node surely gain there, which sharding-across-nodes says
    known = setup.known(option.parameter)
    parameter, now, to, words = option.parameter, None if known is None else known.value, option.to, option.words
    if parameter == "sharding_strategy" and "fsdp" in case.run.job.configuration:
        # transformers' TrainingArguments.
        parameter, now, to = "fsdp", case.run.job.configuration["fsdp"].value, ""
        words = 'Leave out fsdp (fsdp=""), so that transformers trains with DDP'
    library = FRAMEWORK_NAMES[setup.framework or "fsdp"]
    gains = ""
    if change is not None and change[1] <= -1:
        gains = f" Without the gathering a step would take about {percent(-change[1])} less time, by the links' speed alone."
    return Finding(
        "needless-sharding",
        "warning" if worth else "info",
        "medium",
        f"Sharded over {sharded[1]} GPUs, although one would hold it",
        f"{library} shards all states over {sharded[1]} GPUs, and one GPU would hold them whole: {memory_words(found)}."
        f"{gains}",
        (
            *read(case, "sharded_data_parallel_degree", "hybrid_shard_degree", "sharding_strategy", "zero_stage",
                  "parameters_billion", "gradient_accumulation_steps"),
            *memory_evidence(case),
        ),
        Recommendation(
            f"{words}, and compare the step times.{saved(case, found)} It uses more memory: {memory_words(found)}.",
            parameter,
            now,
            to,
            "SMP best practices: no more features than the model needs",
        ),
        prediction(found),
        (
            "how much of the gathering hides behind compute",
            *(("the gain: step time, links or parameters are not known",) if change is None else ()),
        ),
        savings=gain(found),
    )  # fmt: skip


def _fits(setup: Setup, found: Outcome) -> bool:
    """Whether the whole state fits with room for the buckets of the gradients, which are as large as the gradients."""
    used, limit = found.memory.utilization_pct(), found.memory.limit_gib
    shape = shape_of(setup)
    billions = setup.real("parameters_billion") or (shape.parameters / 1e9 if shape is not None else None)
    if used is None or not limit or not billions:
        return False
    buckets_gib = billions * 1e9 * (2.0 if in_half_precision(setup) else 4.0) / GIB
    return used[2] + 100 * buckets_gib / limit < _COMFORTABLE_PCT
