"""Step statistics leave warm-up out, count what was printed, and say nothing where nothing is known."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.analyze.step_time import by_node, summary, variation
from monitor.model import steps_frame
from tests.builders import steps
from tests.diagnose.cases import run


def test_medians_are_without_warm_up_and_counts_with_it() -> None:
    case = run(step_frame=steps(["algo-1", "algo-2"], 200, 2.0, slow={"algo-2": 1.5}))
    found = summary(case.steps, case.job)
    assert found is not None
    assert (found.count, found.distinct, found.nodes_observed) == (400, 200, 2)
    assert found.first_step_s == pytest.approx(16.0, rel=0.1)
    assert by_node(case.steps)["algo-1"].median_s == pytest.approx(2.0, rel=0.02)
    assert by_node(case.steps)["algo-2"].median_s == pytest.approx(3.0, rel=0.02)
    assert (found.done, found.total) == (200, 400)


def test_no_step_is_no_statistics() -> None:
    assert summary(steps_frame(), run().job) is None
    assert variation(steps_frame()) is None


def test_steps_without_times_are_counted_and_have_no_median() -> None:
    rows = steps_frame(steps(["algo-1"], 20, 2.0).assign(step_time_s=np.nan))
    found = summary(rows, run().job)
    assert found is not None
    assert (found.count, found.median_s, found.first_step_s) == (20, None, None)
