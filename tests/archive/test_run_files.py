"""A run that is written and read again is the same run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.archive.cache import read_note, read_run, write_run
from monitor.errors import NoData
from monitor.model import (
    Gap,
    InstanceGroup,
    Job,
    LogCoverage,
    Node,
    Parameter,
    Run,
    Transition,
    events_frame,
    metrics_frame,
    steps_frame,
)

T0 = datetime(2026, 3, 4, 8, 0, 0, 123000, tzinfo=UTC)
JOB = Job(
    "gpt-größe-7",
    arn="arn:aws:sagemaker:eu-west-1:123456789012:training-job/gpt-7",
    status="Failed",
    instance_groups=(InstanceGroup("decode", "ml.c5.9xlarge", 1), InstanceGroup("train", "ml.p4d.24xlarge", 2)),
    created=T0,
    started=T0 + timedelta(minutes=3),
    ended=T0 + timedelta(hours=2),
    transitions=(Transition("Starting", T0, T0 + timedelta(minutes=3), "warte…"), Transition("Failed", T0)),
    training_seconds=7020,
    failure_reason="AlgorithmError: \x00 日本",
    hyperparameters={"mp_parameters": '{"ddp": true}'},
    metric_definitions={"loss": r"loss=([\d.]+)"},
    nodes=(Node("algo-1", "ml.p4d.24xlarge", 8, 96, 40.0, "train", "table"), Node("algo-2")),
    launcher="mpi",
    smp_version=1,
    configuration={"a": Parameter(4, "x"), "b": Parameter([1, {"c": None}], "y"), "d": Parameter(1e-5, "z")},
)
EMPTY = Run(JOB, steps_frame(), metrics_frame(), events_frame())

_TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
_WHOLE = st.none() | st.integers(-(2**63), 2**63 - 1)
_LINE = st.integers(-(2**63), 2**63 - 1)
_NUMBER = st.floats(allow_infinity=True, allow_nan=True)
_WHEN = st.none() | st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)).map(  # noqa: DTZ001
    lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000)
)
_STEPS = st.fixed_dictionaries(
    {
        "node": _TEXT, "rank": _WHOLE, "step": _WHOLE, "timestamp": _WHEN, "step_time_s": _NUMBER,
        "throughput": _NUMBER, "throughput_unit": _TEXT, "loss": _NUMBER, "gpu_memory_gib": _NUMBER,
        "format": _TEXT, "kind": _TEXT, "stream": _TEXT, "line": _LINE, "total": _WHOLE, "segment": _WHOLE,
        "warm_up": st.booleans(),
    }
)  # fmt: skip
_METRICS = st.fixed_dictionaries(
    {"timestamp": _WHEN, "node": _TEXT, "metric": _TEXT, "value_pct": _NUMBER, "period_s": _WHOLE}
)
_EVENTS = st.fixed_dictionaries(
    {
        "timestamp": _WHEN,
        "node": _TEXT,
        "rank": _WHOLE,
        "kind": _TEXT,
        "text": _TEXT,
        "stream": _TEXT,
        "line": _LINE,
    }
)


def _again(run: Run, note: dict[str, str] | None = None) -> Run:
    file = BytesIO()
    write_run(run, file, note)
    assert read_note(file) == (note or {})
    return read_run(file)


def _same(one: Run, other: Run) -> None:
    for name in ("steps", "metrics", "events", "gpus", "hosts"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name), check_exact=True)
    bare = {"steps": None, "metrics": None, "events": None, "gpus": None, "hosts": None}
    assert replace(one, **bare) == replace(other, **bare)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(_STEPS, max_size=5).map(lambda rows: _typed(rows, steps_frame)),
    st.lists(_METRICS, max_size=5).map(lambda rows: _typed(rows, metrics_frame)),
    st.lists(_EVENTS, max_size=5).map(lambda rows: _typed(rows, events_frame)),
)
def test_frames_come_back_equal(steps: pd.DataFrame, metrics: pd.DataFrame, events: pd.DataFrame) -> None:
    run = replace(EMPTY, steps=steps, metrics=metrics, events=events)
    _same(_again(run), run)


def _typed(rows: list[dict[str, Any]], made: Callable[[Any], pd.DataFrame]) -> pd.DataFrame:
    """Whole numbers with gaps keep all their digits, which a detour through floats would cost them."""
    if not rows:
        return made(())
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in rows[0]}
    for name in ("rank", "step", "line", "total", "segment", "period_s"):
        if name in columns:
            columns[name] = pd.array(columns[name], dtype="Int64")
    columns["timestamp"] = pd.to_datetime(pd.Series(columns["timestamp"]), utc=True).dt.as_unit("ms")
    return made(columns)


def test_the_rest_comes_back_equal() -> None:
    run = replace(
        EMPTY,
        gaps=(Gap("logs", "Nothing was there.", "Look.", transient=True), Gap("metrics", "Too old.")),
        metrics_period_s=300,
        logs=LogCoverage(3, 12_840, T0, ("epoch # of #", "größe #")),
    )
    _same(_again(run, {"reader": "7"}), run)


def test_a_job_of_which_nothing_is_known_comes_back_equal() -> None:
    run = replace(EMPTY, job=Job("algo-1.log", source="logs"))
    _same(_again(run), run)


def _file() -> bytes:
    file = BytesIO()
    write_run(EMPTY, file)
    return file.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04",
        b"a text",
        _file()[:-1],
        _file()[: len(_file()) // 2],
        _file().replace(b"PAR1", b"RAP1"),
        b"\x00" * len(_file()),
    ],
)
def test_what_is_no_run_is_said(data: bytes) -> None:
    with pytest.raises(NoData, match="not a readable run"):
        read_run(BytesIO(data))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(_file()) - 1), st.integers(1, 255))
def test_one_damaged_byte_is_found_or_does_not_matter(place: int, change: int) -> None:
    data = bytearray(_file())
    data[place] ^= change
    try:
        found = read_run(BytesIO(bytes(data)))
    except NoData:
        return
    _same(found, EMPTY)
