"""What do the libraries' guides say of a situation that a finding is about? Clauses that its next step can end with.

All are of SMP's guides: SMP v1 configuration tips and pitfalls, troubleshooting, SMP v2 best practices.
"""

from __future__ import annotations

from monitor.diagnose.rule import Case
from monitor.predict.layout import sharding_of

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
