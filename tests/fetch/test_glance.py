"""How busy running jobs are, at a glance: few calls for many jobs, percent of one GPU, gaps left open."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from monitor.errors import NotAllowed
from monitor.fetch.metrics.hosts import MOST_CALLS, PERIOD_S, SPAN, read_glances
from monitor.model import JobSummary

NOW = datetime(2026, 9, 25, 12, tzinfo=UTC)


def _job(name: str, kind: str | None = "ml.p4d.24xlarge", hosts: int = 4) -> JobSummary:
    return JobSummary(name, "InProgress", NOW - timedelta(hours=5), None, kind, hosts)


class Metrics:
    """Every host's GPUs are at 400 of 800 %, memory at 200, from half of the time on."""

    def __init__(self, refuse: Exception | None = None) -> None:
        self.refuse = refuse
        self.sizes: list[int] = []

    def call(self, service: str, method: str, **wanted: Any) -> dict[str, Any]:
        assert (service, method) == ("cloudwatch", "get_metric_data")
        if self.refuse:
            raise self.refuse
        queries = wanted["MetricDataQueries"]
        assert len({query["Id"] for query in queries}) == len(queries)
        self.sizes.append(len(queries))
        times = [NOW - SPAN / 2 + timedelta(seconds=PERIOD_S * place) for place in range(18)]
        return {
            "MetricDataResults": [
                {
                    "Id": query["Id"],
                    "Timestamps": times,
                    "Values": [400.0 if "Memory" not in query["MetricStat"]["Metric"]["MetricName"] else 200.0] * 18,
                    "StatusCode": "Complete",
                }
                for query in queries
            ]
        }


def _read(metrics: Metrics, jobs: list[JobSummary]) -> Any:
    return read_glances(metrics, jobs, NOW)  # type: ignore[arg-type]


def test_host_sums_become_percent_of_one_gpu_from_the_first_point_on() -> None:
    found = _read(Metrics(), [_job("a")]).jobs["a"]
    assert set(found.gpu_pct) == {50.0}
    assert set(found.gpu_memory_pct) == {25.0}
    assert len(found.gpu_pct) == 18


def test_forty_running_jobs_are_one_call() -> None:
    metrics = Metrics()
    found = _read(metrics, [_job(f"job-{place}") for place in range(40)])
    assert metrics.sizes == [320]
    assert len(found.jobs) == 40


def test_many_hosts_are_looked_at_evenly_and_calls_are_bounded() -> None:
    metrics = Metrics()
    found = _read(metrics, [_job(f"job-{place}", hosts=256) for place in range(40)])
    assert len(metrics.sizes) <= MOST_CALLS
    assert len(found.jobs) == 40
    assert sum(metrics.sizes) == 40 * 37 * 2


@pytest.mark.parametrize("kind", [None, "ml.c5.xlarge", "ml.p4d.24xlarge + ml.g5.xlarge", "ml.unheard-of"])
def test_what_has_no_gpus_or_no_known_number_of_them_is_not_asked_for(kind: str | None) -> None:
    metrics = Metrics()
    assert not _read(metrics, [_job("a", kind)]).jobs
    assert not metrics.sizes


def test_a_refusal_is_a_gap() -> None:
    found = _read(Metrics(NotAllowed("AWS does not allow cloudwatch:GetMetricData.", "Have it allowed.")), [_job("a")])
    assert [gap.why for gap in found.gaps] == ["AWS does not allow cloudwatch:GetMetricData."]
    assert found.jobs["a"].gpu_pct == ()
