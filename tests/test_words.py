"""How figures are written: units, sensible digits, and a date where a time of day is not enough."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from monitor.analyze.training_time import BUCKETS
from monitor.words import clock, phase, usd

AT = datetime(2026, 9, 5, 14, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.0, "$0"), (5e-05, "under $0.001"), (0.0012, "$0.001"), (0.0021, "$0.002"), (0.0094, "$0.009"),
        (0.0099, "$0.01"), (0.5, "$0.50"), (12.6, "$12.60"), (4880.4, "$4,880"), (None, "–"), (float("nan"), "–"),
    ],
)  # fmt: skip
def test_money_has_no_exponent_and_no_false_digits(value: float | None, written: str) -> None:
    assert usd(value) == written


@pytest.mark.parametrize(("hours", "written"), [(2, "14:05 UTC"), (24, "14:05 UTC"), (25, "5 Sep, 14:05 UTC")])
def test_a_time_of_what_takes_longer_than_a_day_has_its_day(hours: float, written: str) -> None:
    assert clock(AT, (AT, AT + timedelta(hours=hours))) == written
    assert clock(AT) == "14:05 UTC"


def test_each_phase_has_a_name_for_people_and_one_of_another_version_keeps_its_own() -> None:
    names = [phase(name) for name in BUCKETS]
    assert len(set(names)) == len(names)
    assert not any("-" in name for name in names)
    assert phase("of-another-version") == "of-another-version"
