"""What a setup amounts to: the shape of its model, its layout over the GPUs, its pipeline, the samples of a step, and the traffic
of data-parallel and sharded training: by how much a step gets faster when states are sharded over fewer GPUs.

Sharding over every GPU gathers parameters over the network for each microbatch; over a group inside a node (MiCS, arXiv
2205.00119; SMP's sharded_data_parallel_degree and hybrid_shard_degree) only gradients cross it, once a step. How fast links
really are, how much traffic hides behind the compute and whether parameters are gathered once or twice is drawn from what
is known of such machines. Without NVLink the sign is certain where the group fits a node; of the size one measurement is
known, and it lies inside the range: that is no proof of it.

Ring all-gather and reduce-scatter move (n - 1)/n of a tensor, an all-reduce twice that. Gathering first between nodes and
then inside them moves (n - g)/n over the network.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

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


#: Of a link's nominal bandwidth this much is reached over TCP: fitted to pipelines on p3.2xlarge over four networks
#: (DS3Lab/Decentralized_FM_alpha; ``benchmarks/predictions.py`` prints the error on the others).
LINK_EFFICIENCY = 0.88
# The least that was seen to be reached.
_LEAST_EFFICIENCY = 0.4
#: What is said of the gain where the group fits a node without NVLink: one measurement is known, 14 % (ViT-630M on T4).
STATED_GAIN_PCT = (5.0, 30.0)
_DRAWS = 2000
# Least and most.
_Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Links:
    """A cluster's links: ``network_bytes_s`` is a node's nominal bandwidth, the others ranges of what is reached."""

    network_bytes_s: float
    inside_bytes_s: _Interval
    latency_s: _Interval
    overlap: _Interval
    """Share of the traffic that the compute hides."""


def without_nvlink(network_bytes_s: float) -> Links:
    """GPUs on PCIe, a network of sockets: as in g4dn and g5."""
    return Links(network_bytes_s, (4e9, 9e9), (20e-6, 60e-6), (0.0, 0.8))


def with_nvlink(network_bytes_s: float) -> Links:
    """NVLink inside the node, EFA between: as in p4d and p5. Doubling the GPUs costs such clusters 1.4 % (MosaicML)."""
    return Links(network_bytes_s, (100e9, 250e9), (10e-6, 40e-6), (0.7, 1.0))


@dataclass(frozen=True, slots=True)
class ShardedJob:
    """A job that shards all of its states over ``degree`` of its GPUs."""

    parameters: float
    layers: int
    gpus: int
    gpus_per_node: int
    degree: int
    compute_s: _Interval
    """What a step would take without any traffic: least and most."""
    bytes_per_parameter: float = 2.0
    microbatches: int = 1


def degree_change_pct(job: ShardedJob, degree: int, links: Links) -> tuple[float, float, float]:
    """(low, middle, high) percent by which a step's time changes when ``degree`` takes the place of the job's.

    Negative is faster; 5, 50 and 95 % of draws from one seed. ValueError for a degree that does not divide the GPUs.
    """
    if degree < 1 or job.gpus % degree or job.gpus % job.degree:
        raise ValueError("the degree of sharding divides the number of GPUs")
    if degree == job.degree:
        return 0.0, 0.0, 0.0
    rng = np.random.default_rng(20231)
    after = replace(job, degree=degree)
    found = []
    for _ in range(_DRAWS):
        compute, overlap = rng.uniform(*job.compute_s), rng.uniform(*links.overlap)
        network = links.network_bytes_s * rng.uniform(_LEAST_EFFICIENCY, LINK_EFFICIENCY)
        inside, latency = rng.uniform(*links.inside_bytes_s), rng.uniform(*links.latency_s)
        kept = rng.uniform()
        old, new = (
            exposed_s(compute, traffic_s(each, network, inside, latency, kept), overlap) for each in (job, after)
        )
        found.append(100 * (new / old - 1))
    low, middle, high = np.percentile(found, [5.0, 50.0, 95.0])
    return float(low), float(middle), float(high)


def traffic_s(
    job: ShardedJob, network_bytes_s: float, inside_bytes_s: float, latency_s: float, kept_share: float
) -> float:
    """Seconds of one step's collectives, one after the other, at the bandwidths that are really reached.

    ``kept_share`` of the parameters (0 to 1) stay gathered between forward and backward; the others are gathered twice.
    """
    size, k = job.parameters * job.bytes_per_parameter, job.degree
    inside = min(job.gpus_per_node, job.gpus)
    crossing = sum(
        share * network_bytes_per_node(size, job.gpus, job.gpus_per_node, k, job.microbatches, kept)
        for kept, share in ((True, kept_share), (False, 1 - kept_share))
    )
    # A collective goes round the members inside a node, and round the nodes that a group spans.
    collectives = job.microbatches * (3 - kept_share)
    shared = collectives * ring_bytes(size, min(k, inside))
    rounds = job.layers * collectives * max(0, -(-k // inside) - 1)
    return crossing / network_bytes_s + shared / inside_bytes_s + rounds * latency_s


def ring_bytes(tensor_bytes: float, ranks: int) -> float:
    """What one all-gather or reduce-scatter moves through each link of a ring."""
    return tensor_bytes * (ranks - 1) / ranks


def network_bytes_per_node(
    tensor_bytes: float,
    gpus: int,
    gpus_per_node: int,
    shard_degree: int = 1,
    microbatches: int = 1,
    parameters_kept: bool = False,
) -> float:
    """Bytes that enter (and as many that leave) a node in one step of ``microbatches``.

    ``tensor_bytes`` are all parameters. All states are sharded over ``shard_degree`` ranks, or with 1 none; where that is no
    more than a node holds, only the gradients' all-reduce between the groups crosses the network, once a step. Where
    parameters stay gathered between forward and backward (``parameters_kept``), there is one gather less.
    """
    if gpus <= gpus_per_node:
        return 0.0
    if shard_degree <= 1:
        return 2 * ring_bytes(tensor_bytes, gpus)
    replicas = gpus // shard_degree
    between = 2 * ring_bytes(tensor_bytes, replicas) if replicas > 1 else 0.0
    if shard_degree <= gpus_per_node:
        return between
    gather = tensor_bytes * (shard_degree - gpus_per_node) / shard_degree
    gathers = 1 if parameters_kept else 2
    return microbatches * (gathers * gather + ring_bytes(tensor_bytes, shard_degree)) + between * (
        gpus_per_node / shard_degree
    )


def exposed_s(compute_s: float, communication_s: float, overlap: float) -> float:
    """Step time when the share ``overlap`` (0 to 1) of the communication hides behind the compute, as far as that lasts."""
    return compute_s + communication_s - min(overlap * communication_s, compute_s)
