"""Which moments does an address name?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from monitor.show.chosen_time import read, read_last, written, written_last

NOON = datetime(2026, 9, 25, 12, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
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
    ],
)
def test_a_moment_is_read_in_any_usual_form(text: str | None, moment: datetime | None) -> None:
    assert read(text) == moment


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
        ("-5m", None),
        ("15", None),
        ("", None),
        (None, None),
    ],
)
def test_a_length_is_read(text: str | None, lasts: timedelta | None) -> None:
    assert read_last(text) == lasts
    if lasts is not None:
        assert read_last(written_last(lasts)) == lasts
