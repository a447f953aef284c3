"""Pipelines: the schedules of GPipe, 1F1B, interleaved 1F1B and SMP v1, simulated and as formulas, and by how much a change
of the pipeline changes the step time.

GPipe: arXiv 1811.06965. 1F1B and its interleaved form, as Megatron-LM and DeepSpeed run them: arXiv 2104.04473. SMP v1: the
first stage leads: it starts a backward where one is ready, else a new forward, and that only while fewer than
``active_microbatches`` are under way; the other stages do what has arrived, backwards first. So the library's documentation
and its source of version 1.12 have it; the order of two requests of one kind is this project's.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf
from typing import Literal

import numpy as np

Kind = Literal["forward", "backward"]
FixedOrder = Literal["gpipe", "1f1b"]

#: The fixed part of a microbatch's time (launches, latencies, half-filled kernels), in samples of ``SAMPLE_TOKENS`` tokens,
#: and how far other models differ. Measured on GPT-like models of 1.5 to 200 billion parameters; fitted to one part of
#: published sweeps and held against the rest (``benchmarks/predictions.py``).
FIXED_SAMPLES = 0.19
FIXED_SAMPLES_RANGE = (0.08, 0.30)
#: What a launch costs hangs on the tokens, not on how they are cut.
SAMPLE_TOKENS = 2048
# Of a real pipeline nobody knows how much longer a backward takes than a forward, what a hop costs and how unequal the stages
# are. Backward over forward: 1.5 to 2 without recomputation (profiles of arXiv 2401.10241, table 6), 3 with all of it.
_BACKWARD_RANGE = (1.4, 3.4)
# A hop over the time of a microbatch on a stage; published profiles have 0.8 to 2.3 %.
_HOP_RANGE = (0.0, 0.06)
# Standard deviation of the stages' times.
_IMBALANCE = 0.05
# As many draws as this much simulated work allows: a pipeline of 8 stages and 16 microbatches gets all of them.
MOST_DRAWS = 128
FEWEST_DRAWS = 24
_WORK = 40_000
# Of one side. Larger schedules are not simulated: their draws would take longer than anyone waits for an answer.
_MOST_EFFORT = 8_000


@dataclass(frozen=True, slots=True)
class Pipeline:
    """``microbatches`` that pass all stages forward and back again, once a step.

    ``forward_s`` and ``backward_s`` hold the time of ONE microbatch on each stage, in seconds or any other unit; with full
    recomputation a backward is about three forwards, without about two. ``hop_s`` is the way to a neighboring stage.
    """

    microbatches: int
    forward_s: tuple[float, ...]
    backward_s: tuple[float, ...]
    hop_s: float = 0.0

    def __post_init__(self) -> None:
        if self.microbatches < 1 or not self.forward_s or len(self.forward_s) != len(self.backward_s):
            raise ValueError(
                "a pipeline needs at least one microbatch, and a forward and a backward time for each stage"
            )
        if min((*self.forward_s, *self.backward_s, self.hop_s)) < 0:
            raise ValueError("times are not negative")

    @classmethod
    def equal(
        cls, stages: int, microbatches: int, forward_s: float = 0.25, backward_s: float = 0.75, hop_s: float = 0.0
    ) -> Pipeline:
        """A pipeline whose stages all take the same time."""
        return cls(microbatches, (forward_s,) * stages, (backward_s,) * stages, hop_s)

    @property
    def stages(self) -> int:
        return len(self.forward_s)


@dataclass(frozen=True, slots=True)
class PipelineTask:
    """One forward or backward of one microbatch on one stage."""

    stage: int
    kind: Kind
    microbatch: int
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Schedule:
    """What every stage does when, for one step."""

    work: tuple[PipelineTask, ...]
    stages: int

    @cached_property
    def seconds(self) -> float:
        """From the first forward to the last backward; optimizer and gradient exchange come on top."""
        return max(work.end_s for work in self.work)

    @cached_property
    def bubble_fraction(self) -> float:
        """The share of all stages' time in which they wait, 0 to 1."""
        busy = sum(work.end_s - work.start_s for work in self.work)
        return 1 - busy / (self.stages * self.seconds) if self.seconds > 0 else 0.0


def fixed_order(pipeline: Pipeline, name: FixedOrder, chunks: int = 1) -> Schedule:
    """GPipe (all forwards, then all backwards; SMP v1 calls it ``simple``) or 1F1B (as many forwards as there are later stages,
    then one of each in turn), with ``chunks`` parts of the model on each stage, each 1/chunks of the stage's time.

    ValueError where chunks are interleaved and the microbatches are no multiple of the stages, as that schedule demands.
    """
    steps = _steps(name, pipeline.stages, pipeline.microbatches, chunks)
    work = []
    for step, end in zip(steps, _ends(pipeline, steps, chunks), strict=True):
        times = pipeline.forward_s if step.kind == "forward" else pipeline.backward_s
        work.append(PipelineTask(step.stage, step.kind, step.microbatch, end - times[step.stage] / chunks, end))
    return Schedule(tuple(work), pipeline.stages)


def fixed_order_seconds(pipeline: Pipeline, name: FixedOrder, chunks: int = 1) -> float:
    """What such a schedule takes, without its pieces: several times as quick, for ranges out of many draws."""
    return max(_ends(pipeline, _steps(name, pipeline.stages, pipeline.microbatches, chunks), chunks))


@dataclass(frozen=True, slots=True)
class _Step:
    """One piece of work in an order in which each comes after what it needs, whatever the times are."""

    stage: int
    kind: Kind
    microbatch: int
    needs: int
    """The place of the piece that gives its input; -1 where it needs none."""
    hops: bool
    """Its input comes from a neighbor."""


def _ends(pipeline: Pipeline, steps: tuple[_Step, ...], chunks: int) -> list[float]:
    """When each piece ends: it begins when its stage is free and what it needs has arrived."""
    took = {
        "forward": [each / chunks for each in pipeline.forward_s],
        "backward": [each / chunks for each in pipeline.backward_s],
    }
    free, ends, hop = [0.0] * pipeline.stages, list[float](), pipeline.hop_s
    for step in steps:
        stage = step.stage
        start = free[stage]
        if step.needs >= 0:
            arrived = ends[step.needs] + hop if step.hops else ends[step.needs]
            start = arrived if arrived > start else start
        free[stage] = end = start + took[step.kind][stage]
        ends.append(end)
    return ends


@lru_cache(maxsize=64)
def _steps(name: FixedOrder, stages: int, microbatches: int, chunks: int) -> tuple[_Step, ...]:
    """All pieces of a schedule: each stage does its own in its order, and none comes before what it needs."""
    orders, last = _orders(name, stages, microbatches, chunks), stages * chunks - 1
    done: dict[tuple[Kind, int, int], int] = {}  # what, microbatch, virtual stage -> its place
    places, steps = [0] * stages, list[_Step]()
    moved = True
    while moved:
        moved = False
        for stage in range(stages):
            while places[stage] < len(orders[stage]):
                kind, microbatch, chunk = orders[stage][places[stage]]
                virtual = chunk * stages + stage
                needed = _needed(kind, microbatch, virtual, last)
                if needed is not None and needed not in done:
                    break
                needs = -1 if needed is None else done[needed]
                done[kind, microbatch, virtual] = len(steps)
                steps.append(_Step(stage, kind, microbatch, needs, needed is not None and needed[2] != virtual))
                places[stage] += 1
                moved = True
    return tuple(steps)


def _needed(kind: Kind, microbatch: int, virtual: int, last: int) -> tuple[Kind, int, int] | None:
    """What gives the input of a piece; None for the first forward."""
    if kind == "forward":
        return ("forward", microbatch, virtual - 1) if virtual else None
    return ("forward", microbatch, virtual) if virtual == last else ("backward", microbatch, virtual + 1)


# One item of a stage's order: what, which microbatch, which of its chunks.
_Item = tuple[Kind, int, int]


def _orders(name: FixedOrder, p: int, m: int, chunks: int) -> list[list[_Item]]:
    """What each stage does, in its order."""
    if name == "gpipe":
        every = range(m)
        order: list[_Item] = [("forward", n, 0) for n in every] + [("backward", n, 0) for n in reversed(every)]
        return [order] * p
    if chunks < 1 or (chunks > 1 and m % p):
        raise ValueError("an interleaved schedule needs a number of microbatches that is a multiple of the stages")
    if chunks == 1:
        return [_alternating(min(m, p - stage - 1), [((n, 0), (n, 0)) for n in range(m)]) for stage in range(p)]
    # Groups of p microbatches pass chunk after chunk; the way back is the same from the other end.
    forward = [((k // (p * chunks)) * p + k % p, (k // p) % chunks) for k in range(m * chunks)]
    both = [(mine, (mine[0], chunks - 1 - mine[1])) for mine in forward]
    return [_alternating(min(m * chunks, 2 * (p - stage - 1) + (chunks - 1) * p), both) for stage in range(p)]


def _alternating(ahead: int, pairs: list[tuple[tuple[int, int], tuple[int, int]]]) -> list[_Item]:
    """``ahead`` forwards, then forward and backward in turn, then the backwards that are left."""
    order: list[_Item] = []
    for n, (forward, _) in enumerate(pairs):
        order.append(("forward", *forward))
        if n >= ahead:
            order.append(("backward", *pairs[n - ahead][1]))
    order += [("backward", *backward) for _, backward in pairs[max(0, len(pairs) - ahead) :]]
    return order


def smp_window(pipeline: Pipeline, active_microbatches: int) -> Schedule:
    """SMP v1's schedule of one step. ValueError for a window below 1; one above ``microbatches`` is as wide as these."""
    work: list[PipelineTask] = []
    smp_window_seconds(pipeline, active_microbatches, work)
    return Schedule(tuple(work), pipeline.stages)


def smp_window_seconds(pipeline: Pipeline, active_microbatches: int, work: list[PipelineTask] | None = None) -> float:
    """What ``smp_window`` takes; its pieces are put into ``work`` where that is given.

    Microbatches pass a stage in their order, so that times of arrival are all that has to be remembered.
    """
    if active_microbatches < 1:
        raise ValueError("active_microbatches is at least 1")
    last, window = pipeline.stages - 1, min(active_microbatches, pipeline.microbatches)
    to_start, under_way, left = pipeline.microbatches, 0, 2 * pipeline.stages * pipeline.microbatches
    forwards = [deque[float]() for _ in range(last + 1)]
    backwards = [deque[float]() for _ in range(last + 1)]
    free = [0.0] * (last + 1)
    # When each stage begins its next work, as far as that is known.
    begin = [0.0, *[inf] * last]
    started: dict[tuple[int, Kind], int] = {}
    while left:
        now = min(begin)
        stage = begin.index(now)
        kind: Kind = "backward" if backwards[stage] and backwards[stage][0] <= now else "forward"
        if kind == "backward":
            backwards[stage].popleft()
            end = now + pipeline.backward_s[stage]
            if stage:
                to, queue, arrival = stage - 1, backwards[stage - 1], end + pipeline.hop_s
            else:
                to, queue, arrival = 0, None, end
                under_way -= 1
        else:
            end = now + pipeline.forward_s[stage]
            if stage:
                forwards[stage].popleft()
            else:
                to_start, under_way = to_start - 1, under_way + 1
            if stage < last:
                to, queue, arrival = stage + 1, forwards[stage + 1], end + pipeline.hop_s
            else:
                to, queue, arrival = stage, backwards[stage], end
        if work is not None:
            microbatch = started[stage, kind] = started.get((stage, kind), -1) + 1
            work.append(PipelineTask(stage, kind, microbatch, now, end))
        left -= 1
        free[stage] = end
        if queue is not None:
            queue.append(arrival)
        for each in (stage, to) if to != stage else (stage,):
            ready = backwards[each][0] if backwards[each] else inf
            if each:
                ready = min(ready, forwards[each][0]) if forwards[each] else ready
            elif to_start and under_way < window:
                ready = 0.0
            begin[each] = ready if ready > free[each] else free[each]
    return max(free)


@dataclass(frozen=True, slots=True)
class PipelineSetting:
    """One configuration of a pipeline: ``window`` is SMP's active_microbatches, ``chunks`` the parts of a stage in
    interleaved 1F1B, ``microbatch_size`` in samples (None where it is not known, and the same on both sides)."""

    stages: int
    microbatches: int
    schedule: Literal["smp", "gpipe", "1f1b"] = "smp"
    window: int | None = None
    chunks: int = 1
    microbatch_size: float | None = None

    @property
    def samples(self) -> float:
        """Of one step; in microbatches where their size is not known."""
        return self.microbatches * (self.microbatch_size or 1.0)

    @property
    def effort(self) -> int:
        """What its simulation takes: a forward or backward of SMP's window is 1, of an order that is fixed a sixth. 0 without
        a pipeline, where nothing has to be simulated."""
        pieces = 2 * self.stages * self.microbatches * self.chunks
        return 0 if self.stages == 1 else pieces if self.schedule == "smp" else pieces // 6

    @property
    def is_possible(self) -> bool:
        """Whether there is such a schedule: an interleaved one takes microbatches that divide by the stages."""
        return self.stages == 1 or self.chunks == 1 or self.microbatches % self.stages == 0

    @property
    def is_small(self) -> bool:
        """Whether it is simulated; its middle is known also where it is not."""
        return self.effort <= _MOST_EFFORT

    def equal_stages_s(self, microbatch_s: float) -> float:
        """Seconds of a step of equal stages without hops, by formula, where forward and backward of a microbatch take u on a
        stage: GPipe and 1F1B (m + p - 1) u, v interleaved chunks m u + (p - 1) u / v (m a multiple of p). Of SMP v1 p u + (m -
        1) u where the window covers the round trip p u; else its microbatches come in bursts of the window, one a round trip:
        exact where a backward takes a whole number of forwards (3 with full recomputation)."""
        p, m, u = self.stages, self.microbatches, microbatch_s
        if self.schedule == "gpipe":
            return (m + p - 1) * u
        if self.chunks > 1 and self.schedule == "1f1b":
            return m * u + (p - 1) * u / self.chunks
        window, trip = min(self.window or m, m), p * u
        if self.schedule == "1f1b" or window * u >= trip:
            return trip + (m - 1) * u
        bursts, rest = divmod(m - 1, window)
        return (bursts + 1) * trip + rest * u

    def seconds(self, pipeline: Pipeline) -> float:
        """How long a step takes, under this setting."""
        if self.schedule == "smp":
            return smp_window_seconds(pipeline, self.window or self.microbatches)
        return fixed_order_seconds(pipeline, self.schedule, self.chunks)

    def run(self, pipeline: Pipeline) -> Schedule:
        """What the stages do, under this setting."""
        if self.schedule == "smp":
            return smp_window(pipeline, self.window or self.microbatches)
        return fixed_order(pipeline, self.schedule, 1 if self.schedule == "gpipe" else self.chunks)


@lru_cache(maxsize=256)
def step_time_change_pct(
    start: PipelineSetting, change: PipelineSetting, most_draws: int = MOST_DRAWS
) -> tuple[float, float, float]:
    """(low, middle, high) percent by which the time for the same number of samples changes; negative is faster.

    The middle is for equal stages, full recomputation and no hop cost: the schedule alone. The range is the 5 to 95 % of draws
    of all that is not known, the same for both sides and from one seed: the same question has the same answer. How far
    measurements lie outside of it is not known here: ``spread``. Both sides are possible schedules; with no draws, which takes
    small ones, all three are the middle.
    """
    if start == change:
        return 0.0, 0.0, 0.0
    fixed, by_sample = FIXED_SAMPLES * (start.microbatch_size or 1.0) ** 0.5, start.samples / change.samples
    before, after = (each.equal_stages_s(_microbatch_time(each, fixed) / each.stages) for each in (start, change))
    middle = 100 * (after / before * by_sample - 1)
    if not most_draws:
        return middle, middle, middle
    stages, work = max(start.stages, change.stages), max(1, start.effort + change.effort)
    found = []
    for number in range(min(most_draws, max(FEWEST_DRAWS, _WORK // work))):
        before, after = (_drawn_time(each, number, stages, start.microbatch_size) for each in (start, change))
        found.append(100 * (after * by_sample / before - 1))
    low, high = (float(edge) for edge in np.percentile(found, [5.0, 95.0]))
    return min(low, middle), middle, max(high, middle)


@dataclass(frozen=True, slots=True)
class _Draw:
    """One guess at all that is not known of a pipeline; the same for both sides of a change."""

    backward: float
    hop: float
    shares: tuple[float, ...]
    fixed_samples: float


@lru_cache(maxsize=64)
def _draws(stages: int, size: float | None) -> tuple[_Draw, ...]:
    """All draws for pipelines of ``stages`` at most, ``size`` being the microbatch's at the start."""
    rng = np.random.default_rng(20231)
    return tuple(_draw(rng, stages, size) for _ in range(MOST_DRAWS))


def _draw(rng: np.random.Generator, stages: int, size: float | None) -> _Draw:
    shares = np.clip(1 + _IMBALANCE * rng.standard_normal(stages), 0.7, 1.3)
    backward, hop = rng.uniform(*_BACKWARD_RANGE), rng.uniform(*_HOP_RANGE)
    # What does not depend on the size was measured for sizes near one. For others it is something between as many samples'
    # time and as large a share of the microbatch.
    fixed = rng.uniform(*FIXED_SAMPLES_RANGE) * (size or 1.0) ** rng.uniform()
    return _Draw(backward, hop, tuple(map(float, shares)), fixed)


# The start of a curve is the same for all of its points, and a knob that moves goes along a curve.
@lru_cache(maxsize=30_000)
def _drawn_time(setting: PipelineSetting, number: int, stages: int, size: float | None) -> float:
    """A step's time under a draw, in units of a one-stage model's for one sample (or one microbatch of unknown size)."""
    draw = _draws(stages, size)[number]
    whole = _microbatch_time(setting, draw.fixed_samples)
    if setting.stages == 1:
        return setting.microbatches * whole * draw.shares[0]
    each = whole / setting.stages
    forward = tuple(each / (1 + draw.backward) * share for share in draw.shares[: setting.stages])
    backward = tuple(one * draw.backward for one in forward)
    return setting.seconds(Pipeline(setting.microbatches, forward, backward, draw.hop * each))


def _microbatch_time(setting: PipelineSetting, fixed_samples: float) -> float:
    """A microbatch's time on all stages together."""
    return 1.0 if setting.microbatch_size is None else setting.microbatch_size + fixed_samples
