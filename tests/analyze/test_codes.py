"""Rows that are alike have the same number, whatever their columns hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from monitor.analyze.journal import codes

_ROW = st.tuples(
    st.sampled_from(["", "algo-1", "algo-2"]),
    st.one_of(st.none(), st.integers(0, 3)),
    st.one_of(st.just(float("nan")), st.sampled_from([0.0, 0.5, -1.0])),
)


def _columns(rows: list[tuple[str, int | None, float]]) -> tuple[pd.Series, pd.Series, np.ndarray]:
    names, ranks, times = zip(*rows, strict=True)
    return pd.Series(names, dtype="str"), pd.Series(ranks, dtype="Int64"), np.array(times)


@given(st.lists(_ROW, min_size=1, max_size=30))
def test_the_same_number_means_equal_in_all_columns(rows: list[tuple[str, int | None, float]]) -> None:
    found = codes(*_columns(rows))
    # Written out, so that an unknown value is equal to itself.
    texts = [repr(row) for row in rows]
    assert [[a == b for b in found] for a in found] == [[a == b for b in texts] for a in texts]
    assert set(found) == set(range(len(set(texts))))


def test_no_product_of_counts_is_too_large() -> None:
    columns = [np.random.default_rng(seed).permutation(np.repeat(np.arange(50), 4)) for seed in range(40)]
    # 50 ** 40 is far above what a number of 64 bits holds.
    found = codes(*columns)
    assert len(np.unique(found)) == len(set(zip(*columns, strict=True)))


def test_no_rows_have_no_numbers() -> None:
    assert codes(pd.Series(dtype="str"), np.array([], dtype=np.int64)).tolist() == []
