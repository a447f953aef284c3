"""The simulated schedules against their closed forms, against bounds that no schedule can pass, and against themselves."""

from __future__ import annotations

from itertools import accumulate, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.predict.pipeline import (
    Pipeline,
    PipelineSetting,
    Schedule,
    fixed_order,
    fixed_order_seconds,
    smp_window,
    smp_window_seconds,
)

times = st.floats(0.1, 10.0)
stages = st.integers(1, 8)
microbatches = st.integers(1, 16)


def gpipe(pipeline: Pipeline) -> Schedule:
    return fixed_order(pipeline, "gpipe")


def one_forward_one_backward(pipeline: Pipeline) -> Schedule:
    return fixed_order(pipeline, "1f1b")


@st.composite
def pipelines(draw: st.DrawFn) -> Pipeline:
    p = draw(stages)
    each = st.tuples(*[times] * p)
    return Pipeline(draw(microbatches), draw(each), draw(each), draw(st.floats(0.0, 1.0)))


def every_schedule(pipeline: Pipeline, window: int) -> list[Schedule]:
    return [gpipe(pipeline), one_forward_one_backward(pipeline), smp_window(pipeline, window)]


@settings(deadline=None)
@given(pipelines(), st.integers(1, 16))
def test_every_microbatch_passes_every_stage_once_each_way_and_no_stage_does_two_things(
    pipeline: Pipeline, window: int
) -> None:
    for schedule in every_schedule(pipeline, window):
        assert len({(w.stage, w.kind, w.microbatch) for w in schedule.work}) == len(schedule.work)
        assert len(schedule.work) == 2 * pipeline.stages * pipeline.microbatches
        for stage in range(pipeline.stages):
            mine = sorted((w.start_s, w.end_s) for w in schedule.work if w.stage == stage)
            assert all(one[1] <= other[0] + 1e-9 for one, other in pairwise(mine))


@settings(deadline=None)
@given(pipelines(), st.integers(1, 16))
def test_no_schedule_is_faster_than_its_busiest_stage_or_than_one_round_trip(pipeline: Pipeline, window: int) -> None:
    trip = sum(pipeline.forward_s) + sum(pipeline.backward_s) + 2 * (pipeline.stages - 1) * pipeline.hop_s
    busiest = pipeline.microbatches * max(f + b for f, b in zip(pipeline.forward_s, pipeline.backward_s, strict=True))
    for schedule in every_schedule(pipeline, window):
        assert schedule.seconds >= max(busiest, trip) - 1e-9
        assert 0 <= schedule.bubble_fraction + 1e-9 < 1


@settings(deadline=None)
@given(pipelines(), st.integers(1, 16), st.booleans())
def test_what_is_counted_without_pieces_is_as_long(pipeline: Pipeline, window: int, equal: bool) -> None:
    if equal:  # many ties
        pipeline = Pipeline.equal(pipeline.stages, pipeline.microbatches)
    assert smp_window_seconds(pipeline, window) == pytest.approx(smp_window(pipeline, window).seconds)
    assert fixed_order_seconds(pipeline, "gpipe") == pytest.approx(gpipe(pipeline).seconds)
    assert fixed_order_seconds(pipeline, "1f1b") == pytest.approx(one_forward_one_backward(pipeline).seconds)
    with pytest.raises(ValueError, match="active_microbatches"):
        smp_window_seconds(pipeline, 0)


@settings(deadline=None)
@given(pipelines(), st.integers(1, 16), st.floats(0.1, 100.0))
def test_all_times_twice_as_long_make_a_step_twice_as_long(pipeline: Pipeline, window: int, factor: float) -> None:
    scaled = Pipeline(
        pipeline.microbatches,
        tuple(factor * f for f in pipeline.forward_s),
        tuple(factor * b for b in pipeline.backward_s),
        factor * pipeline.hop_s,
    )
    # Rounding can decide a tie the other way, where a greedy schedule may go another way.
    assert gpipe(scaled).seconds == pytest.approx(factor * gpipe(pipeline).seconds)
    assert one_forward_one_backward(scaled).seconds == pytest.approx(
        factor * one_forward_one_backward(pipeline).seconds
    )


@pytest.mark.parametrize("p", [1, 2, 3, 4, 6, 8])
@pytest.mark.parametrize("m", [1, 2, 4, 7, 8, 16, 24])
def test_simulation_is_the_closed_form_where_there_is_one(p: int, m: int) -> None:
    for hop in (0.0, 0.1, 0.7):
        pipeline = Pipeline.equal(p, m, hop_s=hop)
        assert gpipe(pipeline).seconds == pytest.approx(
            PipelineSetting(p, m, "gpipe").equal_stages_s(1.0) + 2 * (p - 1) * hop
        )
    pipeline = Pipeline.equal(p, m)
    assert one_forward_one_backward(pipeline).seconds == pytest.approx(
        PipelineSetting(p, m, "1f1b").equal_stages_s(1.0)
    )
    for backward in (0.5, 2 / 3, 0.75):
        pipeline = Pipeline.equal(p, m, 1 - backward, backward)
        for window in range(1, m + 1):
            by_formula = PipelineSetting(p, m, window=window).equal_stages_s(1.0)
            assert smp_window(pipeline, window).seconds == pytest.approx(by_formula)
    if m % p == 0 and p > 1:
        for chunks in (2, 3, 4):
            found = fixed_order(Pipeline.equal(p, m), "1f1b", chunks)
            assert found.seconds == pytest.approx(PipelineSetting(p, m, "1f1b", None, chunks).equal_stages_s(1.0))
            assert len(found.work) == 2 * p * m * chunks


@pytest.mark.parametrize(
    ("hop", "p", "m", "by_window"),
    [
        (0.0, 2, 4, {1: 2.00, 2: 1.25, 4: 1.25}),
        (0.0, 4, 8, {1: 4.00, 2: 2.12, 3: 1.62, 4: 1.38, 8: 1.38}),
        (0.0, 8, 32, {2: 4.03, 4: 2.09, 6: 1.53, 8: 1.22, 16: 1.22}),
        (0.02, 4, 8, {1: 4.12, 2: 2.18, 4: 1.41, 6: 1.39}),
        (0.1, 8, 16, {1: 9.40, 4: 2.69, 8: 1.71, 16: 1.53}),
    ],
)
def test_step_time_over_ideal_as_another_simulation_has_it(
    hop: float, p: int, m: int, by_window: dict[int, float]
) -> None:
    for window, expected in by_window.items():
        assert smp_window(Pipeline.equal(p, m, hop_s=hop), window).seconds / m == pytest.approx(expected, abs=0.011)


def stored(schedule: Schedule) -> tuple[int, ...]:
    """For each stage the most microbatches whose activations it holds at once."""
    out = []
    for stage in range(schedule.stages):
        # Activations are kept from the beginning of a forward to the end of its backward.
        moves = [(work.start_s, 1) for work in schedule.work if work.stage == stage and work.kind == "forward"]
        moves += [(work.end_s, -1) for work in schedule.work if work.stage == stage and work.kind == "backward"]
        out.append(max(accumulate(move for _, move in sorted(moves))))
    return tuple(out)


def test_a_wider_window_holds_more_and_gains_nothing_past_the_stages() -> None:
    pipeline = Pipeline.equal(4, 32)
    runs = [smp_window(pipeline, window) for window in (4, 5, 6, 8, 32)]
    assert len({round(run.seconds, 9) for run in runs}) == 1
    assert [stored(run)[0] for run in runs] == [4, 5, 6, 8, 13]
    assert stored(gpipe(pipeline))[0] == 32
    assert stored(one_forward_one_backward(pipeline)) == (4, 3, 2, 1)


@settings(deadline=None, max_examples=60)
@given(stages, microbatches, st.integers(1, 8))
def test_a_wider_window_is_never_slower_up_to_the_stages(p: int, m: int, window: int) -> None:
    pipeline = Pipeline.equal(p, m)
    if window < p:
        assert smp_window(pipeline, window + 1).seconds <= smp_window(pipeline, window).seconds + 1e-9
    assert smp_window(pipeline, window).seconds <= smp_window(Pipeline.equal(p, m + 1), window).seconds + 1e-9


@settings(deadline=None, max_examples=60)
@given(stages, microbatches, st.floats(0.0, 1.0), st.floats(0.5, 4.0))
def test_more_microbatches_take_longer_but_each_of_them_less(p: int, m: int, hop: float, backward: float) -> None:
    fewer, more = (Pipeline.equal(p, count, 1.0, backward, hop) for count in (m, m + 1))
    for schedule in (gpipe, one_forward_one_backward):
        before, after = schedule(fewer).seconds, schedule(more).seconds
        assert before <= after + 1e-9
        # With hops, 1F1B pays once for passing the number of stages: a microbatch then waits for the round trip.
        if schedule is gpipe or hop == 0:
            assert after / (m + 1) <= before / m + 1e-9


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 6), microbatches, st.floats(1.0, 4.0))  # a backward is no cheaper than its forward
def test_wider_than_the_stages_a_window_hardly_matters_without_hops(p: int, m: int, backward: float) -> None:
    pipeline = Pipeline.equal(p, m, 1.0, backward)
    found = [smp_window(pipeline, window).seconds for window in range(p, p + m + 1)]
    # Worst where a tie decides: a backward of half a forward or of two, five stages and six microbatches.
    assert max(found) <= 1.101 * min(found)


@given(microbatches, st.integers(1, 16))
def test_without_a_pipeline_the_window_is_irrelevant(m: int, window: int) -> None:
    assert smp_window(Pipeline.equal(1, m), window).seconds == pytest.approx(m)


@pytest.mark.parametrize("bad", [(0, (1.0,), (1.0,)), (1, (), ()), (1, (1.0,), (1.0, 2.0)), (1, (-1.0,), (1.0,))])
def test_what_is_no_pipeline_is_refused(bad: tuple[int, tuple[float, ...], tuple[float, ...]]) -> None:
    with pytest.raises(ValueError, match=r"pipeline|negative"):
        Pipeline(*bad)
