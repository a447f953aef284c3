"""The wording of advice. A finding from a predicted outcome: what to set, in the terms of the reader's framework, what it gains,
what it costs, what is not known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from monitor.choices import Framework
from monitor.diagnose.rulebook import Case
from monitor.diagnose.stakes import STEPS
from monitor.diagnose.words.devices import everywhere, left_out, span, spread
from monitor.diagnose.words.report import saved_words
from monitor.model import Distribution, Evidence, Finding, Job, Prediction, Saving
from monitor.predict.memory import memory_change
from monitor.predict.outcome import Outcome, differences
from monitor.predict.parameters import OTHER_NAMES, plain_name
from monitor.predict.problems.rules import refused
from monitor.predict.setup import Setup, changed
from monitor.predict.spread import promise_words
from monitor.words import percent


@dataclass(frozen=True, slots=True)
class Option:
    """``parameter`` as it is written, with the value to set; ``words`` are the order of it in a sentence."""

    parameter: str
    to: Any
    words: str


#: Optimizer states shared out among the data-parallel ranks.
SHARD_OPTIMIZER: Mapping[Framework, Option] = {
    "smp1": Option("shard_optimizer_state", True, "Set shard_optimizer_state to true in mp_parameters"),
    "megatron": Option("use_distributed_optimizer", True, "Add --use-distributed-optimizer"),
    "deepspeed": Option("zero_stage", 1, 'Set "zero_optimization": {"stage": 1} in the DeepSpeed configuration'),
    "fsdp": Option("sharding_strategy", "SHARD_GRAD_OP", "Set ShardingStrategy.SHARD_GRAD_OP instead of NO_SHARD"),
    "ddp": Option(
        "sharding_strategy",
        "SHARD_GRAD_OP",
        "Wrap the optimizer in ZeroRedundancyOptimizer, or use FSDP with SHARD_GRAD_OP",
    ),
}
#: Each layer's forward done again in the backward.
CHECKPOINTING: Mapping[Framework | None, Option] = {
    "smp1": Option(
        "activation_checkpointing",
        True,
        "Call smp.set_activation_checkpointing on the transformer layers in the script",
    ),
    "smp2": Option(
        "activation_checkpointing",
        True,
        "Wrap the transformer layers with apply_activation_checkpointing in the script",
    ),
    "fsdp": Option(
        "activation_checkpointing",
        True,
        "Wrap the transformer layers with apply_activation_checkpointing in the script",
    ),
    "megatron": Option(
        "recompute_granularity",
        "selective",
        "Add --recompute-granularity selective (2 to 7 % more time), or full with --recompute-method uniform if "
        "that is not enough",
    ),
    "deepspeed": Option(
        "activation_checkpointing",
        True,
        "Checkpoint the layers with deepspeed.checkpointing, or the model's gradient_checkpointing_enable()",
    ),
    None: Option(
        "gradient_checkpointing", True, "Turn on gradient_checkpointing (torch.utils.checkpoint) for the layers"
    ),
}
#: Groups of full sharding that stay inside a node of {each} GPUs.
GROUP_IN_NODE: Mapping[Framework, tuple[str, str]] = {
    "smp1": ("sharded_data_parallel_degree", "Set sharded_data_parallel_degree to {each} in mp_parameters"),
    "smp2": ("hybrid_shard_degree", "Set hybrid_shard_degree to {each}"),
    "fsdp": ("sharding_strategy", "Set ShardingStrategy.HYBRID_SHARD: full sharding inside a node, replicas across nodes"),
    "deepspeed": ("mics_shard_size", 'Set "mics_shard_size": {each} under zero_optimization, with deepspeed.zero.MiCS_Init'),
}  # fmt: skip


def microbatches_option(setup: Setup, to: int) -> Option:
    """``to`` microbatches of a pipeline of one framework, their size kept."""
    now, batch = setup.microbatches or 1, setup.number("global_batch_size")
    if setup.framework == "smp1":
        return Option("microbatches", to, f"Raise microbatches from {now} to {to}")
    if setup.framework == "deepspeed" and batch is not None and setup.number("gradient_accumulation_steps") is None:
        words = f"Raise train_batch_size from {batch} to {batch * to // now}, for {to} microbatches instead of {now}"
        return Option("global_batch_size", batch * to // now, words)
    if setup.framework == "deepspeed":
        return Option(
            "gradient_accumulation_steps",
            to,
            f"Raise gradient_accumulation_steps (the microbatches) from {now} to {to}",
        )
    if setup.framework == "megatron" and batch is not None:
        return Option(
            "global_batch_size",
            batch * to // now,
            f"Raise --global-batch-size from {batch} to {batch * to // now}, for {to} microbatches instead of {now}",
        )
    return Option("microbatches", to, f"Raise the number of microbatches from {now} to {to}")


def written_name(job: Job, canonical: str) -> str:
    """The name under which the job's configuration has a parameter; its own where it has none."""
    for name in job.configuration:
        plain = plain_name(name)
        if OTHER_NAMES.get(plain, plain) == canonical:
            return name
    return canonical


#: What launchers outside SMP call otherwise, in texts that have the library's names.
_DEGREES = ("tensor_parallel_degree", "pipeline_parallel_degree", "context_parallel_degree", "expert_parallel_degree")


def in_its_words(job: Job, finding: Finding) -> Finding:
    """A finding whose texts have the names of degrees as the job's configuration writes them."""
    advice = finding.recommendation
    return replace(
        finding,
        title=_renamed(job, finding.title),
        summary=_renamed(job, finding.summary),
        recommendation=None
        if advice is None
        else replace(
            advice,
            text=_renamed(job, advice.text),
            further=tuple(_renamed(job, each) for each in advice.further),
        ),
    )


def _renamed(job: Job, text: str) -> str:
    for name in _DEGREES:
        text = re.sub(rf"\b{name}\b", written_name(job, name), text)
    return text


#: An advice must gain this much in the middle of its range, and something at its careful end.
LEAST_GAIN_PCT = 3.0
#: Of a GPU's memory: above this nothing more is put there.
MOST_MEMORY_PCT = 92.0
#: Above this memory is short, below the other there is room for more.
SHORT_MEMORY_PCT = 85.0
LOW_PCT = 70.0
#: So near must the seen utilization be to that of the schedule alone for nothing else to hold the GPUs up.
EXPLAINED_POINTS = 15.0

SMP_PRACTICES = "SMP v1 best practices"


def gains(found: Outcome) -> bool:
    """Whether a change is worth advising: 3 % in the middle, and a gain even at the careful end."""
    change = found.step_time_change_pct
    return change is not None and change[1] <= -LEAST_GAIN_PCT and change[2] < 0


def has_room(found: Outcome) -> bool:
    """Whether the predicted memory is known and stays below the limit, at the high end of its range."""
    used = found.memory.utilization_pct()
    return used is not None and used[2] < MOST_MEMORY_PCT


def fits(setup: Setup, values: Mapping[str, Any], size_kept: bool = False) -> bool:
    """The same of a change whose step time is not asked for, which takes no simulation."""
    change = changed(setup, values)
    used = memory_change(setup, change, differences(setup, change), size_kept).utilization_pct()
    return used is not None and used[2] < MOST_MEMORY_PCT


def sound(setup: Setup, values: Mapping[str, Any]) -> bool:
    """Whether a change breaks no rule of the library that the setup keeps today."""
    today = {(each.id, each.parameter) for each in refused(setup)}
    return all((each.id, each.parameter) in today for each in refused(changed(setup, values)))


def one_knob(setup: Setup, parameter: str, now: Any, to: Any) -> tuple[str | None, Any, Any]:
    """Parameter, from and to of an advice; nothing where other settings have to change along, which its words say."""
    return (parameter, now, to) if sound(setup, {parameter: to}) else (None, None, None)


def estimated(found: Outcome) -> Outcome:
    """The same with a step time that no data calibrate, where that is all there is: its method says that no share of changes is
    promised. Only for findings whose severity needs a figure."""
    return replace(found, time=replace(found.time, change_pct=found.time.estimate_pct))


def gain(found: Outcome, kind: Literal["waiting", "computing"] = "waiting") -> tuple[Saving, ...]:
    """The middle of the predicted gain, of the time of steps; empty where there is none."""
    change = found.step_time_change_pct
    return () if change is None or change[1] >= 0 else (Saving(STEPS, -change[1] / 100, kind=kind),)


def prediction(found: Outcome) -> Prediction | None:
    """Step time and memory with their ranges; None where no step time is predicted."""
    change = found.step_time_change_pct
    if change is None:
        return None
    return Prediction(
        change,
        found.memory.utilization_pct(),
        found.time_method,
        promise_words(found.time.promise),
        found.memory_method,
        found.memory.bound,
    )


def saved(case: Case, found: Outcome) -> str:
    """`` That is about $35 an hour less for the same work.`` with a blank in front; empty without a gain or a price."""
    money = saved_words(case.bill, gain(found))
    if not money:
        return ""
    if case.run.job.is_running:
        return f" That is about {money} less for the same work."
    return f" This run would have cost about {money} less."


def memory_words(found: Outcome) -> str:
    """What becomes of the GPU memory, in words; that it is not known where it is not."""
    used, start, limit = found.memory.utilization_pct(), found.memory.start_gib, found.memory.limit_gib
    if used is None or start is None or not limit:
        return "the effect on GPU memory cannot be predicted, because " + _missing(found)
    before = f"peak GPU memory {percent(100 * start / limit)}"
    if not found.memory.bound:
        return f"{before} → about {percent(used[1])}"
    if used[2] <= 100 * start / limit:
        return f"{before} → at least {percent(used[0])}"
    return f"{before} → at most {percent(used[2])} (model shape unknown)"


def _missing(found: Outcome) -> str:
    names = found.change.missing("layers", "hidden_size", "attention_heads", "sequence_length", "vocabulary_size")
    if found.memory.start_gib is None and not names:
        return "no GPU memory was measured"
    return f"the model's shape is not known ({', '.join(names)})" if names else "no equation covers this change"


def since(case: Case) -> str:
    """``GPU 46 % (p5 41, p95 52) on all 4 nodes since the first step, 14:05``, with what was left out."""
    gpu = case.pooled["gpu_utilization"]
    assert case.window is not None
    place = f"{everywhere(case)} since the {case.window.since}, {case.clock(case.window.start)}"
    return f"GPU {spread(gpu)} {place}{left_out(case)}"


def low(case: Case, metric: str) -> Distribution | None:
    """A metric's distribution where its 95th percentile is below 70 %; None where it is not, or is not known."""
    found = case.pooled.get(metric)
    return found if found is not None and found.p95 < LOW_PCT else None


def memory_p95(case: Case) -> float | None:
    """The 95th percentile of the fullest node's GPU memory, percent of one GPU."""
    return case.setup.real("gpu_memory_utilization")


def memory_evidence(case: Case) -> tuple[Evidence, ...]:
    """The same as evidence; empty where it is not known."""
    memory = memory_p95(case)
    if memory is None:
        return ()
    return (
        Evidence(
            "GPU memory utilization, p95 of the fullest node",
            memory,
            "%",
            None,
            *span(case),
            view="gpu_memory_utilization",
        ),
    )


def read(case: Case, *names: str) -> tuple[Evidence, ...]:
    """The values of parameters and where each was read, as evidence."""
    return tuple(
        Evidence(f"{name} ({known.read_from})", _plain(known.value))
        for name in names
        if (known := case.setup.known(name)) is not None
    )


def _plain(value: Any) -> float | str:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else str(value).lower()
