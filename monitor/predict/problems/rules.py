"""The problems of a setup: what in it is invalid, useless or contradictory, and what is missing to judge the rest.

Only what is known is judged: a rule whose values are unknown says nothing, and what a newer release may know is not called
unknown to the library. Facts of the library: its schema, and AWS's guide.

A remedy is the change that cures a problem and brings no other; each is tried against all rules before it is said. Of the
problems of one parameter all get the same remedy. Where no single parameter cures without breaking another rule, two are looked
for; where two do not, the remedy names no value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from monitor.model import Recommendation
from monitor.predict.layout import shape_of
from monitor.predict.memory import MOST_USED_PCT
from monitor.predict.parameters import OWN, OwnKind, amount, as_set, names, whole_number, yes_or_no
from monitor.predict.problems.libraries import (
    SetupProblem,
    of_deepspeed,
    of_degrees,
    of_megatron,
    of_smp1,
    of_smp2,
    problem,
)
from monitor.predict.setup import Setup, changed, schema_of

#: The id of what is not known; no rule of a review has it.
UNKNOWN = "incomplete-configuration"
# A count that was given beside a shape may differ from the shape's by so much either way.
_COUNT_FACTOR = 1.5
_RULES = {"smp1": of_smp1, "smp2": of_smp2, "megatron": of_megatron, "deepspeed": of_deepspeed}


def problems_of(setup: Setup) -> tuple[SetupProblem, ...]:
    """Everything that the library rejects or ignores, and degrees that cost time; what is rejected comes first.

    One parameter has one problem of an id: the first that a rule names. Their remedies were tried against all rules.
    """
    return sound_remedies(setup, refused(setup), refused)


def refused(setup: Setup) -> tuple[SetupProblem, ...]:
    """The same with the first remedies at hand, sooner: for who asks only what is wrong."""
    found: dict[tuple[str, str], SetupProblem] = {}
    for each in _all(setup):
        found.setdefault((each.id, each.parameter), each)
    return tuple(sorted(found.values(), key=lambda each: not each.rejected))


def _all(setup: Setup) -> Iterator[SetupProblem]:
    for name in setup.unread:
        words = f"{name} could not be read: it is neither a JSON object nor name=value pairs (0 parameters)."
        remedy = f"Give {name} as a JSON object, as the SageMaker SDK writes it."
        yield problem(setup, name, words, remedy, "SageMaker Python SDK")
    if setup.framework in _RULES:
        yield from _RULES[setup.framework](setup)
    yield from of_degrees(setup)


def unknowns_of(setup: Setup) -> Iterator[SetupProblem]:
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


def senseless_values_of(setup: Setup) -> Iterator[SetupProblem]:
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


Ask = Callable[[Setup], tuple[SetupProblem, ...]]
"""All problems of a setup, with whatever remedies."""
_DEGREES = (1, 2, 4, 8, 16, 32, 64)
_OF_DEGREES = names(
    "pipeline_parallel_degree tensor_parallel_degree sharded_data_parallel_degree hybrid_shard_degree "
    "context_parallel_degree expert_parallel_degree virtual_stages"
)
_OF_BATCHES = names("global_batch_size batch_size microbatches micro_batch_size gradient_accumulation_steps")
# What may have to follow when a degree or a batch changes, in this order.
_FOLLOW = (
    "global_batch_size",
    "active_microbatches",
    "prescaled_batch",
    "pipeline_parallel_degree",
    "tensor_parallel_degree",
    "sharded_data_parallel_degree",
    "batch_size",
    "microbatches",
    "virtual_stages",
    "shard_optimizer_state",
    "optimize",
    "offload_activations",
    "placement_strategy",
)
_MOST_MULTIPLES = 16


@dataclass(frozen=True, slots=True)
class _Cure:
    values: Mapping[str, Any]
    left: frozenset[tuple[str, str]]
    """Of the problems it is for, by id and parameter, those that remain."""


def sound_remedies(setup: Setup, found: Sequence[SetupProblem], ask: Ask) -> tuple[SetupProblem, ...]:
    """The problems, each with a remedy that cures it and brings no new one, as far as there is one."""
    groups: dict[str, list[SetupProblem]] = {}
    for each in found:
        if each.recommendation.parameter is not None and each.recommendation.to_value is not None:
            groups.setdefault(each.recommendation.parameter, []).append(each)
    cures = {name: _cure(setup, name, group, found, ask) for name, group in groups.items()}
    return tuple(
        _with(setup, each, cures[each.recommendation.parameter]) if each.recommendation.parameter in cures else each
        for each in found
    )


def _cure(
    setup: Setup, name: str, group: Sequence[SetupProblem], found: Sequence[SetupProblem], ask: Ask
) -> _Cure | None:
    first = next(iter(_single(setup, name, group)))
    if all(each.severity == "info" for each in group):
        # A layout to compare with: any other value is no answer.
        return _tried(setup, {name: first}, group, found, ask)
    best: _Cure | None = None
    for to in _single(setup, name, group):
        cure = _tried(setup, {name: to}, group, found, ask)
        if cure is not None and (best is None or len(cure.left) < len(best.left)):
            best = cure
        if best is not None and not best.left:
            return best
    for to in _single(setup, name, group):
        for other in _FOLLOW:
            if other == name or (setup.known(other) is None and other not in _OF_DEGREES):
                continue
            for value in _values(changed(setup, {name: to}), other):
                cure = _tried(setup, {name: to, other: value}, group, found, ask)
                if cure is not None and not cure.left:
                    return cure
    return best


def _tried(
    setup: Setup, values: Mapping[str, Any], group: Sequence[SetupProblem], found: Sequence[SetupProblem], ask: Ask
) -> _Cure | None:
    """What a change leaves of its problems; None where it cures none of them, or brings another."""
    known, own = {(each.id, each.parameter) for each in found}, {(each.id, each.parameter) for each in group}
    left = set()
    for each in ask(changed(setup, values)):
        which = each.id, each.parameter
        if which not in known:
            return None
        left |= {which} & own
    return _Cure(values, frozenset(left)) if len(left) < len(own) else None


def _single(setup: Setup, name: str, group: Sequence[SetupProblem]) -> Iterable[Any]:
    """Values of the parameter itself: what its rules name first, then others, the nearest first."""
    named = [each.recommendation.to_value for each in group]
    return dict.fromkeys([*named, *_values(setup, name)])


def _values(setup: Setup, name: str) -> Iterator[Any]:
    now = setup.number(name)
    if name in _OF_DEGREES:
        each = setup.gpus_per_node
        pool = sorted({*_DEGREES, *((each,) if each else ())}, key=lambda to: abs(math.log(to / max(now or 1, 1))))
        yield from (to for to in pool if to != now)
    elif name == "active_microbatches":
        m = setup.microbatches or 1
        yield from range(min(m, (setup.pipeline_degree or 1) + 2), 0, -1)
    elif name in _OF_BATCHES:
        yield from _batches(setup, name, now)
    elif setup.flag(name) is not None:
        yield not setup.flag(name)
    elif name == "optimize":
        yield from ("speed", "memory")
    elif name == "placement_strategy":
        yield "cluster"


def _batches(setup: Setup, name: str, now: int | None) -> Iterator[int]:
    """Multiples of what a batch has to be divisible by, the nearest first."""
    unit = {
        "global_batch_size": max(1, setup.number("micro_batch_size") or 1) * (setup.data_parallel or 1),
        "batch_size": max(1, setup.number("microbatches") or 1),
    }.get(name, 1)
    stages = setup.pipeline_degree or 1
    multiples = {unit * each for each in range(1, _MOST_MULTIPLES + 1)}
    multiples |= {unit * stages * each for each in range(1, _MOST_MULTIPLES + 1)}
    yield from sorted(
        (each for each in multiples if each != now), key=lambda to: (abs(math.log(to / max(now or 1, 1))), to)
    )


def _with(setup: Setup, problem: SetupProblem, cure: _Cure | None) -> SetupProblem:
    """The problem with its remedy as it was tried."""
    advice = problem.recommendation
    if cure is None or (problem.id, problem.parameter) in cure.left:
        text = (
            f"{problem.parameter} has to change together with other settings: try a configuration with monitor plan, which "
            "checks all of its rules at once."
        )
        return replace(problem, recommendation=Recommendation(text, source=advice.source))
    if cure.values == {advice.parameter: advice.to_value}:
        return problem
    steps = " and ".join(_step(setup, name, to) for name, to in cure.values.items())
    if len(cure.values) > 1:
        return replace(problem, recommendation=Recommendation(f"Change {steps} together.", source=advice.source))
    ((name, to),) = cure.values.items()
    changed = Recommendation(f"Change {steps}.", name, advice.from_value, to, advice.source)
    return replace(problem, recommendation=changed)


def _step(setup: Setup, name: str, to: Any) -> str:
    known = setup.known(name)
    now = f" from {as_set(known.value)}" if known is not None else ""
    return f"{name}{now} to {as_set(to)}"
