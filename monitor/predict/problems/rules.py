"""The problems of a setup: what in it is invalid, useless or contradictory, and what is missing to judge the rest.

Only what is known is judged: a rule whose values are unknown says nothing, and what a newer release may know is not called
unknown to the library. Facts of the library: its schema, and AWS's guide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from monitor.predict.layout import shape_of
from monitor.predict.memory import MOST_USED_PCT
from monitor.predict.parameters import OWN, OwnKind, amount, whole_number, yes_or_no
from monitor.predict.problems.degrees import of_deepspeed, of_degrees, of_megatron
from monitor.predict.problems.problem import Problem, problem
from monitor.predict.problems.remedies import sound_remedies
from monitor.predict.problems.smp import of_smp1, of_smp2
from monitor.predict.setup import Setup, schema_of

#: The id of what is not known; no rule of a review has it.
UNKNOWN = "incomplete-configuration"
# A count that was given beside a shape may differ from the shape's by so much either way.
_COUNT_FACTOR = 1.5
_RULES = {"smp1": of_smp1, "smp2": of_smp2, "megatron": of_megatron, "deepspeed": of_deepspeed}


def problems_of(setup: Setup) -> tuple[Problem, ...]:
    """Everything that the library rejects or ignores, and degrees that cost time; what is rejected comes first.

    One parameter has one problem of an id: the first that a rule names. Their remedies were tried against all rules.
    """
    return sound_remedies(setup, refused(setup), refused)


def refused(setup: Setup) -> tuple[Problem, ...]:
    """The same with the first remedies at hand, sooner: for who asks only what is wrong."""
    found: dict[tuple[str, str], Problem] = {}
    for each in _all(setup):
        found.setdefault((each.id, each.parameter), each)
    return tuple(sorted(found.values(), key=lambda each: not each.rejected))


def _all(setup: Setup) -> Iterator[Problem]:
    for name in setup.unread:
        words = f"{name} could not be read: it is neither a JSON object nor name=value pairs (0 parameters)."
        remedy = f"Give {name} as a JSON object, as the SageMaker SDK writes it."
        yield problem(setup, name, words, remedy, "SageMaker Python SDK")
    if setup.framework in _RULES:
        yield from _RULES[setup.framework](setup)
    yield from of_degrees(setup)


def unknowns_of(setup: Setup) -> Iterator[Problem]:
    """What is missing, what cannot be said without it and what can: as problems of severity ``info``."""
    unknown = partial(problem, setup, source="", id=UNKNOWN, severity="info")
    instance_type, gpus = setup.text("instance_type"), setup.number("gpus_per_node")
    if instance_type and gpus == 0:
        words = f"{instance_type} has no GPU: degrees are only checked against each other."
        yield unknown("instance_type", words, "Use an instance type with GPUs.")
    elif instance_type and gpus is None:
        words = f"It is not known how many GPUs {instance_type} has: degrees are only checked against each other."
        yield unknown("instance_type", words, "Check the name of the instance type, or give gpus_per_node.")
    elif max(setup.pipeline_degree or 1, setup.tensor_degree or 1) > 1 and setup.world is None:
        yield unknown(
            "instance_count" if setup.nodes is None else "instance_type",
            "The number of processes is not known: it cannot be checked whether the degrees divide it; the "
            "pipeline's schedule can still be predicted.",
            "Give instance_type and instance_count." if setup.nodes is None else "Give instance_type.",
        )
    microbatches = setup.number("microbatches")
    if setup.framework == "smp1" and microbatches and microbatches > 1 and setup.number("batch_size") is None:
        yield unknown(
            "batch_size",
            f"The batch size is not known: it cannot be checked whether it divides into {microbatches} "
            "microbatches, nor how much memory they take; the pipeline's schedule can still be predicted.",
            "Give batch_size, the samples that one process reads per step.",
        )


def senseless_values_of(setup: Setup) -> Iterator[Problem]:
    """Values that count as unknown because they are none, then a model's size that contradicts its shape. The library's own
    parameters are checked against its schema elsewhere; here are those of the job, the model and the script. For a plan: what
    a job ran with, its own program understood."""
    for name, known in setup.values.items():
        of_library = name in schema_of(setup.framework) and name in setup.library
        if known.is_default or known.value is None or of_library or not (wrong := _what_is_wrong(name, known.value)):
            continue
        words = f"{name}={known.value!r:.60} is {wrong}: it is treated as not known."
        yield problem(setup, name, words, f"Give {name} a valid value, or leave it out.", "")
    shape, billions = shape_of(setup), setup.real("parameters_billion")
    if shape is not None and billions:
        by_shape = 12e-9 * shape.layers * shape.hidden**2 + 1e-9 * shape.embedding
        if not 1 / _COUNT_FACTOR <= billions / by_shape <= _COUNT_FACTOR:
            words = (
                f"parameters_billion={billions:g} does not match the shape: {shape.layers} layers of {shape.hidden} "
                f"are a GPT of {by_shape:.3g} billion parameters."
            )
            remedy = "Correct one or the other; a model other than a GPT (experts, gated layers) may differ that much."
            source = "arXiv 2104.04473, equation 2"
            yield problem(setup, "parameters_billion", words, remedy, source, severity="info")


_VALID: Mapping[OwnKind, tuple[Callable[[Any], bool], str]] = {
    "count": (lambda value: (whole_number(value) or 0) >= 1, "not a whole number of at least 1"),
    "count from 0": (
        lambda value: (number := whole_number(value)) is not None and number >= 0,
        "not a whole number of at least 0",
    ),
    "amount": (lambda value: bool(amount(value)), "not an amount above 0"),
    "percentage of memory": (
        lambda value: (share := amount(value)) is not None and share <= MOST_USED_PCT,
        "not a percentage of a device's memory",
    ),
    "flag": (lambda value: yes_or_no(value) is not None, "neither true nor false"),
    "name": (lambda value: isinstance(value, str) and bool(value), "not the name of an instance type"),
    "": (lambda value: True, ""),
}


def _what_is_wrong(name: str, value: Any) -> str:
    """Why ``value`` says nothing; "" where it does."""
    kind = OWN[name].kind if name in OWN else ""
    if isinstance(kind, tuple):
        return f"not one of {', '.join(kind)}" if value not in kind else ""
    is_valid, wrong = _VALID[kind]
    return "" if is_valid(value) else wrong
