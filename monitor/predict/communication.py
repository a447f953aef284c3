"""How many bytes cross a node's network in one step, by way of sharding?

Ring all-gather and reduce-scatter move (n - 1)/n of a tensor, an all-reduce twice that. Gathering first between nodes and
then inside them moves (n - g)/n over the network. Sharding over a group inside a node: arXiv 2205.00119.
"""

from __future__ import annotations

from typing import Literal

#: Of a link's nominal bandwidth this much is reached over TCP: fitted to pipelines on p3.2xlarge over four networks
#: (DS3Lab/Decentralized_FM_alpha; ``benchmarks/predictions.py`` prints the error on the others).
LINK_EFFICIENCY = 0.88

Scheme = Literal["data-parallel", "optimizer", "full"]


def ring_bytes(tensor_bytes: float, ranks: int) -> float:
    """What one all-gather or reduce-scatter moves through each link of a ring."""
    return tensor_bytes * (ranks - 1) / ranks


def ring_s(tensor_bytes: float, ranks: int, bandwidth_bytes_s: float, latency_s: float = 0.0) -> float:
    """Seconds of one all-gather or reduce-scatter; an all-reduce takes twice that."""
    return ring_bytes(tensor_bytes, ranks) / bandwidth_bytes_s + (ranks - 1) * latency_s


def network_bytes_per_node(
    tensor_bytes: float,
    gpus: int,
    gpus_per_node: int,
    scheme: Scheme,
    shard_degree: int = 1,
    microbatches: int = 1,
    parameters_kept: bool = False,
) -> float:
    """Bytes that enter (and as many that leave) a node in one step of ``microbatches``.

    ``tensor_bytes`` are all parameters. For "full", states are sharded over ``shard_degree`` ranks; where that is no more
    than a node holds, only the gradients' all-reduce between the groups crosses the network, once a step. Where parameters
    stay gathered between forward and backward (``parameters_kept``), there is one gather less.
    """
    if gpus <= gpus_per_node:
        return 0.0
    if scheme != "full" or shard_degree <= 1:
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
