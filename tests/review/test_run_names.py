"""What the names of runs say: bases and times, short names that stay apart, pairs worth comparing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from monitor.review.run_names import SHORT, base_and_stamp, base_of, proposed, short_names

NOW = "bert-2026-09-25-12-05-00-123"
EARLIER = "bert-2026-09-24-08-01-00-001"
LONG = "a-very-long-name-of-an-experiment-that-goes-on-and-on"


def test_a_name_without_a_time_is_its_own_base() -> None:
    assert base_and_stamp("bert-run-7") is None
    assert base_of("bert-run-7") == "bert-run-7"
    assert base_and_stamp(NOW) == ("bert", "2026-09-25-12-05-00-123")
    assert base_of("bert-260925-1205") == "bert"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ((NOW, "gpt-2026-09-25-12-05-00-123"), ("bert", "gpt")),
        ((NOW, EARLIER), ("bert 25 Sep 12:05", "bert 24 Sep 08:01")),
        ((NOW, "bert"), ("bert 25 Sep 12:05", "bert")),
        ((NOW, NOW), ("bert", "bert")),
        (("bert-2026-99-24-08-01-00-001", NOW), ("bert-2026-99-24-08-01-00-001", "bert 25 Sep 12:05")),
        ((NOW, "bert-2026-09-25-12-05-30-000"), (NOW, "bert-2026-09-25-12-05-30-000")),
    ],
)
def test_short_names_are_bases_and_with_times_where_these_are_the_same(
    names: Sequence[str], expected: Sequence[str]
) -> None:
    assert short_names(names) == tuple(expected)


def test_long_names_lose_their_middle_unless_that_is_what_tells_them_apart() -> None:
    (shown, _) = short_names((f"{LONG}-{NOW}", "other"))
    assert len(shown) <= SHORT
    assert shown.startswith("a-very-long")
    alike = (f"{LONG}-one-{LONG}", f"{LONG}-two-{LONG}")
    assert short_names(alike) == alike
    stamped = tuple(f"{LONG}-2026-09-{day}-12-05-00-123" for day in (24, 25))
    assert [len(each) <= SHORT for each in short_names(stamped)] == [True, True]


def test_proposed_are_runs_with_their_previous_ones_then_those_of_a_series() -> None:
    names = [NOW, "vit-4-2026-09-20-12-05-00-123", "gpt-run-7", EARLIER, "vit-32-2026-09-20-02-05-00-123", "gpt-run-6"]
    assert proposed(names, 5) == [(EARLIER, NOW), (names[4], names[1]), ("gpt-run-6", "gpt-run-7")]
    assert proposed(names, 1) == [(EARLIER, NOW)]
    assert proposed(["one", "another"], 5) == []
    assert proposed([], 5) == []
