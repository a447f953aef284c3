"""Whatever a job went through: phases have no hole, and what is billed sums to TrainingTimeInSeconds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.analyze.phases import billed_seconds, buckets, cost, goodput, phases
from monitor.analyze.training_time import BUCKETS
from monitor.diagnose.rulebook import Case
from monitor.model import (
    InstanceGroup,
    Job,
    LogCoverage,
    Price,
    Run,
    Transition,
    events_frame,
    metrics_frame,
    steps_frame,
)
from tests.builders import nodes_of

T0 = datetime(2026, 3, 4, 8, 0, 0, 250_000, tzinfo=UTC)
INSTANCES = 4
PRICE = 12.0


@dataclass(frozen=True)
class Life:
    """A job as it was drawn: its run, the moment of the review, and the seconds that AWS bills."""

    run: Run
    now: datetime
    billed_s: float


_PAUSES = st.sampled_from(["none", "checkpoint", "evaluation", "silence", "late line", "restart"])


@st.composite
def lives(draw: st.DrawFn) -> Life:
    """A warm pool (no wait), spot restarts, jobs that run, that never started, whose fields are missing, logs alone."""
    moment, transitions = T0, []
    steps: list[dict[str, object]] = []
    events: list[dict[str, object]] = []
    started: datetime | None = None
    away = timedelta()
    step = 0
    attempts = draw(st.integers(0, 3))
    running = draw(st.booleans())
    for attempt in range(attempts):
        waiting = draw(st.integers(0, 2000))
        for status, seconds in [("Starting", waiting), ("Downloading", draw(st.integers(0, 90)))]:
            transitions.append(Transition(status, moment, moment + timedelta(seconds=seconds)))
            moment += timedelta(seconds=seconds)
            if status == "Starting":
                started = started or moment
                away += timedelta(seconds=seconds if attempt else 0)
        begun = moment
        moment += timedelta(seconds=draw(st.integers(0, 200)))
        if attempt:
            step = max(0, step - draw(st.integers(0, 20)))
        step_s = draw(st.sampled_from([0.2, 1.0, 7.3]))
        for _ in range(draw(st.integers(0, 40))):
            step += draw(st.sampled_from([1, 1, 1, 10]))
            pause, line = draw(_PAUSES), 3 * len(steps) + 2
            took_s = step_s * draw(st.sampled_from([1.0, 1.0, 1.01, 0.99, 3.0, 0.01]))
            if pause in {"checkpoint", "evaluation", "restart"}:
                kind = "resume" if pause == "restart" else f"{pause}-{draw(st.sampled_from(['begin', 'end']))}"
                events.append(_event(kind, moment + timedelta(seconds=0.1), line, attempt))
            moment += timedelta(seconds=took_s + {"none": 0.0, "silence": 900.0, "late line": 0.0}.get(pause, 40.0))
            at = moment + timedelta(seconds=3 if pause == "late line" else 0)
            steps.append(_step(step, at, took_s, line + 1, attempt))
        moment += timedelta(seconds=draw(st.integers(0, 1500)))
        transitions.append(Transition("Training", begun, moment))
        if attempt + 1 < attempts:
            gone = draw(st.integers(1, 60))
            transitions.append(Transition("Interrupted", moment, moment + timedelta(seconds=gone)))
            moment += timedelta(seconds=gone)
            away += timedelta(seconds=gone)
    if attempts and not running and draw(st.booleans()):
        transitions.append(Transition("Uploading", moment, moment + timedelta(seconds=30)))
        moment += timedelta(seconds=30)
    billed_s = (moment - started - away).total_seconds() if started else 0.0
    told = not running and started is not None and draw(st.booleans())
    # A field of whole seconds.
    training_s = round(billed_s) if told else None
    bare = draw(st.booleans()) and attempts == 1
    job = Job(
        "life",
        source="logs" if draw(st.booleans()) and not running else "aws",
        status="InProgress" if running else draw(st.sampled_from(["Completed", "Failed", "Stopped"])),
        instance_groups=(InstanceGroup("", "ml.p4d.24xlarge", INSTANCES),),
        created=T0,
        started=started,
        ended=None if running else moment,
        transitions=() if bare else tuple(transitions),
        training_seconds=training_s,
        billable_seconds=round(0.3 * training_s) if training_s is not None and draw(st.booleans()) else None,
        nodes=nodes_of(INSTANCES),
    )
    last = max((row["timestamp"] for row in steps), default=None)
    run = Run(
        job,
        steps_frame(pd.DataFrame(steps)) if steps else steps_frame(),
        metrics_frame(),
        events_frame(events),
        logs=LogCoverage(1, len(steps), last),  # type: ignore[arg-type]
    )
    return Life(run, moment, training_s if training_s is not None else billed_s)


def _step(step: int, at: datetime, took_s: float, line: int, attempt: int) -> dict[str, object]:
    return {
        "node": "algo-1", "rank": 0, "step": step, "timestamp": at, "step_time_s": took_s, "throughput": np.nan,
        "throughput_unit": "", "loss": np.nan, "gpu_memory_gib": np.nan, "format": "f", "kind": "step",
        "stream": f"life/algo-1-{attempt}", "line": line, "total": pd.NA, "segment": attempt, "warm_up": False,
    }  # fmt: skip


def _event(kind: str, at: datetime, line: int, attempt: int) -> dict[str, object]:
    return {
        "timestamp": at, "node": "algo-1", "rank": 0, "kind": kind, "text": "", "stream": f"life/algo-1-{attempt}",
        "line": line,
    }  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(lives())
def test_every_second_is_in_one_bucket_and_the_billed_ones_sum_to_the_bill(life: Life) -> None:
    case = Case(life.run, life.now)
    job = life.run.job
    found = phases(life.run, life.now, case.journal, case.activities, case.lost)
    assert all(a.end == b.start for a, b in pairwise(found))
    assert all(part.seconds > 0 and part.name in BUCKETS for part in found)
    if job.source == "logs" and job.started is None:
        assert found == ()
        return
    wall_s = (life.now - T0).total_seconds()
    sums = buckets(found, job, PRICE)
    assert sum(bucket.seconds for bucket in sums) == pytest.approx(wall_s, abs=1e-3)
    assert all(bucket.seconds > 0 and (bucket.cost_usd or 0.0) >= 0 for bucket in sums)
    billed_s = billed_seconds(found)
    assert billed_s == pytest.approx(life.billed_s, abs=1.0)
    bill = cost(job, found, sums, Price(PRICE, "setting"))
    assert bill.usd is not None
    factor = (
        1.0 if not job.billable_seconds or not job.training_seconds else job.billable_seconds / job.training_seconds
    )
    assert bill.usd == pytest.approx(life.billed_s * INSTANCES * factor * PRICE / 3600, abs=0.02)
    assert sum(bucket.cost_usd or 0.0 for bucket in sums) == pytest.approx(
        bill.usd, abs=INSTANCES * PRICE / 3600 + 1e-6
    )
    assert bill.overhead_usd is None or -1e-9 <= bill.overhead_usd <= bill.usd + INSTANCES * PRICE / 3600
    share = goodput(job, found)
    assert share is None or 0.0 <= share <= 1.0
    assert (share is None) == (not any(part.name in {"productive", "lost-work"} for part in found) or billed_s <= 0)


@settings(max_examples=40, deadline=None)
@given(lives(), st.integers(-3000, 3000))
def test_where_aws_bills_other_seconds_than_the_status_changes_tell_its_sum_counts(life: Life, other_s: int) -> None:
    case = Case(life.run, life.now)
    plain = phases(life.run, life.now, case.journal, case.activities, case.lost)
    if not plain or life.run.job.started is None or life.run.job.training_seconds is None:
        return
    told = min(max(0, life.run.job.training_seconds + other_s), int((life.now - T0).total_seconds()))
    job = replace(life.run.job, training_seconds=told)
    found = phases(replace(life.run, job=job), life.now, case.journal, case.activities, case.lost)
    assert billed_seconds(found) == pytest.approx(told, abs=1.0)
    assert all(a.end == b.start for a, b in pairwise(found))
    names = {part.name for part in plain}
    for name in names:
        before = sum(part.seconds for part in plain if part.name == name)
        assert sum(part.seconds for part in found if part.name == name) == pytest.approx(before, abs=1e-3)
