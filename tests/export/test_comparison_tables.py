"""A comparison as tables: one row a thing, unknown is empty, nothing that a spreadsheet would run."""

from __future__ import annotations

import io

import pandas as pd
import pytest

from monitor.diagnose.comparison.compare import Comparison, compare
from monitor.export.comparison import TABLES
from tests.builders import report
from tests.diagnose.test_compared import job


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    found = compare([job(), job("b", 3.6, {"microbatches": 8, "train_batch_size": 96, "note": "=1+1"}), report("c")])
    return {name: _read(make, found) for name, make in TABLES.items()}


def _read(make: object, found: Comparison) -> pd.DataFrame:
    assert callable(make)
    return pd.read_csv(io.StringIO(make(found)))


def test_verdicts_have_a_row_a_job_after_the_first(tables: dict[str, pd.DataFrame]) -> None:
    rows = tables["verdicts"]
    assert rows["job"].tolist() == ["B", "C"]
    assert rows["verdict"].tolist() == ["faster", "cannot tell"]
    assert rows["comparable"].tolist() == ["yes", "no"]
    assert rows["prediction"].tolist()[0] == "held"
    assert rows["change_low_pct"].isna().tolist() == [False, True]
    assert rows["reason"].tolist()[1] == "For C, no numbered steps were recognized."


def test_differences_have_a_row_a_parameter_and_job(tables: dict[str, pd.DataFrame]) -> None:
    rows = tables["differences"].set_index(["parameter", "job"])
    assert rows.loc[("microbatches", "B"), "value"] == "8"
    assert rows.loc[("microbatches", "B"), "read_from"] == "mp_parameters"
    assert rows.loc[("note", "B"), "value"] == "'=1+1"
    assert pd.isna(rows.loc[("note", "A"), "value"])


def test_figures_and_step_times(tables: dict[str, pd.DataFrame]) -> None:
    assert tables["figures"]["job"].tolist() == ["A", "B", "C"]
    assert tables["figures"]["step_time_s"].tolist()[:2] == pytest.approx([2.0, 3.6], rel=0.01)
    times = tables["step times"].groupby("job")[["step_time_s", "same_work_s"]].median()
    assert times.loc["A"].tolist() == pytest.approx([2.0, 2.0], rel=0.01)
    assert times.loc["B"].tolist() == pytest.approx([3.6, 1.8], rel=0.01)
    assert "C" not in times.index
