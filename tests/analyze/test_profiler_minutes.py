"""Which minutes of a profiler's output are read: few, spread over the job, and those that stand out."""

from __future__ import annotations

from datetime import timedelta

import pandas as pd

from monitor.analyze.single_gpus import EVEN_MINUTES, EVEN_NODES, FOUND_MINUTES, Wanted, wanted
from monitor.model import metrics_frame
from tests.builders import START, nodes_of
from tests.diagnose.runs import run


def _wanted(minutes: int, nodes: int = 2, low: int | None = None) -> tuple[Wanted, ...]:
    names = [f"algo-{number}" for number in range(1, nodes + 1)]
    rows = [
        {
            "timestamp": START + timedelta(minutes=at),
            "node": name,
            "metric": "gpu_utilization",
            "value_pct": 12.0 if at == low and name == "algo-2" else 92.0,
            "period_s": 60,
        }
        for at in range(minutes)
        for name in names
    ]
    of = run(metrics_frame(pd.DataFrame(rows)), nodes=nodes_of(nodes))
    return wanted(of, START, START + timedelta(minutes=minutes), of.metrics)


def test_however_long_and_large_a_job_is_few_minutes_are_read() -> None:
    for minutes, nodes in ((1, 1), (30, 2), (600, 2), (300, 64)):
        found = _wanted(minutes, nodes)
        even = [each for each in found if each.even]
        assert 1 <= len({each.at_s for each in even}) <= EVEN_MINUTES
        seen = len({each.node for each in even})
        assert min(nodes, EVEN_NODES // 2) <= seen <= min(nodes, EVEN_NODES)
        assert len(found) - len(even) <= FOUND_MINUTES
        assert len(set(found)) == len(found)


def test_what_was_read_of_a_running_job_is_of_use_later() -> None:
    earlier = {each.at_s for each in _wanted(300) if each.even}
    later = {each.at_s for each in _wanted(600) if each.even}
    assert {at for at in later if at < START.timestamp() + 300 * 60} <= earlier


def test_the_lowest_minute_is_read_as_a_whole() -> None:
    low = Wanted("algo-2", int(START.timestamp()) // 60 * 60 + 17 * 60, False)
    assert low in _wanted(60, low=17)
    assert low not in _wanted(60)


def test_of_no_time_nothing_is_read() -> None:
    assert _wanted(0) == ()


def test_the_end_of_a_job_that_failed_is_read() -> None:
    failed = run(status="Failed")
    assert failed.job.ended is not None
    end = failed.job.ended - timedelta(minutes=3)
    minutes = wanted(failed, START, end, failed.metrics)
    assert any(each.at_s >= end.timestamp() and not each.even for each in minutes)
    well = run()
    assert all(each.at_s < end.timestamp() for each in wanted(well, START, end, well.metrics))
