"""Every table of a report and of a comparison is CSV that can be read again: unknown is empty, and none is a formula."""

from __future__ import annotations

import io
from dataclasses import replace

import pandas as pd
import pytest

from monitor.diagnose.comparison.compare import Comparison, compare
from monitor.export.layout import markdown
from monitor.export.tables import COMPARISON_TABLES, TABLES
from monitor.model import Recommendation, Report
from tests import situations
from tests.builders import report
from tests.diagnose.test_compared import job

SITUATIONS = (situations.low_utilization(), situations.failed(), situations.never_started(), situations.hostile())


@pytest.mark.parametrize("report", SITUATIONS, ids=lambda report: report.job.name)
@pytest.mark.parametrize("table", TABLES)
def test_every_table_can_be_read_again(report: Report, table: str) -> None:
    found = pd.read_csv(io.StringIO(TABLES[table](report)))
    rows = {
        "steps": len(report.run.steps),
        "metrics": len(report.run.metrics),
        "findings": len(report.findings),
        "phases": len(report.phases),
        "nodes": len(report.nodes),
    }
    assert len(found) == rows.get(table, len(found))
    for name in found.columns:
        if not pd.api.types.is_numeric_dtype(found[name]):
            assert not found[name].dropna().astype(str).str.match(r"[=+@\t\r]").any()


def test_the_findings_name_next_step_and_prediction() -> None:
    (row,) = pd.read_csv(io.StringIO(TABLES["findings"](situations.low_utilization()))).head(1).itertuples()
    assert row.id == "raise-active-microbatches"
    assert row.next_step == "Raise active_microbatches from 2 to 4."
    assert "-35 %" in row.prediction


def test_code_to_copy_is_code_in_markdown() -> None:
    report = situations.low_utilization()
    advised = replace(report.findings[0], recommendation=Recommendation("Print this.", code="print('step=1')"))
    assert "Next: Print this.\n\n```\nprint('step=1')\n```\n" in markdown(replace(report, findings=(advised,)))


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    found = compare([job(), job("b", 3.6, {"microbatches": 8, "train_batch_size": 96, "note": "=1+1"}), report("c")])
    return {name: _read(make, found) for name, make in COMPARISON_TABLES.items()}


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
