"""What is at stake in a running job, in USD an hour."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.diagnose.stakes import Stakes, stakes, total_usd
from monitor.model import Cost, Finding
from tests import situations

RUNNING = situations.running()
STALL = Finding("stall", "critical", "high", "No step for 24 min", "No step for 24 min.")


def test_waste_is_the_share_of_the_bill_so_far_of_an_hour_and_advice_what_its_middle_says() -> None:
    found = stakes(RUNNING)
    assert found.costs_usd == pytest.approx(131.08)
    assert found.wasted_usd == pytest.approx(131.08 * 40.1 / 98.3)
    change = next(finding.prediction for finding in RUNNING.findings if finding.prediction)
    assert found.saving_usd == pytest.approx(131.08 * -change.step_time_change_percent[1] / 100)
    assert found.at_stake_usd == max(found.wasted_usd or 0, found.saving_usd or 0)


def test_all_of_it_is_at_stake_while_a_job_stands_still() -> None:
    found = stakes(replace(RUNNING, findings=(STALL,)))
    assert found.stalled
    assert found.at_stake_usd == found.costs_usd


def test_without_a_price_a_stall_is_known_and_no_sum() -> None:
    found = stakes(replace(RUNNING, findings=(STALL,), cost=Cost()))
    assert found == Stakes(stalled=True)
    assert found.at_stake_usd is None


def test_nothing_is_at_stake_in_a_job_that_is_over() -> None:
    assert stakes(situations.low_utilization()) == Stakes()


def test_what_is_not_known_is_not_in_the_sum_and_no_sum_of_nothing_is_zero() -> None:
    assert total_usd([1.0, None, 2.0]) == 3.0
    assert total_usd([None]) is None
