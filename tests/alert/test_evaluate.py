"""Does a rule fire, where, since when: cases by hand, each with the reason in its name."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from monitor.alert.history import backtest
from monitor.model import (
    Cost,
    Evidence,
    Finding,
    Gap,
    LogCoverage,
    Node,
    StepReading,
    events_frame,
    metrics_frame,
    steps_frame,
)
from tests.alert.jobs import START, asked, at, job, minutes, reported, verdict, without_times
from tests.builders import report, steps

LOW_10 = [90.0] * 20 + [30.0] * 10 + [90.0] * 30
LOW_9 = [90.0] * 20 + [30.0] * 9 + [90.0] * 31
TAIL = [90.0] * 40 + [30.0] * 20
FOR_10 = "gpu_utilization < 40 for 10m"

STALL = Finding(
    "stall", "critical", "high", "No step", "No step for 24 min.", (Evidence("x", node="algo-2", start=at(7)),)
)
WARNING = Finding("slow-node", "warning", "high", "algo-1 is slow", "It is slow.")


def later(rows: pd.DataFrame, step: int, by: float) -> pd.DataFrame:
    """The same reports; those after a step come so many minutes later."""
    delay = pd.to_timedelta((rows["step"] > step).astype("int64") * by, unit="min")
    return steps_frame(rows.assign(timestamp=rows["timestamp"] + delay))


@pytest.mark.parametrize(
    ("levels", "expression", "state"),
    [
        ([90.0] * 60, FOR_10, "ok"),
        (LOW_10, FOR_10, "firing"),
        (LOW_9, FOR_10, "ok"),
        (LOW_10, "gpu_utilization < 40 for 11m", "ok"),
        (LOW_10, "gpu_utilization <= 30 for 10m", "firing"),
        (LOW_10, "gpu_utilization < 30 for 10m", "ok"),
        (LOW_10, "gpu_utilization > 80 for 30m", "firing"),
        # Without a duration the end of the job counts, and its teardown does not.
        (LOW_10, "gpu_utilization < 40", "ok"),
        (TAIL, "gpu_utilization < 40", "firing"),
        ([90.0] * 57 + [0.0] * 3, "gpu_utilization < 40", "ok"),
        # Two times six minutes with a minute between them are no ten minutes, nor with a hole between them.
        ([90.0] * 20 + [30.0] * 6 + [90.0] + [30.0] * 6 + [90.0] * 27, FOR_10, "ok"),
        ([90.0] * 20 + [30.0] * 6 + [None] * 20 + [30.0] * 6 + [90.0] * 8, FOR_10, "ok"),
        ([None] * 60, FOR_10, "no data"),
    ],
)
def test_a_job_that_is_over(levels: list[float | None], expression: str, state: str) -> None:
    assert verdict(job(minutes({"algo-1": levels})), expression).state == state


@pytest.mark.parametrize(
    ("levels", "expression", "state"),
    [
        (TAIL, FOR_10, "firing"),
        # What is over counts no more.
        (LOW_10, FOR_10, "ok"),
        # The newest three minutes are not judged: metrics come late.
        ([90.0] * 57 + [0.0] * 3, "gpu_utilization < 40", "ok"),
        ([90.0] * 56 + [0.0] * 4, "gpu_utilization < 40", "firing"),
        ([90.0] * 48 + [30.0] * 12, FOR_10, "ok"),
        ([90.0] * 47 + [30.0] * 13, FOR_10, "firing"),
        # A hole neither fires nor clears.
        ([90.0] * 30 + [30.0] * 12 + [None] * 18, FOR_10, "firing"),
        ([90.0] * 35 + [30.0] * 9 + [None] * 16, FOR_10, "ok"),
        ([90.0] * 20 + [30.0] * 12 + [None] * 20 + [30.0] * 8, FOR_10, "firing"),
        ([90.0] * 20 + [30.0] * 12 + [None] * 20 + [90.0] * 8, FOR_10, "ok"),
        # Figures as old as that tell nothing of now.
        ([90.0] * 30 + [None] * 30, FOR_10, "no data"),
    ],
)
def test_a_job_that_runs(levels: list[float | None], expression: str, state: str) -> None:
    assert verdict(job(minutes({"algo-1": levels}), running=True), expression).state == state


def test_a_span_of_a_job_that_is_over_has_its_times_and_its_mean() -> None:
    levels = [90.0] * 20 + [20.0, 30.0] * 6 + [90.0] * 28
    found = verdict(job(minutes({"algo-1": [90.0] * 60, "algo-2": levels})), FOR_10)
    assert (found.node, found.since, found.value, found.unit, found.limit) == ("algo-2", at(20), 25.0, "%", 40.0)
    assert [(one.node, one.until) for one in found.firing] == [("algo-2", at(32))]


def test_of_two_spans_the_longer_is_told() -> None:
    levels = [30.0] * 10 + [90.0] * 5 + [30.0] * 20 + [90.0] * 25
    assert verdict(job(minutes({"algo-1": levels})), FOR_10).since == at(15)


def test_a_running_job_shows_its_newest_value_and_the_worst_node_first() -> None:
    nodes = {"algo-1": [35.0] * 60, "algo-2": [30.0] * 56 + [20.0] * 4, "algo-10": [20.0] * 60}
    found = verdict(job(minutes(nodes), running=True, nodes=10), FOR_10)
    assert [(one.node, one.value) for one in found.firing] == [("algo-2", 20.0), ("algo-10", 20.0), ("algo-1", 35.0)]
    assert found.since == START


@pytest.mark.parametrize(
    ("scope", "first", "second", "state"),
    [
        ("all", [30.0] * 60, [30.0] * 60, "firing"),
        ("all", [30.0] * 60, [30.0] * 8 + [90.0] + [30.0] * 8 + [90.0] * 43, "ok"),
        # One after the other is not at once.
        ("all", [30.0] * 30 + [90.0] * 30, [90.0] * 30 + [30.0] * 30, "ok"),
        ("any", [30.0] * 30 + [90.0] * 30, [90.0] * 30 + [30.0] * 30, "firing"),
        ("mean", [30.0] * 60, [90.0] * 60, "ok"),
        ("mean", [30.0] * 60, [45.0] * 60, "firing"),
        # Without the figures of one node nobody knows the mean; the other may still say no to all.
        ("mean", [30.0] * 60, [None] * 25 + [90.0] * 35, "ok"),
        ("all", [30.0] * 60, [None] * 25 + [30.0] * 5 + [90.0] * 30, "ok"),
        ("algo-2", [30.0] * 60, [90.0] * 60, "ok"),
        ("algo-1", [30.0] * 60, [90.0] * 60, "firing"),
        ("algo-3", [30.0] * 60, [90.0] * 60, "no data"),
    ],
)
def test_scopes(scope: str, first: list[float | None], second: list[float | None], state: str) -> None:
    found = verdict(job(minutes({"algo-1": first, "algo-2": second})), f"{FOR_10} on {scope}")
    assert found.state == state
    if scope == "algo-3":
        assert found.why == "The job has no node algo-3; its nodes are algo-1, algo-2."


def test_a_node_without_figures_is_no_data() -> None:
    found = verdict(job(minutes({"algo-1": [30.0] * 60})), f"{FOR_10} on algo-2")
    assert (found.state, found.why) == ("no data", "algo-2 reports no gpu_utilization.")


def test_rest_before_the_first_step_is_initialization() -> None:
    idle = minutes({"algo-1": [0.0] * 15 + [90.0] * 45})
    first = steps(["algo-1"], 1200, 2.0, at(15))
    assert verdict(job(idle, first), FOR_10).state == "ok"
    assert verdict(job(idle), FOR_10).state == "ok"  # no step is seen: the first busy minute counts
    # A job that is over and was never busy has no such excuse.
    assert verdict(job(minutes({"algo-1": [0.0] * 60})), FOR_10).state == "firing"


def test_a_running_job_has_twenty_minutes_to_begin() -> None:
    idle = job(minutes({"algo-1": [0.0] * 60}), running=True)
    assert verdict(idle, FOR_10, after=19).state == "no data"
    assert verdict(idle, FOR_10, after=40).state == "firing"


def test_disk_counts_from_the_beginning() -> None:
    full = minutes({"algo-1": [95.0] * 10 + [60.0] * 50}, "disk_utilization")
    assert verdict(job(full, steps(["algo-1"], 1000, 2.0, at(15))), "disk_utilization > 90 for 5m").state == "firing"


def test_points_outside_the_training_do_not_count() -> None:
    found = job(minutes({"algo-1": [90.0] * 60 + [0.0] * 20}))
    assert verdict(found, "gpu_utilization < 40 for 5m").state == "ok"


def test_coarse_points_cover_their_period() -> None:
    levels = [90.0] * 3 + [30.0] * 2 + [90.0] * 7
    assert verdict(job(minutes({"algo-1": levels}, period_s=300)), FOR_10).state == "firing"
    assert verdict(job(minutes({"algo-1": levels}, period_s=300)), "gpu_utilization < 40 for 15m").state == "ok"


def test_a_multiple_is_of_the_jobs_own_median_so_far() -> None:
    levels = [80.0] * 30 + [50.0] * 12 + [80.0] * 18
    found = verdict(job(minutes({"algo-1": levels})), "gpu_utilization < 0.7x for 10m")
    assert (found.state, found.since, found.limit) == ("firing", at(30), 56.0)
    assert verdict(job(minutes({"algo-1": [80.0] * 8})), "gpu_utilization < 0.7x").state == "no data"


@pytest.mark.parametrize(
    ("times", "expression", "state"),
    [
        ([2.0] * 100 + [3.0] * 20 + [2.0] * 50, "step_time > 1.3x for 20 steps", "firing"),
        ([2.0] * 100 + [3.0] * 19 + [2.0] * 50, "step_time > 1.3x for 20 steps", "ok"),
        ([2.0] * 100 + [2.5] * 40 + [2.0] * 50, "step_time > 1.3x for 20 steps", "ok"),
        # A step back to usual breaks them.
        ([2.0] * 100 + [3.0] * 15 + [2.0] + [3.0] * 15 + [2.0] * 50, "step_time > 1.3x for 20 steps", "ok"),
        # A permanent slow-down is seen by the median of what was before.
        ([2.0] * 40 + [3.0] * 200, "step_time > 1.3x for 20 steps", "firing"),
        ([2.0] * 100, "step_time > 1.3x for 20 steps", "ok"),
        ([2.0] * 8, "step_time > 1.3x for 2 steps", "no data"),
        ([2.0] * 100 + [9.0], "step_time > 5", "firing"),
        ([2.0] * 100 + [9.0] + [2.0], "step_time > 5", "ok"),
        # In time: thirty steps of three seconds are a minute and a half.
        ([2.0] * 100 + [3.0] * 30 + [2.0] * 50, "step_time > 1.3x for 90s", "firing"),
        ([2.0] * 100 + [3.0] * 29 + [2.0] * 50, "step_time > 1.3x for 90s", "ok"),
    ],
)
@pytest.mark.parametrize("clock", [True, False])
def test_step_times(times: list[float], expression: str, state: str, clock: bool) -> None:
    found = verdict(job(steps=reported({"algo-1": times}, clock=clock)), expression)
    assert found.state == state
    if state == "firing":
        assert (found.since is not None) == clock


def test_since_is_when_the_first_slow_step_began() -> None:
    found = verdict(job(steps=reported({"algo-1": [2.0] * 30 + [4.0] * 30})), "step_time > 3 for 20 steps")
    assert (found.since, found.value, found.unit) == (at(1), 4.0, "s")


def test_a_slow_node_is_held_against_the_median_of_all() -> None:
    times = {"algo-1": [2.0] * 100, "algo-2": [2.0] * 100, "algo-3": [2.8] * 100}
    found = verdict(job(steps=reported(times), nodes=3), "step_time > 1.3x for 20 steps")
    assert (found.state, found.node) == ("firing", "algo-3")
    assert verdict(job(steps=reported(times), nodes=3), "step_time > 1.3x for 20 steps on all").state == "ok"


def test_several_ranks_of_a_step_are_one_step() -> None:
    rows = reported({"algo-1": [2.0] * 40 + [3.0] * 10 + [2.0] * 10})
    both = steps_frame([*rows.to_dict("records"), *rows.assign(rank=1).to_dict("records")])
    assert verdict(job(steps=both), "step_time > 1.3x for 20 steps").state == "ok"
    assert verdict(job(steps=both), "step_time > 1.3x for 10 steps").state == "firing"


def test_warm_up_is_no_step_time_but_its_loss_counts() -> None:
    rows = reported({"algo-1": [60.0] * 3 + [2.0] * 57}).assign(warm_up=lambda frame: frame["step"] <= 3, loss=7.0)
    assert verdict(job(steps=steps_frame(rows)), "step_time > 30 for 2 steps").state == "ok"
    assert verdict(job(steps=steps_frame(rows)), "loss > 6 for 60 steps").state == "firing"


def test_steps_that_tell_no_time_are_timed_by_their_clock() -> None:
    rows = reported({"algo-1": [2.0] * 40 + [4.0] * 30})
    silent = steps_frame(rows.assign(step_time_s=float("nan")))
    assert verdict(job(steps=silent), "step_time > 3 for 20 steps").state == "firing"
    assert verdict(job(steps=without_times(silent)), "step_time > 3").state == "no data"


def test_a_step_time_by_the_lines_clock_says_so_and_others_do_not() -> None:
    found = job(steps=reported({"algo-1": [2.0] * 100 + [9.0]}))
    logs = replace(found.run.logs, readings=(StepReading("key-value", 101, "line-clock", clock_s=2.0),))
    clocked = replace(found, run=replace(found.run, logs=logs))
    assert verdict(clocked, "step_time > 5").came_by == "by the lines' clock"
    assert verdict(clocked, "step_time > 50").came_by == "by the lines' clock"
    assert verdict(clocked, "cost_usd > 1e9").came_by == ""
    assert verdict(found, "step_time > 5").came_by == ""
    (tested,) = backtest(clocked, (asked("step_time > 5"),), at(60)).rules
    assert tested.came_by == "by the lines' clock"


def test_a_pause_between_steps_is_a_gap() -> None:
    rows = reported({"algo-1": [4.0] * 30})
    apart = later(rows, 15, 40)
    assert verdict(job(steps=apart), "step_time > 3 for 90s").state == "ok"
    assert verdict(job(steps=apart), "step_time > 3 for 20 steps").state == "ok"
    assert verdict(job(steps=rows), "step_time > 3 for 90s").state == "firing"


def test_minutes_can_be_counted_in_steps() -> None:
    found = job(minutes({"algo-1": LOW_10}), reported({"algo-1": [10.0] * 360}))
    assert verdict(found, "gpu_utilization < 40 for 60 steps").state == "firing"
    assert verdict(found, "gpu_utilization < 40 for 61 steps").state == "ok"


def test_throughput_and_loss() -> None:
    tokens = reported({"algo-1": [100.0] * 50 + [60.0] * 30}, "throughput")
    found = verdict(job(steps=tokens), "throughput < 0.8x for 20 steps")
    assert (found.state, found.value, found.unit, found.limit) == ("firing", 60.0, "samples/s", 80.0)
    losses = reported({"algo-1": [9.0, 7.0, 5.0, 3.0]}, "loss")
    assert verdict(job(steps=losses), "loss > 5").state == "ok"
    assert verdict(job(steps=losses), "loss < 3.5").state == "firing"
    assert verdict(job(steps=losses), "throughput > 1").why == "No line of the log gives a throughput."


def test_the_time_since_the_last_step() -> None:
    rows = reported({"algo-1": [2.0] * 300})  # the last step is ten minutes after START
    running = job(steps=rows, running=True)
    assert verdict(running, "seconds_since_last_step > 300", after=14).state == "ok"
    found = verdict(running, "seconds_since_last_step > 300", after=16)
    assert (found.state, found.since, found.value) == ("firing", at(15), 360.0)
    assert verdict(running, "seconds_since_last_step > 300 for 5m", after=19).state == "ok"
    assert verdict(running, "seconds_since_last_step > 300 for 5m", after=21).state == "firing"
    assert verdict(running, "seconds_since_last_step > 100x", after=13).state == "ok"
    assert verdict(running, "seconds_since_last_step > 100x", after=14).state == "firing"
    # At the end of a job, and anywhere in it.
    assert verdict(job(steps=rows, length=14), "seconds_since_last_step > 300").state == "ok"
    assert verdict(job(steps=rows, length=16), "seconds_since_last_step > 300").state == "firing"
    found = verdict(job(steps=later(rows, 100, 8), length=19), "seconds_since_last_step > 300")
    assert (found.state, found.value) == ("firing", 482.0)


def test_silence_of_all_nodes_is_since_the_last_step_of_any() -> None:
    rows = reported({"algo-1": [2.0] * 300, "algo-2": [2.0] * 60})
    running = job(steps=rows, running=True)
    assert verdict(running, "seconds_since_last_step > 300", after=11).node == "algo-2"
    assert verdict(running, "seconds_since_last_step > 300 on all", after=11).state == "ok"
    assert verdict(running, "seconds_since_last_step > 300 on all", after=16).state == "firing"
    assert verdict(running, "seconds_since_last_step > 300 on mean", after=11).value == (60 + 540) / 2


def test_a_silence_that_may_be_a_gap_in_the_log_is_none() -> None:
    gap = Gap("logs", "AWS asked to slow down.", transient=True)
    found = job(steps=reported({"algo-1": [2.0] * 30}), running=True, gaps=(gap,))
    assert verdict(found, "seconds_since_last_step > 300", after=50).state == "no data"


def test_no_step_yet_is_no_data() -> None:
    assert verdict(job(running=True), "seconds_since_last_step > 300").why == "No step has been reported yet."
    plain = job(steps=reported({"algo-1": [2.0] * 30}, clock=False))
    assert "no time" in verdict(plain, "seconds_since_last_step > 300").why


def test_cost() -> None:
    found = verdict(job(usd=100.0), "cost_usd > 50")
    assert (found.state, found.value, found.unit, found.node) == ("firing", 100.0, "USD", None)
    assert found.since == at(30)
    assert verdict(job(usd=100.0), "cost_usd > 100").state == "ok"
    assert verdict(job(usd=100.0), "cost_usd >= 100").state == "firing"
    assert verdict(job(usd=100.0), "cost_usd > 50 for 20m on all").state == "firing"
    assert verdict(job(usd=100.0), "cost_usd > 50 for 31m").state == "ok"
    assert verdict(job(), "cost_usd > 50").state == "no data"
    never = report("never", status="Failed", start=None, cost=Cost(0.0, None, 10.0, "test"))
    assert verdict(never, "cost_usd > 1").state == "ok"


def test_findings() -> None:
    logs = LogCoverage(1, 100)
    found = job(minutes({"algo-1": [90.0] * 60}), reported({"algo-1": [2.0] * 30}), findings=(STALL, WARNING))
    fires = verdict(found, "finding stall")
    assert (fires.state, fires.node, fires.since, fires.summary) == ("firing", "algo-2", at(7), "No step for 24 min.")
    assert [one.finding for one in verdict(found, "finding critical").firing] == ["stall"]
    assert verdict(found, "finding warning").firing[0].finding == "slow-node"
    assert verdict(found, "finding low-gpu-utilization").state == "ok"
    # Silence about what could not be seen is no health.
    blind = job(steps=reported({"algo-1": [2.0] * 30}), gaps=(Gap("metrics", "Access was denied."),))
    assert verdict(blind, "finding low-gpu-utilization").state == "no data"
    assert "Access was denied." in verdict(blind, "finding low-gpu-utilization").why
    assert verdict(blind, "finding stall").state == "ok"
    assert verdict(blind, "finding invalid-configuration").state == "ok"
    mute = job(minutes({"algo-1": [90.0] * 60}))
    assert verdict(mute, "finding stall").state == "no data"
    assert verdict(mute, "finding critical").state == "no data"
    read = replace(mute, run=replace(mute.run, logs=logs))
    assert verdict(read, "finding critical").state == "ok"


def test_why_there_is_no_data() -> None:
    denied = job(gaps=(Gap("metrics", "Access was denied.", "Allow it."),))
    assert verdict(denied, FOR_10).why == "Access was denied. Allow it."
    cpus = job(minutes({"algo-1": [50.0] * 60}, "cpu_utilization"))
    without = replace(cpus, run=replace(cpus.run, job=replace(cpus.job, nodes=(Node("algo-1", "ml.m5.xlarge", 0),))))
    assert verdict(without, FOR_10).why == "The nodes have no GPUs."
    young = job(minutes({"algo-1": [90.0] * 2}), running=True, length=2)
    assert "newest three" in verdict(young, FOR_10).why
    losses = job(steps=reported({"algo-1": [2.0] * 20}, "loss", clock=False).assign(step_time_s=float("nan")))
    assert verdict(losses, "loss > 1 for 20 steps").state == "firing"
    assert "no time" in verdict(losses, "loss > 1 for 10m").why


def test_an_empty_job_has_no_data_for_anything() -> None:
    empty = job(metrics_frame(), steps_frame())
    assert len(empty.run.events) == len(events_frame())
    for expression in (FOR_10, "step_time > 1", "loss > 1", "throughput > 1", "seconds_since_last_step > 1"):
        assert verdict(empty, expression).state == "no data"
