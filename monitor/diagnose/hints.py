"""What libraries themselves say about settings that cost time. Their warnings, and settings that the configuration tells,
as causes with a remedy.

What their guides say of a situation that a finding is about, as clauses that its next step can end with, is SMP's: SMP v1
configuration tips and pitfalls, troubleshooting, SMP v2 best practices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from monitor.diagnose.rulebook import Case
from monitor.diagnose.words.report import quoted
from monitor.model import Evidence
from monitor.predict.layout import sharding_of
from monitor.predict.parameters import plain_name, yes_or_no

_ATTENTION = frozenset({"attn_implementation", "_attn_implementation", "attention_implementation"})
_COMPILE = frozenset({"torch_compile", "use_torch_compile", "compile_model"})


@dataclass(frozen=True, slots=True)
class Hint:
    """``cause`` as a clause, ``remedy`` as an order, and where it was seen."""

    cause: str
    remedy: str
    seen: Evidence
    of_the_loader: bool = False
    """It keeps GPUs waiting for their input: no cause where they are busy."""


#: The cause that a warning about 32-bit matrix products names.
TENSOR_CORES = "32-bit matrix products do not use the tensor cores"
# What a library's warning says, by a piece of it: (piece, cause, remedy).
_SAID = (
    (
        re.compile(r"find_unused_parameters=True was specified"),
        "DDP searches for unused parameters in every step and finds none",
        "Leave find_unused_parameters at false (ddp_find_unused_parameters in transformers).",
    ),
    (
        re.compile(r"will create (?P<have>\d+) worker processes .*suggested max number of worker.* is (?P<most>\d+)"),
        "{have} loader workers a process are more than the host's cores, {most}",
        "Set the loader's workers to {most} or fewer.",
    ),
    (
        re.compile(r"does not have many workers.*num_workers=(?P<most>\d+)"),
        "the data loader has few workers; Lightning suggests up to {most}",
        "Raise num_workers of the data loader step by step, up to {most}, and compare the step times.",
    ),
    (
        re.compile(r"huggingface/tokenizers: The current process just got forked"),
        "tokenizers turned its threads off, because the loader forked after they were used",
        "Tokenize ahead of training, or give the loader more workers (TOKENIZERS_PARALLELISM=false alone only ends the warning).",
    ),
    (
        re.compile(r"TensorFloat32 tensor cores .* not enabled|you should set `torch\.set_float32_matmul_precision"),
        TENSOR_CORES,
        'Train in bf16, or call torch.set_float32_matmul_precision("high").',
    ),
    (
        re.compile(r"Grad strides do not match bucket view strides"),
        "gradients are copied, because their layout is not that of DDP's buckets",
        "Make parameters contiguous before wrapping, or set gradient_as_bucket_view.",
    ),
    (
        re.compile(r"torch\._dynamo hit config\.(?:cache_size_limit|recompile_limit)"),
        "torch.compile gave up on a function whose shapes keep changing, and runs it uncompiled",
        "Pad or bucket the inputs to few shapes, or compile with dynamic=True.",
    ),
)
_OF_THE_LOADER = frozenset(pattern for pattern, cause, _ in _SAID if "loader" in cause)


def hints(case: Case) -> tuple[Hint, ...]:
    """What libraries and the configuration say, each once."""
    return (*_from_the_log(case), *_from_the_configuration(case))


def _from_the_log(case: Case) -> Iterator[Hint]:
    told = list(case.run.events[case.run.events["kind"] == "hint"].itertuples())
    for pattern, cause, remedy in _SAID:
        for row in told:
            if (found := pattern.search(str(row.text))) is not None:
                values = found.groupdict()
                seen = Evidence("a library's warning", None, "", str(row.node) or None, line=quoted(str(row.text)))
                yield Hint(cause.format(**values), remedy.format(**values), seen, pattern in _OF_THE_LOADER)
                break


def _from_the_configuration(case: Case) -> Iterator[Hint]:
    for name, known in case.run.job.configuration.items():
        plain, value = plain_name(name), known.value
        if plain in _ATTENTION and str(value).lower() == "eager":
            yield Hint(
                "attention is computed in eager mode",
                f"Set {name} to sdpa or flash_attention_2.",
                Evidence(f"{name} ({known.read_from})", str(value)),
            )
        elif plain in _COMPILE and yes_or_no(value) is False:
            yield Hint(
                "the model is not compiled",
                f"Try {name}=true on a short run.",
                Evidence(f"{name} ({known.read_from})", "false"),
            )


# Above so many parameters the guides build the model in parts: v1 100 billion, v2 60 billion.
_BUILT_IN_PARTS = {"smp1": 100.0, "smp2": 60.0}
# Checkpoints of larger models are slow over S3.
_LARGE_CHECKPOINT_BILLIONS = 10.0


def when_ranks_wait(case: Case) -> str:
    """For ranks that wait for others, where tensor parallelism is one more way to it; else empty."""
    if case.setup.framework != "smp1" or (case.setup.tensor_degree or 1) < 2:
        return ""
    return (
        " With tensor parallelism all ranks of a group need the same number of batches (DistributedSampler by "
        "dp_rank), and a full checkpoint calls state_dict() on every rank with rdp_rank 0."
    )


def when_building(case: Case) -> str:
    """For a start that takes long, or the host's memory, of a very large model; else empty."""
    billions, least = case.setup.real("parameters_billion"), _BUILT_IN_PARTS.get(case.setup.framework or "")
    if billions is None or least is None or billions <= least or case.setup.flag("delayed_parameter_initialization"):
        return ""
    name = "delayed_parameter_initialization" if case.setup.framework == "smp1" else "delayed parameter initialization"
    return f" With {billions:.3g} billion parameters, build the model in parts: {name}."


def when_saving(case: Case) -> str:
    """For checkpoints of a large model; else empty."""
    billions = case.setup.real("parameters_billion")
    return (
        ""
        if billions is None or billions <= _LARGE_CHECKPOINT_BILLIONS
        else " Keep checkpoints of a model this large on FSx, not on S3."
    )


def when_memory_is_short(case: Case) -> tuple[str, ...]:
    """For GPU memory that is short: what else there is to turn, the cheapest first."""
    setup, out = case.setup, []
    sharded, ranks = sharding_of(setup), setup.reduced_data_parallel
    if setup.framework == "smp1" and (setup.tensor_degree or 1) > 1:
        out.append(
            "SMP_NCCL_THROTTLE_LIMIT below its default of 8, if memory is higher than expected (it costs throughput)"
        )
    if sharded is not None and ranks is not None and sharded[0] == "full" and sharded[1] < ranks:
        name = {"smp1": "sharded_data_parallel_degree", "smp2": "hybrid_shard_degree"}.get(setup.framework or "")
        if name:
            out.append(f"a higher {name} (now {sharded[1]}): less memory, more traffic")
        if setup.framework == "smp1" and setup.text("instance_type") in {"ml.p4d.24xlarge", "ml.p4de.24xlarge"}:
            out.append(
                "smaller SMDDP buffers (SMDDP_AG_SCRATCH_BUFFER_SIZE_BYTES, SMDDP_AG_SORT_BUFFER_SIZE_BYTES); too small ones "
                "fall back to NCCL"
            )
    if setup.framework == "smp1" and setup.flag("activation_checkpointing") and (setup.window or 1) > 1:
        out.append('checkpoint layers in groups (strategy="group_2"): fewer inputs kept, more recomputed at once')
    return tuple(out)
