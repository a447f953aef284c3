"""What in a setup is invalid, useless or contradictory, and what is missing to judge the rest?

Only what is known is judged: a rule whose values are unknown says nothing, and what a newer release may know is not called
unknown to the library. Facts of the library: its schema, and AWS's guide.
"""

from __future__ import annotations

from collections.abc import Iterator

from monitor.predict.problem import Problem, problem
from monitor.predict.problems_degrees import of_degrees
from monitor.predict.problems_others import of_deepspeed, of_megatron, of_smp2
from monitor.predict.problems_smp1 import of_smp1
from monitor.predict.problems_values import of_values
from monitor.predict.remedies import sound_remedies
from monitor.predict.setup_types import Setup

__all__ = ["UNKNOWN", "Problem", "problems_of", "senseless_values_of", "unknowns_of"]

#: The id of what is not known; no rule of a review has it.
UNKNOWN = "incomplete-configuration"

_RULES = {"smp1": of_smp1, "smp2": of_smp2, "megatron": of_megatron, "deepspeed": of_deepspeed}


def problems_of(setup: Setup) -> tuple[Problem, ...]:
    """Everything that the library rejects or ignores, and degrees that cost time; what is rejected comes first.

    One parameter has one problem of an id: the first that a rule names. Their remedies were tried against all rules.
    """
    return sound_remedies(setup, _in_order(setup), _in_order)


def refused(setup: Setup) -> tuple[Problem, ...]:
    """The same with the first remedies at hand, sooner: for who asks only what is wrong."""
    return _in_order(setup)


def _in_order(setup: Setup) -> tuple[Problem, ...]:
    found: dict[tuple[str, str], Problem] = {}
    for each in _all(setup):
        found.setdefault((each.id, each.parameter), each)
    return tuple(sorted(found.values(), key=lambda each: not each.rejected))


def senseless_values_of(setup: Setup) -> tuple[Problem, ...]:
    """Values that count as unknown because they are none. For a plan: what a job ran with, its own program understood."""
    return tuple(of_values(setup))


def unknowns_of(setup: Setup) -> tuple[Problem, ...]:
    """What is missing, what cannot be said without it and what can: as problems of severity ``info``."""
    return tuple(_unknowns(setup))


def _all(setup: Setup) -> Iterator[Problem]:
    for name in setup.unread:
        yield problem(
            setup,
            name,
            f"{name} could not be read: it is neither a JSON object nor name=value pairs (0 parameters).",
            f"Give {name} as a JSON object, as the SageMaker SDK writes it.",
            "SageMaker Python SDK",
        )
    if setup.framework in _RULES:
        yield from _RULES[setup.framework](setup)
    yield from of_degrees(setup)


def _unknowns(setup: Setup) -> Iterator[Problem]:
    def unknown(parameter: str, words: str, remedy: str) -> Problem:
        return problem(setup, parameter, words, remedy, "", id=UNKNOWN, severity="info")

    instance_type = setup.text("instance_type")
    split = max(setup.pipeline_degree or 1, setup.tensor_degree or 1) > 1
    if instance_type and setup.number("gpus_per_node") == 0:
        yield unknown(
            "instance_type",
            f"{instance_type} has no GPU: degrees are only checked against each other.",
            "Use an instance type with GPUs.",
        )
    elif instance_type and setup.number("gpus_per_node") is None:
        yield unknown(
            "instance_type",
            f"It is not known how many GPUs {instance_type} has: degrees are only checked against each other.",
            "Check the name of the instance type, or give gpus_per_node.",
        )
    elif split and setup.world is None:
        missing = "instance_count" if setup.nodes is None else "instance_type"
        yield unknown(
            missing,
            "The number of processes is not known: it cannot be checked whether the degrees divide it; the "
            "pipeline's schedule can still be predicted.",
            "Give instance_type and instance_count." if missing == "instance_count" else "Give instance_type.",
        )
    microbatches = setup.number("microbatches")
    if setup.framework == "smp1" and microbatches and microbatches > 1 and setup.number("batch_size") is None:
        yield unknown(
            "batch_size",
            f"The batch size is not known: it cannot be checked whether it divides into {microbatches} "
            "microbatches, nor how much memory they take; the pipeline's schedule can still be predicted.",
            "Give batch_size, the samples that one process reads per step.",
        )
