"""Are the simulated schedules those that others measured? Times and bubbles."""

from __future__ import annotations

from benchmarks.published.claim import Claim, off_pct, within
from benchmarks.published.rows import Row, select
from monitor.predict.pipeline import Pipeline, PipelineSetting, fixed_order, smp_window

ZERO_BUBBLE = "Zero Bubble"
#: Parts of a stage in the paper's interleaved runs: one layer each.
CHUNKS = {1.5: 3, 6.2: 4, 14.6: 3, 28.3: 2}


def claims() -> list[Claim]:
    """Schedules against formulas, bubbles and throughputs."""
    return [_grid(), _bubbles(), _interleaved_bubbles(), _unmodelled()]


def _grid() -> Claim:
    off = []
    for p in (1, 2, 3, 4, 6, 8):
        for m in (1, 2, 4, 7, 8, 16):
            off += [
                off_pct(
                    fixed_order(Pipeline.equal(p, m, hop_s=hop), "gpipe").seconds,
                    PipelineSetting(p, m, "gpipe").equal_stages_s(1.0) + 2 * (p - 1) * hop,
                )
                for hop in (0.0, 0.1, 0.7)
            ]
            equal = Pipeline.equal(p, m)
            chunks = (1, 2, 3, 4) if p > 1 and m % p == 0 else (1,)
            off += [
                off_pct(
                    fixed_order(equal, "1f1b", v).seconds, PipelineSetting(p, m, "1f1b", None, v).equal_stages_s(1.0)
                )
                for v in chunks
            ]
            for backward in (1 / 2, 2 / 3, 3 / 4):
                unequal = Pipeline.equal(p, m, 1 - backward, backward)
                off += [
                    off_pct(smp_window(unequal, a).seconds, PipelineSetting(p, m, window=a).equal_stages_s(1.0))
                    for a in range(1, m + 1)
                ]
    exact = tuple(0.0 if abs(error) < 1e-9 else error for error in off)
    return Claim("schedule time: simulation against closed forms", "nothing", (), exact, "exact", within(exact, 0.0))


def _profile(row: Row) -> Pipeline:
    """The pipeline of the paper's profile of a run, in milliseconds."""
    times = {
        name: next(
            other.value
            for other in select(name, ZERO_BUBBLE, "Table 6")
            if (other.model, other.microbatches) == (row.model, row.microbatches)
        )
        for name in ("T_F", "T_B", "T_W", "T_comm")
    }
    return Pipeline.equal(row.pipeline, row.microbatches, times["T_F"], times["T_B"] + times["T_W"], times["T_comm"])


def _bubbles() -> Claim:
    off = [
        100 * (fixed_order(_profile(row), "1f1b").bubble_fraction - row.value)
        for row in select("bubble_fraction", ZERO_BUBBLE, fits=lambda row: row.schedule == "1F1B")
    ]
    return Claim(
        "bubble of 1F1B from profiled kernels (points)", "nothing", (), tuple(off), "< 0.01 points", within(off, 0.01)
    )


def _interleaved_bubbles() -> Claim:
    off = [
        100 * (fixed_order(_profile(row), "1f1b", CHUNKS[row.params_b or 0]).bubble_fraction - row.value)
        for row in select("bubble_fraction", ZERO_BUBBLE, fits=lambda row: row.schedule == "1F1B-I")
    ]
    return Claim("bubble of interleaved 1F1B (points)", "nothing", (), tuple(off), "none", None)


def _unmodelled() -> Claim:
    """Throughput from profiles alone, with nothing for optimizer and gradients."""
    off = []
    for row in select("throughput", ZERO_BUBBLE, "Table 4"):
        seconds = fixed_order(_profile(row), "1f1b").seconds / 1000
        off.append(off_pct(row.microbatches * row.size / row.pipeline / seconds, row.value))
    return Claim("throughput from profiled kernels, not anchored", "nothing", (), tuple(off), "none", None)
