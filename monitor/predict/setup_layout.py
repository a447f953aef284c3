"""Which shape, layout and pipeline does a setup amount to, for the equations of time and memory?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.predict.change import PipelineSetting
from monitor.predict.shapes import Layout, ModelShape, Sharding

if TYPE_CHECKING:
    from monitor.predict.setup_types import Setup

#: What the shape of a model needs.
SHAPE = ("layers", "hidden_size", "attention_heads", "vocabulary_size", "sequence_length")


def shape_of(setup: Setup) -> ModelShape | None:
    """The model as it is memory's and traffic's; None where one of ``SHAPE`` is unknown."""
    numbers = [setup.number(name) for name in SHAPE]
    layers, hidden, heads, vocabulary, sequence = numbers
    if layers is None or hidden is None or heads is None or vocabulary is None or sequence is None:
        return None
    if min(layers, hidden, heads, vocabulary, sequence) < 1:
        return None
    billions = setup.real("parameters_billion")
    return ModelShape(layers, hidden, heads, vocabulary, sequence, 1e9 * billions if billions else None)


def missing_of_layout(setup: Setup) -> tuple[str, ...]:
    """The parameters that stand between a setup and its layout, by name."""
    out = list(setup.missing("pipeline_parallel_degree", "tensor_parallel_degree"))
    if setup.microbatch_size is None:
        if setup.framework == "smp1":
            out += setup.missing("batch_size", "microbatches") or ("batch_size",)
        else:
            out.append("micro_batch_size")
    if not out and sharding_of(setup) is None:
        out += setup.missing("instance_count", "gpus_per_node") or ("world_size",)
    return tuple(out)


def layout_of(setup: Setup) -> Layout | None:
    """How a step is spread. What is unknown of precision, checkpointing and attention is taken as SMP and Megatron-LM have
    it by default: half precision (for a job of SMP v1 what its configuration says), nothing recomputed, attention kept."""
    stages, tensor, size = setup.pipeline_degree, setup.tensor_degree, setup.microbatch_size
    sharded = sharding_of(setup)
    if stages is None or tensor is None or size is None or sharded is None:
        return None
    sharding, degree = sharded
    horizon = setup.number("activation_loading_horizon")
    live = setup.real("sdp_max_live_parameters" if setup.framework == "smp1" else "stage3_max_live_parameters")
    return Layout(
        pipeline=stages,
        tensor=tensor,
        sharding=sharding,
        shard_degree=degree,
        microbatch_size=size * _batches_of_a_group(setup, tensor),
        in_flight=_in_flight(setup, stages),
        half_precision=in_half_precision(setup),
        checkpointed_layers=checkpointed_layers(setup),
        offload=offloads(setup),
        loading_horizon=4 if horizon is None else max(1, horizon),
        sequence_parallel=_splits_sequence(setup, tensor),
        attention_kept=_keeps_attention(setup),
        live_parameters=1e9 if live is None else live,
    )


def in_half_precision(setup: Setup) -> bool:
    """Whether parameters and activations have 16 bits; a plan that does not say so means that."""
    known = setup.known("precision")
    if known is not None and known.is_default and not setup.is_job:
        return True
    return setup.text("precision") != "fp32"


def _batches_of_a_group(setup: Setup, tensor: int) -> int:
    """How many batches a tensor-parallel group of SMP v1 works on at once: without prescaled_batch each of its ranks reads
    one, and they are gathered. A plan that does not say so means the group's batch."""
    if setup.framework != "smp1" or tensor == 1 or setup.flag("prescaled_batch") is not False:
        return 1
    return tensor if setup.is_job or setup.is_given("prescaled_batch") else 1


def offloads(setup: Setup) -> bool:
    """Whether checkpointed activations wait in the host's memory. SMP v2's switch is on by default, and does nothing unless
    the script wraps its layers for it: only who names it is taken to do so."""
    if setup.framework == "smp2":
        return setup.is_given("sm_activation_offloading") and bool(setup.flag("sm_activation_offloading"))
    return bool(setup.flag("offload_activations"))


def _keeps_attention(setup: Setup) -> bool:
    """Whether the scores of the attention are kept for the backward. SMP v2's transformers, whose references are of fused
    attention (developer guide), do not unless the script says so, nor do those that are trained with PyTorch's FSDP."""
    fused = setup.flag("flash_attention")
    if fused is None and setup.framework in ("smp2", "fsdp"):
        return False
    return not (fused or setup.flag("selective_recomputation"))


def checkpointed_layers(setup: Setup) -> int:
    """How many layers are recomputed together; 0 where nothing is recomputed, as far as is known."""
    if not setup.flag("activation_checkpointing"):
        return 0
    return max(1, setup.number("activation_checkpointing_layers") or 1)


def pipeline_of(setup: Setup) -> PipelineSetting | None:
    """Stages, microbatches and their order; None where stages or microbatches are unknown."""
    stages, microbatches, size = setup.pipeline_degree, setup.microbatches, setup.microbatch_size
    if stages == 1 and microbatches is None and size is not None:
        # Without a pipeline the time of a sample is the same however many there are.
        microbatches = 1
    if stages is None or microbatches is None:
        return None
    samples = None if size is None else float(size)
    if setup.framework == "smp1":
        window = setup.window
        if setup.text("pipeline") == "simple" and window == microbatches:
            return PipelineSetting(stages, microbatches, "gpipe", None, 1, samples)
        return PipelineSetting(stages, microbatches, "smp", window, 1, samples)
    return PipelineSetting(stages, microbatches, "1f1b", None, _chunks(setup, stages), samples)


def _chunks(setup: Setup, stages: int) -> int:
    given = setup.number("virtual_stages")
    if given is None:
        layers, each = setup.number("layers"), setup.number("layers_per_virtual_stage")
        given = layers // (stages * each) if layers and each else 1
    return max(1, given)


def _in_flight(setup: Setup, stages: int) -> float:
    """Microbatches whose activations the first stage holds: with one stage each is done before the next begins. Interleaved
    parts of a stage hold (p - 1) / v more (arXiv 2205.05198, section 4.2.3)."""
    microbatches = setup.microbatches or 1
    if stages == 1:
        return 1
    if setup.framework == "smp1":
        return min(setup.window or microbatches, microbatches)
    chunks = _chunks(setup, stages)
    return min(stages + ((stages - 1) / chunks if chunks > 1 else 0), microbatches)


def _splits_sequence(setup: Setup, tensor: int) -> bool:
    if setup.framework == "smp1":
        return tensor > 1 and setup.text("optimize") == "memory"
    return tensor > 1 and bool(setup.flag("sequence_parallel"))


def sharding_of(setup: Setup) -> tuple[Sharding, int] | None:
    """What is sharded over how many ranks; None where the number is unknown."""
    ranks, name = setup.reduced_data_parallel, setup.framework
    what: Sharding = "none"
    degree: int | None = None
    if name == "smp1":
        degree = setup.number("sharded_data_parallel_degree") or 1
        if degree > 1:
            return "full", degree
        what, degree = ("optimizer", ranks) if setup.flag("shard_optimizer_state") else ("none", 1)
    elif name == "smp2":
        group = setup.number("hybrid_shard_degree") or 0
        if group > 1:
            return "full", group
        if group == 1:
            return "none", 1
        what, degree = _by_strategy(setup, ranks)
    elif name == "fsdp":
        what, degree = _by_strategy(setup, ranks)
    else:
        stage = setup.number("zero_stage") or (1 if setup.flag("shard_optimizer_state") else 0)
        by_stage: tuple[Sharding, ...] = ("none", "optimizer", "gradients", "full")
        what = by_stage[stage] if 0 <= stage < len(by_stage) else "none"
        group = setup.number("mics_shard_size") or 0
        degree = 1 if what == "none" else group if what == "full" and group > 0 else ranks
    return None if degree is None else (what, degree)


def _by_strategy(setup: Setup, ranks: int | None) -> tuple[Sharding, int | None]:
    """PyTorch FSDP's strategies; all is sharded over all ranks where none is named."""
    chosen = setup.text("sharding_strategy") or "full_shard"
    if chosen == "no_shard":
        return "none", 1
    what: Sharding = "gradients" if chosen in {"shard_grad_op", "hybrid_shard_zero2"} else "full"
    return what, setup.gpus_per_node if chosen.startswith("hybrid") else ranks
