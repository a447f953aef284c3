"""Is the time of a microbatch what its size and its recomputation make of it? Sweeps of BigScience, and pairs of runs."""

from __future__ import annotations

from itertools import combinations

from benchmarks.published.claim import Claim, off_pct, within
from benchmarks.published.rows import Row, select
from benchmarks.published.schedules import ZERO_BUBBLE
from monitor.predict.kernels import RECOMPUTATION, fixed_samples_of, microbatch_time_ratio

TR11 = "tr11"
#: Sizes 1 and 2 of these sweeps gave the fixed part of a microbatch's time.
FITTED = ("tr11 chronicles-prequel l.506", "tr11 chronicles-prequel l.515")


def claims() -> list[Claim]:
    """Microbatch size with one and two known points, and recomputation."""
    return [_one_point(), _doubled(), _two_points(), _elsewhere(), *_recomputation()]


def size_pairs(source: str, locator: str = "") -> list[tuple[Row, Row]]:
    """Measured steps of one layout that differ in the size of a microbatch only: smaller, larger."""
    measured = [row for row in select("step_time", source, locator) if row.note != "unexplained"]
    return [
        (one, other)
        for one, other in combinations(sorted(measured, key=lambda row: row.size), 2)
        if _layout(one) == _layout(other) and one.size < other.size
    ]


def _layout(row: Row) -> tuple[object, ...]:
    samples = row.size * row.microbatches
    return row.locator, row.model, row.params_b, row.pipeline, row.tensor, row.data, row.bits, row.recomputes, samples


def _predicted(small: Row, large: Row, fixed_samples: float | None = None) -> float:
    p = small.pipeline
    steps = (large.microbatches + p - 1) / (small.microbatches + p - 1)
    if fixed_samples is None:
        return steps * microbatch_time_ratio(large.size, small.size)
    return steps * microbatch_time_ratio(large.size, small.size, fixed_samples)


def _one_point() -> Claim:
    fitted, held, still = [], [], []
    for small, large in size_pairs("bigscience", TR11):
        if small.size != 1:
            continue
        measured = large.value / small.value
        error = off_pct(_predicted(small, large), measured)
        if small.locator in FITTED and large.size == 2:
            fitted.append(error)
        else:
            held.append(error)
            still.append(off_pct(1.0, measured))
    better = sum(map(abs, held)) < sum(map(abs, still))
    return Claim(
        "microbatch size, from size 1 (tr11)",
        "tr11 l.506 and l.515, sizes 1 and 2: 0.19 samples",
        tuple(fitted),
        tuple(held),
        "mean <= 5 %, max <= 10 %, better than no change",
        within(held, 10.0, 5.0) and better,
    )


def doubled_pairs() -> list[tuple[Row, Row]]:
    """Measured throughputs of one model and number of microbatches, whose microbatches differ in size: smaller, larger."""
    measured = [row for row in select("throughput", ZERO_BUBBLE) if row.schedule == "1F1B"]
    return [
        (one, other)
        for one in measured
        for other in measured
        if (one.model, one.microbatches) == (other.model, other.microbatches) and one.size < other.size
    ]


def _doubled() -> Claim:
    held, still = [], []
    for small, large in doubled_pairs():
        measured = small.value / large.value
        each_sample = microbatch_time_ratio(large.size, small.size) * small.size / large.size
        held.append(off_pct(each_sample, measured))
        still.append(off_pct(1.0, measured))
    return Claim(
        "microbatch size doubled, 1.5 to 28 billion",
        "as above",
        (),
        tuple(held),
        "mean <= 5 %, max <= 10 %, better than no change",
        within(held, 10.0, 5.0) and sum(map(abs, held)) < sum(map(abs, still)),
    )


def _two_points() -> Claim:
    held = []
    pairs = size_pairs("bigscience", TR11)
    for one, two in pairs:
        if (one.size, two.size) != (1, 2):
            continue
        each = [row.value / (row.microbatches + row.pipeline - 1) for row in (one, two)]
        fixed = fixed_samples_of(1, each[0], 2, each[1])
        held += [
            off_pct(_predicted(two, large, fixed), large.value / two.value)
            for known, large in pairs
            if known == two and fixed is not None
        ]
    return Claim(
        "microbatch size, from sizes 1 and 2 (tr11)",
        "each sweep's own sizes 1 and 2",
        (),
        tuple(held),
        "mean <= 5 %, max <= 10 %",
        within(held, 10.0, 5.0),
    )


def _elsewhere() -> Claim:
    pairs = size_pairs("bigscience", "tr3m") + size_pairs("DS3Lab", "Megatron")
    held = tuple(off_pct(_predicted(*pair), pair[1].value / pair[0].value) for pair in pairs)
    return Claim("microbatch size, 1.3B on V100 (two sources)", "as above", (), held, "none", None)


def _recomputation() -> list[Claim]:
    ratios: list[float] = []
    left_out: list[float] = []
    for source in ("bigscience", "DS3Lab"):
        measured = [row for row in select("step_time", source) if row.note != "unexplained"]
        for one, other in combinations(measured, 2):
            if one.recomputes != other.recomputes and _shape(one) == _shape(other):
                again, kept = (one, other) if one.recomputes else (other, one)
                (left_out if _slower_than_more_work(again) else ratios).append(again.value / kept.value)
    full = select("iteration_time_full_recompute", "Reducing Activation")
    kept_s = {row.params_b: row.value for row in select("iteration_time_seqpar_selective", "Reducing Activation")}
    ratios += [row.value / kept_s[row.params_b] for row in full]
    ratios.append(
        select("MFU", "Reducing Activation")[0].value / select("MFU_full_recompute", "Reducing Activation")[0].value
    )
    off = tuple(off_pct(RECOMPUTATION, ratio) for ratio in ratios)
    strange = tuple(off_pct(RECOMPUTATION, ratio) for ratio in left_out)
    return [
        Claim("full recomputation takes 4/3", "nothing", (), off, "max <= 6 %", within(off, 6.0)),
        Claim("the same, pairs with a strange measurement", "nothing", (), strange, "none", None),
    ]


def _shape(row: Row) -> tuple[object, ...]:
    return row.source, row.gpu, row.params_b, row.pipeline, row.tensor, row.data, row.size, row.microbatches, row.bits


def _slower_than_more_work(row: Row) -> bool:
    """Whether the same layout is measured as much faster with larger microbatches of the same batch, though fewer of them
    leave a larger bubble: by a quarter, no model of sizes has that."""
    return any(small == row and large.value < 0.8 * small.value for small, large in size_pairs(row.source, row.locator))
