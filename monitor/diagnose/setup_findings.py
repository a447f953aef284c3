"""How do problems in a setup become findings, for the review of a job and for a plan, and what would make one fit that does
not? The changes that its library has, each tried, the cheapest in time first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from monitor.choices import FRAMEWORK_NAMES
from monitor.diagnose.advised import CHECKPOINTING, SHARD_OPTIMIZER, sound
from monitor.model import Confidence, Evidence, Finding, Recommendation
from monitor.predict.layout import sharding_of
from monitor.predict.memory import MemoryChange
from monitor.predict.outcome import outcome, what_if
from monitor.predict.problems.libraries import SetupProblem
from monitor.predict.problems.rules import UNKNOWN
from monitor.predict.setup import Setup, changed

_TITLES: Mapping[str, str] = {
    "batch-not-divisible": "Batch not divisible by microbatches",
    "tensor-parallel-across-nodes": "Tensor parallelism across nodes",
    "tensor-parallel-degree": "Tensor-parallel degree is not a power of two",
    "prescaled-batch-off": "prescaled_batch is off",
    "pipeline-inside-node": "Pipeline stages share a node",
}


def finding_of(setup: Setup, problems: Sequence[SetupProblem], not_checked: tuple[str, ...] = ()) -> Finding:
    """One finding of problems of one id, at least one."""
    first = problems[0]
    said = " ".join(each.words for each in problems)
    if len(problems) > 1:
        title = _counted(setup, problems)
        said = f"{title}: {said}"
    else:
        title = _title(setup, first)
    return Finding(
        first.id,
        first.severity,
        _confidence(setup, problems),
        title,
        said,
        tuple(_evidence(each) for each in problems),
        first.recommendation
        if len(problems) == 1
        else Recommendation(
            first.recommendation.text,
            further=tuple(each.recommendation.text for each in problems[1:]),
            source="; ".join(dict.fromkeys(each.source for each in problems)),
        ),
        not_checked=not_checked,
    )


def findings_of(setup: Setup, problems: Sequence[SetupProblem]) -> tuple[Finding, ...]:
    """A finding for each problem, so that each has its own remedy."""
    return tuple(finding_of(setup, (each,)) for each in problems)


def _title(setup: Setup, problem: SetupProblem) -> str:
    if problem.id in _TITLES:
        return _TITLES[problem.id]
    if problem.id == UNKNOWN:
        return f"{problem.parameter} is not known"
    if problem.parameter in setup.unread:
        return f"{problem.parameter} could not be read"
    if not problem.source:
        return f"{problem.parameter} makes no sense"
    if problem.severity == "info":
        return f"{problem.parameter} is in doubt"
    library = _library(setup)
    return f"{library[:1].upper()}{library[1:]} {'rejects' if problem.rejected else 'ignores'} {problem.parameter}"


def _counted(setup: Setup, problems: Sequence[SetupProblem]) -> str:
    count, rejected = len(problems), sum(1 for each in problems if each.rejected)
    what = "rejects" if rejected == count else "ignores" if not rejected else "rejects or ignores"
    return f"{count} settings that {_library(setup)} {what}"


def _library(setup: Setup) -> str:
    return FRAMEWORK_NAMES.get(setup.framework or "", "the library")


def _evidence(each: SetupProblem) -> Evidence:
    place = f" ({each.read_from})" if each.read_from else ""
    value = each.value
    if value is not None and (not isinstance(value, int | float) or isinstance(value, bool)):
        value = str(value)
    return Evidence(f"{each.parameter}{place}", value)


def _confidence(setup: Setup, problems: Sequence[SetupProblem]) -> Confidence:
    """High where the values were given to the library or printed by it; what a script may have set otherwise is less so."""
    told = all(setup.is_given(each.parameter) or each.parameter in setup.library for each in problems)
    return "high" if told else "medium"


#: More than these are no list of what to try first.
MOST = 6


@dataclass(frozen=True, slots=True)
class MemoryRemedy:
    """One change, or several added up; ``words`` are the order of it."""

    words: str
    memory: MemoryChange
    """With the change."""
    cost_pct: tuple[float, float, float] | None
    """(low, middle, high) percent that it adds to the step time; None where nobody can tell."""
    order_pct: float | None
    """The same in one figure, also where no data calibrate it: only to be sorted by."""


def measures(setup: Setup, start: Setup | None = None) -> tuple[MemoryRemedy, ...]:
    """What frees memory and breaks no rule, the cheapest first; behind them, where none is enough by itself, the cheapest of
    them added up until it fits (or all of them, where that is not enough).

    ``start`` is what the measured memory is of, where that is another setup.
    """
    base = start or setup
    now = outcome(base, setup).memory.expected_gib
    found: list[tuple[MemoryRemedy, dict[str, Any]]] = []
    for words, values in _changes(setup):
        after = changed(setup, values)
        memory = outcome(base, after, most_draws=0).memory
        if now is None or memory.expected_gib is None or memory.expected_gib >= now or not sound(setup, values):
            continue
        time = what_if(setup, values).time
        order = None if time.estimate_pct is None else time.estimate_pct[1]
        found.append((MemoryRemedy(words, memory, time.change_pct, order), values))
    found.sort(key=lambda each: float("inf") if each[0].order_pct is None else each[0].order_pct)
    single = [measure for measure, _ in found][:MOST]
    if len(single) < 2 or any(each.memory.fits == "yes" for each in single):
        return tuple(single)
    return (*single, _together(setup, base, [values for _, values in found][:MOST]))


def _together(setup: Setup, base: Setup, changes: list[dict[str, Any]]) -> MemoryRemedy:
    after, said = setup, 0
    for values in changes:
        if not sound(after, values):
            break
        after, said = changed(after, values), said + 1
        if outcome(base, after, most_draws=0).memory.fits == "yes":
            break
    time = outcome(setup, after).time
    order = None if time.estimate_pct is None else time.estimate_pct[1]
    return MemoryRemedy(f"The first {said} together", outcome(base, after).memory, time.change_pct, order)


def _changes(setup: Setup) -> Iterator[tuple[str, dict[str, Any]]]:
    """(words, parameters) of each change that the library has and the setup has not."""
    yield from _of_batches(setup)
    recomputed = setup.flag("activation_checkpointing")
    if not recomputed:
        if setup.framework == "megatron" and not setup.flag("selective_recomputation"):
            yield "Add --recompute-granularity selective", {"selective_recomputation": True}
        option = CHECKPOINTING.get(setup.framework) or CHECKPOINTING[None]
        words = "Add --recompute-granularity full" if setup.framework == "megatron" else option.words
        yield words, {"activation_checkpointing": True}
    yield from _of_sharding(setup)
    if setup.framework == "smp1" and recomputed and not setup.flag("offload_activations"):
        yield "Set offload_activations to true", {"offload_activations": True}
    if setup.framework == "smp2" and recomputed and not setup.is_given("sm_activation_offloading"):
        yield "Offload activations (sm_activation_offloading and offload_wrapper)", {"sm_activation_offloading": True}
    tensor, each = setup.tensor_degree or 1, setup.gpus_per_node or 1
    if setup.framework in {"smp1", "smp2", "megatron"} and 2 * tensor <= each:
        yield f"Raise the tensor-parallel degree from {tensor} to {2 * tensor}", {"tensor_parallel_degree": 2 * tensor}


def _of_batches(setup: Setup) -> Iterator[tuple[str, dict[str, Any]]]:
    name = "micro_batch_size" if setup.number("micro_batch_size") is not None else "batch_size"
    size, steps = setup.number(name), setup.number("gradient_accumulation_steps")
    if size is not None and size > 1 and size % 2 == 0:
        along = {"gradient_accumulation_steps": 2 * steps} if steps is not None else {}
        with_it = f", with gradient_accumulation_steps from {steps} to {2 * steps}" if steps is not None else ""
        yield f"Lower {name} from {size} to {size // 2}{with_it}", {name: size // 2, **along}
    window = setup.window
    if window is not None and window > 1 and (setup.pipeline_degree or 1) > 1:
        yield f"Lower active_microbatches from {window} to {window // 2}", {"active_microbatches": window // 2}


def _of_sharding(setup: Setup) -> Iterator[tuple[str, dict[str, Any]]]:
    sharded, ranks, world = sharding_of(setup), setup.reduced_data_parallel, setup.world
    if sharded is None:
        return
    option = SHARD_OPTIMIZER.get(setup.framework) if setup.framework else None
    if sharded[0] == "none" and option is not None and (ranks or 1) > 1 and setup.framework != "ddp":
        yield option.words, {option.parameter: option.to}
    if setup.framework == "deepspeed" and sharded[0] != "full":
        yield 'Set "zero_optimization": {"stage": 3} in the DeepSpeed configuration', {"zero_stage": 3}
    if setup.framework == "fsdp" and sharded[0] != "full":
        yield "Set ShardingStrategy.FULL_SHARD", {"sharding_strategy": "full_shard"}
    name = {"smp1": "sharded_data_parallel_degree", "smp2": "hybrid_shard_degree"}.get(setup.framework or "")
    degree = sharded[1] if sharded[0] == "full" else 1
    if name and world and 2 * degree <= world and (name == "hybrid_shard_degree" or degree > 1):
        yield f"Raise {name} from {degree} to {2 * degree}", {name: 2 * degree}
