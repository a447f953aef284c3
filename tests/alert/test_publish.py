"""Step times as CloudWatch gets them: each minute once, a set a host and one over all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from monitor.alert.alarms.plan import NAMESPACE, publish, silence, step_times
from monitor.alert.ledger import Ledger
from monitor.errors import NotAllowed
from monitor.model import Report, steps_frame
from tests.alert.jobs import at, job, reported

ROWS = reported({"algo-1": [2.0] * 300, "algo-2": [3.0] * 200})


class _Clients:
    """Takes calls in place of AWS."""

    def __init__(self, denied: bool = False) -> None:
        self.calls: list[dict[str, Any]] = []
        self.denied = denied

    def call(self, service: str, method: str, **parameters: Any) -> dict[str, Any]:
        assert (service, method, parameters["Namespace"]) == ("cloudwatch", "put_metric_data", NAMESPACE)
        if self.denied:
            raise NotAllowed("AWS does not allow cloudwatch:PutMetricData.")
        self.calls.append(parameters)
        return {}

    @property
    def minutes(self) -> list[tuple[str, Any]]:
        return [
            (figure["Dimensions"][-1]["Value"], figure["Timestamp"])
            for call in self.calls
            for figure in call["MetricData"]
            if figure["MetricName"] == "StepTime"
        ]


def _running() -> Report:
    return job(steps=ROWS, running=True)


def test_a_minute_is_a_set_for_each_host_and_one_for_the_job() -> None:
    figures = list(step_times(_running(), at(1), at(2)))
    found = {figure["Dimensions"][-1]["Value"]: figure["StatisticValues"] for figure in figures}
    assert found == {
        "case/algo-1": {"SampleCount": 30.0, "Sum": 60.0, "Minimum": 2.0, "Maximum": 2.0},
        "case/algo-2": {"SampleCount": 20.0, "Sum": 60.0, "Minimum": 3.0, "Maximum": 3.0},
        "case": {"SampleCount": 50.0, "Sum": 120.0, "Minimum": 2.0, "Maximum": 3.0},
    }
    assert {figure["Timestamp"] for figure in figures} == {at(1)}
    assert figures[0]["Dimensions"][0] == {"Name": "TrainingJobName", "Value": "case"}


def test_warm_up_and_steps_without_a_time_are_none() -> None:
    rows = steps_frame(ROWS.assign(warm_up=ROWS["step"] <= 290))
    minutes = {figure["Timestamp"] for figure in step_times(job(steps=rows, running=True), at(0), at(60))}
    assert minutes == {at(9), at(10)}
    blind = ROWS.assign(step_time_s=float("nan"))
    assert list(step_times(job(steps=steps_frame(blind), running=True), at(0), at(60))) == []


def test_silence_is_told_of_a_running_job() -> None:
    (figure,) = silence(_running(), at(15))
    assert (figure["MetricName"], figure["Value"]) == ("SecondsSinceLastStep", 300.0)
    assert silence(job(steps=ROWS), at(15)) == ()
    assert silence(job(running=True), at(15)) == ()


def test_each_minute_is_sent_once(tmp_path: Path) -> None:
    clients, report = _Clients(), _running()
    for minute in (4.5, 5.0, 6.5, 30.0, 31.0):
        publish(clients, Ledger(tmp_path / "ledger"), report, at(minute))  # type: ignore[arg-type]
    assert len(clients.minutes) == len(set(clients.minutes))
    assert len([each for each in clients.minutes if each[0] == "case"]) == 11
    assert max(len(call["MetricData"]) for call in clients.calls) <= 1000


def test_what_was_refused_is_sent_later(tmp_path: Path) -> None:
    with pytest.raises(NotAllowed):
        publish(_Clients(denied=True), Ledger(tmp_path / "ledger"), _running(), at(30))  # type: ignore[arg-type]
    clients = _Clients()
    publish(clients, Ledger(tmp_path / "ledger"), _running(), at(31))  # type: ignore[arg-type]
    assert len(clients.minutes) == 33


def test_a_long_job_goes_in_several_calls(tmp_path: Path) -> None:
    many = {f"algo-{number}": [60.0] * 90 for number in range(1, 17)}
    clients = _Clients()
    long = job(steps=reported(many), running=True, nodes=16)
    publish(clients, Ledger(tmp_path / "ledger"), replace(long, reviewed_at=at(100)), at(100))  # type: ignore[arg-type]
    assert [len(call["MetricData"]) for call in clients.calls] == [1000, 531]
