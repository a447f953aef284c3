"""What a setup amounts to: the shape of its model, its layout over the GPUs, its pipeline, and the samples of a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from monitor.predict.parameters import names
from monitor.predict.pipeline import PipelineSetting
from monitor.predict.setup import Setup

Sharding = Literal["none", "optimizer", "gradients", "full"]


@dataclass(frozen=True, slots=True)
class ModelShape:
    """A transformer. ``parameters`` is its count where known; else that of a GPT of this shape."""

    layers: int
    hidden: int
    heads: int
    vocabulary: int
    sequence: int
    known_parameters: float | None = None

    @property
    def embedding(self) -> float:
        """Parameters of the table of tokens."""
        return float(self.vocabulary) * self.hidden

    @property
    def parameters(self) -> float:
        """12 L h^2 (1 + 13 / (12 h)) + (V + s) h: arXiv 2104.04473, equation 2."""
        if self.known_parameters is not None:
            return self.known_parameters
        body = 12 * self.layers * self.hidden**2 * (1 + 13 / (12 * self.hidden))
        return body + self.embedding + self.sequence * self.hidden


@dataclass(frozen=True, slots=True)
class Layout:
    """How a step of a model is spread: degrees, sharding, and what is kept of the forward pass."""

    pipeline: int = 1
    tensor: int = 1
    sharding: Sharding = "none"
    shard_degree: int = 1
    """Over how many ranks states are sharded; 1 is not at all."""
    microbatch_size: int = 1
    """Samples of one microbatch, of one tensor parallel group."""
    in_flight: float = 1
    """Microbatches whose activations the fullest stage holds at once; a part where some of its layers hold one more."""
    half_precision: bool = True
    checkpointed_layers: int = 0
    """How many layers are recomputed together; 0 where nothing is recomputed."""
    offload: bool = False
    """Kept inputs of checkpointed layers go to the host."""
    loading_horizon: int = 4
    """How many of those the GPU keeps at most (SMP v1: activation_loading_horizon)."""
    sequence_parallel: bool = False
    """What is outside of tensor parallel parts is split too (SMP v1: optimize="memory")."""
    attention_kept: bool = True
    """False with flash attention or selective recomputation."""
    live_parameters: float = 1e9
    """Parameters that full sharding may gather at once (SMP v1: sdp_max_live_parameters)."""


#: What the shape of a model needs.
SHAPE = ("layers", "hidden_size", "attention_heads", "vocabulary_size", "sequence_length")


def shape_of(setup: Setup) -> ModelShape | None:
    """The model as it is memory's and traffic's; None where one of ``SHAPE`` is unknown."""
    numbers = [number for name in SHAPE if (number := setup.count(name)) is not None]
    billions = setup.real("parameters_billion")
    if len(numbers) < len(SHAPE):
        return None
    layers, hidden, heads, vocabulary, sequence = numbers
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
    horizon = setup.number("activation_loading_horizon")
    live = setup.real("sdp_max_live_parameters" if setup.framework == "smp1" else "stage3_max_live_parameters")
    return Layout(
        pipeline=stages,
        tensor=tensor,
        sharding=sharded.states,
        shard_degree=sharded.ranks,
        microbatch_size=size * _batches_of_a_group(setup, tensor),
        in_flight=_in_flight(setup, stages),
        half_precision=in_half_precision(setup),
        checkpointed_layers=checkpointed_layers(setup),
        offload=_offloads(setup),
        loading_horizon=4 if horizon is None else max(1, horizon),
        sequence_parallel=tensor > 1 and _splits_sequence(setup),
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


def _offloads(setup: Setup) -> bool:
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
    samples, window = None if size is None else float(size), setup.window
    if setup.framework != "smp1":
        return PipelineSetting(stages, microbatches, "1f1b", None, _chunks(setup, stages), samples)
    if setup.text("pipeline") == "simple" and window == microbatches:
        return PipelineSetting(stages, microbatches, "gpipe", None, 1, samples)
    return PipelineSetting(stages, microbatches, "smp", window, 1, samples)


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


def _splits_sequence(setup: Setup) -> bool:
    return setup.text("optimize") == "memory" if setup.framework == "smp1" else bool(setup.flag("sequence_parallel"))


class Sharded(NamedTuple):
    """Which states are sharded, and over how many ranks."""

    states: Sharding
    ranks: int


def sharding_of(setup: Setup) -> Sharded | None:
    """What is sharded; None where the number of ranks is unknown."""
    all_ranks = setup.reduced_data_parallel
    states: Sharding
    ranks: int | None
    if setup.framework == "smp1":
        degree = setup.number("sharded_data_parallel_degree") or 1
        if degree > 1:
            return Sharded("full", degree)
        states, ranks = ("optimizer", all_ranks) if setup.flag("shard_optimizer_state") else ("none", 1)
    elif setup.framework in ("smp2", "fsdp"):
        group = (setup.number("hybrid_shard_degree") or 0) if setup.framework == "smp2" else 0
        # PyTorch FSDP's strategies; all is sharded over all ranks where none is named.
        strategy = setup.text("sharding_strategy") or "full_shard"
        if group > 1:
            return Sharded("full", group)
        if group == 1 or strategy == "no_shard":
            return Sharded("none", 1)
        states = "gradients" if strategy in {"shard_grad_op", "hybrid_shard_zero2"} else "full"
        ranks = setup.gpus_per_node if strategy.startswith("hybrid") else all_ranks
    else:
        stage = setup.number("zero_stage") or (1 if setup.flag("shard_optimizer_state") else 0)
        by_stage: tuple[Sharding, ...] = ("none", "optimizer", "gradients", "full")
        states = by_stage[stage] if 0 <= stage < len(by_stage) else "none"
        group = setup.number("mics_shard_size") or 0
        ranks = 1 if states == "none" else group if states == "full" and group > 0 else all_ranks
    return None if ranks is None else Sharded(states, ranks)


#: What the ranks of a job follow from: where none of these differs, samples differ as those of one rank do.
OF_THE_RANKS = names(
    "instance_count gpus_per_node processes_per_host world_size data_parallel_size pipeline_parallel_degree "
    "tensor_parallel_degree context_parallel_degree prescaled_batch"
)
# Where nothing said of accumulation means none.
_NO_PIPELINE = frozenset({"ddp", "fsdp", "smp2", None})


def samples_of_step(setup: Setup) -> int | None:
    """Samples of one step over all ranks; None where the batch or the number of its replicas is not known."""
    if (whole := setup.count("global_batch_size")) is not None:
        return whole
    own, replicas = _samples_of_rank(setup), _replicas(setup)
    return None if own is None or replicas is None else own * replicas


def _samples_of_rank(setup: Setup) -> int | None:
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
    if any(before.value(name) != after.value(name) for name in OF_THE_RANKS):
        return None
    for own in (_samples_of_rank, lambda setup: setup.number("batch_size")):
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
