"""Do the degrees divide what they must, and are groups of ranks placed where their traffic is cheap?"""

from __future__ import annotations

from collections.abc import Iterator

from monitor.predict.problem import SMP1_PRACTICES, Problem, problem
from monitor.predict.setup_types import Setup
from monitor.words import count

# Which ranks are neighbors: the last letter's group first (D data, P pipeline, T tensor).
_PLACEMENTS = {"cluster": "DPT", "spread": "TPD"}
# Divisors up to here are tried one by one.
_LARGEST = 100_000
_RANKS = "ranks are split into groups of equal size"


def of_degrees(setup: Setup) -> Iterator[Problem]:
    """Degrees that do not divide the world, then those that lie badly."""
    yield from _division(setup)
    yield from _batch(setup)
    yield from _tensor(setup)
    yield from _pipeline(setup)
    yield from _prescaled(setup)


def _division(setup: Setup) -> Iterator[Problem]:
    world, p, t = setup.world, setup.pipeline_degree, setup.tensor_degree
    assumed = setup.world_is_assumed
    if world is None:
        return
    for name, degree in (("pipeline_parallel_degree", p), ("tensor_parallel_degree", t)):
        if degree is not None and world % degree:
            to = divisor(world, degree)
            words = f"{name}={degree} does not divide the {world} processes of the job."
            yield problem(
                setup,
                name,
                words,
                f"Use a divisor of {world}, such as {to}.",
                _RANKS,
                to=to,
                rejected=True,
                refutable=assumed,
            )
            return
    if p is not None and t is not None and world % (p * t):
        to = divisor(world // t, p)
        words = f"pipeline_parallel_degree={p} times tensor_parallel_degree={t} does not divide the {world} processes of the job."
        yield problem(
            setup,
            "pipeline_parallel_degree",
            words,
            f"Their product has to divide {world}: {to} stages would work.",
            _RANKS,
            to=to,
            rejected=True,
            refutable=assumed,
        )


def _batch(setup: Setup) -> Iterator[Problem]:
    batch, m = setup.number("batch_size"), setup.number("microbatches")
    if setup.framework != "smp1" or batch is None or m is None or m < 1 or batch < 1 or not batch % m:
        return
    to = max(m, batch - batch % m)
    yield problem(
        setup,
        "batch_size",
        f"A batch of {batch} does not divide into {m} microbatches: {batch % m} samples are left over, and the step fails "
        "or is uneven.",
        f"Use a batch of {to}, or a number of microbatches that divides {batch}; drop the last, smaller batch of an "
        "epoch (drop_last).",
        "SageMaker developer guide, SMP v1 configuration tips and pitfalls",
        id="batch-not-divisible",
        to=to,
        # With fewer samples than microbatches no step is done: where some are, the batch is another one.
        refutable=batch < m,
    )


def _tensor(setup: Setup) -> Iterator[Problem]:
    t, each, nodes = setup.tensor_degree, setup.gpus_per_node, setup.nodes
    if t is None or t < 2:
        return
    if t & (t - 1):
        to = 1 << (t.bit_length() - 1)
        yield problem(
            setup,
            "tensor_parallel_degree",
            f"tensor_parallel_degree={t} is not a power of two: layers, heads and nodes of 8 GPUs do not split "
            f"evenly by {t}.",
            f"Use 2, 4 or 8, at most the GPUs of a node: {to} instead of {t}.",
            SMP1_PRACTICES,
            id="tensor-parallel-degree",
            to=to,
        )
    if each is None:
        return
    if t > each:
        yield problem(
            setup,
            "tensor_parallel_degree",
            f"tensor_parallel_degree={t} is more than the {each} GPUs of a node: every layer's collectives cross the network.",
            f"Set tensor_parallel_degree to {each} and use a pipeline, or sharding, across nodes.",
            SMP1_PRACTICES,
            id="tensor-parallel-across-nodes",
            to=each,
        )
        return
    stride = _stride(setup, "T")
    if stride is not None and nodes is not None and nodes > 1 and stride * (t - 1) >= each:
        placed = setup.text("placement_strategy")
        yield problem(
            setup,
            "tensor_parallel_degree",
            f"Tensor-parallel groups of {t} span nodes: with placement_strategy={placed} their ranks are {stride} apart, and "
            f"a node has {each} GPUs.",
            "Set placement_strategy to cluster, which places tensor-parallel ranks next to each other.",
            SMP1_PRACTICES,
            id="tensor-parallel-across-nodes",
            to="cluster",
            change="placement_strategy",
        )


def _pipeline(setup: Setup) -> Iterator[Problem]:
    p, t, each, nodes = setup.pipeline_degree, setup.tensor_degree, setup.gpus_per_node, setup.nodes
    stride = _stride(setup, "P")
    if p is None or t is None or each is None or nodes is None or stride is None:
        return
    if p > 1 and t > 1 and nodes > 1 and t < each and stride < each:
        to = min(each, p * t)
        yield problem(
            setup,
            "tensor_parallel_degree",
            f"{min(p, each // stride)} pipeline stages share a node of {each} GPUs, although "
            f"tensor_parallel_degree={t} leaves room there and the job has {nodes} nodes.",
            f"Use tensor parallelism inside a node and the pipeline across nodes: change "
            f"tensor_parallel_degree from {t} to {to}, with {count(max(1, p * t // to), 'stage')}. Compare both before a "
            "long run.",
            SMP1_PRACTICES,
            id="pipeline-inside-node",
            severity="info",
            to=to,
        )


def _prescaled(setup: Setup) -> Iterator[Problem]:
    p, t = setup.pipeline_degree, setup.tensor_degree
    if setup.framework != "smp1" or p is None or t is None or setup.flag("prescaled_batch") is not False:
        return
    if p > 1 and t > 1:
        also = " It needs optimize=speed." if setup.text("optimize") == "memory" else ""
        yield problem(
            setup,
            "prescaled_batch",
            f"prescaled_batch is off with {p} pipeline stages and tensor_parallel_degree={t}: each of the {t} ranks "
            "of a tensor-parallel group reads its own batch, and they exchange their samples in every step.",
            f"Set prescaled_batch to true and have the script read one batch for the {t} ranks, {t} times as large.{also}",
            SMP1_PRACTICES,
            id="prescaled-batch-off",
            to=True,
        )


def _stride(setup: Setup, letter: str) -> int | None:
    """How far apart the ranks of neighboring members of a group are; None where the order of ranks is unknown."""
    sizes = {"D": setup.reduced_data_parallel, "P": setup.pipeline_degree, "T": setup.tensor_degree}
    if setup.framework == "smp1":
        placed = setup.text("placement_strategy") or ""
        order = _PLACEMENTS.get(placed, placed)
    else:
        # Megatron-LM's order of ranks; where context parallelism is in use it stands between.
        order = "PDT" if setup.framework == "megatron" and (setup.number("context_parallel_degree") or 1) == 1 else ""
    if sorted(order) != ["D", "P", "T"]:
        return None
    out = 1
    for other in reversed(order):
        if other == letter:
            return out
        size = sizes[other]
        if size is None:
            return None
        out *= size
    return None


def divisor(number: int, most: int) -> int:
    """The largest divisor of ``number`` that is at most ``most``; of numbers that no cluster has a power of two."""
    if min(most, number) > _LARGEST:
        return min(number & -number, 1 << (most.bit_length() - 1))
    return next((k for k in range(min(most, number), 0, -1) if number % k == 0), 1)
