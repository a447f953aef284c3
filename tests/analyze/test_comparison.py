"""Faster, slower or cannot tell: by arithmetic that holds for any times, and by pairs whose truth is known."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.analyze.comparison import StepTimeChange, change, level
from monitor.analyze.journal import journal
from monitor.analyze.pace import By, StableSteps, stable_steps, unit_of, why_none
from monitor.model import events_frame, steps_frame
from tests.builders import START

Ways = Mapping[By, StableSteps]


def ways(times: np.ndarray, by: By = "printed", stride: float = 1.0, window: float = 1.0) -> Ways:
    return {by: StableSteps(np.asarray(times, float), by, stride, window, 1, len(times), 1.0)}


def noisy(seed: int, count: int, share: float = 0.02, step_s: float = 2.0) -> np.ndarray:
    times: np.ndarray = step_s * np.exp(np.random.default_rng(seed).normal(0, share, count))
    return times


def of(a: Ways, b: Ways) -> StepTimeChange:
    found = change(a, b)
    assert found is not None
    return found


seeds = st.integers(0, 10_000)
counts = st.integers(8, 400)
shares = st.sampled_from([0.0, 0.005, 0.03, 0.2])


@settings(max_examples=20, deadline=None)
@given(seeds, counts, shares, st.sampled_from([1.0, 10.0]))
def test_a_run_against_its_copy_cannot_be_told(seed: int, count: int, share: float, stride: float) -> None:
    times = noisy(seed, count, share)
    found = of(ways(times, stride=stride), ways(times.copy(), stride=stride))
    low, middle, high = found.percent()
    assert found.verdict() == "cannot tell"
    assert middle == 0
    assert low < 0 < high


@settings(max_examples=20, deadline=None)
@given(seeds, counts, counts, shares, st.floats(0.2, 5.0))
def test_scaled_times_move_the_middle_by_as_much(
    seed: int, count: int, other: int, share: float, factor: float
) -> None:
    a, b = noisy(seed, count, share), noisy(seed + 1, other, share)
    plain, scaled = of(ways(a), ways(b)), of(ways(a), ways(factor * b))
    assert scaled.log_ratio - plain.log_ratio == pytest.approx(np.log(factor), abs=1e-9)
    if share:
        assert scaled.half_width == pytest.approx(plain.half_width, rel=1e-6)
    both = of(ways(factor * a), ways(factor * b))
    assert both.percent() == pytest.approx(plain.percent(), abs=1e-6) or not share


@settings(max_examples=20, deadline=None)
@given(seeds, counts, counts, shares, st.floats(0.5, 2.0), st.floats(0.25, 4.0))
def test_jobs_that_change_places_have_the_inverse(
    seed: int, count: int, other: int, share: float, factor: float, work: float
) -> None:
    a, b = ways(noisy(seed, count, share)), ways(factor * noisy(seed + 1, other, share))
    there, back = of(a, b), of(b, a)
    low, middle, high = (1 + each / 100 for each in there.percent(work))
    assert tuple(1 + each / 100 for each in back.percent(1 / work)) == pytest.approx((1 / high, 1 / middle, 1 / low))
    opposite = {"faster": "slower", "slower": "faster", "cannot tell": "cannot tell"}
    assert back.verdict(1 / work) == opposite[there.verdict(work)]
    assert back.more_steps(1 / work) == there.more_steps(work)


@settings(max_examples=6, deadline=None)
@given(seeds, st.integers(30, 300), st.integers(0, 5))
def test_the_order_of_the_rows_does_not_matter(seed: int, count: int, shuffle: int) -> None:
    rows = frame(noisy(seed, count))
    mixed = rows.sample(frac=1.0, random_state=shuffle)
    other = stable_steps(journal(frame(noisy(seed + 1, count, step_s=2.2)), events_frame()))
    plain, again = (stable_steps(journal(each, events_frame())) for each in (rows, mixed))
    assert of(plain, other).percent() == of(again, other).percent()


def frame(times: np.ndarray, kind: str = "step", every: int = 1, timed: bool = True, **changes: object) -> pd.DataFrame:
    count = len(times)
    at = pd.Series(pd.Timestamp(START) + pd.to_timedelta(np.round(np.cumsum(times) * every, 3), unit="s"))
    columns = {
        "node": "algo-1", "rank": 0, "step": np.arange(1, count + 1) * every,
        "timestamp": at if timed else at.where(at.isna()), "step_time_s": times, "throughput": np.nan, "throughput_unit": "",
        "loss": np.nan, "gpu_memory_gib": np.nan, "format": "test", "kind": kind, "stream": "s",
        "line": 10 * np.arange(1, count + 1), "total": 0, "segment": 0, "warm_up": False,
    }  # fmt: skip
    return steps_frame(pd.DataFrame(columns | changes))


def read(rows: pd.DataFrame, events: pd.DataFrame | None = None) -> dict[By, StableSteps]:
    return stable_steps(journal(rows, events_frame() if events is None else events))


@pytest.mark.parametrize(
    ("noise", "count"), [(0.01, 30), (0.01, 200), (0.03, 60), (0.03, 200), (0.05, 400)], ids=lambda value: str(value)
)
def test_a_planted_difference_is_found_and_equal_runs_are_not_told(noise: float, count: int) -> None:
    for seed in range(10):
        a, b = noisy(seed, count, noise), noisy(100 + seed, count, noise)
        assert of(ways(a), ways(b)).verdict() == "cannot tell"
        found = of(ways(a), ways(1.10 * b))
        assert found.verdict() == "slower"
        low, _, high = found.percent()
        assert low < 10 < high


def test_runs_of_one_configuration_differ_by_a_little() -> None:
    a, b = noisy(1, 5000, 0.002), noisy(2, 5000, 0.002)
    assert of(ways(a), ways(1.01 * b)).verdict() == "cannot tell"
    assert of(ways(a), ways(1.01 * b)).more_steps() is None
    assert of(ways(a), ways(1.02 * b)).verdict() == "slower"


def test_a_level_that_moves_widens_the_interval() -> None:
    steady, moving = noisy(1, 400), noisy(2, 400) * np.exp(0.04 * np.sin(np.arange(400) / 60))
    assert not level(steady).lasts
    assert level(moving).lasts
    assert level(moving).error > 3 * level(steady).error


def test_correlated_noise_has_a_larger_error_than_noise_of_the_same_size() -> None:
    rng = np.random.default_rng(3)
    slow = np.repeat(rng.normal(0, 0.03, 100), 20)
    assert level(2 * np.exp(slow)).error > 2 * level(2 * np.exp(rng.permutation(slow))).error


@settings(max_examples=20, deadline=None)
@given(seeds, st.integers(20, 200), st.floats(0.02, 0.3))
def test_as_many_steps_more_as_are_named_would_do(seed: int, count: int, share: float) -> None:
    a, b = noisy(seed, count, share), noisy(seed + 1, count, share)
    found = of(ways(a), ways(1.05 * b))
    more = found.more_steps()
    assert (more == 0) == (found.verdict() != "cannot tell")
    if more:
        assert abs(found.log_ratio) > 0.0139
        # Twice the difference is found with fewer.
        easier = of(ways(a), ways(1.05 * b * np.exp(found.log_ratio))).more_steps()
        assert easier is not None
        assert easier <= more


def test_steps_that_are_missing_are_about_as_many_as_named() -> None:
    named = []
    for seed in range(8):
        a, b = noisy(seed, 60, 0.06), noisy(50 + seed, 60, 0.06)
        found = of(ways(a), ways(1.03 * float(np.median(a) / np.median(b)) * b))
        assert found.verdict() == "cannot tell"
        named.append(found.more_steps() or 0)
    more = int(np.median(named))
    assert 10 < more < 2500
    told = [
        of(ways(noisy(200 + seed, 60 + more, 0.06)), ways(1.03 * noisy(300 + seed, 60 + more, 0.06))).verdict()
        for seed in range(12)
    ]
    assert told.count("slower") >= 6


def test_means_over_many_steps_are_held_against_means() -> None:
    rng = np.random.default_rng(5)
    single = 2.0 * np.where(rng.random(4000) < 0.1, 2.0, 1.0) * np.exp(rng.normal(0, 0.01, 4000))
    other = 2.0 * np.where(rng.random(4000) < 0.1, 2.0, 1.0) * np.exp(rng.normal(0, 0.01, 4000))
    means = other.reshape(-1, 10).mean(axis=1)
    assert np.median(means) / np.median(single) > 1.07  # the medians alone say that one is slower
    assert of(read(frame(single)), read(frame(means, "interval", every=10))).verdict() == "cannot tell"
    assert of(read(frame(single)), read(frame(1.05 * means, "interval", every=10))).verdict() == "slower"


def test_whole_seconds_of_a_counter_are_no_difference() -> None:
    for step_s in (2.1, 2.4, 2.6, 2.9):
        exact = noisy(1, 600, 0.01, step_s)
        whole = np.diff(np.floor(np.cumsum(noisy(2, 601, 0.01, step_s))))
        found = of(read(frame(exact)), read(frame(whole, "cumulative", timed=False)))
        assert found.verdict() == "cannot tell", (step_s, found.percent())
        found = of(
            read(frame(exact)),
            read(frame(np.diff(np.floor(np.cumsum(noisy(2, 601, 0.01, 1.05 * step_s)))), "cumulative", timed=False)),
        )
        assert found.verdict() == "slower"


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        (0.21, 0.21, "cannot tell"),
        (0.41, 0.42, "cannot tell"),  # each is known to half a hundredth
        (0.21, 0.25, "slower"),
        (2.0, 2.1, "slower"),
        (4.10, 2.67, "faster"),
        (2.0, 2.0, "cannot tell"),
    ],
)
def test_times_that_never_change_are_known_to_their_last_digit(a: float, b: float, verdict: str) -> None:
    assert of(ways(np.full(200, a)), ways(np.full(200, b))).verdict() == verdict


def test_rounded_times_are_told_from_each_other_by_their_shares() -> None:
    a, b = (np.round(noisy(seed, 400, 0.03, step_s), 2) for seed, step_s in ((1, 0.214), (2, 0.2247)))
    assert unit_of(a) == pytest.approx(0.01)
    low, middle, high = of(ways(a), ways(b)).percent()
    assert low > 0
    assert middle == pytest.approx(5.0, abs=1.0)
    assert low < 5 < high


def test_warm_up_checkpoints_evaluations_and_restarts_are_left_out() -> None:
    times = np.full(120, 2.0)
    times[:3], times[60], times[80] = 9.0, 40.0, 60.0
    rows = frame(times, warm_up=np.arange(120) < 3)
    marks = [
        {"timestamp": None, "node": "algo-1", "rank": 0, "kind": kind, "text": "", "stream": "s", "line": line}
        for kind, line in (("checkpoint-end", 605), ("evaluation-end", 805))
    ]
    found = read(rows, events_frame(marks))["printed"]
    assert set(found.times_s) == {2.0}
    assert found.first_step == 4
    assert found.share == 1


def test_the_longest_stretch_of_one_pace_is_what_is_compared() -> None:
    times = noisy(1, 300) * np.where(np.arange(300) < 100, 1.0, 1.4)
    found = read(frame(times))["printed"]
    assert found.first_step == pytest.approx(101, abs=2)
    assert found.share == pytest.approx(2 / 3, abs=0.02)
    assert np.median(found.times_s) == pytest.approx(2.8, rel=0.01)


def test_ways_that_are_not_shared_are_not_mixed() -> None:
    times = noisy(1, 100)
    smoothed = read(frame(times, "smoothed", timed=False))
    printed = read(frame(times, timed=False))
    assert set(smoothed) == {"smoothed"}
    assert set(printed) == {"printed"}
    assert change(smoothed, printed) is None
    # With the time of its lines a bar can be held against any job whose lines have one.
    assert of(read(frame(times, "smoothed")), read(frame(times))).by == "clock"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (steps_frame(), "no numbered steps"),
        (frame(noisy(1, 100), "running-mean", timed=False), "means since the start"),
        (frame(np.full(100, np.nan), timed=False), "no step time is known"),
        (frame(noisy(1, 5)), "fewer than 8 reports"),
    ],
    ids=["none", "running mean", "untimed", "few"],
)
def test_what_cannot_be_compared_says_why(rows: pd.DataFrame, words: str) -> None:
    book = journal(rows, events_frame())
    assert stable_steps(book) == {}
    assert words in why_none(book)
    assert change({}, read(frame(noisy(1, 100)))) is None


def test_a_million_steps_are_no_trouble() -> None:
    rng = np.random.default_rng(1)
    a, b = (2 * np.exp(rng.normal(0, 0.05, 300_000)) for _ in range(2))
    assert of(ways(a), ways(b)).verdict() == "cannot tell"
    assert of(ways(a), ways(1.03 * b)).verdict() == "slower"
