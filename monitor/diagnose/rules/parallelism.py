"""Rules about a pipeline that waits for itself: its window and its microbatches, with what a change would gain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from monitor.diagnose.advised import (
    EXPLAINED_POINTS,
    SHORT_MEMORY_PCT,
    SMP_PRACTICES,
    fits,
    gain,
    gains,
    has_room,
    low,
    memory_evidence,
    memory_p95,
    memory_words,
    microbatches_option,
    one_knob,
    prediction,
    read,
    saved,
    since,
    sound,
)
from monitor.diagnose.rulebook import Case, rule
from monitor.diagnose.words.devices import distributions, enough
from monitor.model import Confidence, Evidence, Finding, Recommendation
from monitor.predict.layout import pipeline_of
from monitor.predict.outcome import Outcome, bubble_fraction, what_if
from monitor.words import capitalised, percent

_EXACT = ("stall", "nccl-timeout", "one-gpu-in-use", "unused-gpus", "idle-gpus", "cpu-bottleneck")
# A pipeline's bubble is nearly gone with so many microbatches a stage (GPipe, arXiv 1811.06965).
_MICROBATCHES_A_STAGE = 4


@rule("raise-active-microbatches", needs="metrics", silenced_by=_EXACT, whole_log=True)
def raise_active_microbatches(case: Case) -> Finding | None:
    """The pipeline's window is smaller than the pipeline: stages wait although there is memory for a wider one.

    What it means: SMP v1 runs with a pipeline, GPU and GPU memory are both below 70 % at their 95th percentiles, and
    fewer microbatches may be in flight at once (active_microbatches) than the stages and microbatches allow for. A
    wider window, simulated for equal stages, gains at least 3 %, and GPU memory stays below 92 %.

    Why it matters: with two microbatches in flight across four stages, two stages are always waiting, and all four
    are paid for.

    What to do: raise active_microbatches to the suggested value and compare the step times. Each microbatch in flight
    holds its activations, so GPU memory grows; beyond the number of stages plus two there is nothing more to gain.

    Source: SMP v1 best practices (raise it where GPU and memory are underused); the library's schedule, simulated;
    memory bound if the model's shape is not known: all measured memory grows with the microbatches in flight.
    """
    if not _idle(case) or case.setup.framework != "smp1":
        return None
    pipeline = pipeline_of(case.setup)
    if pipeline is None or pipeline.stages < 2 or pipeline.schedule != "smp":
        return None
    p, m, a = pipeline.stages, pipeline.microbatches, pipeline.window or pipeline.microbatches
    # A wider window is never slower, so that the widest with room decides: one simulation.
    to = next((to for to in range(min(m, p + 2), a, -1) if _may(case, {"active_microbatches": to})), None)
    if to is None:
        return None
    found = what_if(case.setup, {"active_microbatches": to})
    if not gains(found) or not has_room(found):
        return None
    gpu, memory = case.pooled["gpu_utilization"], case.pooled["gpu_memory_utilization"]
    return Finding(
        "raise-active-microbatches",
        "warning",
        _explained(case, gpu.mean),
        f"Pipeline window too small: {a} of {m} microbatches active",
        f"GPUs wait for {percent(100 - gpu.mean)} of the time: the pipeline window is too small. {since(case)}; "
        f"memory has room, p95 {percent(memory.p95)}. At most {a} of {m} microbatches (active_microbatches) are in "
        f"flight across {p} stages.",
        (*read(case, "active_microbatches", "microbatches", "pipeline_parallel_degree"), *_bubbles(found), *distributions(case)),
        Recommendation(
            f"Raise active_microbatches from {a} to {to} and compare the step times.{saved(case, found)} It uses "
            f"more memory: {memory_words(found)}.",
            "active_microbatches",
            a,
            to,
            f"{SMP_PRACTICES}; pipeline model",
        ),
        prediction(found),
        _not_checked(case, gpu.mean),
        savings=gain(found),
    )  # fmt: skip


@rule("lower-active-microbatches", needs="metrics", silenced_by=("cuda-out-of-memory",), about="risk")
def lower_active_microbatches(case: Case) -> Finding | None:
    """The pipeline's window is wider than useful, and GPU memory is short.

    What it means: SMP v1 keeps more microbatches in flight than the number of stages plus two, and GPU memory is
    above 85 % at its 95th percentile.

    Why it matters: microbatches that wait in the window hold their activations and make no step faster; a longer
    sequence or a larger batch has no room.

    What to do: lower active_microbatches to the number of stages plus two: nearly the same speed, less memory.

    Source: SMP v1's default (pipeline degree plus two); the library's schedule, simulated: 0 to 2 % of the time up to
    16 stages; SageMaker's troubleshooting page suggests lowering it to avoid out-of-memory errors.
    """
    pipeline, memory = pipeline_of(case.setup), memory_p95(case)
    if pipeline is None or case.setup.framework != "smp1" or pipeline.stages < 2 or pipeline.schedule != "smp":
        return None
    p, a = pipeline.stages, pipeline.window or pipeline.microbatches
    if (case.setup.number("active_microbatches") or 0) > pipeline.microbatches:
        return None  # more than there are, which invalid-configuration says
    if memory is None or memory <= SHORT_MEMORY_PCT or a <= p + 2:
        return None
    found = what_if(case.setup, {"active_microbatches": p + 2})
    return Finding(
        "lower-active-microbatches",
        "warning",
        "high",
        f"Pipeline window wider than useful: {a} active, {p} stages",
        f"GPU memory is at {percent(memory)} (p95 of the fullest node), and up to {a} microbatches are in flight "
        f"across {p} stages: those beyond {p + 2} only wait, and hold their activations.",
        (
            *read(case, "active_microbatches", "microbatches", "pipeline_parallel_degree"),
            *memory_evidence(case),
        ),
        Recommendation(
            f"Lower active_microbatches from {a} to {p + 2}: nearly the same step time, and {memory_words(found)}.",
            "active_microbatches",
            a,
            p + 2,
            "SMP v1 default; pipeline model",
        ),
        prediction(found),
        ("how much of the held memory is in use: the allocator keeps freed memory",),
    )


@rule(
    "raise-microbatches",
    needs="metrics",
    silenced_by=(*_EXACT, "raise-active-microbatches"),
    explains=("low-gpu-utilization",),
    whole_log=True,
)
def raise_microbatches(case: Case) -> Finding | None:
    """Too few microbatches for so many stages: the pipeline spends much of each step filling and draining.

    What it means: the job has a pipeline with fewer than four microbatches per stage, its window is as wide as is
    useful, and GPU utilization is below 70 % at its 95th percentile.

    Why it matters: with p stages and m microbatches, a share of (p-1)/(m+p-1) of every step is spent waiting.

    What to do: raise the microbatches together with the batch, so that each microbatch keeps its size, and widen the
    window with them; check whether the larger batch trains as well, or use fewer replicas to keep the global batch.

    Source: SMP v1 best practices and configuration tips (raise microbatches, batch with them); GPipe (arXiv
    1811.06965): the bubble is negligible from four microbatches per stage; Megatron-LM (arXiv 2104.04473), schedule
    1F1B.
    """
    pipeline = pipeline_of(case.setup)
    gpu = case.pooled.get("gpu_utilization")
    if (
        pipeline is None
        or pipeline.stages < 2
        or gpu is None
        or low(case, "gpu_utilization") is None
        or not _worked(case)
    ):
        return None
    p, m = pipeline.stages, pipeline.microbatches
    window = pipeline.window if case.setup.framework == "smp1" else None
    if m >= _MICROBATCHES_A_STAGE * p or (window is not None and window < min(m, p)):
        return None
    to = m * -(-_MICROBATCHES_A_STAGE * p // m)
    values = next((each for each in _more(case, to, window) if _may(case, each, size_kept=True)), None)
    if values is None:
        return None
    found, active = what_if(case.setup, values, size_kept=True), values.get("active_microbatches")
    if not gains(found) or not has_room(found):
        return None
    option, batch = microbatches_option(case.setup, to), case.setup.number("batch_size")
    along = f", active_microbatches from {window} to {active}" if active is not None and active != window else ""
    if case.setup.framework == "smp1":
        along += f" and the batch from {batch} to {batch * to // m}" if batch else " and the batch by the same factor"
    return Finding(
        "raise-microbatches",
        "warning",
        _explained(case, gpu.mean),
        f"Few microbatches for the pipeline: {m} for {p} stages",
        f"GPUs wait for {percent(100 - gpu.mean)} of the time: {m} microbatches in {p} stages leave a bubble of "
        f"{percent(100 * (bubble_fraction(case.setup) or 0))} of each step. {since(case)}.",
        (*read(case, "microbatches", "active_microbatches", "gradient_accumulation_steps", "pipeline_parallel_degree"),
         *_bubbles(found), *distributions(case)),
        Recommendation(
            f"{option.words}{along}, so that each microbatch keeps its size.{saved(case, found)} The global batch "
            f"grows {to / m:g}-fold: watch convergence, or use fewer replicas to keep the global batch. "
            f"{capitalised(memory_words(found))}",
            *one_knob(case.setup, option.parameter, _now(case, option.parameter, m), option.to),
            f"{SMP_PRACTICES}; pipeline model" if case.setup.framework == "smp1" else "pipeline model (1F1B)",
        ),
        prediction(found),
        ("whether the larger global batch still converges as well", *_not_checked(case, gpu.mean)),
        savings=gain(found),
    )  # fmt: skip


def _may(case: Case, values: dict[str, Any], size_kept: bool = False) -> bool:
    """Whether there is room for a change, and no rule of the library against it."""
    return fits(case.setup, values, size_kept) and sound(case.setup, values)


def _more(case: Case, to: int, window: int | None) -> Iterator[dict[str, Any]]:
    """What to set for ``to`` microbatches of today's size, the widest useful window first."""
    setup, now = case.setup, case.setup.microbatches or 1
    values: dict[str, Any] = {"microbatches": to}
    if setup.framework != "smp1":
        if setup.number("global_batch_size") is not None and setup.number("microbatches") is None:
            values = {"global_batch_size": (setup.number("global_batch_size") or 0) * to // now}
        if setup.number("gradient_accumulation_steps") is not None:
            values["gradient_accumulation_steps"] = values.pop("microbatches", to)
        yield values
        return
    if (batch := setup.number("batch_size")) is not None:
        values["batch_size"] = batch * to // now
    stages = setup.pipeline_degree or 1
    least = window or 1
    for active in range(max(least, min(to, stages + 2)), least - 1, -1):
        yield {**values, "active_microbatches": active}


def _now(case: Case, parameter: str, microbatches: int) -> int:
    return case.setup.number(parameter) or microbatches


def _idle(case: Case) -> bool:
    """Whether GPU and GPU memory are both low in enough minutes of work."""
    return (
        _worked(case) and low(case, "gpu_utilization") is not None and low(case, "gpu_memory_utilization") is not None
    )


def _worked(case: Case) -> bool:
    return case.window is not None and case.window.since != "training start" and enough(case)


def _bubbles(found: Outcome) -> tuple[Evidence, ...]:
    pairs = (("bubble of the current schedule", found.bubble_start), ("bubble after the change", found.bubble_change))
    return tuple(Evidence(what, round(100 * share, 1), "%") for what, share in pairs if share is not None)


def _explained(case: Case, gpu_pct: float) -> Confidence:
    """High where the schedule alone explains how busy the GPUs are."""
    return "high" if is_explained(case, gpu_pct) else "medium"


def is_explained(case: Case, gpu_pct: float) -> bool:
    """Whether the schedule alone leaves the GPUs about as busy as they are."""
    bubble = bubble_fraction(case.setup)
    return bubble is not None and abs(100 * (1 - bubble) - gpu_pct) <= EXPLAINED_POINTS


def _not_checked(case: Case, gpu_pct: float) -> tuple[str, ...]:
    bubble = bubble_fraction(case.setup)
    out = ["stage imbalance (stages do not log their times)"]
    if bubble is not None and abs(100 * (1 - bubble) - gpu_pct) > EXPLAINED_POINTS:
        out.append(
            f"why GPUs are {percent(gpu_pct)} busy where the schedule alone would allow {percent(100 * (1 - bubble))}"
        )
    return tuple(out)
