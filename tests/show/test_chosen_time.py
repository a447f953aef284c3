"""Which moments does an address name?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from monitor.show.address import length, moment
from monitor.show.job.timeline import written, written_last

NOON = datetime(2026, 9, 25, 12, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (written(NOON), NOON),
        ("2026-09-25T12:05:00Z", NOON),
        ("2026-09-25T14:05:00+02:00", NOON),
        ("2026-09-25 12:05", NOON),
        ("20260925T1205", NOON),
        ("", None),
        (None, None),
        ("now", None),
        ("<script>", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("9999-12-31T23:59:59-14:00", None),
        ("00010101T000000Z", None),
        ("2016-12-31", None),
    ],
)
def test_a_moment_is_read_in_any_usual_form(text: str | None, found: datetime | None) -> None:
    assert moment(text) == found


def test_what_is_written_needs_no_escapes_in_an_address() -> None:
    assert written(NOON) == "20260925T120500Z"


@pytest.mark.parametrize(
    ("text", "lasts"),
    [
        ("15m", timedelta(minutes=15)),
        ("90s", timedelta(seconds=90)),
        ("6h", timedelta(hours=6)),
        ("1d", timedelta(days=1)),
        ("0m", None),
        ("999999d", None),
        ("\u0661\u0665m", None),
        ("-5m", None),
        ("15", None),
        ("", None),
        (None, None),
    ],
)
def test_a_length_is_read(text: str | None, lasts: timedelta | None) -> None:
    assert length(text) == lasts
    if lasts is not None:
        assert length(written_last(lasts)) == lasts
