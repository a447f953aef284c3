"""How many samples does one optimizer step of a setup train, and how many times as many as another's?"""

from __future__ import annotations

from monitor.predict.setup_types import Setup

#: What the ranks of a job follow from: where none of these differs, samples differ as those of one rank do.
OF_THE_RANKS = (
    "instance_count",
    "gpus_per_node",
    "processes_per_host",
    "world_size",
    "data_parallel_size",
    "pipeline_parallel_degree",
    "tensor_parallel_degree",
    "context_parallel_degree",
    "prescaled_batch",
)
# Frameworks with no pipeline, where nothing said of accumulation means none.
_NO_PIPELINE = frozenset({"ddp", "fsdp", "smp2", None})


def samples_of_step(setup: Setup) -> int | None:
    """Samples of one step over all ranks; None where the batch or the number of its replicas is not known."""
    if (whole := setup.number("global_batch_size")) is not None and whole > 0:
        return whole
    own, replicas = samples_of_rank(setup), _replicas(setup)
    return None if own is None or replicas is None else own * replicas


def samples_of_rank(setup: Setup) -> int | None:
    """Samples that one data-parallel rank takes for a step; None where they are not known, or the batch of a script may be
    that of all ranks."""
    if setup.framework == "smp1":
        batch, parts = setup.number("batch_size"), setup.number("gradient_accumulation_steps") or 1
    else:
        known = setup.framework is not None or setup.known("micro_batch_size") is not None
        batch = setup.microbatch_size if known else None
        parts = setup.microbatches or (1 if setup.framework in _NO_PIPELINE else 0)
    return batch * parts if batch and parts and batch > 0 else None


def samples_ratio(before: Setup, after: Setup) -> float | None:
    """Samples of a step of ``after`` over those of ``before``; None where that is not known."""
    wholes = samples_of_step(before), samples_of_step(after)
    if wholes[0] is not None and wholes[1] is not None:
        return wholes[1] / wholes[0]
    if any(_value(before, name) != _value(after, name) for name in OF_THE_RANKS):
        return None
    for own in (samples_of_rank, lambda setup: setup.number("batch_size")):
        first, second = own(before), own(after)
        if first is not None and second is not None and first > 0 and second > 0:
            return second / first
    return None


def _replicas(setup: Setup) -> int | None:
    """Ranks (or groups of them) that each take a batch of their own."""
    if setup.framework is None:
        split = setup.missing("pipeline_parallel_degree", "tensor_parallel_degree", "context_parallel_degree")
        return setup.world if len(split) == 3 else None
    if setup.framework == "smp1" and not setup.flag("prescaled_batch"):
        return setup.data_parallel
    return setup.reduced_data_parallel


def _value(setup: Setup, name: str) -> object:
    found = setup.known(name)
    return None if found is None else found.value
