"""Which published runs differ in one setting alone? Pairs of them as the setups that ``monitor plan`` would be given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, groupby

from benchmarks.published.rows import Row, changes, select, shape_of
from benchmarks.published.schedules import CHUNKS
from monitor.choices import Framework
from monitor.predict.setup import Setup, setup_from
from monitor.predict.time_change import MANY_REPLICAS, SMALLEST_BILLION

#: Of the same source, but of runs whose authors mark several of each kind as not to be explained.
UNEXPLAINED = "DS3Lab"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two runs; ``kind`` says in what they differ, and the second has more of it."""

    kind: str
    one: Row
    other: Row

    @property
    def source(self) -> str:
        """Who measured it."""
        return self.one.source.partition(" (")[0]


def time_pairs() -> list[Pair]:
    """Pairs of step times or throughputs, a table apart from the others."""
    found = [pair for pair in _pairs(("step_time", "throughput")) if _seconds_known(pair)]
    return [*found, *_selective(), *_models()]


def memory_pairs() -> list[Pair]:
    """Pairs of peaks of memory, each both ways."""
    found = [pair for pair in _pairs(("gpu_memory",)) if pair.kind not in {"stages", "tensor degree"}]
    found += _degrees()
    return [*found, *(Pair(pair.kind, pair.other, pair.one) for pair in found)]


def seconds_a_sample(row: Row) -> float:
    """Up to a factor that is the same for all rows of a table."""
    if row.quantity == "step_time":
        return row.value / row.batch if row.batch else 0.0
    if row.quantity.startswith("iteration_time"):
        return row.value
    each = {"tokens/s/GPU": row.sequence or 0, "samples/GPU/s": 1, "TFLOP/s/GPU": 1, "samples/s": 1}[row.unit]
    return each / (row.value * (row.gpus or 1 if row.unit.endswith("GPU") or row.unit == "samples/GPU/s" else 1))


def setup_of(row: Row, used_gib: float | None = None) -> Setup:
    """A run's setup, as far as its table tells."""
    gpus = row.gpus or row.pipeline * row.tensor * row.data
    gpipe = row.schedule == "GPipe"
    shard = row.shard.lower()
    framework: Framework = "smp1" if gpipe else "fsdp" if shard == "full_shard" else "megatron"
    values: dict[str, object] = {
        "pipeline_parallel_degree": row.pipeline,
        "tensor_parallel_degree": row.tensor,
        "gpus_per_node": min(8, gpus),
        "instance_count": max(1, gpus // 8),
        "interconnect": "nvlink",
        "network_gbps": 400,
        "activation_checkpointing": row.recomputes or row.quantity.endswith("full_recompute"),
        "selective_recomputation": row.quantity.endswith("selective"),
    }
    if gpipe:
        values |= {"microbatches": row.microbatches, "active_microbatches": row.microbatches, "pipeline": "simple"}
        values["batch_size"] = row.size * row.microbatches
    else:
        values["micro_batch_size"] = row.size
        if row.counts_microbatches:
            values["microbatches" if framework == "megatron" else "gradient_accumulation_steps"] = row.microbatches
    if framework == "fsdp":
        values["sharding_strategy"] = "full_shard"
    elif shard.startswith(("zero", "opt_shard")):
        values["zero_stage"] = 1 if shard == "opt_shard" else int(shard[4])
    if row.schedule == "1F1B-I" and row.params_b in CHUNKS:
        values["virtual_stages"] = CHUNKS[row.params_b]
    if row.sequence:
        values["sequence_length"] = row.sequence
    shape = shape_of(row)
    if shape is not None:
        values |= {
            "layers": shape.layers,
            "hidden_size": shape.hidden,
            "attention_heads": shape.heads,
            "vocabulary_size": shape.vocabulary,
            "sequence_length": row.sequence or shape.sequence,
        }
    if row.params_b and not row.model.startswith("MPT"):
        values["parameters_billion"] = row.params_b
    size = next((gib for name, gib in _sizes().items() if name in row.gpu), None)
    if size:
        values["gpu_memory_gib"] = size
        if used_gib is not None:
            values["gpu_memory_utilization"] = 100 * used_gib / size
    return setup_from(values, framework, library=False)


def used_gib(row: Row) -> float:
    """A peak, in GiB."""
    return row.value * 1e9 / 2**30 if row.unit == "GB" else row.value


def _sizes() -> dict[str, float]:
    return {f"{gib}GB": float(gib) for gib in (16, 24, 32, 40, 80, 96, 141)} | {"80gb": 80.0, "40gb": 40.0}


def _pairs(quantities: tuple[str, ...]) -> Iterator[Pair]:
    rows = [row for row in changes() if row.quantity in quantities and row.note != "unexplained"]
    for _, group in groupby(sorted(rows, key=_table), key=_table):
        for one, other in combinations(sorted(group, key=_order), 2):
            kind = _kind(one, other)
            if kind:
                yield Pair(kind, one, other)


def _degrees() -> Iterator[Pair]:
    """Runs of a table that are laid out in other degrees, whatever fits into the microbatch and however many GPUs they have."""
    rows = [row for row in changes() if row.quantity == "gpu_memory" and row.note != "unexplained"]
    for _, group in groupby(sorted(rows, key=_table_of_memory), key=_table_of_memory):
        for one, other in combinations(sorted(group, key=_order), 2):
            if (one.pipeline, one.tensor) != (other.pipeline, other.tensor):
                yield Pair("degrees", one, other)


def _table_of_memory(row: Row) -> tuple[str, ...]:
    return row.source, row.locator, row.model, str(row.params_b), row.gpu, row.shard, row.schedule, str(row.recomputes)


def _selective() -> Iterator[Pair]:
    """Full in place of selective recomputation, by parameters (arXiv 2205.05198)."""
    full = {row.params_b: row for row in select("iteration_time_full_recompute")}
    for row in select("iteration_time_seqpar_selective"):
        if row.params_b in full:
            yield Pair("recomputation", row, full[row.params_b])


def _models() -> Iterator[Pair]:
    """Models of one family that were trained alike, but for the microbatches that fit (llm-foundry)."""
    rows = [row for row in changes() if row.model.startswith("MPT") and row.quantity == "throughput"]
    for _, group in groupby(sorted(rows, key=_trained), key=_trained):
        for one, other in combinations(sorted(group, key=lambda row: row.params_b or 0), 2):
            if one.model != other.model and (one.params_b or 0) >= SMALLEST_BILLION:
                yield Pair("model", one, other)


def _trained(row: Row) -> tuple[str, ...]:
    return row.source, row.gpu, str(row.bits), str(row.sequence), str(row.gpus), str(row.recomputes)


def _table(row: Row) -> tuple[str, ...]:
    # Parameters that a model has for each position of a longer sequence make no other model.
    params = "" if row.model.startswith("MPT") else str(row.params_b)
    # All tables of this paper are of the same machines, and so are all of this model.
    locator = "" if row.source.startswith("Zero Bubble") or row.locator.startswith("tr3m") else row.locator
    return row.source, locator, row.quantity, row.model, params, row.gpu, str(row.bits)


def _order(row: Row) -> tuple[float, ...]:
    chunked = row.schedule == "1F1B-I"
    layout = row.gpus or 0, row.recomputes, row.pipeline, row.tensor
    return *layout, row.sequence or 0, row.size, row.microbatches, chunked


def _kind(one: Row, other: Row) -> str | None:
    """In what two runs of a table differ, where it is one thing; None else."""
    fields = (
        "gpus",
        "pipeline",
        "tensor",
        "data",
        "shard",
        "size",
        "microbatches",
        "sequence",
        "schedule",
        "recomputes",
    )
    differ = {name for name in fields if getattr(one, name) != getattr(other, name)}
    if one.delay_s != other.delay_s or one.schedule not in ("", "GPipe", "1F1B", "1F1B-I", "PTD-P"):
        return None
    small = (one.params_b or 1.0) < SMALLEST_BILLION
    if differ == {"microbatches"}:
        return "microbatches" if one.pipeline > 1 else "accumulation"
    if differ == {"size"} or (differ == {"size", "microbatches"} and _samples(one) == _samples(other)):
        return "size of a small model" if small else "size"
    if "recomputes" in differ <= {"recomputes", "size", "microbatches"} and _samples(one) == _samples(other):
        many = (one.gpus or 0) > MANY_REPLICAS and one.pipeline * one.tensor == 1
        return "recomputation of many replicas" if many else "recomputation"
    if differ == {"gpus", "data"} and one.batch and other.batch:
        return "hosts" if (one.gpus or 0) >= 8 else None
    if differ == {"schedule"}:
        return "interleaving" if one.params_b in CHUNKS else None
    if "sequence" in differ and differ <= {"sequence", "size", "microbatches"}:
        return "sequence length"
    if differ - {"microbatches"} == {"pipeline", "data"} and one.gpus == other.gpus:
        return "stages"
    if "tensor" in differ and differ - {"microbatches"} <= {"pipeline", "tensor", "data"} and one.gpus == other.gpus:
        return "tensor degree"
    return None


def _samples(row: Row) -> int:
    return row.size * row.microbatches


def _seconds_known(pair: Pair) -> bool:
    return all(seconds_a_sample(row) > 0 for row in (pair.one, pair.other))
