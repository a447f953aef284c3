"""Work done twice is counted once and shown; counters that begin again by right are no loss."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.analyze.journal import journal
from monitor.analyze.lost import lost_work, without
from monitor.analyze.phases import buckets, phases
from monitor.analyze.step_time import summary
from monitor.model import Job
from tests.diagnose.cases import END, START, _resumed, run
from tests.parse.read import parse

JOB = Job("case", source="logs")
RESTART = "[default] Worker group FAILED. 2/3 attempts left; will restart worker group"
RESUME = "Resuming from checkpoint /opt/ml/checkpoints/last"


def _steps(*numbers: int) -> list[str]:
    return [f"step={number} step_time_s=0.5 loss=2.0" for number in numbers]


def _up(start: int, stop: int, by: int = 1) -> list[str]:
    # No two runs print quite the same; the same report twice in a row is an echo of the first.
    return [f"{line}{start}" for line in _steps(*range(start, stop + 1, by))]


@pytest.mark.parametrize(
    ("lines", "lost", "seconds"),
    [
        ([*_up(1, 45), RESUME, *_up(41, 60)], 5, 2.5),
        # The counter alone tells it, too.
        ([*_up(1, 45), *_up(41, 60)], 5, 2.5),
        # Reports every ten steps stand for the steps between them.
        ([*_up(10, 550, 10), RESUME, *_up(510, 800, 10)], 50, 25.0),
        ([*_up(1, 45), RESUME, *_up(41, 59), RESUME, *_up(21, 80)], 5 + 39, 22.0),
        # Back by one report: the counter stands still.
        ([*_up(100, 600, 100), RESUME, *_up(600, 900, 100)], 100, 50.0),
        # From scratch, because a restart is told: all is lost.
        ([*_up(1, 29), RESTART, *_up(1, 60)], 29, 14.5),
        ([*_up(0, 29), RESTART, *_up(0, 60)], 30, 15.0),
        # The checkpoint was of the last step.
        ([*_up(1, 45), RESUME, *_up(46, 60)], 0, None),
        # Epochs that count their own steps, and a second run in one log.
        ([*_up(1, 29), *_up(1, 29), *_up(1, 29)], 0, None),
        ([*_up(0, 40), *_up(0, 60)], 0, None),
        # A restart in the midst of such epochs: what is lost cannot be told.
        ([*_up(1, 29), *_up(1, 29), RESTART, *_up(1, 29)], 0, None),
        # Two ranks in one stream, none of them named.
        (_steps(1, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 6, 7, 8, 7, 9, 8), 0, None),
        ([], 0, None),
    ],
)
def test_steps_done_again_are_lost(lines: list[str], lost: int, seconds: float | None) -> None:
    parsed = parse(lines)
    found = lost_work(parsed.steps, parsed.events, JOB)
    assert (found.steps if found else 0) == lost
    assert (found.seconds if found else None) == pytest.approx(seconds)


@settings(max_examples=60, deadline=None)
@given(st.integers(5, 60), st.integers(1, 60), st.integers(3, 40), st.sampled_from([1, 10]))
def test_each_step_counts_once(reached: int, kept: int, more: int, by: int) -> None:
    kept = min(kept, reached)
    lines = [*_up(by, reached * by, by), RESUME, *_up((kept + 1) * by, (kept + more) * by, by)]
    parsed = parse(lines)
    found = lost_work(parsed.steps, parsed.events, JOB)
    assert (found.steps if found else 0) == (reached - kept) * by
    numbers = without(parsed.steps, found)["step"]
    assert numbers.is_unique
    stats = summary(parsed.steps, JOB, found)
    assert stats is not None
    assert stats.distinct == kept + more
    assert stats.done == (kept + more) * by


def test_lost_time_is_a_phase_of_its_own() -> None:
    case = run(step_frame=_resumed(800, 500))
    found = lost_work(case.steps, case.events, case.job)
    assert found is not None
    assert found.steps == 300
    parts = phases(case, END, journal(case.steps, case.events), (), found)
    assert [part.name for part in parts].count("lost-work") == 1
    assert sum(part.seconds for part in parts) == pytest.approx((END - START + timedelta(minutes=5)).total_seconds())
    lost = next(bucket for bucket in buckets(parts, case.job, None) if bucket.name == "lost-work")
    assert lost.seconds == pytest.approx(600, rel=0.05)


def test_a_new_stream_of_a_container_is_a_restart() -> None:
    rows = _resumed(800, 0)
    rows["stream"] = rows["stream"].astype("str").where(rows["segment"] == 0, rows["stream"].astype("str") + "-again")
    rows["segment"] = 0
    case = run(step_frame=rows)
    found = lost_work(case.steps, case.events, case.job)
    assert found is not None
    assert found.steps == 800
    # Two log files may hold two runs.
    assert lost_work(case.steps, case.events, JOB) is None
