"""The run before a run, by names alone."""

from __future__ import annotations

import pytest

from monitor.review.run_names import previous

NOW = "bert-2026-09-25-12-05-00-123"
EARLIER = "bert-2026-09-24-12-05-00-001"
OLDEST = "bert-2025-12-31-23-59-59-999"


@pytest.mark.parametrize(
    ("name", "names", "expected"),
    [
        (NOW, [NOW, EARLIER, OLDEST], EARLIER),
        (EARLIER, [NOW, EARLIER, OLDEST], OLDEST),
        (OLDEST, [NOW, EARLIER, OLDEST], None),
        (NOW, ["bert-large-2026-09-24-12-05-00-001", "other"], None),
        ("bert-run-7", ["bert-run-6", EARLIER], None),
        ("bert-260925-1205", ["bert-260924-1205", EARLIER], "bert-260924-1205"),
        (NOW, [], None),
        ("", [NOW], None),
    ],
)
def test_the_newest_earlier_run_of_the_same_base(name: str, names: list[str], expected: str | None) -> None:
    assert previous(name, names) == expected
