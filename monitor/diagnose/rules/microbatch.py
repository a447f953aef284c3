"""A rule about gradient accumulation in microbatches that are smaller than memory allows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from monitor.diagnose.advised import (
    LEAST_GAIN_PCT,
    fits,
    gain,
    held,
    memory_words,
    prediction,
    read,
    saved,
    sound,
    written_name,
)
from monitor.diagnose.rulebook import Case, rule
from monitor.model import Finding, Recommendation
from monitor.predict.outcome import what_if
from monitor.predict.setup import Setup, changed
from monitor.words import count, percent

#: A gain that is worth a change by itself.
WORTH_PCT = 10.0
_FACTORS = (16, 8, 4, 2)
_BROKEN = ("stall", "nccl-timeout", "cuda-out-of-memory", "one-gpu-in-use", "unused-gpus", "invalid-configuration")


@rule("small-microbatch", silenced_by=_BROKEN)
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
    factor = next((each for each in _FACTORS if steps % each == 0 and _has_place(setup, each)), None)
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
            *held(case),
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


def _has_place(setup: Setup, factor: int) -> bool:
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
