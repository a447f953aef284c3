"""The table of all readings is the same however its pages are kept; what is alike in all rows may be written into."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.parse import table
from monitor.parse.rows import Reading
from monitor.parse.table import Place, Readings, Rows

NUMBERS = st.none() | st.sampled_from([0, 1, 7, 2.5, 0.1, 1e12])
READINGS = st.builds(
    Reading,
    format=st.sampled_from(["json", "tqdm"]),
    step=st.none() | st.integers(0, 2**40),
    total=st.sampled_from([None, 100]),
    time_s=NUMBERS,
    loss=NUMBERS,
    epoch=st.sampled_from([None, 3]),
    nested=st.booleans(),
)
# Alike in all readings of a page, as a log's columns are as a rule; or different in each.
PAGES = st.lists(
    st.tuples(st.sampled_from(["a", "b"]), READINGS, st.integers(1, 5)).map(lambda page: (page[0], [page[1]] * page[2]))
    | st.tuples(st.sampled_from(["a", "b"]), st.lists(READINGS, min_size=1, max_size=5)),
    min_size=1,
    max_size=9,
)


def _kept(pages: list[tuple[str, list[Reading]]]) -> Rows:
    rows = Rows()
    for number, (stream, readings) in enumerate(pages):
        rows.add(stream, "algo-1", [_place(10 * number + line) for line in range(len(readings))], readings)
    return rows


def _place(line: int) -> Place:
    return (line, 0, None, -1, "", False, -1, -1, None, None)


def _columns(found: Readings) -> dict[str, list[Any]]:
    names = [each.name for each in fields(Readings)][1:-1]
    return {name: [None if each != each else each for each in getattr(found, name).tolist()] for name in names} | {
        "texts": found.texts.tolist()
    }


@given(PAGES, st.integers(2, 4))
def test_pages_that_became_one_block_say_the_same(pages: list[tuple[str, list[Reading]]], together: int) -> None:
    apart, joined = _kept(pages), Rows()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "_TOGETHER", together)
        joined = _kept(pages)
    wanted = _columns(apart.table())
    assert _columns(joined.table()) == wanted
    assert _columns(joined.table(last=True)) == wanted
    assert not joined


@given(PAGES)
def test_what_is_alike_in_all_rows_is_written_into_like_the_rest(pages: list[tuple[str, list[Reading]]]) -> None:
    rows = _kept(pages)
    found, before = rows.table(), _columns(rows.table())
    found.put(np.array([0]), epoch=math.pi, loss=2.0, host=0)
    found.put(0, epoch=5.0)
    after = _columns(found)
    assert (after["epoch"][0], after["loss"][0]) == (5.0, 2.0)
    assert [each[1:] for each in after.values()][:-1] == [each[1:] for each in before.values()][:-1]
    assert _columns(rows.table()) == before


def test_a_column_that_may_be_one_value_is_written_into_by_put_alone() -> None:
    for readings in ([Reading("json", 1)] * 3, [Reading("json", 1, epoch=each) for each in range(3)]):
        found = _kept([("a", readings)]).table()
        with pytest.raises(ValueError, match="read-only"):
            found.epoch[0] = 1.0
