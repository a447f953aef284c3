"""Every table of a report is CSV that can be read again, and none is a formula in a spreadsheet."""

from __future__ import annotations

import io
from dataclasses import replace

import pandas as pd
import pytest

from monitor.export.layout import markdown
from monitor.export.tables import TABLES
from monitor.model import Recommendation, Report
from tests import situations

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
