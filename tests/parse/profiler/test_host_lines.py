"""Lines of cores and network become one row a sample; what cannot be read is counted, and costs nothing else."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.demo.measurements import Sampled, minute
from monitor.parse.profiler.host_lines import host_lines

_BEGINS_S = 1767225600


def _object(samples: int = 12, vcpus: int = 4, full: int = 1) -> bytes:
    cores = np.full((samples, vcpus), 20.0)
    cores[:, :full] = 99.0
    waits = np.full((samples, vcpus), 25.0)
    gpus = np.full((samples, 8), 50.0)
    return minute("algo-1", _BEGINS_S, Sampled(gpus, gpus, cores, waits, received_bytes_s=3e9, sent_bytes_s=1e6))


def _line(**changes: Any) -> bytes:
    row: dict[str, Any] = {
        "Type": "cpu",
        "Name": "cpu3",
        "Dimension": "CPUUtilization",
        "Value": 98.0,
        "NodeId": "algo-2",
        "Timestamp": _BEGINS_S + 0.51,
    }
    return json.dumps({name: value for name, value in (row | changes).items() if value is not ...}).encode() + b"\n"


@pytest.mark.parametrize("samples", [600, 120, 12, 1])
def test_a_row_a_sample_with_what_the_host_did(samples: int) -> None:
    read = host_lines(_object(samples))
    assert read.skipped == 0
    assert len(read.frame) == samples
    row = read.frame.iloc[0]
    assert (row["cores"], row["full_cores"], row["cpu_pct"], row["waiting_cores"]) == (4, 1, 20.0, 1.0)
    assert (row["received_bytes_s"], row["sent_bytes_s"]) == (3e9, 1e6)


def test_the_host_counts_before_the_container() -> None:
    lines = [
        _line(Type="network", Name="ReceiveBytesPerSecond", Dimension=whose, Value=value)
        for whose, value in (("Algorithm", 5.0), ("Platform", 7.0), ("Algorithm", 5.0))
    ]
    assert host_lines(b"".join(lines)).frame["received_bytes_s"].tolist() == [7.0]
    assert host_lines(lines[0]).frame["received_bytes_s"].tolist() == [5.0]


def test_what_a_sample_does_not_tell_is_not_zero() -> None:
    row = host_lines(_line()).frame.iloc[0]
    assert row["full_cores"] == 1
    assert row[["cpu_pct", "waiting_cores", "received_bytes_s", "sent_bytes_s"]].isna().all()


@pytest.mark.parametrize(
    "line",
    [
        _line()[:-20] + b"\n",
        _line(Name=...),
        _line(Name="core3"),
        _line(Name=3),
        _line(Value="98"),
        _line(Value=True),
        _line(Value=-1),
        _line(Value=5000.0),
        _line(Dimension="Heat"),
        _line(Timestamp=5),
        _line(Type="network", Name="ReceiveBytesPerSecond", Dimension="Moon"),
    ],
)
def test_a_line_that_cannot_be_read_is_counted(line: bytes) -> None:
    read = host_lines(line + _object(2))
    assert read.skipped == 1
    assert len(read.frame) == 2


@given(st.binary(max_size=300), st.integers(0, 6000))
@settings(max_examples=150, deadline=None)
def test_nothing_that_is_written_there_breaks_the_rest(junk: bytes, at: int) -> None:
    whole = _object(2)
    at = min(at, len(whole))
    read = host_lines(whole[:at] + junk + whole[at:])
    assert read.frame["full_cores"].dropna().between(0, 600).all()
    assert read.frame["cpu_pct"].dropna().between(0, 101).all()
