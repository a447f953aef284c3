"""By how much does a change of the pipeline change the step time? A middle, and a range from what is not known.

Of a real pipeline nobody knows how much longer a backward takes than a forward, what a hop costs, how unequal the stages
are and how much of a microbatch's time does not depend on its size. All of these are drawn from what has been seen of
them, the same for both sides; the range is the 5 to 95 % of what comes out. The middle is for equal stages, full
recomputation and no hop cost: the schedule alone. How far measurements lie outside of it is not known here: ``spread``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from monitor.predict import closed_form
from monitor.predict.fixed_order import fixed_order_seconds, gpipe, interleaved, one_forward_one_backward
from monitor.predict.kernels import FIXED_SAMPLES, FIXED_SAMPLES_RANGE
from monitor.predict.pipeline import Pipeline, Schedule
from monitor.predict.window import smp_window, smp_window_seconds

ScheduleName = Literal["smp", "gpipe", "1f1b"]

#: Backward over forward: 1.5 to 2 without recomputation (profiles of arXiv 2401.10241, table 6), 3 with all of it.
BACKWARD_RANGE = (1.4, 3.4)
#: A hop over the time of a microbatch on a stage; published profiles have 0.8 to 2.3 %.
HOP_RANGE = (0.0, 0.06)
#: Standard deviation of the stages' times.
IMBALANCE = 0.05
LOW_PCT, HIGH_PCT = 5.0, 95.0
# As many draws as this much simulated work allows: a pipeline of 8 stages and 16 microbatches gets all of them.
MOST_DRAWS = 128
FEWEST_DRAWS = 24
_WORK = 40_000
#: Of one side. Larger schedules are not simulated: their draws would take longer than anyone waits for an answer.
MOST_EFFORT = 8_000


@dataclass(frozen=True, slots=True)
class PipelineSetting:
    """One configuration of a pipeline: ``window`` is SMP's active_microbatches, ``chunks`` the parts of a stage in
    interleaved 1F1B, ``microbatch_size`` in samples (None where it is not known, and the same on both sides)."""

    stages: int
    microbatches: int
    schedule: ScheduleName = "smp"
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
        return self.effort <= MOST_EFFORT

    def equal_stages_s(self, microbatch_s: float) -> float:
        """Seconds of a step of equal stages without hops, ``microbatch_s`` a microbatch and stage, whose backward takes a
        whole number of forwards (3 with full recomputation). Known without a simulation, whatever the size."""
        p, m = self.stages, self.microbatches
        if self.schedule == "gpipe":
            return closed_form.gpipe_s(p, m, microbatch_s)
        if self.schedule == "smp":
            return closed_form.smp_window_s(p, m, self.window or m, microbatch_s)
        if self.chunks > 1:
            return closed_form.interleaved_s(p, m, microbatch_s, self.chunks)
        return closed_form.one_forward_one_backward_s(p, m, microbatch_s)

    def seconds(self, pipeline: Pipeline) -> float:
        """How long a step takes, under this setting."""
        if self.schedule == "smp":
            return smp_window_seconds(pipeline, self.window or self.microbatches)
        return fixed_order_seconds(pipeline, self.schedule, self.chunks)

    def run(self, pipeline: Pipeline) -> Schedule:
        """What the stages do, under this setting."""
        if self.schedule == "gpipe":
            return gpipe(pipeline)
        if self.schedule == "1f1b":
            return interleaved(pipeline, self.chunks) if self.chunks > 1 else one_forward_one_backward(pipeline)
        return smp_window(pipeline, self.window or self.microbatches)


@lru_cache(maxsize=256)
def step_time_change_pct(
    start: PipelineSetting, change: PipelineSetting, samples_kept: bool = True, most_draws: int = MOST_DRAWS
) -> tuple[float, float, float]:
    """(low, middle, high) percent by which the time for the same number of samples changes; negative is faster.

    With ``samples_kept`` both sides do the same batch in a step; else a step of ``change`` does as many more samples as
    it has more or larger microbatches, and the times are compared by sample. Draws come from one seed: the same question
    has the same answer. Both sides are possible schedules; with no draws, which takes small ones, all three are the middle.
    """
    if start == change:
        return 0.0, 0.0, 0.0
    middle = _plainly(start, change, samples_kept)
    if not most_draws:
        return middle, middle, middle
    stages, work = max(start.stages, change.stages), max(1, start.effort + change.effort)
    count = min(most_draws, max(FEWEST_DRAWS, _WORK // work))
    found = [_drawn(start, change, number, stages, samples_kept) for number in range(count)]
    low, high = (float(edge) for edge in np.percentile(found, [LOW_PCT, HIGH_PCT]))
    return min(low, middle), middle, max(high, middle)


def _plainly(start: PipelineSetting, change: PipelineSetting, samples_kept: bool) -> float:
    """The change in percent for equal stages, full recomputation and no hop cost."""
    fixed = FIXED_SAMPLES * (start.microbatch_size or 1.0) ** 0.5
    before, after = (setting.equal_stages_s(_whole(setting, fixed) / setting.stages) for setting in (start, change))
    return 100 * (after / before * (1.0 if samples_kept else start.samples / change.samples) - 1)


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
    shares = np.clip(1 + IMBALANCE * rng.standard_normal(stages), 0.7, 1.3)
    backward, hop = rng.uniform(*BACKWARD_RANGE), rng.uniform(*HOP_RANGE)
    # What does not depend on the size was measured for sizes near one. For others it is something between as many samples'
    # time and as large a share of the microbatch.
    fixed = rng.uniform(*FIXED_SAMPLES_RANGE) * (size or 1.0) ** rng.uniform()
    return _Draw(backward, hop, tuple(map(float, shares)), fixed)


# The start of a curve is the same for all of its points, and a knob that moves goes along a curve.
@lru_cache(maxsize=30_000)
def _drawn_seconds(setting: PipelineSetting, number: int, stages: int, size: float | None) -> float:
    draw = _draws(stages, size)[number]
    return _seconds(setting, draw.backward, draw.hop, draw.shares, draw.fixed_samples)


def _drawn(start: PipelineSetting, change: PipelineSetting, number: int, stages: int, samples_kept: bool) -> float:
    """The change in percent for one draw of all that is not known."""
    size = start.microbatch_size
    before, after = (_drawn_seconds(setting, number, stages, size) for setting in (start, change))
    if not samples_kept:
        after *= start.samples / change.samples
    return 100 * (after / before - 1)


def _seconds(
    setting: PipelineSetting, backward: float, hop: float, shares: tuple[float, ...], fixed_samples: float
) -> float:
    """Time of a step in units of a one-stage model's time for one sample (or for one microbatch of unknown size)."""
    whole = _whole(setting, fixed_samples)
    if setting.stages == 1:
        return setting.microbatches * whole * shares[0]
    each = whole / setting.stages
    forward = tuple(each / (1 + backward) * share for share in shares[: setting.stages])
    return setting.seconds(Pipeline(setting.microbatches, forward, tuple(f * backward for f in forward), hop * each))


def _whole(setting: PipelineSetting, fixed_samples: float) -> float:
    """A microbatch's time on all stages together."""
    return 1.0 if setting.microbatch_size is None else setting.microbatch_size + fixed_samples
