"""One global figure that every node prints is not a timing of every node."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from monitor.analyze.step_time import own_timings
from tests.builders import steps

SAME = np.linspace(1.9, 2.4, 60)


def _nodes(figures: dict[str, np.ndarray], column: str = "step_time_s") -> pd.DataFrame:
    parts = []
    for node, values in figures.items():
        rows = steps([node], len(values), 2.0).assign(warm_up=False)
        parts.append(rows.assign(**{"step_time_s": np.nan, column: values}))
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize(
    ("figures", "column", "expected"),
    [
        ({"algo-1": SAME, "algo-2": SAME, "algo-3": SAME}, "step_time_s", 1),
        ({"algo-1": SAME, "algo-2": SAME}, "throughput", 1),
        ({"algo-1": SAME, "algo-2": SAME + 0.001}, "step_time_s", 2),
        ({"algo-1": SAME, "algo-2": SAME, "algo-3": SAME * 1.1}, "step_time_s", 2),
        # One line lost here or there does not make another figure of it.
        ({"algo-1": SAME, "algo-2": np.where(np.arange(60) == 7, 3.0, SAME)}, "step_time_s", 1),
        # A time that does not move agrees by itself, and so do three steps.
        ({"algo-1": np.full(60, 2.0), "algo-2": np.full(60, 2.0)}, "step_time_s", 2),
        ({"algo-1": SAME[:3], "algo-2": SAME[:3]}, "step_time_s", 2),
        ({"algo-1": SAME}, "step_time_s", 1),
    ],
)
def test_nodes_with_a_timing_of_their_own(figures: dict[str, np.ndarray], column: str, expected: int) -> None:
    assert own_timings(_nodes(figures, column)) == expected


def test_lines_of_nobody_are_no_node() -> None:
    assert own_timings(_nodes({"algo-1": SAME}).assign(node="")) == 0
