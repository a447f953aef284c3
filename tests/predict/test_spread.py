"""What a range promises: a share of changes only where so many pairs as that takes were held out, and it held them."""

from __future__ import annotations

import pytest

from monitor.predict.spread import SPREADS, Coverage, Promise, promise_words, weakest


@pytest.mark.parametrize(
    ("held", "pairs", "sources", "promise"),
    [
        (0, 0, 0, "none"),
        (5, 6, 2, "few"),
        (8, 8, 2, "few"),
        (9, 9, 2, "share"),
        (9, 10, 1, "one source"),
        (8, 10, 2, "few"),
    ],
)
def test_a_share_is_promised_only_where_so_much_was_held_of_enough(
    held: int, pairs: int, sources: int, promise: Promise
) -> None:
    assert Coverage(held, pairs, sources).promise == promise


def test_no_kind_in_use_promises_more_than_it_held() -> None:
    for kind, spread in SPREADS.items():
        held, pairs, _ = spread.coverage
        words = spread.coverage.words()
        if "9 of 10" in words:
            assert 10 * held >= 9 * pairs, kind
            assert pairs >= 9, kind
        else:
            assert "too few to promise a share" in words, kind
            assert f"held {held} of {pairs}" in words, kind


def test_several_ranges_promise_no_more_than_the_weakest() -> None:
    assert weakest(["share", "few", "one source"]) == "few"
    assert weakest(["share", "none"]) == "none"
    assert weakest([]) == "none"


def test_what_is_said_of_a_range() -> None:
    assert promise_words("share") == "is for 9 of 10 changes"
    assert promise_words("few").startswith("promises no share")
    assert Coverage(21, 21, 2).words().startswith("range for 9 of 10 changes (held 21 of 21")
    assert "9 of 10" not in Coverage(5, 6, 2).words()
