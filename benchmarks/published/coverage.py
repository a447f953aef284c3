"""How often does a published change lie in the range that is predicted for it? By what was changed."""

from __future__ import annotations

from benchmarks.published.claim import Claim
from benchmarks.published.kernels import TR11, doubled_pairs, size_pairs
from benchmarks.published.rows import Row
from benchmarks.published.schedules import microbatch_pairs
from monitor.predict.change import PipelineSetting, step_time_change_pct

#: Tables whose pairs gave REALISED_RANGE, and the sweeps whose errors gave SIZE_RESIDUAL. Pairs of tables 4 and 8 count as
#: well: they showed that the fixed part of a microbatch does not grow with it as much as had been assumed.
FITTED = ("Table 4", "Table 9", TR11)


def claims() -> list[Claim]:
    """Ranges of the pairs that constants were fitted to, of the others, and of one source that nobody can explain."""
    inside = {True: 0, False: 0}
    seen = {True: 0, False: 0}
    for one, covered in [*_microbatch_ranges(), *_size_ranges("bigscience")]:
        fitted = any(name in one.locator for name in FITTED)
        seen[fitted] += 1
        inside[fitted] += covered
    strange = [covered for _, covered in _size_ranges("DS3Lab", "Megatron")]
    return [
        Claim(
            "range of a change holds the truth",
            f"tables 4, 9, 4 with 8, tr11: {inside[True]} of {seen[True]} in the range",
            (),
            (),
            ">= 80 %",
            inside[False] >= 0.8 * seen[False] and inside[True] >= 0.8 * seen[True],
            f"{inside[False]} of {seen[False]}",
            seen[False],
        ),
        Claim(
            "the same, Megatron on p3.16xlarge",
            "nothing",
            (),
            (),
            "none",
            None,
            f"{sum(strange)} of {len(strange)}",
            len(strange),
        ),
    ]


def predicted_range(one: Row, other: Row) -> tuple[float, float, float]:
    """(low, middle, high) percent of step time for the same samples, from one measured setting to another."""
    return step_time_change_pct(_setting(one), _setting(other), samples_kept=False)


def _microbatch_ranges() -> list[tuple[Row, bool]]:
    return [
        (one, _inside(one, other, one.value / other.value)) for one, other in [*microbatch_pairs(), *doubled_pairs()]
    ]


def _size_ranges(source: str, locator: str = "") -> list[tuple[Row, bool]]:
    return [(small, _inside(small, large, large.value / small.value)) for small, large in size_pairs(source, locator)]


def _inside(one: Row, other: Row, ratio: float) -> bool:
    low, _, high = predicted_range(one, other)
    return low <= 100 * (ratio - 1) <= high


def _setting(row: Row) -> PipelineSetting:
    return PipelineSetting(row.pipeline, row.microbatches, "1f1b", microbatch_size=row.size)
