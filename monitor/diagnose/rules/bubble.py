"""Rules about a pipeline's stages: waiting GPUs that look busy, as the configuration alone tells, and stages that are not
equally busy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from monitor.analyze.peers import peer_groups
from monitor.diagnose.advised import (
    MOST_MEMORY_PCT,
    gain,
    gains,
    memory_p95,
    memory_words,
    microbatches_option,
    one_knob,
    prediction,
    read,
    saved,
    sound,
    written_name,
)
from monitor.diagnose.rulebook import Case, rule
from monitor.diagnose.words.devices import enough, fewest_points
from monitor.model import Evidence, Finding, Recommendation
from monitor.predict.layout import pipeline_of
from monitor.predict.memory import memory_change
from monitor.predict.outcome import Outcome, bubble_fraction, differences, what_if
from monitor.predict.setup import changed
from monitor.words import capitalised, count, percent

#: Stages of equal work differ by less.
UNEQUAL_POINTS = 10.0


@rule(
    "unbalanced-stages",
    needs="metrics",
    silenced_by=("stall", "slow-node", "unused-gpus", "idle-gpus", "one-gpu-in-use"),
    whole_log=True,
)
def unbalanced_stages(case: Case) -> Finding | None:
    """The stages of the pipeline are not equally busy: the busiest sets the pace.

    What it means: the nodes of one group of pipeline stages are busier than those of another by at least ten points
    of GPU utilization (median over their minutes). Only pipelines whose stages are on different nodes can be judged.

    Why it matters: a step takes as long as its slowest stage; the others' spare time is lost.

    What to do: move layers from the busy stages to the others: with SMP v1, a lower memory_weight balances
    computation (or use auto_partition=false with your own partition); with Megatron-LM, change the number of layers
    of the first and last stage.

    Source: SMP v1 core features (memory_weight balances memory and computation); the ten points are this project's.
    What equal stages would gain is not predicted: no published pair tells, and utilization also counts waiting inside NCCL.
    """
    setup = case.setup
    if (setup.pipeline_degree or 1) < 2 or not enough(case):
        return None
    groups = peer_groups(case.run.job)
    if groups is None or len(set(groups.values())) < 2:
        return None
    busy = case.steady[case.steady["metric"] == "gpu_utilization"]
    by_group = busy.assign(group=busy["node"].astype(str).map(groups)).groupby("group")["value_pct"]
    medians = by_group.median()[by_group.count() >= fewest_points(case)]
    if len(medians) < 2 or medians.max() - medians.min() < UNEQUAL_POINTS:
        return None
    high, low = str(medians.idxmax()), str(medians.idxmin())
    what = "memory_weight" if setup.framework == "smp1" else "the layers of each stage"
    return Finding(
        "unbalanced-stages",
        "info",
        "low",
        f"Pipeline stages unequally busy: GPU {medians.max():.0f} and {medians.min():.0f} %",
        f"The GPUs of stage {_stage(high)} ({count(_size(groups, high), 'node')}) are {percent(medians.max())} "
        f"busy, those of stage {_stage(low)} {percent(medians.min())} (median over their minutes): the busiest "
        "stage sets the pace.",
        tuple(
            Evidence(f"GPU utilization, median, stage {_stage(str(name))}", float(value), "%", view="gpu_utilization")
            for name, value in medians.items()
        ),
        Recommendation(
            "Lower memory_weight (0.8 balances memory, 0 computation), or define your own partition (auto_partition=false)."
            if setup.framework == "smp1"
            else "Move layers from the busy stages to the others and compare the step times.",
            what if setup.framework == "smp1" else None,
            setup.real("memory_weight") if setup.framework == "smp1" else None,
            0.2 if setup.framework == "smp1" else None,
            "SMP v1 core features; schedule bound by the slowest stage",
        ),
        None,
        (
            "the time of each stage: stages do not log it",
            "waiting inside NCCL, which looks busy",
            "the gain: no published pairs calibrate a figure",
        ),
    )


def _stage(group: str) -> str:
    """The stages of a group of peers, whose name is the type and the stages."""
    return group.rpartition(" ")[2]


def _size(groups: dict[str, str], group: str) -> int:
    return sum(1 for each in groups.values() if each == group)


#: A quarter of every step: published pipelines stay well below it.
LARGE = 0.25
_MICROBATCHES_A_STAGE = 4
_CHUNKS = (4, 2)


@dataclass(frozen=True, slots=True)
class _Lever:
    """One way to a smaller bubble: what to set, in words and as the one knob of it, and what it would do."""

    words: str
    parameter: str
    now: Any
    to: Any
    found: Outcome
    larger_batch: bool

    @property
    def middle_pct(self) -> float:
        change = self.found.step_time_change_pct
        return 0.0 if change is None else change[1]


@rule(
    "pipeline-bubble",
    needs="nothing",
    silenced_by=("stall", "nccl-timeout", "raise-microbatches"),
    explains=("low-gpu-utilization",),
)
def pipeline_bubble(case: Case) -> Finding | None:
    """A quarter of each step or more is the pipeline filling and draining, however busy its GPUs look.

    What it means: a pipeline of Megatron-LM, DeepSpeed, NeMo or torchtitan has so few microbatches for its stages that
    by the schedule 25 % or more of each step is waiting. Its GPUs wait inside a communication kernel, which counts as busy.

    Why it matters: with p stages, m microbatches and v chunks of layers a stage, a share of (p-1)/(v m+p-1) of every step
    is paid for and computes nothing, and no metric shows it.

    What to do: split the same batch into smaller microbatches, or give each stage several chunks of layers (interleaved
    schedule); with a larger global batch the same pipeline waits less. The finding ranks by predicted gain what the
    configuration allows, a larger batch last, since it changes the training.

    Source: Megatron-LM (arXiv 2104.04473): bubble of 1F1B and of interleaved schedules; GPipe (arXiv 1811.06965): four
    microbatches a stage make it negligible. The 25 % are this project's.
    """
    setup, pipeline = case.setup, pipeline_of(case.setup)
    if setup.framework == "smp1" or pipeline is None or pipeline.stages < 2:
        return None
    bubble = bubble_fraction(setup)
    if bubble is None or bubble < LARGE:
        return None
    p, m = pipeline.stages, pipeline.microbatches
    few = count(m, "microbatch", "microbatches")
    levers = _ranked(_levers(case))
    best = levers[0] if levers else None
    gpu = case.pooled.get("gpu_utilization")
    looks = f" GPUs look {percent(gpu.p50)} busy, since they wait inside NCCL." if gpu is not None else ""
    chunks = f", {pipeline.chunks} chunks each" if pipeline.chunks > 1 else ""
    return Finding(
        "pipeline-bubble",
        "warning",
        "high" if best is not None else "medium",
        f"Pipeline bubble {percent(100 * bubble)}: {few} for {p} stages",
        f"By the schedule, {percent(100 * bubble)} of each step is the pipeline filling and draining: {few} for "
        f"{p} stages{chunks}.{looks}",
        (
            *read(case, "pipeline_parallel_degree", "micro_batch_size", "global_batch_size", "gradient_accumulation_steps",
                  "microbatches", "virtual_stages", "layers_per_virtual_stage"),
            Evidence("bubble of the current schedule", round(100 * bubble, 1), "%"),
            *(() if best is None or best.found.bubble_change is None
              else (Evidence("bubble after the change", round(100 * best.found.bubble_change, 1), "%"),)),
            *(() if gpu is None else (Evidence("GPU utilization, p50", gpu.p50, "%", view="gpu_utilization"),)),
        ),
        _recommendation(case, levers),
        prediction(best.found) if best is not None else None,
        ("whether the script uses another schedule, such as zero bubble", "stage imbalance (stages do not log their times)"),
        savings=gain(best.found) if best is not None else (),
    )  # fmt: skip


def _recommendation(case: Case, levers: list[_Lever]) -> Recommendation:
    if not levers:
        memory, pipeline = memory_p95(case), pipeline_of(case.setup)
        assert pipeline is not None
        room = ""
        if memory is not None:
            room = f", and whether GPU memory, at {percent(memory)}, has room for that is not known"
        return Recommendation(
            f"Raise the number of microbatches with the global batch, in small steps: up to {pipeline.stages} of them are held "
            f"at once{room}. Recomputing activations makes room; fewer stages, where the model fits, need fewer microbatches.",
            source="Megatron-LM (arXiv 2104.04473)",
        )
    best, *others = levers
    also = "; ".join(f"{each.words} ({each.middle_pct:+.0f} %)" for each in others)
    return Recommendation(
        f"{best.words}, and compare the step times.{saved(case, best.found)} {capitalised(memory_words(best.found))}"
        + (f" Also, one at a time: {also}." if also else ""),
        *one_knob(case.setup, best.parameter, best.now, best.to),
        "pipeline model (1F1B, interleaved): arXiv 2104.04473",
    )


def _ranked(levers: Iterable[_Lever]) -> list[_Lever]:
    """The best of each parameter by its gain; what changes the training itself stands behind the others."""
    best: dict[str, _Lever] = {}
    for lever in sorted(levers, key=lambda each: (each.larger_batch, each.middle_pct)):
        best.setdefault(lever.parameter, lever)
    return list(best.values())


def _levers(case: Case) -> Iterator[_Lever]:
    """What shortens the step by 3 % or more, has room in memory as far as is known, and breaks no rule."""
    for each in _changes(case):
        if not sound(case.setup, each.values) or not _may_fit(case, each.values, each.size_kept):
            continue
        found = what_if(case.setup, each.values, each.size_kept)
        if gains(found):
            yield _Lever(each.words, each.parameter, each.now, each.to, found, each.size_kept)


class _Change(NamedTuple):
    """What may be set, in words and as the one knob of it; microbatches keep their size where the batch grows."""

    words: str
    parameter: str
    now: Any
    to: Any
    values: dict[str, Any]
    size_kept: bool = False


def _changes(case: Case) -> Iterator[_Change]:
    setup, pipeline = case.setup, pipeline_of(case.setup)
    assert pipeline is not None
    size, m, p = setup.microbatch_size, pipeline.microbatches, pipeline.stages
    if size is not None:
        for parts in (8, 4, 2):
            if size % parts:
                continue
            name = written_name(case.run.job, "micro_batch_size")
            values: dict[str, Any] = {"micro_batch_size": size // parts}
            along = ""
            if (steps := setup.number("gradient_accumulation_steps")) is not None:
                values["gradient_accumulation_steps"] = steps * parts
                along = f" and gradient_accumulation_steps from {steps} to {steps * parts}"
            words = f"Lower {name} from {size} to {size // parts}{along}, for {m * parts} microbatches of the same global batch"
            yield _Change(words, name, size, size // parts, values)
    if setup.framework in ("megatron", None) and pipeline.chunks == 1 and m % p == 0:
        for chunks in _CHUNKS:
            layers = setup.number("layers")
            if layers is not None and layers % (p * chunks):
                continue
            each = f" (--num-layers-per-virtual-pipeline-stage{f' {layers // (p * chunks)}' if layers else ''})"
            words = f"Interleave the schedule with {chunks} chunks of layers a stage{each}"
            yield _Change(words, "virtual_stages", 1, chunks, {"virtual_stages": chunks})
            break
    to = m * -(-_MICROBATCHES_A_STAGE * p // m)
    if to > m:
        option = microbatches_option(setup, to)
        words = f"{option.words}, with the global batch {to // m} times as large: watch convergence"
        now = setup.number(option.parameter) or m
        yield _Change(words, option.parameter, now, option.to, _larger(case, m, to), size_kept=True)


def _larger(case: Case, now: int, to: int) -> dict[str, Any]:
    """What to set for ``to`` microbatches of today's size."""
    setup = case.setup
    values: dict[str, Any] = {}
    if (batch := setup.number("global_batch_size")) is not None:
        values["global_batch_size"] = batch * to // now
    if setup.number("gradient_accumulation_steps") is not None:
        values["gradient_accumulation_steps"] = to
    elif setup.number("microbatches") is not None or not values:
        values["microbatches"] = to
    return values


def _may_fit(case: Case, values: Mapping[str, Any], size_kept: bool) -> bool:
    """Whether GPU memory stays below 92 %; where it is not known what becomes of it, by a bound."""
    change = changed(case.setup, values)
    used = memory_change(case.setup, change, differences(case.setup, change), size_kept).utilization_pct()
    if used is not None:
        return used[2] < MOST_MEMORY_PCT
    memory, pipeline = memory_p95(case), pipeline_of(change)
    if memory is None or pipeline is None:
        return memory is None
    # An interleaved first stage holds so many more microbatches (arXiv 2205.05198); at most all memory is theirs.
    more = 1 + (pipeline.stages - 1) / (pipeline.stages * pipeline.chunks) if pipeline.chunks > 1 else 1.0
    return memory * more < MOST_MEMORY_PCT
