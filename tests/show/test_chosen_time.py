"""Which moments does an address name?"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from monitor.show.chosen_time import read, written

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
