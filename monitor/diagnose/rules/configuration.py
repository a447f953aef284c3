"""Rules about how a job was set up: what its library rejects or ignores, and degrees that cost time by where they lie."""

from __future__ import annotations

from monitor.diagnose.advised import in_its_words
from monitor.diagnose.rulebook import Case, rule
from monitor.diagnose.setup_findings import finding_of
from monitor.model import Finding
from monitor.predict.problems.libraries import SetupProblem
from monitor.predict.problems.rules import problems_of
from monitor.predict.setup import Setup, setup_of

_RAN = ("whether the library accepted it anyway: the job did steps",)


@rule("invalid-configuration", needs="nothing")
def invalid_configuration(case: Case) -> Finding | None:
    """The model-parallel library rejects or ignores a setting.

    What it means: by the library's own rules, a setting has an unknown name or type, is out of bounds, contradicts
    another, lacks one that it needs, or has no effect given the others.

    Why it matters: a rejected setting ends the job at startup, after you have paid for the instances; an ignored one
    does not bring the gain it was set for.

    What to do: fix the settings that the finding names, one by one; `monitor plan` checks a configuration without a job.

    Source: configuration schema of SMP v1 (release 1.12.1), SMP v1 and v2 reference of the SageMaker developer guide,
    and the argument checks of Megatron-LM and DeepSpeed. A name that only a newer release could know is not called
    wrong if the job did steps.
    """
    setup, found = _problems(case, "invalid-configuration")
    if not found:
        return None
    ran = any(each.rejected for each in found) and len(case.run.steps)
    return in_its_words(case.run.job, finding_of(setup, found, _RAN if ran else ()))


@rule("batch-not-divisible", needs="nothing")
def batch_not_divisible(case: Case) -> Finding | None:
    """The batch does not divide into microbatches.

    What it means: the batch that one process passes to a step is not a multiple of microbatches.

    Why it matters: SMP v1 splits each batch into equal microbatches; leftover samples make the step fail or its
    microbatches uneven.

    What to do: use a batch that is a multiple of microbatches, including the last one of an epoch (drop_last=True).

    Source: SageMaker developer guide, SMP v1 configuration tips and pitfalls.
    """
    return _one(case, "batch-not-divisible")


@rule("tensor-parallel-across-nodes", needs="nothing")
def tensor_parallel_across_nodes(case: Case) -> Finding | None:
    """Tensor-parallel groups span nodes.

    What it means: a group has more ranks than a node has GPUs, or is placed so that its ranks are on several nodes.

    Why it matters: tensor parallelism exchanges activations several times in every layer, and the network between
    nodes is many times slower than the links inside one.

    What to do: keep tensor_parallel_degree at or below the GPUs of a node with placement_strategy=cluster, and use
    pipeline or sharded data parallelism across nodes.

    Source: SageMaker developer guide, SMP v1 best practices.
    """
    return _one(case, "tensor-parallel-across-nodes")


@rule("tensor-parallel-degree", needs="nothing")
def tensor_parallel_degree(case: Case) -> Finding | None:
    """The tensor-parallel degree is not a power of two.

    What it means: layers are split across a number of GPUs other than 2, 4, 8 and so on.

    Why it matters: hidden sizes, attention heads and the GPUs of a node are seldom divisible by it; groups cross
    nodes, and kernels get shapes that run slower.

    What to do: use 2, 4 or 8, at most the number of GPUs of a node.

    Source: SageMaker developer guide, SMP v1 best practices.
    """
    return _one(case, "tensor-parallel-degree")


@rule("prescaled-batch-off", needs="nothing")
def prescaled_batch_off(case: Case) -> Finding | None:
    """Pipeline and tensor parallelism are combined, and prescaled_batch is off.

    What it means: SMP v1 runs with pipeline_parallel_degree and tensor_parallel_degree above 1, and each rank of a
    tensor-parallel group reads its own batch.

    Why it matters: the ranks of a group exchange their samples in every step, and the batch that the pipeline divides
    into microbatches is smaller by a factor of the tensor-parallel degree.

    What to do: set prescaled_batch to true (with optimize=speed) and let all ranks of a group read the same, larger batch.

    Source: SageMaker developer guide, SMP v1 best practices; that it requires optimize=speed is in the library's schema.
    """
    return _one(case, "prescaled-batch-off")


@rule("pipeline-inside-node", needs="nothing", silenced_by=("tensor-parallel-across-nodes",))
def pipeline_inside_node(case: Case) -> Finding | None:
    """Pipeline stages share a node, and tensor parallelism does not fill it.

    What it means: the job has several nodes, a pipeline, and a tensor-parallel degree below the number of GPUs per
    node, and neighboring stages are on one node.

    Why it matters: a pipeline sends little and tolerates the network between nodes; tensor parallelism sends a lot
    and benefits from the links inside a node, which the stages occupy here.

    What to do: compare with tensor parallelism across the whole node and the pipeline across nodes.

    Source: SageMaker developer guide, SMP v1 best practices.
    """
    return _one(case, "pipeline-inside-node")


def _problems(case: Case, id: str) -> tuple[Setup, tuple[SetupProblem, ...]]:
    setup = setup_of(case.run.job)
    ran = len(case.run.steps) > 0
    return setup, tuple(each for each in problems_of(setup) if each.id == id and not (ran and each.refutable))


def _one(case: Case, id: str) -> Finding | None:
    setup, found = _problems(case, id)
    return in_its_words(case.run.job, finding_of(setup, found[:1])) if found else None
