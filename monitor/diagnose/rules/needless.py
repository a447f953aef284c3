"""A rule about models that are sharded over GPUs each of which could hold them whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from monitor.diagnose.advised import Option, estimated, gain, held, memory_words, prediction, read, saved, sound
from monitor.diagnose.rulebook import Case, rule
from monitor.diagnose.rules.microbatch import WORTH_PCT
from monitor.model import Finding, Recommendation
from monitor.predict.layout import in_half_precision, shape_of, sharding_of
from monitor.predict.memory import GIB
from monitor.predict.outcome import Outcome, what_if
from monitor.predict.setup import FRAMEWORK_NAMES, Framework, Setup
from monitor.words import percent

# With the buckets in which gradients are reduced, no more than this of a GPU.
_COMFORTABLE_PCT = 85.0
_UNSHARDED: Mapping[Framework, Option] = {
    "smp1": Option("sharded_data_parallel_degree", 1, "Set sharded_data_parallel_degree to 1 in mp_parameters"),
    "smp2": Option("hybrid_shard_degree", 1, "Set hybrid_shard_degree to 1"),
    "fsdp": Option("sharding_strategy", "NO_SHARD", "Use DistributedDataParallel (or ShardingStrategy.NO_SHARD)"),
    "deepspeed": Option("zero_stage", 1, 'Set "zero_optimization": {"stage": 1} in the DeepSpeed configuration'),
}


@rule("needless-sharding", silenced_by=("invalid-configuration", "stall", "cuda-out-of-memory"))
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
            *held(case),
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
