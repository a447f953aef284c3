"""The rows of the table of jobs: the worst first, units of one device, and no word about what was not reviewed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta

import pytest

from monitor.diagnose.verdict import Level
from monitor.errors import NotAllowed
from monitor.model import JobSummary, StepReading
from monitor.review import Snapshot
from monitor.show.jobs import table as jobs_table
from tests import situations
from tests.builders import START

NOW = START + timedelta(hours=5)
REPORTS = [situations.healthy(), situations.low_utilization(), situations.failed(), situations.never_started()]
JOBS = [situations.summary(built) for built in REPORTS] + [JobSummary("old-1", "Completed", START, NOW)]
SNAPSHOTS = {built.job.name: Snapshot(report=built) for built in REPORTS}
KNOWN = {name: jobs_table.row_review(snapshot) for name, snapshot in SNAPSHOTS.items()}


@pytest.mark.parametrize(
    ("snapshot", "level", "words"),
    [
        (None, "unreviewed", "not reviewed yet"),
        (Snapshot(working=True, progress="reading logs: 12,000 lines"), "waiting", "reading logs: 12,000 lines"),
        (Snapshot(working=True), "waiting", "reviewing…"),
        (Snapshot(error=NotAllowed("AWS refused it.")), "unknown", "Review failed: AWS refused it."),
        (Snapshot(report=situations.healthy()), "healthy", "Healthy as far as can be seen"),
        (Snapshot(report=situations.failed()), "critical", "GPU memory ran out on algo-2, rank 11"),
    ],
)
def test_what_stands_out(snapshot: Snapshot | None, level: str, words: str) -> None:
    assert jobs_table.standing(snapshot) == jobs_table.Standing(level, words)  # type: ignore[arg-type]


def test_rows_stand_as_they_are_listed_or_in_the_order_given() -> None:
    assert jobs_table.rows(JOBS, KNOWN, NOW)["name"].tolist() == [job.name for job in JOBS]
    worst = jobs_table.rows(JOBS, KNOWN, NOW, jobs_table.worst_first(JOBS, KNOWN))
    assert worst["name"].tolist() == ["llama-ft-3", "no-capacity-2", "gpt-60b-run-7", "vit-mics-4", "old-1"]


def test_the_most_that_could_be_recovered_comes_first_of_what_asks_for_action() -> None:
    def known(level: Level, **figures: float) -> jobs_table.RowReview:
        return jobs_table.RowReview(jobs_table.Standing(level, level), status="x", **figures)  # type: ignore[arg-type]

    jobs = {
        "healthy": ("InProgress", known("healthy", recoverable_usd_per_hour=0.0)),
        "listed": ("InProgress", None),
        "judged by nobody": ("Completed", known("unknown")),
        "an idea": ("Completed", known("info", recoverable_usd=9.0)),
        "ended, small": ("Completed", known("critical", recoverable_usd=0.5)),
        "ended, large": ("Completed", known("warning", recoverable_usd=700.0)),
        "failed, all of it perhaps": ("Failed", known("critical", cost_usd=300.0)),
        "runs, small": ("InProgress", known("critical", recoverable_usd_per_hour=1.0)),
        "runs, large": ("InProgress", known("warning", recoverable_usd_per_hour=80.0)),
    }
    listed = [JobSummary(name, status, START) for name, (status, _) in jobs.items()]
    reviewed = {name: found for name, (_, found) in jobs.items() if found is not None}
    assert jobs_table.worst_first(listed, reviewed) == [
        "runs, large", "runs, small",
        "ended, large", "failed, all of it perhaps", "ended, small",
        "an idea", "judged by nobody", "healthy", "listed",
    ]  # fmt: skip


def test_figures_are_those_of_the_report_and_missing_ones_are_missing() -> None:
    frame = jobs_table.rows(JOBS, KNOWN, NOW).set_index("name")
    assert frame.loc["gpt-60b-run-7", "gpu_pct"] == pytest.approx(46, abs=1)
    assert frame.loc["gpt-60b-run-7", "step_time"] == "4.10 s ±1.3 %"
    assert frame.loc["gpt-60b-run-7", "instances"] == "4 × p4d.24xlarge"
    assert frame.loc[["no-capacity-2", "old-1"], ["gpu_pct", "step_time", "recoverable_usd"]].isna().all(axis=None)
    assert frame.loc["no-capacity-2", ["ran_s", "gpu_course"]].isna().all()
    assert frame.loc["old-1", "level"] == "unreviewed"


def test_a_spreadsheet_gets_one_value_a_cell_with_its_unit_and_nothing_for_what_is_not_known() -> None:
    frame = jobs_table.csv_rows(jobs_table.rows(JOBS, KNOWN, NOW)).set_index("job")
    assert frame.loc["gpt-60b-run-7", "gpu_utilization_pct"] == pytest.approx(46, abs=1)
    assert frame.loc["llama-ft-3", "verdict"] == "critical"
    assert frame.loc["no-capacity-2", ["ran_s", "gpu_utilization_pct", "recoverable_usd_per_hour"]].isna().all()
    assert frame.loc["old-1", "verdict"] == ""


def test_a_step_time_that_is_not_simply_printed_has_a_mark_and_says_how_it_was_come_by() -> None:
    built = situations.healthy()
    reading = StepReading("key-value", 300, "line-clock", clock_s=4.1)
    logs = replace(built.run.logs, readings=(reading,))
    clocked = replace(built, run=replace(built.run, logs=logs))
    known = {built.job.name: jobs_table.row_review(Snapshot(report=clocked))}
    frame = jobs_table.rows([situations.summary(built)], known, NOW)
    place = [column.name for column in jobs_table._COLUMNS].index("step_time")
    time = frame.loc[0, "step_time"]
    assert jobs_table.cells(frame, UTC)[0].cells[place] == (f"{time}*", f"{time}, by the lines' clock")
    assert jobs_table.csv_rows(frame).loc[0, "step_time_came_by"] == "by the lines' clock"
    printed = jobs_table.rows([situations.summary(built)], KNOWN, NOW)
    assert jobs_table.cells(printed, UTC)[0].cells[place] == time


def test_settled_means_that_every_review_ended() -> None:
    assert jobs_table.settled(SNAPSHOTS.values())
    assert jobs_table.settled([Snapshot(error=NotAllowed("no"))])
    assert not jobs_table.settled([*SNAPSHOTS.values(), Snapshot(working=True)])
