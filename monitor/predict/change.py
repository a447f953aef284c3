"""By how much does a change of the pipeline change the step time? A middle, and a range from what is not known.

The middle is for equal stages and no hop cost. Of a real pipeline nobody knows how much longer a backward takes than a
forward, what a hop costs, how unequal the stages are and how much of a microbatch's time does not depend on its size; the
range is what remains likely when all of these are drawn from what has been seen of them, the same for both sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from monitor.predict.fixed_order import gpipe, interleaved, one_forward_one_backward
from monitor.predict.kernels import FIXED_SAMPLES, FIXED_SAMPLES_RANGE
from monitor.predict.pipeline import Pipeline, Schedule
from monitor.predict.window import smp_window

ScheduleName = Literal["smp", "gpipe", "1f1b"]

#: Backward over forward: about 2 without recomputation, 3 with all of it.
BACKWARD_RANGE = (2.0, 3.4)
#: A hop over the time of a microbatch on a stage; published profiles have 0.8 to 2.3 %.
HOP_RANGE = (0.0, 0.06)
#: Standard deviation of the stages' times.
IMBALANCE = 0.05
LOW_PCT, HIGH_PCT = 5.0, 95.0
# As many draws as this much simulated work allows: a pipeline of 8 stages and 16 microbatches gets all of them.
MOST_DRAWS = 128
FEWEST_DRAWS = 24
_WORK = 40_000


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

    def run(self, pipeline: Pipeline) -> Schedule:
        """What the stages do, under this setting."""
        if self.schedule == "gpipe":
            return gpipe(pipeline)
        if self.schedule == "1f1b":
            return interleaved(pipeline, self.chunks) if self.chunks > 1 else one_forward_one_backward(pipeline)
        return smp_window(pipeline, self.window or self.microbatches)


@lru_cache(maxsize=256)
def step_time_change_pct(
    start: PipelineSetting, change: PipelineSetting, samples_kept: bool = True
) -> tuple[float, float, float]:
    """(low, middle, high) percent by which the time for the same number of samples changes; negative is faster.

    With ``samples_kept`` both sides do the same batch in a step; else a step of ``change`` does as many more samples as
    it has more microbatches of the same size, and the times are compared by sample. Draws come from one seed: the same
    question has the same answer.
    """
    rng = np.random.default_rng(20231)
    middle = _change(start, change, 3.0, 0.0, None, FIXED_SAMPLES, samples_kept)
    work = 2 * (start.stages * start.microbatches + change.stages * change.microbatches)
    draws = min(MOST_DRAWS, max(FEWEST_DRAWS, _WORK // work))
    found = []
    for _ in range(draws):
        stages = np.clip(1 + IMBALANCE * rng.standard_normal(max(start.stages, change.stages)), 0.7, 1.3)
        found.append(
            _change(
                start,
                change,
                rng.uniform(*BACKWARD_RANGE),
                rng.uniform(*HOP_RANGE),
                stages,
                rng.uniform(*FIXED_SAMPLES_RANGE),
                samples_kept,
            )
        )
    low, high = np.percentile(found, [LOW_PCT, HIGH_PCT])
    return float(min(low, middle)), float(middle), float(max(high, middle))


def _change(
    start: PipelineSetting,
    change: PipelineSetting,
    backward: float,
    hop: float,
    imbalance: np.ndarray | None,
    fixed_share: float,
    samples_kept: bool,
) -> float:
    # What does not depend on the size is known for a size of one; how it scales with the shape is not, so it is taken as
    # that share of the microbatch that there is, which promises less.
    fixed = fixed_share * (start.microbatch_size or 1.0)
    before, after = (_seconds(setting, backward, hop, imbalance, fixed) for setting in (start, change))
    if not samples_kept:
        after *= start.microbatches / change.microbatches
    return 100 * (after / before - 1)


def _seconds(
    setting: PipelineSetting, backward: float, hop: float, imbalance: np.ndarray | None, fixed_samples: float
) -> float:
    """Time of a step in units of a one-stage model's time for one sample (or for one microbatch of unknown size)."""
    size = setting.microbatch_size
    whole = 1.0 if size is None else size + fixed_samples
    each = whole / setting.stages
    unequal = np.ones(setting.stages) if imbalance is None else imbalance[: setting.stages]
    forward = tuple(float(each / (1 + backward) * share) for share in unequal)
    return setting.run(
        Pipeline(setting.microbatches, forward, tuple(f * backward for f in forward), hop * each)
    ).seconds
