"""How step times were come by, in a few words beside them, and that two jobs' were come by differently."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.diagnose.comparison.compare import compare
from monitor.diagnose.comparison.rows import figure_rows
from monitor.diagnose.words.step_readings import came_by, otherwise
from monitor.model import Report, StepReading, steps_frame
from tests.diagnose.test_compared import job

PRINTED = StepReading("key-value", 300, "step", printed_s=2.0, clock_s=2.0)
CLOCKED = StepReading("key-value", 300, "line-clock", clock_s=2.0, resolution_s=0.5)
ELAPSED = StepReading("key-value", 300, "cumulative", printed_s=2.0)


def with_reading(found: Report, reading: StepReading) -> Report:
    """The job with its steps read so: by the lines' clock, their kind is that, too."""
    frame = steps_frame(found.run.steps.assign(kind=reading.kind))
    return replace(found, run=replace(found.run, steps=frame, logs=replace(found.run.logs, readings=(reading,))))


@pytest.mark.parametrize(
    ("reading", "words"),
    [
        (PRINTED, ""),
        (replace(PRINTED, kind="interval"), ""),
        (CLOCKED, "by the lines' clock (± 0.500 s)"),
        (replace(CLOCKED, resolution_s=None), "by the lines' clock"),
        (replace(CLOCKED, cause="clock", printed_s=9.0), "by the lines' clock (± 0.500 s), against what is printed"),
        (replace(CLOCKED, resolution_s=None, format="learned"), "by the lines' clock, learned from this log"),
        (replace(PRINTED, kind="interval", cause="interval", factor=0.1), "read anew by the lines' clock: an interval's sum"),
        (replace(PRINTED, cause="unit", factor=1e-3), "read anew by the lines' clock: milliseconds"),
        (replace(PRINTED, cause="unit", factor=0.2), "read anew by the lines' clock: another unit"),
        (replace(PRINTED, cause="accumulation", factor=4), "read anew by the lines' clock: one micro-batch's time"),
        (replace(PRINTED, kind="smoothed"), "a progress bar's rate"),
        (replace(PRINTED, kind="running-mean"), "means since the start"),
        (replace(PRINTED, kind="running-mean", cause="shared"), "an epoch's time over its steps"),
        (ELAPSED, "differences of an elapsed time"),
        (replace(ELAPSED, format="tqdm"), "between a progress bar's redraws"),
        (StepReading("key-value", 3, "step"), ""),
    ],
)  # fmt: skip
def test_a_time_that_is_not_simply_printed_says_how_it_was_come_by(reading: StepReading, words: str) -> None:
    assert came_by((reading,)) == words


def test_two_jobs_whose_times_were_come_by_alike_need_no_word() -> None:
    assert otherwise("B", (PRINTED,), (PRINTED,), False) == ""
    assert otherwise("B", (CLOCKED,), (replace(CLOCKED, resolution_s=0.05),), True) == ""
    assert otherwise("B", (CLOCKED,), (replace(CLOCKED, format="learned"),), True) == ""
    assert otherwise("B", (), (CLOCKED,), False) == ""


def test_what_may_be_left_out_of_one_job_s_times_is_said() -> None:
    said = otherwise("B", (PRINTED,), (ELAPSED,), False)
    assert said.startswith("A's step times are as printed, B's differences of an elapsed time: ")
    assert said.endswith("those of B count all that passes between two reports, those of A may leave some of it out.")


def test_a_printed_time_against_the_clock_is_compared_by_the_clock_and_says_so() -> None:
    found = compare([with_reading(job(), PRINTED), with_reading(job("run-2", 1.8), CLOCKED)])
    (result,) = found.against
    assert result.otherwise == (
        "A's step times are as printed, B's by the lines' clock (± 0.500 s): here both are by the lines' clock, which "
        "counts all that passes between two lines, such as loading data."
    )
    assert result.otherwise in found.notes
    assert [each.came_by for each in found.figures] == [
        "by the lines' clock, not as printed",
        "by the lines' clock (± 0.500 s)",
    ]
    assert ("step time, how", "lines' clock", "lines' clock") in figure_rows(found)


def test_where_all_times_are_printed_nothing_is_said() -> None:
    found = compare([with_reading(job(), PRINTED), with_reading(job("run-2", 1.8), PRINTED)])
    assert [each.came_by for each in found.figures] == ["as printed", "as printed"]
    assert "step time, how" not in {row[0] for row in figure_rows(found)}
    assert found.against[0].otherwise == ""
