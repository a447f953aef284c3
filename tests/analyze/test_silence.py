"""How long a silence may last: the job's own rhythm, and what its lines say is going on."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.analyze.checkpoints import cadence, saves
from monitor.analyze.journal import journal
from monitor.analyze.silence import FIRST_CHECKPOINT_S, FIRST_OTHER_S, FIRST_STEPS_S, LEAST_S, gpu_pattern, silence
from monitor.model import Run, events_frame, steps_frame
from tests.builders import START
from tests.diagnose.progress_jobs import Pause, Plan, looked_at

END = START + timedelta(hours=1)


def _allowed_s(run: Run) -> float:
    found = silence(run.steps, journal(run.steps, run.events), run.events, None, END)
    assert found is not None
    return found.allowed_s


@pytest.mark.parametrize(
    ("plan", "allowed_s"),
    [
        (Plan(hang_step=800), LEAST_S),
        (Plan(hang_step=40, step_s=80.0), 400.0),
        (Plan(hang_step=3), FIRST_STEPS_S),
        # The first of a kind that is announced, and the second one.
        (Plan(hang_step=800, pauses=(Pause("checkpoint", 800, 60),)), FIRST_CHECKPOINT_S),
        (Plan(hang_step=800, pauses=(Pause("evaluation", 800, 60),)), FIRST_OTHER_S),
        (Plan(hang_step=800, pauses=(Pause("evaluation", 400, 600),)), 900.0),
        (Plan(hang_step=800, pauses=(Pause("checkpoint", 400, 4),)), LEAST_S),
        # A long pause that is announced each time, and is not now.
        (Plan(hang_step=850, pauses=(Pause("evaluation", 400, 600),)), LEAST_S),
        # Not announced: due at its steps only, once three of them tell which.
        (Plan(hang_step=800, pauses=(Pause("evaluation", 200, 400, begin=False),)), 600.0),
        (Plan(hang_step=870, pauses=(Pause("evaluation", 200, 400, begin=False),)), LEAST_S),
        (Plan(hang_step=450, pauses=(Pause("evaluation", 200, 400, begin=False),)), 600.0),
    ],
)
def test_what_is_allowed(plan: Plan, allowed_s: float) -> None:
    assert _allowed_s(looked_at(plan)) == pytest.approx(allowed_s, rel=0.05)


def test_a_start_after_the_last_step_has_its_own_time() -> None:
    run = looked_at(Plan(hang_step=800))
    book = journal(run.steps, run.events)
    found = silence(run.steps, book, run.events, END - timedelta(minutes=20), END)
    assert found is not None
    assert found.meanwhile == "restart"
    assert not found.too_long


def test_no_step_has_no_silence() -> None:
    book = journal(steps_frame(), events_frame())
    assert silence(steps_frame(), book, events_frame(), None, END) is None


@settings(max_examples=25, deadline=None)
@given(st.floats(0.2, 30.0), st.integers(6, 60), st.floats(0.0, 3000.0))
def test_a_silence_is_too_long_after_five_gaps_and_five_minutes(step_s: float, steps: int, silent_s: float) -> None:
    run = looked_at(
        Plan(step_s=step_s, minutes=(steps + 5) * step_s / 60, noise=0.0, hang_step=steps, with_metrics=False)
    )
    last = run.steps["timestamp"].max().to_pydatetime()
    found = silence(run.steps, journal(run.steps, run.events), run.events, None, last + timedelta(seconds=silent_s + 1))
    assert found is not None
    assert found.allowed_s == pytest.approx(max(300.0, 5 * step_s), rel=0.02)
    assert found.too_long == (found.seconds > found.allowed_s)


@pytest.mark.parametrize(
    ("plan", "pattern", "changed"),
    [
        (Plan(hang_step=800), "waiting", True),
        (Plan(hang_step=800, gpu=99.8, gpu_noise=0.05), "waiting", False),
        (Plan(hang_step=800, hang_gpu=(0.3,)), "idle", True),
        (Plan(hang_step=800, hang_gpu=(99.0, 0.3)), "split", True),
        (Plan(hang_step=800, hang_gpu=(50.0,)), "flat", True),
        (Plan(), "working", None),
    ],
)
def test_what_the_gpus_do(plan: Plan, pattern: str, changed: bool | None) -> None:
    run = looked_at(plan)
    held = gpu_pattern(run.metrics, START + timedelta(minutes=35), END)
    assert held is not None
    assert held.pattern == pattern
    assert changed is None or held.changed == changed
    assert held.idle_nodes == (("algo-2",) if pattern == "split" else ())
    assert gpu_pattern(run.metrics, END - timedelta(minutes=3), END) is None


@pytest.mark.parametrize("sides", [(True, True), (True, False), (False, True)])
def test_a_save_is_counted_once_whatever_is_said_of_it(sides: tuple[bool, bool]) -> None:
    run = looked_at(Plan(pauses=(Pause("checkpoint", 250, 10, *sides),)))
    found = saves(journal(run.steps, run.events), run.events)
    assert [save.step for save in found] == list(range(250, 1751, 250))
    usual = cadence(found)
    assert usual is not None
    assert usual.steps == 250
    assert usual.seconds == pytest.approx(510, rel=0.02)


def test_a_save_that_was_only_begun_is_none_where_others_say_that_they_are_complete() -> None:
    run = looked_at(Plan(pauses=(Pause("checkpoint", 250, 10),)))
    late = (run.events["kind"] == "checkpoint-end") & (run.events["timestamp"] > START + timedelta(minutes=40))
    found = saves(journal(run.steps, run.events), run.events[~late])
    assert [save.step for save in found] == list(range(250, 1001, 250))


def test_saves_of_the_best_have_no_cadence() -> None:
    run = looked_at(
        Plan(pauses=tuple(Pause("checkpoint", step, 1, until_step=step) for step in (100, 150, 400, 430, 1300)))
    )
    steps = {100, 150, 200, 300, 400, 430, 1300}
    found = saves(journal(run.steps, run.events), run.events)
    assert {save.step for save in found} <= steps
    assert cadence(found) is None


@pytest.mark.parametrize(("spread", "pattern"), [(0.9, "waiting"), (3.0, "working")])
def test_that_one_of_many_waiting_nodes_moves_more_by_chance_is_no_work(spread: float, pattern: str) -> None:
    rng = np.random.default_rng(5)
    minutes = pd.date_range(START, periods=40, freq="min")
    names = [f"algo-{number + 1}" for number in range(32)]
    values = rng.normal(97.5, spread, (len(names), len(minutes)))
    assert values[:, -10:].std(axis=1, ddof=1).max() > 1.0  # as some are, whatever they do
    rows = [
        (at, name, "gpu_utilization", float(value))
        for name, course in zip(names, values, strict=True)
        for at, value in zip(minutes, course, strict=True)
    ]
    frame = pd.DataFrame(rows, columns=["timestamp", "node", "metric", "value_pct"])
    found = gpu_pattern(frame, START, START + timedelta(minutes=42))
    assert found is not None
    assert found.pattern == pattern
