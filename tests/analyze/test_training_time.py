"""What the seconds of a training are spent on: one planted cause a case, and its bucket."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from monitor.analyze.journal import journal
from monitor.analyze.pace import longest_stable, pace
from monitor.analyze.phases import buckets, goodput, phases
from monitor.analyze.training_time import MOST_PIECES, TimePieces
from monitor.diagnose.rulebook import Case
from monitor.model import LogCoverage, Phase, Run, events_frame, metrics_frame, steps_frame
from tests.analyze.test_journal import NONE, told
from tests.builders import START, nodes_of, steps
from tests.diagnose.cases import run

COUNT = 600
STEP_S = 2.0


def _rows(times: np.ndarray, stamps: np.ndarray | None = None) -> pd.DataFrame:
    """One report a step; printed times, and a clock that is theirs unless another is given."""
    rows = steps(["algo-1"], len(times), STEP_S)
    seconds = np.cumsum(times) if stamps is None else stamps
    return steps_frame(
        rows.assign(
            step_time_s=times,
            warm_up=False,
            timestamp=pd.Timestamp(START) + pd.to_timedelta(np.round(seconds, 3), unit="s"),
        )
    )


def _even(count: int = COUNT, noise: float = 0.01) -> np.ndarray:
    return np.asarray(STEP_S * (1 + noise * np.random.default_rng(3).normal(size=count)))


def _job(rows: pd.DataFrame, events: pd.DataFrame = NONE, status: str = "Completed", after_s: float = 10.0) -> Run:
    last = rows["timestamp"].max().to_pydatetime()
    end = last + timedelta(seconds=after_s)
    return run(metrics_frame(), rows, events=events, nodes=nodes_of(1), status=status, end=end)


def _phases(job: Run, now: datetime | None = None) -> tuple[Phase, ...]:
    case = Case(job, now or job.job.ended or START)
    return phases(job, case.now, case.journal, case.activities, case.lost)


def _sums(job: Run, now: datetime | None = None) -> dict[str, float]:
    return {bucket.name: bucket.seconds for bucket in buckets(_phases(job, now), job.job, None)}


def _after(rows: pd.DataFrame, step: int) -> float:
    at = rows.loc[rows["step"] == step, "timestamp"].iloc[0]
    return float((at - pd.Timestamp(START)).total_seconds())


def _paused(pauses: dict[int, float], count: int = COUNT) -> pd.DataFrame:
    """Even steps, with a pause of so many seconds behind some."""
    times = _even(count)
    held = np.zeros(count)
    for step, seconds in pauses.items():
        held[step] = seconds
    return _rows(times, np.cumsum(times + held))


def test_steady_steps_are_productive() -> None:
    found = _sums(_job(_rows(_even())))
    assert found["productive"] == pytest.approx(COUNT * STEP_S, rel=0.002)
    assert found["idle-tail"] == pytest.approx(10.0, abs=0.01)
    # Of normal noise one in forty-four steps is beyond median + 3 MAD, by little.
    assert found.get("slow-excess", 0.0) < 0.002 * COUNT * STEP_S


def test_what_slow_steps_take_beyond_the_usual_is_slow_excess() -> None:
    times = _even()
    times[50::50] *= 6
    found = _sums(_job(_rows(times)))
    assert found["slow-excess"] == pytest.approx(11 * 5 * STEP_S, rel=0.02)
    assert found["productive"] == pytest.approx(COUNT * STEP_S, rel=0.002)


def test_a_pace_that_got_worse_is_paid_for_from_then_on() -> None:
    times = _even()
    times[400:] *= 1.3
    found = _sums(_job(_rows(times)))
    assert found["slow-excess"] == pytest.approx(200 * 0.3 * STEP_S, rel=0.03)
    assert pace(journal(_rows(times), NONE)).reference_s == pytest.approx(STEP_S, rel=0.01)  # type: ignore[union-attr]


def test_a_line_that_came_late_is_no_slow_step() -> None:
    times = _even()
    stamps = np.cumsum(times)
    stamps[100] += 1.5
    found = _sums(_job(_rows(times, stamps)))
    assert found.get("slow-excess", 0.0) < 0.002 * COUNT * STEP_S


def test_times_in_whole_seconds_make_no_slow_steps() -> None:
    times = 1.2 * _even()
    found = _sums(_job(_rows(times, np.floor(np.cumsum(times)))))
    assert found.get("slow-excess", 0.0) == 0.0
    assert found["productive"] == pytest.approx(1.2 * COUNT * STEP_S, rel=0.01)


@pytest.mark.parametrize(("kind", "name"), [("checkpoint", "checkpoint"), ("evaluation", "evaluation")])
def test_a_pause_that_a_line_explains_has_its_name(kind: str, name: str) -> None:
    rows = _paused({200: 700.0, 400: 700.0})
    events = [told(f"{kind}-begin", _after(rows, step) + 0.1, 3 * step + 1) for step in (200, 400)]
    found = _sums(_job(rows, events_frame(events)))
    assert found[name] == pytest.approx(1400, abs=1)
    assert found["productive"] == pytest.approx(COUNT * STEP_S, rel=0.003)
    assert "stall" not in found


def test_a_long_silence_that_nothing_explains_is_a_stall() -> None:
    found = _sums(_job(_paused({300: 900.0})))
    assert found["stall"] == pytest.approx(900, abs=1)
    assert found["productive"] == pytest.approx(COUNT * STEP_S, rel=0.003)


def test_long_pauses_that_come_back_are_the_jobs_rhythm() -> None:
    found = _sums(_job(_paused(dict.fromkeys(range(100, 600, 100), 720.0))))
    assert "stall" not in found
    assert found["slow-excess"] == pytest.approx(5 * 720, rel=0.01)


def test_a_restart_is_initialization_up_to_its_first_step_and_a_hang_before_it_a_stall() -> None:
    rows = _paused({300: 1000.0})
    at_s = _after(rows, 300)
    short = _sums(_job(rows, events_frame([told("resume", at_s + 120.0, 901)])))
    assert short["initialization"] == pytest.approx(60 + 1000, abs=1)
    hung = _sums(_job(rows, events_frame([told("restart", at_s + 700.0, 901)])))
    assert hung["stall"] == pytest.approx(700, abs=1)
    assert hung["initialization"] == pytest.approx(60 + 300, abs=1)


def test_lines_in_blocks_are_productive_without_excess() -> None:
    times = _even()
    times[100::100] *= 5
    block = (np.arange(COUNT) // 20 + 1) * 20
    found = _sums(_job(_rows(times, np.cumsum(times)[block - 1])))
    assert "slow-excess" not in found
    assert "stall" not in found


def test_steps_without_a_time_leave_the_training_unknown() -> None:
    rows = steps_frame(
        _rows(_even()).assign(timestamp=pd.Series(pd.NaT, index=range(COUNT), dtype="datetime64[ms, UTC]"))
    )
    case = run(step_frame=rows, nodes=nodes_of(1), logs=LogCoverage(1, 10))
    assert set(_sums(case)) == {"pending", "unknown"}


@pytest.mark.parametrize(
    ("lines", "name", "seconds"),
    [
        ([("checkpoint-begin", 1.0), ("checkpoint-end", 81.0)], "checkpoint", 80.0),
        ([("evaluation-begin", 1.0), ("checkpoint-begin", 61.0), ("checkpoint-end", 71.0)], "evaluation", 60.0),
        ([("checkpoint-end", 50.0)], "checkpoint", 50.0),
        # Nothing tells of its end, and it is the last line.
        ([("checkpoint-begin", 20.0)], "checkpoint", 80.0),
    ],
)
def test_the_last_checkpoint_and_evaluation_are_no_idle_tail(
    lines: list[tuple[str, float]], name: str, seconds: float
) -> None:
    rows = _rows(_even())
    end_s = _after(rows, COUNT)
    events = events_frame([told(kind, end_s + at, 3 * COUNT + n) for n, (kind, at) in enumerate(lines, 1)])
    job = _job(rows, events, after_s=100.0)
    last = START + timedelta(seconds=end_s + lines[-1][1])
    found = _sums(replace(job, logs=replace(job.logs, last_line_at=last)))
    assert found[name] == pytest.approx(seconds, abs=0.1)
    assert found.get("idle-tail", 0.0) + found[name] == pytest.approx(100.0 - (10.0 if len(lines) == 3 else 0), abs=0.1)


def test_a_running_job_is_at_work_until_it_is_silent_for_too_long() -> None:
    rows = _rows(_even())
    job = _job(rows, status="InProgress")
    last = rows["timestamp"].max().to_pydatetime()
    assert _phases(job, last + timedelta(minutes=2))[-1].name == "productive"
    assert _phases(job, last + timedelta(minutes=20))[-1].name == "stall"
    busy = replace(job, metrics=run(nodes=nodes_of(1)).metrics)
    assert _phases(busy, last + timedelta(minutes=20))[-1].name == "unknown"
    # Its processes go on logging: nobody knows at what.
    alive = replace(job, logs=replace(job.logs, last_line_at=last + timedelta(minutes=19)))
    assert _phases(alive, last + timedelta(minutes=20))[-1].name == "unknown"


def test_goodput_is_the_productive_share_of_what_is_billed() -> None:
    job = _job(_paused({300: 900.0}))
    parts = _phases(job)
    billed_s = sum(part.seconds for part in parts if part.billed)
    assert goodput(job.job, parts) == pytest.approx(COUNT * STEP_S / billed_s, rel=0.003)
    blind = run(step_frame=steps_frame(), nodes=nodes_of(1))
    assert goodput(blind.job, _phases(blind)) is None


def test_of_very_many_pieces_few_are_told_and_their_sums_are_exact() -> None:
    rng = np.random.default_rng(5)
    edges = np.append(0, np.cumsum(rng.integers(1, 5000, 20_000)))
    names = np.array([5, 6, 5, 7, 5, 8], dtype=np.int8)[np.arange(20_000) % 6]
    names[7000] = 9
    whole = TimePieces.of(edges, names)
    few = whole.few()
    assert len(few.codes) <= MOST_PIECES + 10
    assert (few.edges[0], few.edges[-1]) == (whole.edges[0], whole.edges[-1])
    for code in range(15):
        sums = [int(np.diff(pieces.edges)[pieces.codes == code].sum()) for pieces in (whole, few)]
        assert sums[0] == sums[1]
    # What is rare stands where it was.
    stall = int(np.flatnonzero(few.codes == 9)[0])
    assert few.edges[stall] == edges[7000]


@pytest.mark.parametrize(
    ("levels", "longest"),
    [
        ([(300, 1.0)], slice(0, 300)),
        ([(100, 1.0), (500, 1.5)], slice(100, 600)),
        ([(500, 1.0), (100, 1.5)], slice(0, 500)),
        # Less than a tenth is drift.
        ([(300, 1.0), (300, 1.05)], slice(0, 600)),
        ([(5, 1.0)], slice(0, 5)),
    ],
)
def test_the_longest_stable_stretch_ends_where_the_pace_changes(
    levels: list[tuple[int, float]], longest: slice
) -> None:
    rng = np.random.default_rng(2)
    times = np.concatenate([level * (1 + 0.01 * rng.normal(size=count)) for count, level in levels])
    times[::37] *= 4
    found = longest_stable(times)
    assert abs(found.start - longest.start) <= 6
    assert abs(found.stop - longest.stop) <= 6
