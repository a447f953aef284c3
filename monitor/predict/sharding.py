"""The traffic of data-parallel and sharded training, and by how much a step gets faster when states are sharded over fewer
GPUs: a range, from the traffic and what is not known.

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

import numpy as np

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
