"""Rates with their intervals, recoveries, queues, spot, what to change first, and what became of advice."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from monitor.fleet.report import Rate, change_of_share, poisson
from monitor.fleet.summing import fleet_report
from monitor.fleet.window import DateWindow
from tests.fleet.built import MONDAY, facts

HOUR = 3600.0
WEEK = DateWindow(date(2026, 11, 16), date(2026, 11, 23))
NOW = datetime(2026, 11, 24, 6, tzinfo=UTC)
TRAINED = [("productive", 2 * HOUR, True)]


def finding(id: str = "raise-active-microbatches", share: float | None = 0.3, **more: Any) -> dict[str, Any]:
    return {"id": id, "title": "Window too small", "recommendation": "Raise it.\ncode", "share": share} | more


def test_the_poisson_interval_is_the_published_one() -> None:
    assert poisson(0) == pytest.approx((0.0, 3.689), abs=1e-3)
    assert poisson(10) == pytest.approx((4.795, 18.390), abs=1e-3)


def test_no_failure_says_at_least_and_never_forever() -> None:
    assert Rate(100.0, 0).between_h is None
    assert Rate(100.0, 0).between_h_interval == (pytest.approx(100 / 3.689, rel=1e-3), None)
    assert Rate(0.0, 0).between_h_interval is None
    assert Rate(24_000.0, 6).per_1000_days == 6.0


def test_a_change_of_few_jobs_cannot_be_told() -> None:
    assert change_of_share([(1.0, 2.0)] * 3, [(1.0, 2.0)] * 30) is None
    noisy = [(float(number % 2), 1.0) for number in range(8)]
    found = change_of_share(noisy, noisy[1:] + noisy[:1])
    assert found is not None
    assert found.verdict == "cannot tell"
    sure = change_of_share([(0.9, 1.0)] * 20, [(0.5, 1.0)] * 20)
    assert sure is not None
    assert (sure.verdict, round(sure.points)) == ("up", 40)


def test_failures_count_interruptions_and_leave_out_what_never_ran() -> None:
    spot = facts(
        "spot",
        [("productive", HOUR, True), ("interrupted", 600.0, False), ("starting", 300.0, False), *TRAINED],
        spot=True,
    )
    refused = facts(
        "refused", [("pending", HOUR, False)], status="Failed", started=None, findings=[finding("capacity", None)]
    )
    bug = facts("bug", [("initialization", HOUR, True)], status="Failed", findings=[finding("script-error", None)])
    report = fleet_report("archive", [spot, refused, bug], WEEK, NOW)
    assert report.all_failures.events == 2
    assert report.infrastructure_failures.events == 1
    assert {each.cause: each.blame for each in report.failures} == {
        "capacity": "infrastructure",
        "script-error": "user",
    }
    (queue,) = report.queues
    assert (queue.refused, queue.gpu_hours) == (1, pytest.approx(8 * (HOUR + 300) / HOUR))


def test_recovery_is_to_the_next_step_of_a_run_of_that_name() -> None:
    broken = facts("bert-1", [("initialization", HOUR, True)], status="Failed", base="bert")
    again = facts("bert-2", [("starting", 600.0, False), *TRAINED], MONDAY + timedelta(hours=3), base="bert")
    other = facts("gpt-1", TRAINED, MONDAY + timedelta(hours=2), base="gpt")
    lost = facts("gpt-2", [("initialization", HOUR, True)], MONDAY + timedelta(hours=9), base="gpt", status="Failed")
    found = fleet_report("archive", [broken, again, other, lost], WEEK, NOW).recovery
    assert (found.known, found.median_s, found.open) == (1, 2 * HOUR + 600, 1)


def test_spot_saves_what_was_not_billed_at_the_list_price() -> None:
    job = facts("spot", TRAINED, spot=True, training_seconds=7200, billable_seconds=2160, instance_count=2)
    report = fleet_report("archive", [job], WEEK, NOW)
    assert (report.spot_jobs, report.spot_usd) == (1, pytest.approx(2 * 36.0 * (7200 - 2160) / 3600))


def test_runs_of_one_name_with_one_finding_are_one_thing_to_change() -> None:
    jobs = [
        facts(
            f"gpt-{day}",
            TRAINED,
            MONDAY + timedelta(days=day),
            [finding()],
            base="gpt",
            recoverable_instance_s=0.3 * 7200,
        )
        for day in range(3)
    ]
    small = facts("bert-1", [("productive", 60.0, True)], findings=[finding()], recoverable_instance_s=18.0)
    first, second = fleet_report("archive", [*jobs, small], WEEK, NOW).to_change
    assert (first.job, first.runs, first.saving.usd) == ("gpt-2", 3, pytest.approx(0.3 * 3 * 72.0))
    assert first.next_step == "Raise it."
    assert second.job == "bert-1"


ADVICE = finding(
    parameter="active_microbatches",
    from_value="2",
    to_value="6",
    change_pct_low=-35.0,
    change_pct_mid=-30.0,
    change_pct_high=-25.0,
)


def followed(after_s: float, configuration: str = '{"active_microbatches": 6}', **more: Any) -> Any:
    before = facts("gpt-1", TRAINED, findings=[ADVICE], base="gpt", configuration='{"active_microbatches": 2}')
    steps = {"step_median_s": after_s, "step_p10_s": 0.95 * after_s, "step_p90_s": 1.05 * after_s}
    after = facts(
        "gpt-2", TRAINED, MONDAY + timedelta(days=1), base="gpt", configuration=configuration, **{**steps, **more}
    )
    return fleet_report("archive", [before, after], WEEK, NOW).followed


def test_advice_that_was_followed_is_held_against_what_came() -> None:
    (held,) = followed(0.7)
    assert (held.before, held.after, held.came) == ("gpt-1", "gpt-2", "held")
    assert held.measured_pct == pytest.approx((-30.5, -30.0, -29.5), abs=0.5)
    assert followed(0.95)[0].came == "missed"


def test_what_changed_as_well_is_named_instead_of_a_figure() -> None:
    (row,) = followed(0.7, '{"active_microbatches": 6, "batch_size": 64}')
    assert (row.measured_pct, row.why) == (None, "changed as well: batch_size")
    assert followed(0.7, instance_count=2)[0].why == "changed as well: the instances"
    assert followed(0.7, step_reports=5)[0].why == "too few step times"
    assert followed(0.7, '{"active_microbatches": 4}') == ()
