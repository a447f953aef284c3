"""The share of the GPUs' peak that the model gets. Model FLOP utilization, where the log or the configuration tells enough.

MFU = FLOP per token * tokens per second and GPU / peak. FLOP per token are 6 P of a dense model with P parameters, and
12 * layers * hidden * sequence of its attention (Chowdhery et al. 2022, appendix B). A mixture of experts, and adapters on
frozen weights, need less than 6 P, so that they are never taken for slower than they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pandas as pd

from monitor.model import Job

#: Dense half-precision peaks, TFLOP/s of one GPU (NVIDIA's data sheets, of V100 to B200 the SXM modules).
PEAK_TFLOPS = {
    "NVIDIA T4": 65.0,
    "NVIDIA A10G": 70.0,
    "NVIDIA L4": 121.0,
    "NVIDIA L40S": 362.0,
    "NVIDIA V100": 125.0,
    "NVIDIA A100": 312.0,
    "NVIDIA H100": 989.0,
    "NVIDIA H200": 989.0,
    "NVIDIA B200": 2250.0,
}
#: Lower quartiles of published training throughput: what three of four runs reach. A100 and H100: MosaicML's llm-foundry
#: tables (36 rows of 40 GB, 42 of 80 GB). V100: Megatron-LM's 8.3 billion parameters on 512 GPUs, 15.1 PFLOP/s in all
#: (Shoeybi et al. 2019). Of other GPUs nothing of the kind was found: their MFU is shown, and not judged.
HEALTHY_MFU = {"NVIDIA V100": 0.236, "NVIDIA A100": 0.46, "NVIDIA H100": 0.35, "NVIDIA H200": 0.35}
#: Of what is usual: below it something is wrong.
LOW_SHARE = 0.5
# nanoGPT and llama2.c print the share of an A100's peak, whatever GPU they run on.
_OF_AN_A100 = "nanogpt"

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
_PART = re.compile(r"(?P<tensor>\d+) (?P<pipeline>\d+) parameters=(?P<count>\d+)")
# What trains adapters says so, or names a model that is much larger than what is trained.
_ADAPTERS = re.compile(r"lora|peft|adapter|prefix_tuning|freeze|frozen|quantiz|load_in_[48]bit", re.IGNORECASE)
_NAMED_SIZE = re.compile(r"(?<![a-z0-9.])(?P<count>\d{1,4}(?:\.\d{1,2})?)b(?![a-z0-9])", re.IGNORECASE)
_OFF = frozenset({"", "0", "false", "none", "no", "off"})


@dataclass(frozen=True, slots=True)
class Mfu:
    """``value`` and what is usual on this GPU (``healthy``, None where nobody knows), both 0 to 1; ``how`` says what it was
    worked out from."""

    value: float
    healthy: float | None
    gpu_model: str
    how: str

    @property
    def is_low(self) -> bool:
        """Below half of what is usual on this GPU."""
        return self.healthy is not None and self.value < LOW_SHARE * self.healthy


def mfu(
    job: Job,
    steps: pd.DataFrame,
    events: pd.DataFrame,
    step_s: float | None,
    samples: float | None = None,
    sequence: int | None = None,
) -> Mfu | None:
    """The MFU in the steps without warm-up; None where anything it needs is not known, or where it is no fraction.

    ``samples`` of a step of the whole job and ``sequence`` (tokens of a sample) are what the configuration comes to, for
    where no line or name says just that.
    """
    models = {node.gpu_model for node in job.nodes if node.gpus}
    model = models.pop() if len(models) == 1 else None
    # The peaks are those of half precision.
    if model is None or model not in PEAK_TFLOPS or _half_precision(job) is False:
        return None
    found = _tflops(job, steps, events, step_s, samples, sequence, PEAK_TFLOPS[model])
    if found is None or not 0 < found[0] < PEAK_TFLOPS[model]:
        return None
    return Mfu(found[0] / PEAK_TFLOPS[model], HEALTHY_MFU.get(model), model, found[1])


def parameters(job: Job, events: pd.DataFrame) -> float | None:
    """How many parameters the model has: as the log prints it, else from its shape in the configuration; else None."""
    told = _counts(events, "model-size")
    if len(told):
        return float(told.max())
    if (parts := _sum_of_parts(events)) is not None:
        return parts
    layers, hidden, vocabulary = (_number(job, names) for names in (_LAYERS, _HIDDEN, _VOCABULARY))
    if layers is None or hidden is None:
        return _trained(job, events)
    inner = _number(job, _INNER)
    # Attention 4 h², feed-forward 8 h²; with its own width and a gate, as Llama has it, 3 h times that width.
    each = 12 * hidden**2 if inner is None else 4 * hidden**2 + 3 * hidden * inner
    return layers * each + (vocabulary or 0.0) * hidden


def _counts(events: pd.DataFrame, kind: str) -> pd.Series:
    """The numbers of parameters that events of a kind tell."""
    said = events.loc[events["kind"] == kind, "text"]
    if said.empty:  # as in most logs: nothing has to be searched for a pattern
        return pd.Series(dtype="float64")
    return said.str.extract(_SIZE)["count"].dropna().astype("float64")


def _sum_of_parts(events: pd.DataFrame) -> float | None:
    """The model out of what each tensor and pipeline rank holds, where all of them say so."""
    said = events.loc[events["kind"] == "part-size", "text"]
    if said.empty:
        return None
    told = said.str.extract(_PART).dropna().astype("float64")
    told = told.drop_duplicates(["tensor", "pipeline"])
    if told.empty or len(told) != (told["tensor"].max() + 1) * (told["pipeline"].max() + 1):
        return None
    return float(told["count"].sum())


def _trained(job: Job, events: pd.DataFrame) -> float | None:
    """What is trained, where that is the whole model: no adapters, and no name of a larger one."""
    told = _counts(events, "trainable-size")
    if told.empty:
        return None
    count = float(told.max())
    for name, known in job.configuration.items():
        said = str(known.value)
        if _ADAPTERS.search(name) and said.strip().lower() not in _OFF:
            return None
        named = [float(found["count"]) * 1e9 for found in _NAMED_SIZE.finditer(said)]
        if named and max(named) > 1.5 * count:
            return None
    return count


def flop_per_token(job: Job, events: pd.DataFrame) -> float | None:
    """6 P, and the attention's share where layers, width and sequence length are known."""
    count = parameters(job, events)
    if count is None:
        return None
    layers, hidden, sequence = (_number(job, names) for names in (_LAYERS, _HIDDEN, _SEQUENCE))
    known = layers is not None and hidden is not None and sequence is not None
    return 6 * count + (12 * layers * hidden * sequence if known else 0.0)  # type: ignore[operator]


def _tflops(
    job: Job,
    steps: pd.DataFrame,
    events: pd.DataFrame,
    step_s: float | None,
    samples: float | None,
    sequence: int | None,
    peak: float,
) -> tuple[float, str] | None:
    """(TFLOP/s of one GPU, what from)."""
    rows = steps[~steps["warm_up"] & steps["throughput"].notna()]
    printed = rows.loc[rows["throughput_unit"].isin(_PER_GPU), "throughput"]
    if len(printed):
        return float(printed.median()), "TFLOP/s per GPU as the log prints it"
    told = pd.to_numeric(events.loc[events["kind"] == "mfu", "text"], errors="coerce").dropna()
    if len(told):
        # The first ones compile and warm up.
        share = float(told.iloc[len(told) // 2 :].median()) / 100
        of_an_a100 = bool((steps["format"] == _OF_AN_A100).any())
        return share * (PEAK_TFLOPS["NVIDIA A100"] if of_an_a100 else peak), "the MFU that the log prints"
    each = flop_per_token(job, events)
    if each is None:
        return None
    tokens = rows.loc[rows["throughput_unit"].isin(_TOKENS_PER_GPU), "throughput"]
    if len(tokens):
        return float(tokens.median()) * each / 1e12, "tokens per second and GPU in the log, and the model's size"
    gpus = sum(node.gpus or 0 for node in job.nodes)
    if not step_s or not gpus:
        return None
    counts = events.loc[events["kind"] == "tokens-per-step", "text"].str.extract(_TOKENS)["count"].dropna()
    if len(counts):
        return float(counts.iloc[-1]) * each / (
            step_s * gpus
        ) / 1e12, "tokens per step in the log, step time and the model's size"
    batch, length = _batch(job, events) or samples, _number(job, _SEQUENCE) or sequence
    # Trainers that print rates or tokens run in half precision unless told otherwise; of other scripts it must be known.
    if batch is None or length is None or not _half_precision(job):
        return None
    return batch * length * each / (step_s * gpus) / 1e12, "batch, sequence length, step time and the model's size"


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
