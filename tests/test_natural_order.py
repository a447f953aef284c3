"""Names of nodes and files in the order in which people count."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from monitor.model import natural_order

NAMES = ["", "algo-1", "algo-2", "algo-10", f"algo-{'9' * 5000}", "ip-10-0-1-200", "ip-10-0-2-3", "master"]


@given(st.permutations(NAMES))
def test_numbers_are_counted_and_no_name_comes_first(names: list[str]) -> None:
    assert sorted(names, key=natural_order) == NAMES


@given(st.lists(st.integers(0, 10**20)))
def test_one_number_alone_is_in_its_place(numbers: list[int]) -> None:
    assert sorted((f"algo-{number}" for number in numbers), key=natural_order) == [f"algo-{n}" for n in sorted(numbers)]
