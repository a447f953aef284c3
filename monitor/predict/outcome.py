"""The outcome of another setup: step time, bubble and memory of a change, with ranges and what stands behind them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from monitor.predict.layout import SHAPE, in_half_precision, missing_of_layout, pipeline_of
from monitor.predict.memory import COVERAGE, FSDP_LEAST, WHOLE_REACH, MemoryChange, kinds_of, memory_change
from monitor.predict.pipeline import MOST_DRAWS, Pipeline, Schedule
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
