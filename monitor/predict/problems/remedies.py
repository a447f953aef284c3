"""Remedies: the change that cures a problem and brings no other. Each is tried against all rules before it is said.

Of the problems of one parameter all get the same remedy. Where no single parameter cures without breaking another rule, two
are looked for; where two do not, the remedy names no value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from monitor.model import Recommendation
from monitor.predict.parameters import names
from monitor.predict.problems.problem import Problem
from monitor.predict.setup import Setup, changed

Ask = Callable[[Setup], tuple[Problem, ...]]
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


def sound_remedies(setup: Setup, found: Sequence[Problem], ask: Ask) -> tuple[Problem, ...]:
    """The problems, each with a remedy that cures it and brings no new one, as far as there is one."""
    groups: dict[str, list[Problem]] = {}
    for each in found:
        if each.recommendation.parameter is not None and each.recommendation.to_value is not None:
            groups.setdefault(each.recommendation.parameter, []).append(each)
    cures = {name: _cure(setup, name, group, found, ask) for name, group in groups.items()}
    return tuple(
        _with(setup, each, cures[each.recommendation.parameter]) if each.recommendation.parameter in cures else each
        for each in found
    )


def _cure(setup: Setup, name: str, group: Sequence[Problem], found: Sequence[Problem], ask: Ask) -> _Cure | None:
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
    setup: Setup, values: Mapping[str, Any], group: Sequence[Problem], found: Sequence[Problem], ask: Ask
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


def _single(setup: Setup, name: str, group: Sequence[Problem]) -> Iterable[Any]:
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


def _with(setup: Setup, problem: Problem, cure: _Cure | None) -> Problem:
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
    now = f" from {_plain(known.value)}" if known is not None else ""
    return f"{name}{now} to {_plain(to)}"


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
