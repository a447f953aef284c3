"""Every log in tests/data/formats is read as the CSV beside it says: drop two files, get a test."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from monitor.parse.recognise import families
from tests.parse.read import parse

FORMATS = Path(__file__).parents[1] / "data" / "formats"
LOGS = sorted(FORMATS.glob("*.log"))


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.stem)
def test_log_gives_what_its_csv_says(log: Path) -> None:
    steps = parse(log.read_text(encoding="utf-8").splitlines()).steps
    expected = pd.read_csv(log.with_suffix(".csv"), keep_default_na=False)
    got = pd.read_csv(pd.io.common.StringIO(steps[list(expected.columns)].to_csv(index=False)), keep_default_na=False)
    assert len(got) == len(expected), got.to_string()
    for column in expected.columns:
        for place, (ours, theirs) in enumerate(zip(got[column], expected[column], strict=True)):
            same = ours == theirs or (
                ours != "" and theirs != "" and float(ours) == pytest.approx(float(theirs), rel=1e-6)
            )
            assert same, f"row {place}, {column}: {ours!r}, not {theirs!r}\n{got.to_string()}"


def test_every_family_is_complete() -> None:
    for family in families():
        name = family.name
        assert family.doc, f"monitor/parse/formats/{name}.py needs a docstring that shows its lines"
        assert family.formats, f"monitor/parse/formats/{name}.py needs LINES, or a read and FORMATS"
        cases = [log for log in LOGS if log.stem.startswith(name)]
        assert cases, f"the format {name} needs a case: tests/data/formats/{name}*.log and the .csv of what it gives"
        for log in cases:
            assert log.with_suffix(".csv").is_file(), f"{log.name} needs a .csv of what it gives beside it"
            text = log.read_text(encoding="utf-8")
            assert any(gate in text for gate in family.gates), f"no gate of {name} stands in {log.name}"
