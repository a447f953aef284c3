"""A rule about arithmetic in 32 bits on GPUs that are made for 16."""

from __future__ import annotations

from dataclasses import dataclass

from monitor.diagnose.advised import read
from monitor.diagnose.hints import TENSOR_CORES, hints
from monitor.diagnose.rulebook import Case, rule
from monitor.diagnose.words.devices import enough
from monitor.model import Evidence, Finding, Recommendation
from monitor.predict.parameters import yes_or_no
from monitor.words import percent

# GPUs that compute for most of the time gain from faster arithmetic.
_COMPUTES_PCT = 60.0
#: These have tensor cores, and none for bf16.
_WITHOUT_BF16 = frozenset({"NVIDIA V100", "NVIDIA T4"})
_WITHOUT_TENSOR_CORES = frozenset({"NVIDIA K80", "NVIDIA M60", "NVIDIA P100"})
_SWITCHES = ("fp16", "bf16")
_BF16 = "bf16"
# Of transformers' TrainingArguments and of Megatron-LM: what is not switched on is off.
_SAYS_ALL = ("per_device_train_batch_size", "tensor_model_parallel_size", "tensor-model-parallel-size")


@dataclass(frozen=True, slots=True)
class _Seen:
    """Where 32 bits, or what is computed as slowly, were seen, in words and as evidence."""

    words: str
    evidence: tuple[Evidence, ...]
    is_sure: bool
    name: str = "32-bit precision"


@rule("full-precision", needs="nothing", silenced_by=("invalid-configuration", "stall"), whole_log=True)
def full_precision(case: Case) -> Finding | None:
    """Training runs in 32-bit precision on GPUs with 16-bit tensor cores.

    What it means: the configuration says 32 bits, or turns fp16 and bf16 off, or says bf16 on a GPU whose tensor cores
    do not have it (V100, T4), or a library warned that the tensor cores are not in use.

    Why it matters: matrix products in 16 bits run two to four times as fast on tensor cores, and activations take
    half the memory.

    What to do: train in bf16 on A100, A10G, L4 and newer GPUs, and in fp16 with loss scaling on V100 and T4, which have
    no bf16; watch the loss until you trust it. SMP v1 accepts bf16 only with sharded data parallelism.

    Source: SMP v2 best practices (always use mixed precision); SMP v1 configuration (fp16 since 1.10); data sheets of
    the GPUs.
    """
    gpu = case.pooled.get("gpu_utilization")
    models = {node.gpu_model or "" for node in case.run.job.nodes if node.gpus}
    seen = _seen(case, models)
    if seen is None or not models or models & _WITHOUT_TENSOR_CORES:
        return None
    if not all(model.startswith("NVIDIA") for model in models):
        return None
    # Whether the GPU is the limit is not known of too few minutes; without any it may well be.
    if gpu is not None and not enough(case):
        return None
    is_limit = gpu is not None and gpu.p50 >= _COMPUTES_PCT
    if not is_limit and not seen.is_sure:
        return None
    to = _better(case, models)
    on = " and ".join(sorted(models))
    busy = f", and GPUs are {percent(gpu.p50)} busy" if gpu is not None else ""
    return Finding(
        "full-precision",
        "warning" if is_limit and seen.is_sure else "info",
        "medium" if seen.is_sure else "low",
        f"{seen.name} on {on}",
        f"{seen.words} on {on}{busy}: {_loss(seen.name, to)}",
        (
            *seen.evidence,
            *(() if gpu is None else (Evidence("GPU utilization, p50", gpu.p50, "%", view="gpu_utilization"),)),
        ),
        Recommendation(
            f"Train in {to}{' with loss scaling' if to == 'fp16' else ''}, and compare the step times and losses of "
            "a short run.",
            to,
            False,
            True,
            "SMP v2 best practices: always use mixed precision",
        ),
        None,
        (
            "whether the script itself casts (autocast)",
            "whether the model trains as well in 16 bits",
            "the gain: published figures are of matrix products, not of whole steps",
        ),
    )


def _better(case: Case, models: set[str]) -> str:
    """bf16 from A100 on, fp16 on V100 and T4; SMP v1 takes bf16 with sharded data parallelism alone."""
    if models & _WITHOUT_BF16:
        return "fp16"
    sharded = (case.setup.number("sharded_data_parallel_degree") or 1) > 1
    return "bf16" if case.setup.framework != "smp1" or sharded else "fp16"


def _loss(seen: str, to: str) -> str:
    if seen == _BF16:
        return f"its tensor cores have no bf16, so matrix products run without them; in {to} they would be in use."
    return "in 16 bits matrix products would run two to four times as fast, and activations would take half the memory."


def _seen(case: Case, models: set[str]) -> _Seen | None:
    setup = case.setup
    known = setup.known("precision")
    if known is not None:
        if known.value == "bf16" and models and models <= _WITHOUT_BF16 and not known.is_default:
            return _Seen(f"Precision is bf16 ({known.read_from})", read(case, "precision", "bf16"), True, _BF16)
        if known.value != "fp32":
            return None
        return _Seen(
            f"Precision is fp32 ({known.read_from})", read(case, "precision", "fp16", "bf16"), not known.is_default
        )
    configuration = case.run.job.configuration
    off = {name: configuration[name] for name in _SWITCHES if name in configuration}
    says_all = any(name in configuration for name in _SAYS_ALL)
    if (
        off
        and (len(off) == len(_SWITCHES) or says_all)
        and all(yes_or_no(each.value) is False for each in off.values())
    ):
        told = tuple(Evidence(f"{name} ({each.read_from})", str(each.value).lower()) for name, each in off.items())
        return _Seen(f"{' and '.join(off)} {'is' if len(off) == 1 else 'are'} off", told, True)
    warned = next((hint for hint in hints(case) if hint.cause == TENSOR_CORES), None)
    return None if warned is None else _Seen(f"A library warned that {warned.cause}", (warned.seen,), True)
