"""GPU lines become one row a sample and GPU; what cannot be read is counted, and costs nothing else."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.demo.measurements import Sampled, minute
from monitor.parse.profiler.gpu_lines import gpu_lines

_BEGINS_S = 1767225600


def _object(samples: int = 120, gpus: int = 8, vcpus: int = 4, offset_s: float = 0.0, **lines: Any) -> bytes:
    busy = np.tile(np.arange(gpus) * 10.0, (samples, 1)) + (np.arange(samples) % 2)[:, None]
    full = np.full((samples, gpus), 61.0)
    cores = np.full((samples, vcpus), 40.0)
    return minute("algo-2", _BEGINS_S, Sampled(busy, full, cores, cores / 10, **lines), offset_s)


def _line(**changes: Any) -> bytes:
    row: dict[str, Any] = {
        "Type": "gpu",
        "Name": "gpu3",
        "Dimension": "GPUUtilization",
        "Value": 98.0,
        "NodeId": "algo-2",
        "Timestamp": _BEGINS_S + 0.51,
    }
    row |= changes
    return json.dumps({name: value for name, value in row.items() if value is not ...}).encode() + b"\n"


def test_every_sample_of_every_gpu_with_both_figures() -> None:
    read = gpu_lines(_object())
    assert read.skipped == 0
    assert len(read.frame) == 120 * 8
    third = read.frame[read.frame["gpu"] == 3]
    assert third["utilization_pct"].tolist() == [30.0, 31.0] * 60
    assert set(third["memory_pct"]) == {61.0}
    assert np.allclose(np.diff(third["seconds"]), 0.5)
    # All GPUs of a sample have its time.
    assert read.frame["seconds"].nunique() == 120


@pytest.mark.parametrize("samples", [600, 300, 120, 60, 12, 1])
def test_every_interval_that_a_job_can_ask_for(samples: int) -> None:
    read = gpu_lines(_object(samples=samples))
    assert len(read.frame) == samples * 8
    assert read.frame["seconds"].nunique() == samples


def test_a_clock_that_is_off_is_kept_as_it_is() -> None:
    assert gpu_lines(_object(offset_s=-417.3)).frame["seconds"].iloc[0] == pytest.approx(_BEGINS_S - 417.3 + 0.0101)


def test_lines_written_with_spaces_or_in_another_order_are_read() -> None:
    turned = json.dumps(dict(reversed(json.loads(_line()).items()))).encode()
    read = gpu_lines(_line() + turned)
    assert read.skipped == 0
    assert read.frame["utilization_pct"].tolist() == [98.0]


@pytest.mark.parametrize(
    "line",
    [
        _line()[:-20],
        _line(Name=...),
        _line(Name="card3"),
        _line(Name=3),
        _line(Value=...),
        _line(Value="98"),
        _line(Value=True),
        _line(Value=-1),
        _line(Value=5000.0),
        _line(Value=None),
        _line(Timestamp=...),
        _line(Timestamp="2026-01-01"),
        _line(Timestamp=1767225600510),
        _line(Dimension="GPUPower"),
        _line(Dimension=["GPUUtilization"]),
        _line(NodeId="gpu", Type="tpu", Name="gpu"),
        b'["gpu"]\n',
        b'"gpu"\n',
        b'{"Type":"gpu","Name":"gpu1"},{"Type":"gpu"}\n',
        b"\xff\xfe" + _line(),
        _line(Value=10**400),
        b'{"gpu":' + b"[" * 100_000 + b"\n",
    ],
)
def test_a_line_that_cannot_be_read_is_counted_and_costs_itself(line: bytes) -> None:
    whole = gpu_lines(_object(samples=10))
    read = gpu_lines(_object(samples=5) + line + _object(samples=10)[len(_object(samples=5)) :])
    assert read.skipped >= 1
    assert len(read.frame) >= len(whole.frame) // 2
    for damaged in (line + _object(samples=10), _object(samples=10) + line):
        read = gpu_lines(damaged)
        assert read.frame.equals(whole.frame)
        assert read.skipped == 1


def test_a_cut_last_line_is_counted_once_also_where_it_does_not_say_what_it_is() -> None:
    whole = _object(samples=10)
    for cut in (b'{"Typ', b'{"Type":"gpu","Name":"gp', b'{"Type":"cpu","Name":"cpu1"'):
        assert gpu_lines(whole + cut).skipped == 1
    assert gpu_lines(whole.rstrip(b"\n")).skipped == 0


@pytest.mark.parametrize("data", [b"", b"\n", b"\n\n", _object(gpus=0)])
def test_an_object_without_gpus_has_no_rows(data: bytes) -> None:
    read = gpu_lines(data)
    assert (len(read.frame), read.skipped) == (0, 0)
    assert list(read.frame.columns) == ["seconds", "gpu", "utilization_pct", "memory_pct"]


def test_a_figure_that_is_missing_is_unknown_and_not_zero() -> None:
    read = gpu_lines(_line(Value=0.0))
    assert read.frame["utilization_pct"].tolist() == [0.0]
    assert read.frame["memory_pct"].isna().all()


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=400), st.integers(0, 2_000))
def test_nothing_that_can_stand_in_an_object_breaks_the_reader(noise: bytes, at: int) -> None:
    whole = _object(samples=4, gpus=2)
    at = min(at, len(whole))
    read = gpu_lines(whole[:at] + noise + whole[at:])
    assert read.frame["utilization_pct"].dropna().between(0, 100).all()
