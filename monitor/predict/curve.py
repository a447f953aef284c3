"""How do step time and memory run along one parameter? The points of a curve, today's first of all.

A curve that is flat says that its knob does nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from monitor.predict.outcome import MOST_WORK, what_if
from monitor.predict.setup_types import Setup

#: A curve has at most so many points: each of them is a simulation.
MOST_POINTS = 24
_SWITCHES = frozenset(
    {
        "activation_checkpointing",
        "selective_recomputation",
        "offload_activations",
        "sm_activation_offloading",
        "shard_optimizer_state",
        "prescaled_batch",
        "sequence_parallel",
        "flash_attention",
    }
)
_DEGREES = frozenset(
    {"tensor_parallel_degree", "pipeline_parallel_degree", "sharded_data_parallel_degree", "hybrid_shard_degree"}
)
_BATCHES = frozenset({"batch_size", "micro_batch_size", "global_batch_size"})


@dataclass(frozen=True, slots=True)
class Point:
    """One value of the parameter; the step time for the same samples is relative to the start's, memory is GiB of the
    fullest GPU. None where it is not known."""

    parameter: str
    value: Any
    step_time_relative: float | None
    low: float | None
    high: float | None
    gpu_memory_gib: float | None


def curve(
    start: Setup, parameter: str, values: Iterable[Any] = (), also: Mapping[str, Any] | None = None
) -> list[Point]:
    """The points of ``parameter``, in order of their values; ``values`` are put among those that are chosen for it.

    ``also`` are further changes that hold on the whole curve, such as the others of a plan.
    """
    others = {name: value for name, value in (also or {}).items() if name != parameter}
    return [_point(start, parameter, value, others) for value in _values(start, parameter, tuple(values))]


def knob(start: Setup, change: Mapping[str, Any] | None = None) -> str | None:
    """The parameter to draw a curve of: the first that a plan changes and a curve can be drawn of, else the pipeline's
    window, else its microbatches, else the batch; None where nothing of it is known."""
    for name in change or {}:
        if _values(start, name, ()):
            return name
    if (start.pipeline_degree or 1) > 1 and start.microbatches:
        return "active_microbatches" if start.framework == "smp1" else "gradient_accumulation_steps"
    return next((name for name in ("batch_size", "micro_batch_size") if start.number(name)), None)


def _point(start: Setup, parameter: str, value: Any, others: Mapping[str, Any]) -> Point:
    found = what_if(start, {**others, parameter: value})
    change, memory = found.step_time_change_pct, found.memory.expected_gib
    low, middle, high = (None, None, None) if change is None else (1 + each / 100 for each in change)
    return Point(parameter, value, middle, low, high, memory)


def _values(start: Setup, parameter: str, also: tuple[Any, ...]) -> list[Any]:
    if parameter in _SWITCHES:
        return [False, True]
    now = start.number(parameter)
    given = [value for value in (now, *also) if isinstance(value, int) and not isinstance(value, bool) and value > 0]
    if parameter == "active_microbatches":
        most = start.microbatches or 0
        found = list(range(1, most + 1)) if most <= MOST_POINTS else _doublings(most)
        # What lies between the stages and the default is where the curve bends.
        p = start.pipeline_degree or 1
        found += [value for value in range(p - 1, p + 4) if 1 <= value <= most]
    elif parameter in ("microbatches", "gradient_accumulation_steps"):
        batch, stages = start.number("batch_size"), start.pipeline_degree or 1
        most = max([8 * stages, *given])
        found = [value for value in _doublings(most) if batch is None or not batch % value]
    elif parameter in _DEGREES:
        found = [value for value in _doublings(_most_degree(start, parameter)) if _divides(start, parameter, value)]
    elif parameter in (*_BATCHES, "instance_count") and now:
        found = [max(1, now // 4), max(1, now // 2), now, 2 * now, 4 * now]
    elif parameter == "activation_checkpointing_layers":
        found = _doublings(start.number("layers") or 0)
    elif parameter == "sequence_length" and now:
        found = [now // 2, now, 2 * now, 4 * now]
    else:
        return []
    stages = max(1, start.pipeline_degree or 1)
    kept = sorted({value for value in (*found, *given) if value > 0})
    if parameter == "microbatches":
        kept = [value for value in kept if 2 * value * stages <= MOST_WORK]
    return kept[:MOST_POINTS] if now is None or now in kept[:MOST_POINTS] else [*kept[: MOST_POINTS - 1], now]


def _most_degree(start: Setup, parameter: str) -> int:
    if parameter == "tensor_parallel_degree":
        return start.gpus_per_node or 8
    if parameter == "pipeline_parallel_degree":
        return min(64, start.number("layers") or 64, (start.world or 64) // (start.tensor_degree or 1))
    return start.data_parallel or start.gpus or 0


def _divides(start: Setup, parameter: str, value: int) -> bool:
    ranks = start.data_parallel if "shard" in parameter else start.world
    return ranks is None or ranks % value == 0


def _doublings(most: int) -> list[int]:
    return [1 << power for power in range(max(0, most).bit_length()) if 1 << power <= most]
