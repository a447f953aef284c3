"""When a rule speaks and when it is over, as figures come in; and what a backtest makes of it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.alert.conditions import Threshold, parse
from monitor.alert.evaluate import Crossing
from monitor.alert.history import BacktestedJob, Replay, backtest, episodes, finding_episodes
from monitor.alert.message import backtest_document
from monitor.alert.rules import rules_of
from monitor.model import Finding, Phase, Report
from monitor.review import report as reviewed
from tests.alert.jobs import START, at, job, minutes, reported, verdict
from tests.builders import START as BUILT_START
from tests.builders import metrics, steps
from tests.diagnose.runs import run

FOR_5 = "gpu_utilization < 40 for 5m"


def said(found: Report, expression: str, cool_down_s: float = 600) -> list[tuple[float, float, float | None]]:
    """(since, fired, cleared) of each episode, in minutes."""
    when = parse(expression)
    assert isinstance(when, Threshold)

    def minute(moment: datetime | None) -> float:
        assert moment is not None
        return (moment - START).total_seconds() / 60

    late = found.reviewed_at.replace(year=found.reviewed_at.year + 1)
    return [
        (minute(each.since), minute(each.fired), None if each.until is None else minute(each.until))
        for each in episodes(found, when, late, cool_down_s)
    ]


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ([90] * 60, []),
        ([90] * 10 + [30] * 20 + [90] * 30, [(10, 15, 35)]),
        ([90] * 10 + [30] * 50, [(10, 15, None)]),
        # Wavering is one alert: it is over when it was false for as long as it had to be true.
        (([30] * 5 + [90] * 4) * 6, [(0, 5, None)]),
        (([30] * 5 + [90] * 4) * 3 + [90] * 20, [(0, 5, 28)]),
        # A hole clears nothing, and what it breaks begins anew.
        ([90] * 10 + [30] * 6 + [None] * 30 + [30] * 14, [(10, 15, None)]),
        ([90] * 10 + [30] * 6 + [90] * 3 + [None] * 20 + [90] * 3 + [None] * 18, [(10, 15, None)]),
        ([90] * 10 + [30] * 4 + [None] * 5 + [30] * 4 + [90] * 37, []),
        # Twice, with enough in between; too soon after the first, what goes on is said when the silence is over.
        ([30] * 10 + [90] * 20 + [30] * 10 + [90] * 20, [(0, 5, 15), (30, 35, 45)]),
        ([30] * 10 + [90] * 6 + [30] * 30 + [90] * 14, [(0, 5, 15), (16, 25, 51)]),
        ([30] * 10 + [90] * 6 + [30] * 6 + [90] * 38, [(0, 5, 15)]),
    ],
)
def test_episodes_of_minutes(levels: list[float | None], expected: list[tuple[float, float, float | None]]) -> None:
    found = job(minutes({"algo-1": [90.0, *levels]}), running=True, length=1 + len(levels))
    shifted = [(a + 1, b + 1, None if c is None else c + 1) for a, b, c in expected]
    assert said(found, FOR_5) == shifted


def test_without_a_duration_one_minute_fires_and_three_clear() -> None:
    levels = [90.0] * 10 + [30.0] + [90.0] * 2 + [30.0] + [90.0] * 20
    assert said(job(minutes({"algo-1": levels})), "gpu_utilization < 40") == [(10, 11, 17)]


def test_steps_fire_and_clear_by_steps() -> None:
    times = [2.0] * 30 + [3.0] * 30 + [2.0] * 30
    assert said(job(steps=reported({"algo-1": times})), "step_time > 2.5 for 20 steps") == [(1, 2, 2.5 + 40 / 60)]


def test_a_silence_fires_to_the_second() -> None:
    rows = reported({"algo-1": [2.0] * 30})
    assert said(job(steps=rows), "seconds_since_last_step > 300") == [(6, 6, None)]
    assert said(job(steps=rows), "seconds_since_last_step > 300 for 5m") == [(6, 11, None)]
    when = parse("seconds_since_last_step > 300 for 5m")
    assert isinstance(when, Threshold)
    assert episodes(job(steps=rows), when, at(100))[0].value == 600.0


def test_a_cost_fires_when_it_is_reached() -> None:
    found = job(usd=100.0)
    assert said(found, "cost_usd > 50") == [(30, 30, None)]
    when = parse("cost_usd > 50")
    assert isinstance(when, Threshold)
    assert episodes(found, when, at(100))[0].value == pytest.approx(50.0)


def test_each_node_has_episodes_of_its_own() -> None:
    nodes = {"algo-1": [90.0] * 5 + [30.0] * 20 + [90.0] * 35, "algo-2": [90.0] * 30 + [30.0] * 30}
    when = parse(FOR_5)
    assert isinstance(when, Threshold)
    found = episodes(job(minutes(nodes)), when, at(200))
    assert [(each.node, each.fired) for each in found] == [("algo-1", at(10)), ("algo-2", at(35))]


_LEVELS = st.lists(
    st.tuples(st.sampled_from([20.0, 90.0, None]), st.integers(1, 12)), min_size=1, max_size=8
).map(lambda parts: [level for level, n in parts for _ in range(n)])  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(_LEVELS, st.integers(1, 8))
def test_there_are_episodes_where_the_job_fires(levels: list[float | None], lasting: int) -> None:
    found = job(minutes({"algo-1": [90.0, *levels]}), length=1 + len(levels))
    expression = f"gpu_utilization < 40 for {lasting}m"
    told = said(found, expression)
    assert (verdict(found, expression).state == "firing") == bool(told)
    # In time, and none within the time of silence after the one before.
    for (_, _, cleared), (_, fired, _) in pairwise(told):
        assert cleared is not None
        assert fired >= cleared + 10


@settings(max_examples=30, deadline=None)
@given(_LEVELS, st.integers(1, 8), st.integers(0, 30))
def test_what_was_said_is_not_unsaid_by_what_comes_later(levels: list[float | None], lasting: int, cut: int) -> None:
    expression = f"gpu_utilization < 40 for {lasting}m"
    whole = said(job(minutes({"algo-1": [90.0, *levels]}), running=True, length=1 + len(levels)), expression)
    head = levels[:cut]
    before = said(job(minutes({"algo-1": [90.0, *head]}), running=True, length=1 + len(head)), expression)
    assert [each[:2] for each in before] == [each[:2] for each in whole][: len(before)]


A = Finding("stall", "critical", "high", "No step", "No step.")


def test_findings_begin_when_they_are_said_and_end_when_they_stay_away() -> None:
    moments = [{}, {"stall": A}, {}, {"stall": A}, {"stall": A}, {}, {}, {"stall": A}]
    replayed = Replay(tuple((at(place), each) for place, each in enumerate(moments)))
    found = finding_episodes(replayed, parse("finding critical"))  # type: ignore[arg-type]
    assert [(each.fired, each.until, each.finding) for each in found] == [
        (at(1), at(5), "stall"),
        (at(7), None, "stall"),
    ]
    assert finding_episodes(replayed, parse("finding slow-node")) == ()  # type: ignore[arg-type]


@cache
def _stalled() -> Report:
    """Steps for seven minutes, then none until somebody stopped it."""
    names, end = ["algo-1", "algo-2"], BUILT_START + timedelta(minutes=18)
    frozen = run(
        metrics(names, 18, {"gpu_utilization": 99.9}, spread=0.1), steps(names, 200, 2.0), status="Stopped", end=end
    )
    return reviewed(frozen, end)


_RULES = (
    "finding stall", "seconds_since_last_step > 300", "gpu_utilization > 90 for 5m", "loss < 3.5", "step_time > 1.3x",
    "cost_usd > 1",
)  # fmt: skip


@cache
def _tested(minute: int) -> BacktestedJob:
    return backtest(_stalled(), rules_of(_RULES), at(minute))


def test_a_stall_of_the_past_is_said_minutes_after_its_last_step() -> None:
    found = _stalled()
    assert "stall" in {each.id for each in found.findings}
    by_finding, by_silence = _tested(100).rules[:2]
    last = found.run.steps["timestamp"].max().to_pydatetime()
    for each in (by_finding, by_silence):
        assert each.state == "firing"
        assert each.said[0].at is not None
        assert 295 < (each.said[0].at - last).total_seconds() < 365
        assert each.said[0].seconds_before_end == pytest.approx((found.job.ended - each.said[0].at).total_seconds())  # type: ignore[operator]


def test_what_came_after_an_alert_has_its_cost() -> None:
    found = job(minutes({"algo-1": [90.0] * 20 + [30.0] * 40}), usd=120.0)
    phases = (Phase("productive", START, at(40), True), Phase("stall", at(40), at(60), True))
    found = replace(found, phases=phases, cost=replace(found.cost, overhead_usd=40.0))
    (tested,) = backtest(found, rules_of([FOR_5]), at(500)).rules
    (one,) = tested.said
    # It fires after five minutes, and is judged three minutes late.
    assert (one.at, one.seconds_before_end, one.usd_after, one.wasted_usd_after) == (at(28), 1920.0, 64.0, 40.0)
    assert (
        backtest(job(minutes({"algo-1": [30.0] * 60})), rules_of([FOR_5]), at(500)).rules[0].said[0].usd_after is None
    )


def test_a_backtest_is_the_same_again_whenever_it_is_made() -> None:
    documents = [json.dumps(backtest_document([_tested(minute)])) for minute in (100, 9999)]
    assert documents[0] == documents[1]
    states = [rule["state"] for rule in json.loads(documents[0])["rules"]]
    assert states == ["firing", "firing", "firing", "firing", "ok", "no data"]


def test_the_key_of_an_episode() -> None:
    assert Crossing("algo-1").key == "algo-1"
    assert Crossing("algo-1", finding="stall").key == "stall"
    assert Crossing().key == ""
