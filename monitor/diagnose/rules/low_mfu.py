"""A rule about models that get little out of GPUs that look busy, where nothing more exact says why."""

from __future__ import annotations

from monitor.diagnose.hints import hints
from monitor.diagnose.rulebook import Case, rule
from monitor.diagnose.stakes import STEPS
from monitor.diagnose.words.devices import money_of, span
from monitor.model import Evidence, Finding, Recommendation, Saving
from monitor.predict.outcome import bubble_fraction
from monitor.words import percent, step_seconds

_FEWEST_STEPS = 10
# As "room": below it a larger microbatch has a place.
_ROOM_PCT = 80.0
# GPUs that are busier than this do not wait for their input.
_BUSY_PCT = 80.0
_EXPLAINED = (
    *("stall", "nccl-timeout", "one-gpu-in-use", "unused-gpus", "idle-gpus", "cpu-bottleneck", "small-batch"),
    *("fluctuating-gpu-utilization", "communication-bound", "full-precision"),
)


@rule("low-mfu", silenced_by=_EXPLAINED)
def low_mfu(case: Case) -> Finding | None:
    """The model gets less than half of the usual share of the GPUs' peak, and no other finding says why.

    What it means: the model FLOP utilization (MFU), as the log prints it or worked out from batch, sequence length,
    parameters and step time, is below half of what is usual on this GPU, also when the time that GPUs visibly wait, and
    the pipeline's bubble, are left out.

    Why it matters: a GPU counts as busy while any kernel runs, however small; MFU says how much of what you pay for
    reaches the model. At half of the usual MFU the same training costs twice as much.

    What to do: start with what the libraries' own warnings name, then a larger microbatch where memory has room, fused
    attention (sdpa or flash attention) and torch.compile; a profile of one step shows the rest.

    Source: MFU as defined by Chowdhery et al. 2022; usual values are from published runs (A100 46 %, H100 35 %:
    MosaicML; V100 24 %: Megatron-LM); the threshold of half is this project's.
    """
    got = case.mfu
    if got is None or got.healthy is None or case.steps is None or (case.steps.distinct or 0) < _FEWEST_STEPS:
        return None
    gpu = case.pooled.get("gpu_utilization")
    working = (1.0 if gpu is None else max(gpu.p50, 1.0) / 100) * (1 - (bubble_fraction(case.setup) or 0.0))
    if not got.is_low or got.value / working >= got.healthy / 2:
        return None
    is_busy = gpu is not None and gpu.p50 >= _BUSY_PCT
    step_s = case.steps.median_s
    said = tuple(hint for hint in hints(case) if not (is_busy and hint.of_the_loader))
    savings = (Saving(STEPS, 1 - got.value / got.healthy, kind="computing"),)
    took = f", {step_seconds(step_s)} a step" if step_s is not None else ""
    busy = f" GPUs look {percent(gpu.p50)} busy." if gpu is not None else ""
    causes = f" What the log or the configuration names: {'; '.join(hint.cause for hint in said)}." if said else ""
    return Finding(
        "low-mfu",
        "warning",
        "medium",
        f"Little useful work: MFU {percent(100 * got.value)}",
        f"The model gets {percent(100 * got.value)} of the peak of {got.gpu_model}{took}; {percent(100 * got.healthy)} or "
        f"more is usual.{busy}{causes}{money_of(case, savings, 'more than at the usual MFU')}",
        (
            Evidence("model FLOP utilization", round(100 * got.value, 2), "%", None, *span(case)),
            Evidence(f"usual on {got.gpu_model}", 100 * got.healthy, "%"),
            *(
                ()
                if gpu is None
                else (Evidence("GPU utilization, p50", gpu.p50, "%", None, *span(case), view="gpu_utilization"),)
            ),
            *(hint.seen for hint in said),
        ),
        Recommendation(_advice(case, tuple(hint.remedy for hint in said)), source="MFU: Chowdhery et al. 2022"),
        not_checked=(
            f"how exact the MFU is: it is from {got.how}",
            "which kernels take the time: a profile of one step (torch.profiler) tells",
        ),
        savings=savings,
    )


def _advice(case: Case, remedies: tuple[str, ...]) -> str:
    """What costs nothing to try first, in order; nothing that there is no room for."""
    out = list(remedies)
    memory = case.setup.real("gpu_memory_utilization")
    if memory is not None and memory < _ROOM_PCT:
        out.append(f"Raise the microbatch: GPU memory is at {percent(memory)}.")
    if case.setup.flag("flash_attention") is not True and not any("flash_attention" in each for each in out):
        out.append("Use fused attention (sdpa or flash attention).")
    out.append("Profile one step with torch.profiler, and look for gaps between kernels and for small ones.")
    if len(out) == 1:
        return out[0]
    return " ".join(f"({number}) {each}" for number, each in enumerate(out, start=1))
