"""Rules about how a job was set up: what its library rejects or ignores, and degrees that cost time by where they lie."""

from __future__ import annotations

from monitor.diagnose.rule import Case, rule
from monitor.diagnose.setup_findings import finding_of
from monitor.model import Finding
from monitor.predict.problems import Problem, problems_of
from monitor.predict.setup import Setup, setup_of

_RAN = ("whether the library took it all the same: the job did steps",)


@rule("invalid-configuration")
def invalid_configuration(case: Case) -> Finding | None:
    """The model-parallel library rejects or ignores a setting.

    What it means: by the library's own rules a setting has a name or type that it does not know, lies out of bounds,
    contradicts another, misses one that it needs, or does nothing beside the others.

    Why it matters: what is rejected ends the job at its start, after the instances are paid for; what is ignored leaves
    the job without the gain for which it was set.

    What to do: set what the finding names, one after the other; `monitor plan` checks a configuration without a job.

    Source: configuration schema of SMP v1 (release 1.12.1), SMP v1 and v2 reference of the SageMaker developer guide,
    and the argument checks of Megatron-LM and DeepSpeed. A name that only a newer release could know is not called wrong
    where the job did steps.
    """
    setup, found = _problems(case, "invalid-configuration")
    if not found:
        return None
    ran = any(each.rejected for each in found) and len(case.run.steps)
    return finding_of(setup, found, _RAN if ran else ())


@rule("batch-not-divisible")
def batch_not_divisible(case: Case) -> Finding | None:
    """The batch does not divide into microbatches.

    What it means: the batch that one process hands to a step is no multiple of microbatches.

    Why it matters: SMP v1 splits each batch into equal microbatches; what is left over makes the step fail or its
    microbatches uneven.

    What to do: take a batch that is a multiple of microbatches, also the last of an epoch (drop_last=True).

    Source: SageMaker developer guide, SMP v1 configuration tips and pitfalls.
    """
    return _one(case, "batch-not-divisible")


@rule("tensor-parallel-across-nodes")
def tensor_parallel_across_nodes(case: Case) -> Finding | None:
    """Tensor-parallel groups span nodes.

    What it means: a group has more ranks than a node has GPUs, or is placed so that its ranks lie on several nodes.

    Why it matters: tensor parallelism exchanges activations several times in every layer; the network between nodes is
    many times slower than the links inside one.

    What to do: keep tensor_parallel_degree at or below the GPUs of a node with placement_strategy=cluster, and let a
    pipeline or sharded data parallelism go from node to node.

    Source: SageMaker developer guide, SMP v1 best practices.
    """
    return _one(case, "tensor-parallel-across-nodes")


@rule("tensor-parallel-degree")
def tensor_parallel_degree(case: Case) -> Finding | None:
    """The tensor-parallel degree is no power of two.

    What it means: layers are split among a number of GPUs that is not 2, 4, 8 and so on.

    Why it matters: hidden sizes, attention heads and the GPUs of a node seldom divide by it; groups cross nodes, and
    kernels get shapes that run slower.

    What to do: take 2, 4 or 8, at most the GPUs of a node.

    Source: SageMaker developer guide, SMP v1 best practices.
    """
    return _one(case, "tensor-parallel-degree")


@rule("prescaled-batch-off")
def prescaled_batch_off(case: Case) -> Finding | None:
    """Pipeline and tensor parallelism together, and prescaled_batch is off.

    What it means: SMP v1 runs with pipeline_parallel_degree and tensor_parallel_degree above 1, and each rank of a
    tensor-parallel group reads a batch of its own.

    Why it matters: the ranks of a group exchange their samples in every step, and the batch that a pipeline divides into
    microbatches is as many times smaller as the tensor-parallel degree.

    What to do: set prescaled_batch to true (with optimize=speed) and let all ranks of a group read the same, larger batch.

    Source: SageMaker developer guide, SMP v1 best practices; the requirement of optimize=speed is in the library's schema.
    """
    return _one(case, "prescaled-batch-off")


@rule("pipeline-inside-node", silenced_by=("tensor-parallel-across-nodes",))
def pipeline_inside_node(case: Case) -> Finding | None:
    """Pipeline stages share a node, and tensor parallelism does not fill it.

    What it means: the job has several nodes, a pipeline and tensor parallelism of a degree below the GPUs of a node, and
    neighbouring stages lie on one node.

    Why it matters: a pipeline sends little and bears the network between nodes; tensor parallelism sends much and gains
    from the links inside one, which the stages take up here.

    What to do: compare with tensor parallelism over the whole node and a pipeline from node to node.

    Source: SageMaker developer guide, SMP v1 best practices.
    """
    return _one(case, "pipeline-inside-node")


def _problems(case: Case, id: str) -> tuple[Setup, tuple[Problem, ...]]:
    setup = setup_of(case.run.job)
    ran = len(case.run.steps) > 0
    return setup, tuple(each for each in problems_of(setup) if each.id == id and not (ran and each.refutable))


def _one(case: Case, id: str) -> Finding | None:
    setup, found = _problems(case, id)
    return finding_of(setup, found[:1]) if found else None
