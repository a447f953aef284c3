"""Rules about what the forward pass leaves in memory for the backward: recomputed, moved to the host, or kept."""

from __future__ import annotations

from monitor.diagnose.advised import (
    CHECKPOINTING,
    SHORT_MEMORY_PCT,
    memory_evidence,
    memory_p95,
    memory_words,
    prediction,
    read,
)
from monitor.diagnose.rulebook import Case, rule
from monitor.model import Evidence, Finding, Recommendation, Severity
from monitor.predict.outcome import what_if
from monitor.words import percent


@rule(
    "activation-checkpointing",
    needs="metrics",
    silenced_by=("invalid-configuration", "lower-active-microbatches"),
    about="risk",
    whole_log=True,
)
def activation_checkpointing(case: Case) -> Finding | None:
    """GPU memory is short, and the activations of every layer are kept.

    What it means: GPU memory is above 85 % at its 95th percentile, or the job ended because a GPU ran out of it, and
    no parameter turns on activation checkpointing. Only reported for transformers: jobs with a model-parallel
    library, or whose layers are known.

    Why it matters: without it, a layer keeps 34 bytes or more per token and unit of width; with it, 2.

    What to do: checkpoint each transformer layer if memory rules out a batch size, sequence length or degree that
    would gain more than the repeated forward pass costs: about a third of the step time (26 to 39 % measured);
    selective recomputation of the attention costs 2 to 7 %.

    Source: SMP best practices; arXiv 2205.05198 (bytes, selective recomputation); published pairs of step times.
    """
    setup, severity = case.setup, _severity(case)
    if severity is None or setup.flag("activation_checkpointing") or setup.flag("selective_recomputation"):
        return None
    split = setup.framework not in (None, "ddp")
    if not split and setup.number("layers") is None:
        return None
    option = CHECKPOINTING.get(setup.framework) or CHECKPOINTING[None]
    selective = option.parameter == "recompute_granularity"
    found = what_if(setup, {"selective_recomputation" if selective else "activation_checkpointing": True})
    known = setup.known("activation_checkpointing") is not None
    asked = len(case.run.job.configuration)
    said = (
        "activation checkpointing is off"
        if known
        else f"none of the {asked} known parameters turns on activation checkpointing"
    )
    cost = "" if selective else "; each step takes about a third longer"
    return Finding(
        "activation-checkpointing",
        severity,
        "high" if known else "medium",
        f"GPU memory short without activation checkpointing{_full(case)}",
        f"GPU memory is short{_where(case)}, and {said}: each layer keeps its activations until its backward pass.",
        (*read(case, "activation_checkpointing"), *_evidence(case)),
        Recommendation(
            f"{option.words} if memory is what keeps you from a larger batch or a longer sequence: "
            f"{memory_words(found)}{cost}.",
            option.parameter,
            False if known and not selective else None,
            option.to,
            "SMP best practices; arXiv 2205.05198",
        ),
        prediction(found),
        () if known else ("whether the script itself turns it on",),
    )


@rule(
    "offload-activations",
    needs="metrics",
    silenced_by=("invalid-configuration", "lower-active-microbatches"),
    about="risk",
    whole_log=True,
)
def offload_activations(case: Case) -> Finding | None:
    """GPU memory is short, and checkpointed activations stay on the GPU.

    What it means: SMP v1 runs a pipeline with several microbatches and activation checkpointing, GPU memory is above 85 % at
    its 95th percentile or ran out, and offload_activations is off.

    Why it matters: the saved inputs of all layers of all microbatches in flight can wait in the host's memory; the
    GPU keeps those of four layers (activation_loading_horizon).

    What to do: turn on offload_activations, watch the step time and the host's memory; then active_microbatches can
    be raised up to microbatches.

    Source: SMP v1 best practices (checkpointing, pipeline and several microbatches combined; then raise the window).
    """
    setup, severity = case.setup, _severity(case)
    if severity is None or setup.framework != "smp1" or setup.flag("offload_activations") is not False:
        return None
    if (setup.pipeline_degree or 1) < 2 or (setup.microbatches or 1) < 2 or (setup.window or 1) < 2:
        return None
    if not setup.flag("activation_checkpointing"):
        return None
    found = what_if(setup, {"offload_activations": True})
    return Finding(
        "offload-activations",
        severity,
        "medium",
        f"Activations stay on the GPU although its memory is short{_full(case)}",
        f"GPU memory is short{_where(case)}, and it holds the checkpointed activations of up to {setup.window} "
        "microbatches.",
        (*read(case, "offload_activations", "active_microbatches", "pipeline_parallel_degree"), *_evidence(case)),
        Recommendation(
            f"Set offload_activations to true in mp_parameters: {memory_words(found)}. Offloading uses host memory, "
            "and takes time where a layer's compute does not hide the copies.",
            "offload_activations",
            False,
            True,
            "SMP v1 best practices",
        ),
        prediction(found),
        ("whether compute hides the copies over PCIe", "how much memory the hosts have left"),
    )


def _severity(case: Case) -> Severity | None:
    """Warning where memory ran out, information where it is short, None where it is neither."""
    if _ran_out(case):
        return "warning"
    memory = memory_p95(case)
    return "info" if memory is not None and memory > SHORT_MEMORY_PCT else None


def _ran_out(case: Case) -> bool:
    return case.ending is not None and case.ending.id == "cuda-out-of-memory"


def _full(case: Case) -> str:
    memory = memory_p95(case)
    return "" if memory is None or _ran_out(case) else f": {percent(memory)}"


def _where(case: Case) -> str:
    if _ran_out(case):
        return (
            f" and ran out{f' at {case.clock(case.ending.at)}' if case.ending is not None and case.ending.at else ''}"
        )
    return f", {percent(memory_p95(case))} at the 95th percentile of the fullest node"


def _evidence(case: Case) -> tuple[Evidence, ...]:
    memory = memory_p95(case)
    if memory is None or _ran_out(case):
        return (Evidence("what the job would have needed, at least", memory, "%"),)
    return memory_evidence(case)
