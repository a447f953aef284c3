"""What the step-time chart promises: few points, honest gaps, the slow node by name, spikes that do not flatten the rest."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

from monitor.charts import elements, step_time
from monitor.charts.step_time import work_of
from monitor.model import steps_frame
from tests.builders import START, steps

SPAN = (START, START + timedelta(hours=1))
PAIR = ["algo-1", "algo-2"]


def test_the_layers_are_name_band_line_dots_and_window() -> None:
    specification, frames = elements.split(step_time.step_time(steps(PAIR, 50, 2.0), SPAN))
    assert [layer["mark"]["type"] for layer in specification["layer"]] == [
        "line",
        "area",
        "line",
        "point",
        "rule",
        "text",
        "text",
        "point",
    ]
    fields = specification["layer"][1]["encoding"]
    assert (fields["y"]["field"], fields["y2"]["field"]) == ("p10_drawn_s", "p90_drawn_s")
    assert set(frames) == {"data0", "data1", "data2", "data3"}


@pytest.mark.parametrize("count", [1, 2, 399, 400, 401, 5000])
def test_buckets_are_few_and_lose_no_report(count: int) -> None:
    shown = step_time.buckets(work_of(steps(["algo-1"], count + 1, 2.0)))
    assert shown["reports"].sum() == count  # the first is warm-up
    assert shown["median_s"].notna().sum() == min(count, step_time.BUCKETS)


def test_the_same_step_of_all_nodes_shares_a_bucket() -> None:
    shown = step_time.buckets(work_of(steps(PAIR, 11, 2.0)))
    assert (shown["reports"] == 2).all()


def test_quantiles_are_those_of_numpy() -> None:
    work = steps(PAIR, 1000, 2.0)
    timed = step_time.timed(work)["step_time_s"].to_numpy()
    shown = step_time.buckets(work_of(work), limit=1)
    assert shown[["p10_s", "median_s", "p90_s"]].iloc[0].tolist() == pytest.approx(np.percentile(timed, [10, 50, 90]))


def test_the_slow_node_is_named_and_drawn() -> None:
    work = steps(["algo-1", "algo-2", "algo-3"], 200, 2.0, slow={"algo-3": 1.3})
    own, peers = step_time.against_peers(step_time.node_medians(work_of(work)), "algo-3")
    assert own / peers == pytest.approx(1.3, abs=0.02)
    assert set(step_time.buckets(work_of(work), "algo-3")["series"]) == {"median of 3 nodes", "algo-3, slowest"}


def test_only_the_node_that_is_asked_for_is_drawn_by_name() -> None:
    work = work_of(steps(["algo-1", "algo-2", "algo-3"], 200, 2.0, slow={"algo-3": 1.3}))
    assert set(step_time.buckets(work)["series"]) == {"median of 3 nodes"}
    assert set(step_time.buckets(work, "algo-9")["series"]) == {"median of 3 nodes"}


@pytest.mark.parametrize(
    ("names", "line"), [(["algo-1"], "algo-1"), (PAIR, "median of 2 nodes"), ([""], "all reports")]
)
def test_where_nobody_stands_out_nobody_is_drawn(names: list[str], line: str) -> None:
    assert set(step_time.buckets(work_of(steps(names, 200, 2.0)))["series"]) == {line}


def test_a_silence_breaks_the_line() -> None:
    work = steps(["algo-1"], 100, 2.0)
    late = work["step"] > 50
    work["timestamp"] = work["timestamp"].where(~late, work["timestamp"] + pd.Timedelta(minutes=10))
    assert step_time.buckets(work_of(work))["median_s"].isna().sum() == 1
    assert step_time.buckets(work_of(steps(["algo-1"], 100, 2.0)))["median_s"].isna().sum() == 0


def test_a_restarted_counter_does_not_mix_with_the_first_run() -> None:
    first, second = steps(["algo-1"], 50, 2.0), steps(["algo-1"], 50, 2.0, START + timedelta(minutes=30))
    second["segment"] = 1
    shown = step_time.buckets(work_of(steps_frame(pd.concat([first, second]))))
    assert (shown["reports"] <= 1).all()
    assert shown["at"].is_monotonic_increasing


def test_far_off_steps_are_dots_below_a_ceiling_with_their_true_time() -> None:
    work = steps(["algo-1"], 400, 2.0, spikes_every=100)
    dots = step_time.outliers(work_of(work))
    assert len(dots) == 4
    assert dots["step_time_s"].min() > 10
    assert dots["drawn_s"].max() == pytest.approx(step_time.CEILING_TIMES * 2.0, rel=0.05)


def test_reports_without_step_numbers_or_times_are_no_obstacle() -> None:
    work = steps(["algo-1"], 50, 2.0)
    assert len(step_time.buckets(work_of(work.assign(step=pd.array([pd.NA] * 50, dtype="Int64"))))) == 49
    assert step_time.buckets(work_of(work.assign(timestamp=pd.NaT))).empty
    assert step_time.node_medians(work_of(steps_frame())) == {}
    assert elements.split(step_time.step_time(steps_frame(), SPAN))[0]["layer"]


def test_a_part_is_made_anew_of_its_own_steps() -> None:
    work = work_of(steps(PAIR, 5000, 2.0))
    part = (START + timedelta(minutes=20), START + timedelta(minutes=30))
    levels, _, _, ends = step_time.step_frames(work, SPAN, part)
    assert levels["reports"].max() <= 2 < step_time.buckets(work)["reports"].max()
    assert levels["at"].between(*part).all()
    assert tuple(ends["edge"]) == part


def test_a_change_of_pace_is_a_rule_with_words_on_the_side_with_room() -> None:
    told = tuple((START + timedelta(minutes=minute), f"slower {minute}") for minute in (10, 50, 90))
    rules = step_time.changed(told, SPAN)
    assert rules[["said", "left"]].to_numpy().tolist() == [["slower 10", False], ["slower 50", True]]


def test_a_slow_step_alone_in_its_bucket_does_not_flatten_the_line() -> None:
    levels = step_time.buckets(work_of(steps(["algo-1"], 100, 2.0, spikes_every=40)))
    assert levels["median_s"].max() > 11
    assert levels["median_drawn_s"].max() == pytest.approx(step_time.CEILING_TIMES * 2.0, rel=0.05)
    slower = steps(["algo-1"], 100, 2.0)
    slower["step_time_s"] *= np.where(slower["step"] > 80, 6, 1)
    assert step_time.buckets(work_of(slower))["median_drawn_s"].max() > 11, "what lasts is drawn as it is"


def test_one_slow_step_alone_in_its_bucket_is_no_higher_than_drawn() -> None:
    frame = steps(["algo-1"], 50, 2.0)
    frame.loc[30, "step_time_s"] = 90.0
    shown = step_time.buckets(work_of(frame))
    assert shown[["p10_drawn_s", "median_drawn_s", "p90_drawn_s"]].max().max() <= 2.0 * step_time.CEILING_TIMES
    assert shown["high_s"].max() == 90.0
