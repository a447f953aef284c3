"""Which share of the GPUs' peak does the model get? Model FLOP utilization, where the log or the configuration tells enough.

MFU = FLOP per token * tokens per second and GPU / peak. FLOP per token are 6 P of a dense model with P parameters, and
12 * layers * hidden * sequence of its attention (Chowdhery et al. 2022, appendix B). A mixture of experts, and adapters on
frozen weights, need less than 6 P, so that they are never taken for slower than they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pandas as pd

from monitor.model import Job

#: Dense half-precision peaks, TFLOP/s of one GPU (NVIDIA's data sheets of the SXM modules).
PEAK_TFLOPS = {"NVIDIA V100": 125.0, "NVIDIA A100": 312.0, "NVIDIA H100": 989.0, "NVIDIA H200": 989.0}
#: Lower quartiles of published training throughput: what three of four runs reach. A100 and H100: MosaicML's llm-foundry
#: tables (36 rows of 40 GB, 42 of 80 GB). V100: Megatron-LM's 8.3 billion parameters on 512 GPUs, 15.1 PFLOP/s in all
#: (Shoeybi et al. 2019). Of other GPUs nothing of the kind was found.
HEALTHY_MFU = {"NVIDIA V100": 0.236, "NVIDIA A100": 0.46, "NVIDIA H100": 0.35, "NVIDIA H200": 0.35}

_LAYERS = ("num_layers", "num_hidden_layers", "n_layer", "n_layers", "layers")
_HIDDEN = ("hidden_size", "hidden_width", "n_embd", "d_model", "hidden_dim")
_INNER = ("intermediate_size", "ffn_hidden_size")
_VOCABULARY = ("vocab_size", "vocabulary_size", "padded_vocab_size")
_SEQUENCE = (
    "sequence_length",
    "seq_length",
    "seq_len",
    "max_seq_length",
    "max_seq_len",
    "max_context_width",
    "block_size",
)
_BATCH = ("global_batch_size", "global_train_batch_size")
_PRECISION = ("fp16", "bf16", "fp16_params", "precision", "mixed_precision", "torch_dtype", "dtype")
_PER_GPU = {"TFLOP/s/GPU": 1.0, "TFLOP/s/device": 1.0}
_TOKENS_PER_GPU = {"tokens/s/GPU", "tokens/s/device"}
_TOKENS = re.compile(r"tokens=(?P<count>\d+(?:\.\d+)?)")
_SIZE = re.compile(r"parameters=(?P<count>\d+(?:\.\d+)?(?:e\d+)?)")


@dataclass(frozen=True, slots=True)
class Mfu:
    """``value`` and what is usual on this GPU (``healthy``), both 0 to 1; ``how`` says what it was worked out from."""

    value: float
    healthy: float
    gpu_model: str
    how: str


def mfu(job: Job, steps: pd.DataFrame, events: pd.DataFrame, step_s: float | None) -> Mfu | None:
    """The MFU in the steps without warm-up; None where anything it needs is not known, or where it is no fraction."""
    models = {node.gpu_model for node in job.nodes if node.gpus}
    model = models.pop() if len(models) == 1 else None
    # The peaks are those of half precision.
    if model is None or model not in HEALTHY_MFU or _half_precision(job) is False:
        return None
    found = _tflops(job, steps, events, step_s)
    if found is None or not 0 < found[0] < PEAK_TFLOPS[model]:
        return None
    return Mfu(found[0] / PEAK_TFLOPS[model], HEALTHY_MFU[model], model, found[1])


def parameters(job: Job, events: pd.DataFrame) -> float | None:
    """How many parameters the model has: as the log prints it, else from its shape in the configuration; else None."""
    told = events.loc[events["kind"] == "model-size", "text"].str.extract(_SIZE)["count"].dropna().astype("float64")
    if len(told):
        return float(told.max())
    layers, hidden, vocabulary = (_number(job, names) for names in (_LAYERS, _HIDDEN, _VOCABULARY))
    if layers is None or hidden is None:
        return None
    inner = _number(job, _INNER)
    # Attention 4 h², feed-forward 8 h²; with its own width and a gate, as Llama has it, 3 h times that width.
    each = 12 * hidden**2 if inner is None else 4 * hidden**2 + 3 * hidden * inner
    return layers * each + (vocabulary or 0.0) * hidden


def flop_per_token(job: Job, events: pd.DataFrame) -> float | None:
    """6 P, and the attention's share where layers, width and sequence length are known."""
    count = parameters(job, events)
    if count is None:
        return None
    layers, hidden, sequence = (_number(job, names) for names in (_LAYERS, _HIDDEN, _SEQUENCE))
    known = layers is not None and hidden is not None and sequence is not None
    return 6 * count + (12 * layers * hidden * sequence if known else 0.0)  # type: ignore[operator]


def _tflops(job: Job, steps: pd.DataFrame, events: pd.DataFrame, step_s: float | None) -> tuple[float, str] | None:
    """(TFLOP/s of one GPU, what from)."""
    rows = steps[~steps["warm_up"] & steps["throughput"].notna()]
    printed = rows.loc[rows["throughput_unit"].isin(_PER_GPU), "throughput"]
    if len(printed):
        return float(printed.median()), "TFLOP/s per GPU as the log prints it"
    each = flop_per_token(job, events)
    if each is None:
        return None
    tokens = rows.loc[rows["throughput_unit"].isin(_TOKENS_PER_GPU), "throughput"]
    if len(tokens):
        return float(tokens.median()) * each / 1e12, "tokens per second and GPU in the log, and the model's size"
    gpus = sum(node.gpus or 0 for node in job.nodes)
    if not step_s or not gpus:
        return None
    told = events.loc[events["kind"] == "tokens-per-step", "text"].str.extract(_TOKENS)["count"].dropna()
    if len(told):
        return float(told.iloc[-1]) * each / (
            step_s * gpus
        ) / 1e12, "tokens per step in the log, step time and the model's size"
    batch, sequence = _batch(job, events), _number(job, _SEQUENCE)
    # Trainers that print rates or tokens run in half precision unless told otherwise; of other scripts it must be known.
    if batch is None or sequence is None or not _half_precision(job):
        return None
    return batch * sequence * each / (step_s * gpus) / 1e12, "batch, sequence length, step time and the model's size"


def _batch(job: Job, events: pd.DataFrame) -> float | None:
    """Samples of one step of the whole job, where a name or a line says just that."""
    told = events.loc[events["kind"] == "samples-per-step", "text"]
    return float(told.iloc[-1]) if len(told) else _number(job, _BATCH)


def _half_precision(job: Job) -> bool | None:
    """Whether the configuration says that half precision is used; None where it says nothing."""
    told = [str(job.configuration[name].value).lower() for name in _PRECISION if name in job.configuration]
    return any(value in {"1", "true"} or "16" in value for value in told) if told else None


def _number(job: Job, names: tuple[str, ...]) -> float | None:
    for name in names:
        found = job.configuration.get(name)
        value = None if found is None else found.value if isinstance(found.value, float) else found.whole
        if value is not None and value > 0:
            return float(value)
    return None
