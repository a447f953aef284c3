"""The outcome of another setup: step time, bubble and memory of a change, with ranges and what stands behind them; and how they
depend on one parameter: the points of a curve, and which of them to take.

A flat curve means that its knob has no effect.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from monitor.predict.layout import SHAPE, in_half_precision, missing_of_layout, pipeline_of
from monitor.predict.memory import COVERAGE, FSDP_LEAST, WHOLE_REACH, MemoryChange, kinds_of, memory_change
from monitor.predict.parameters import names, whole_number
from monitor.predict.pipeline import FEWEST_DRAWS, MOST_DRAWS, Pipeline, Schedule
from monitor.predict.setup import Setup, changed
from monitor.predict.spread import Promise, weakest
from monitor.predict.time_change import TimeChange, time_change
from monitor.words import percent

#: How ``method`` begins to say why there is no figure.
# Nobody draws more pieces of work than these.
_MOST_DRAWN = 10_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """``change`` beside ``start``; what is not known is None or empty."""

    start: Setup
    change: Setup
    changes: frozenset[str]
    """The parameters whose values differ, those that follow from others included."""
    time: TimeChange
    memory: MemoryChange

    @property
    def step_time_change_pct(self) -> tuple[float, float, float] | None:
        """(low, middle, high) percent of the time for the same samples; negative is faster."""
        return self.time.change_pct

    @property
    def memory_promise(self) -> Promise:
        """What the range of the memory promises: of a difference from what was measured, else of the equations' whole."""
        if self.memory.measured:
            return weakest(COVERAGE[kind].promise for kind in kinds_of(self.changes))
        return "none" if self.change.framework == "fsdp" else COVERAGE["whole"].promise

    @property
    def basis(self) -> Literal["measured", "model"]:
        """measured: the memory is counted from what was measured; step times are a model's always."""
        return "measured" if self.memory.measured else "model"

    @property
    def bubble_start(self) -> float | None:
        """Share of the stages' time in which they wait, 0 to 1: equal stages, no hop cost."""
        return bubble_fraction(self.start)

    @property
    def bubble_change(self) -> float | None:
        return bubble_fraction(self.change)

    @property
    def method(self) -> str:
        """What the figures rest on, as sentences."""
        return " ".join(part for part in (self.time_method, self.memory_method) if part)

    @property
    def memory_method(self) -> str:
        """What the memory rests on, or why there is none, as a sentence."""
        return _sentence(_memory_words(self))

    @property
    def time_method(self) -> str:
        """What the step time rests on, or why there is none, as sentences."""
        parts = [f"no step time: {'; '.join(self.time.unknown)}"] if self.time.unknown else []
        if self.time.change_pct is not None:
            # Of a figure that is not given nobody asks for its range.
            parts = [effect.words for effect in self.time.effects if effect.words]
        return " ".join(_sentence(part) for part in dict.fromkeys(parts))


def outcome(start: Setup, change: Setup, size_kept: bool = False, most_draws: int = MOST_DRAWS) -> Outcome:
    """What ``change`` would do in place of ``start``. Of a batch that is not known it is taken that it stays the same, or
    with ``size_kept`` that the size of a microbatch does. Fewer draws give a rougher range sooner, none the middle alone."""
    changes = differences(start, change)
    return Outcome(
        start,
        change,
        changes,
        time_change(start, change, changes, size_kept, most_draws),
        memory_change(start, change, changes, size_kept),
    )


def what_if(start: Setup, values: Mapping[str, Any], size_kept: bool = False, most_draws: int = MOST_DRAWS) -> Outcome:
    """What other ``values`` would do, by any of their names."""
    return outcome(start, changed(start, values), size_kept, most_draws)


def differences(start: Setup, change: Setup) -> frozenset[str]:
    """The parameters whose values differ."""
    names = start.values.keys() | change.values.keys()
    return frozenset(name for name in names if start.value(name) != change.value(name))


def schedule_of(setup: Setup) -> Schedule | None:
    """The plain schedule of a step: equal stages, no hop cost, a microbatch and stage taking 1; with full recomputation a
    backward is three forwards, without two. None where stages or microbatches are unknown, or too many to draw."""
    setting = pipeline_of(setup)
    if setting is None or not setting.is_possible or 2 * setting.stages * setting.microbatches > _MOST_DRAWN:
        return None
    forward = 0.25 if setup.flag("activation_checkpointing") else 1 / 3
    return setting.run(Pipeline.equal(setting.stages, setting.microbatches, forward, 1 - forward))


def bubble_fraction(setup: Setup) -> float | None:
    """Of the plain schedule; 0 without a pipeline."""
    setting = pipeline_of(setup)
    if setting is None or not setting.is_possible:
        return None
    return max(0.0, 1 - setting.microbatches / setting.equal_stages_s(1.0))


def _sentence(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:]}."


def _memory_words(found: Outcome) -> str:
    """What the figure of the memory rests on, or why there is none."""
    memory, change = found.memory, found.change
    if memory.change_gib is None:
        missing = ", ".join(_missing(change))
        return "GPU memory cannot be predicted: " + (
            f"missing {missing}" if missing else "the model does not cover this change"
        )
    if memory.bound:
        return (
            "memory: upper bound, as if all measured memory grew with the microbatches in flight (model shape unknown)"
        )
    if memory.measured:
        ranges = [COVERAGE[kind].words(f"range of {kind}") for kind in kinds_of(found.changes)]
        measured = "memory: measured, plus the difference by the equations for model states and activations"
        return "; ".join([measured, *ranges])
    is_assumed = not change.is_job and not change.is_given("precision") and in_half_precision(change)
    assumed = ", half precision assumed" if is_assumed else ""
    return (
        f"memory: model states from arXiv 1910.02054, activations from arXiv 2205.05198{assumed}; nothing was measured here: "
        + _whole_words(change)
    )


def _whole_words(setup: Setup) -> str:
    """What is known of memory by the equations alone."""
    if setup.framework == "fsdp":
        return (
            f"of FSDP 8 published peaks were up to {percent(100 * (1 - FSDP_LEAST))} lower, all of one source; the range "
            "promises no share"
        )
    held, peaks, _ = COVERAGE["whole"]
    less, more = (percent(100 * abs(math.expm1(each))) for each in (-WHOLE_REACH, WHOLE_REACH))
    return (
        f"range from {less} less to {more} more, for 9 of 10 setups (held {held} of {peaks} published peaks that it was not "
        "made of)"
    )


def _missing(setup: Setup) -> tuple[str, ...]:
    names = dict.fromkeys((*setup.missing(*SHAPE), *missing_of_layout(setup)))
    said = {}
    if setup.known("batch_size"):
        said["batch_size"] = "a batch_size divisible by microbatches"
    if setup.world is not None:
        said["world_size"] = "degrees that divide the number of processes"
    return tuple(said.get(name, name) for name in names)


#: A curve has at most so many points.
MOST_POINTS = 24
# So much slower than the best is the same: less memory for the same speed.
_AS_GOOD = 1.005
#: No advice fills more of a device's memory than this.
FULLEST = 0.92
# For the ranges of all points together: about half a second.
_MOST_EFFORT = 200_000
_SWITCHES = names(
    "activation_checkpointing selective_recomputation offload_activations sm_activation_offloading shard_optimizer_state "
    "prescaled_batch sequence_parallel flash_attention"
)
_DEGREES = names("tensor_parallel_degree pipeline_parallel_degree sharded_data_parallel_degree hybrid_shard_degree")
_BATCHES = names("batch_size micro_batch_size global_batch_size")


@dataclass(frozen=True, slots=True)
class Point:
    """One value of the parameter; the step time for the same samples is relative to the start's, memory is GiB of the
    fullest GPU. None where it is not known; the range also where its simulation would take too long."""

    parameter: str
    value: Any
    step_time_relative: float | None
    low: float | None
    high: float | None
    gpu_memory_gib: float | None
    promise: Promise = "none"
    """What the range promises."""


def curve(
    start: Setup, parameter: str, values: Iterable[Any] = (), also: Mapping[str, Any] | None = None
) -> list[Point]:
    """The points of ``parameter``, in order of their values; ``values`` are put among those that are chosen for it.

    ``also`` are further changes that hold on the whole curve, such as the others of a plan.
    """
    others = {name: value for name, value in (also or {}).items() if name != parameter}
    chosen = _values(changed(start, others) if others else start, parameter, (start.number(parameter), *values))
    setups = [(value, changed(start, {**others, parameter: value})) for value in chosen]
    draws = FEWEST_DRAWS if _effort([start, *(setup for _, setup in setups)]) * FEWEST_DRAWS <= _MOST_EFFORT else 0
    return [_point(start, parameter, value, setup, draws) for value, setup in setups]


def knob(start: Setup, change: Mapping[str, Any] | None = None) -> str | None:
    """The parameter to draw a curve of: the first that a plan changes and a curve can be drawn of, else the pipeline's
    window, else its microbatches, else the batch; None where nothing of it is known."""
    for name, value in (change or {}).items():
        if _values(start, name, (value,)):
            return name
    if (start.pipeline_degree or 1) > 1 and start.microbatches and start.framework == "smp1":
        return "active_microbatches"
    names = ["batch_size", "micro_batch_size", "active_microbatches"]
    if (start.pipeline_degree or 1) > 1:
        names = ["gradient_accumulation_steps", "global_batch_size", *names]
    return next((name for name in names if start.number(name) and _values(start, name, ())), None)


def _point(start: Setup, parameter: str, value: Any, setup: Setup, draws: int) -> Point:
    found = outcome(start, setup, most_draws=draws)
    change, memory = found.step_time_change_pct, found.memory.expected_gib
    if change is None:
        return Point(parameter, value, None, None, None, memory)
    low, middle, high = (1 + each / 100 for each in change)
    return Point(parameter, value, middle, low if draws else None, high if draws else None, memory, found.time.promise)


def _effort(setups: Sequence[Setup]) -> int:
    """What one draw for all points takes; none of them is simulated where one is too large for it."""
    settings = {setting for setup in setups if (setting := pipeline_of(setup)) is not None}
    return sum(each.effort for each in settings) if all(each.is_small for each in settings) else _MOST_EFFORT


def _values(start: Setup, parameter: str, also: tuple[Any, ...]) -> list[Any]:
    if parameter in _SWITCHES:
        return [False, True]
    now = start.number(parameter)
    # These are among the points whatever there is besides.
    kept = {value for each in (now, *also) if (value := whole_number(each)) is not None and value > 0}
    if parameter == "active_microbatches":
        most = start.microbatches or 0
        found = list(range(1, most + 1)) if most <= MOST_POINTS else _doublings(most)
        # What lies between the stages and the default is where the curve bends.
        p = start.pipeline_degree or 1
        found += [value for value in range(p - 1, p + 4) if 1 <= value <= most]
    elif parameter in ("microbatches", "gradient_accumulation_steps"):
        batch, stages = start.number("batch_size"), min(start.pipeline_degree or 1, 64)
        most = max(8 * stages, min(64 * stages, max(kept, default=1)))
        found = [value for value in _doublings(most) if batch is None or not batch % value]
    elif parameter in _DEGREES:
        found = [value for value in _doublings(_most_degree(start, parameter)) if _divides(start, parameter, value)]
    elif parameter in (*_BATCHES, "instance_count") and now and now > 0:
        found = [max(1, now // 4), max(1, now // 2), now, 2 * now, 4 * now]
    elif parameter == "activation_checkpointing_layers":
        found = _doublings(min(start.number("layers") or 0, 64))
    elif parameter == "sequence_length" and now and now > 0:
        found = [max(1, now // 2), now, 2 * now, 4 * now]
    else:
        return []
    others = sorted(set(found) - kept)
    room = max(1, MOST_POINTS - len(kept))
    return sorted({*kept, *others[:: -(-len(others) // room) or 1]})


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


@dataclass(frozen=True, slots=True)
class Advised:
    """A parameter's value to take, and who says so."""

    parameter: str
    value: Any
    source: str


def advised_window(points: Sequence[Point], limit_gib: float | None) -> Advised | None:
    """The least ``active_microbatches`` within 0.5 % of the best that fits. None for other curves, and where it does
    nothing. What is not known of the memory does not speak against a point."""
    timed = [
        (point, point.step_time_relative)
        for point in points
        if point.parameter == "active_microbatches"
        and point.step_time_relative is not None
        and (point.gpu_memory_gib is None or not limit_gib or point.gpu_memory_gib <= FULLEST * limit_gib)
    ]
    if not timed:
        return None
    best = min(relative for _, relative in timed)
    if max(relative for _, relative in timed) <= _AS_GOOD * best:
        return None
    point = next(point for point, relative in timed if relative <= _AS_GOOD * best)
    return Advised(point.parameter, point.value, "the pipeline model")
