"""What a CSV file promises: times with their zone, nothing for what is not known, nothing that a spreadsheet would run."""

from __future__ import annotations

import pandas as pd
import pytest

from monitor.show.drawing import csv_of, file_name


def test_a_frame_is_written_as_it_is_read_elsewhere() -> None:
    frame = pd.DataFrame(
        {
            "at": pd.to_datetime(["2026-09-25T14:05:00.250+02:00", None], utc=True).tz_convert("Europe/Berlin"),
            "value_pct": [46.123456789, float("nan")],
            "step": pd.array([412, None], dtype="Int64"),
            "said": ["=1+1", "a, b"],
        }
    )
    assert csv_of(frame).decode().splitlines() == [
        "at,value_pct,step,said",
        "2026-09-25T12:05:00.250Z,46.1235,412,'=1+1",
        ',,,"a, b"',
    ]


def test_no_rows_still_name_the_columns() -> None:
    assert (
        csv_of(pd.DataFrame({"node": pd.Series(dtype="str"), "at": pd.Series(dtype="datetime64[ms, UTC]")}))
        == b"node,at\n"
    )


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("gpt-60b-run-7-step-time", "gpt-60b-run-7-step-time.csv"),
        ("../a b/c", "a-b-c.csv"),
        ("x" * 400, "x" * 150 + ".csv"),
    ],
)
def test_a_file_s_name_is_one_everywhere(name: str, file: str) -> None:
    assert file_name(name) == file
