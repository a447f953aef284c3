"""Where a condition held for as long as it asks, over all of a job."""

from __future__ import annotations

from datetime import timedelta

import pandas as pd

from monitor.alert.conditions import Threshold, parse
from monitor.alert.evaluate import ConditionStretch, stretches_of
from tests.builders import START, metrics, nodes_of, report


def _found(text: str) -> tuple[ConditionStretch, ...]:
    names = [node.name for node in nodes_of(3)]
    frame = metrics(names, 60, {"gpu_utilization": 90.0}, spread=0.0)
    low = (frame["node"] == "algo-2") & frame["timestamp"].between(_at(20), _at(39))
    brief = (frame["node"] == "algo-3") & (frame["timestamp"] == pd.Timestamp(_at(30)))
    frame["value_pct"] = frame["value_pct"].mask(low | brief, 10.0)
    when = parse(text)
    assert isinstance(when, Threshold)
    job = report(nodes=nodes_of(3), metric_frame=frame, minutes=60)
    return stretches_of(job, when, job.reviewed_at)


def _at(minute: float) -> object:
    return START + timedelta(minutes=minute)


def test_a_stretch_has_its_node_and_its_ends() -> None:
    assert _found("gpu_utilization < 40 for 10m") == (ConditionStretch("algo-2", _at(20), _at(40)),)  # type: ignore[arg-type]


def test_what_need_not_last_is_found_however_short() -> None:
    assert [one.node for one in _found("gpu_utilization < 40")] == ["algo-2", "algo-3"]


def test_all_together_have_no_node_and_what_never_holds_has_no_stretch() -> None:
    assert [one.node for one in _found("gpu_utilization < 70 on mean")] == [None]
    assert _found("gpu_utilization < 5") == ()
