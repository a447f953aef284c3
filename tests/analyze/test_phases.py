"""Phases are contiguous and cover the wall time once, whatever the job went through."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.analyze import phases as phases_of
from monitor.analyze.phases import buckets, cost
from monitor.analyze.training_time import BUCKETS
from monitor.diagnose.rulebook import Case
from monitor.model import Job, LogCoverage, Phase, Price, Run, Transition, events_frame, metrics_frame, steps_frame
from tests.builders import nodes_of, steps
from tests.diagnose.cases import END, START, run

T0 = datetime(2026, 3, 4, 8, 0, tzinfo=UTC)
NOW = T0 + timedelta(days=1)
_STATUSES = st.sampled_from(
    [
        "Pending",
        "Starting",
        "Downloading",
        "Training",
        "Interrupted",
        "Uploading",
        "Stopping",
        "Restarting",
        "SomethingNew",
    ]
)


def phases(run: Run, now: datetime) -> tuple[Phase, ...]:
    case = Case(run, now)
    return phases_of.phases(run, now, case.journal, case.activities, case.lost)


def _run(job: Job, step_frame: object = None) -> Run:
    return Run(job, steps_frame() if step_frame is None else step_frame, metrics_frame(), events_frame())  # type: ignore[arg-type]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(_STATUSES, st.integers(0, 5000)), max_size=9), st.booleans(), st.integers(0, 600))
def test_phases_cover_the_wall_time_once(spans: list[tuple[str, int]], running: bool, before_s: int) -> None:
    moment, transitions = T0 + timedelta(seconds=before_s), []
    for status, seconds in spans:
        transitions.append(Transition(status, moment, moment + timedelta(seconds=seconds)))
        moment += timedelta(seconds=seconds)
    if running and transitions:
        transitions[-1] = replace(transitions[-1], end=None)
    job = Job(
        "j",
        status="InProgress" if running else "Completed",
        created=T0,
        started=transitions[0].start if transitions else None,
        ended=None if running else moment,
        transitions=tuple(transitions),
        nodes=nodes_of(2),
    )
    found = phases(_run(job), NOW)
    assert all(a.end == b.start for a, b in pairwise(found))
    assert all(phase.seconds > 0 and phase.name in BUCKETS for phase in found)
    if found:
        assert found[0].start == T0
        assert found[-1].end == (NOW if running else moment)
        total = sum(bucket.seconds for bucket in buckets(found, job, None))
        assert total == pytest.approx((found[-1].end - T0).total_seconds())


def _seconds(run: Run, now: datetime = END) -> dict[str, float]:
    return {bucket.name: bucket.seconds for bucket in buckets(phases(run, now), run.job, None)}


@pytest.mark.parametrize(("status", "tail"), [("Completed", "idle-tail"), ("Failed", "stall"), ("Stopped", "stall")])
def test_training_is_cut_at_the_first_and_the_last_step(status: str, tail: str) -> None:
    rows = steps(["algo-1"], 300, 2.0, start=START + timedelta(minutes=10))
    case = run(metrics_frame(), rows, nodes=nodes_of(1), status=status)
    begun = next(phase for phase in phases(case, END) if phase.name == "initialization")
    assert abs(begun.end - (START + timedelta(minutes=10))) < timedelta(milliseconds=5)
    found = _seconds(case)
    # The first step is eight times as long as the others.
    assert found["slow-excess"] == pytest.approx(14, rel=0.1)
    assert found["productive"] == pytest.approx(300 * 2.0, rel=0.01)
    assert phases(case, END)[-1].name == tail
    assert phases(case, END)[-1].end == END


def test_training_without_steps_is_unknown_and_not_productive() -> None:
    names = [phase.name for phase in phases(run(step_frame=steps_frame(), logs=LogCoverage()), END)]
    assert names == ["pending", "unknown"]


def test_a_job_that_never_started_costs_nothing_and_waited() -> None:
    job = Job("j", status="Failed", created=T0, ended=T0 + timedelta(hours=1), nodes=nodes_of(8))
    found = phases(_run(job), NOW)
    assert [(phase.name, phase.billed) for phase in found] == [("starting", False)]
    bill = cost(job, found, buckets(found, job, 60.0), Price(60.0, "setting"))
    assert bill.usd == 0.0


@pytest.mark.parametrize(
    ("training_s", "billable_s", "usd"),
    [(3600, 3600, 50.0), (3600, 1080, 15.0), (3600, None, 50.0)],
)
def test_cost_is_billed_time_times_instances_times_price(training_s: int, billable_s: int | None, usd: float) -> None:
    case = run(end=START + timedelta(minutes=59))
    job = replace(case.job, training_seconds=training_s, billable_seconds=billable_s)
    parts = phases(replace(case, job=job), NOW)
    assert cost(job, parts, buckets(parts, job, 25.0), Price(25.0, "setting")).usd == pytest.approx(usd)


def test_without_a_price_there_is_no_cost_and_without_steps_no_waste() -> None:
    case = run()
    parts = phases(case, NOW)
    assert cost(case.job, parts, buckets(parts, case.job, None), None).usd is None
    blind = run(step_frame=steps_frame())
    parts = phases(blind, NOW)
    bill = cost(blind.job, parts, buckets(parts, blind.job, 10.0), Price(10.0, "setting"))
    assert bill.usd is not None
    assert bill.overhead_usd is None
