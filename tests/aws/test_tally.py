"""Each review has a bill of its own, and stops before it costs more than is allowed."""

from __future__ import annotations

import pytest

from monitor.aws.calls import begin, metered
from monitor.aws.clients import Clients
from monitor.errors import CannotDo
from tests.aws.fake import REGION, answer_with, reply

pytestmark = pytest.mark.usefixtures("offline")

QUERIES = [
    {"Id": f"m{n}", "MetricStat": {"Metric": {"Namespace": "n", "MetricName": "m"}, "Period": 60, "Stat": "Average"}}
    for n in range(500)
]


def _ask(clients: Clients) -> None:
    clients.call("cloudwatch", "get_metric_data", MetricDataQueries=QUERIES, StartTime=0, EndTime=60)


def test_what_threads_call_within_a_block_is_on_its_bill() -> None:
    clients = Clients(REGION)
    answer_with(clients, "sagemaker", (reply({"TrainingJobSummaries": []}) for _ in range(3)))
    clients.call("sagemaker", "list_training_jobs")
    with metered() as outer:
        with metered() as inner:
            begin(clients.call, "sagemaker", "list_training_jobs").result()
        clients.call("sagemaker", "list_training_jobs")
    assert inner.bill().calls == {"ListTrainingJobs": 1}
    assert outer.bill().calls == {"ListTrainingJobs": 2}
    assert clients.bill().calls == {"ListTrainingJobs": 3}


def test_a_call_that_would_cost_too_much_is_not_made() -> None:
    clients = Clients(REGION)
    answer_with(clients, "cloudwatch", (reply({"MetricDataResults": []}) for _ in range(3)))
    with metered(max_usd=0.0075) as tally:
        _ask(clients)
        with pytest.raises(CannotDo, match=r"--max-usd 0.0075"):
            _ask(clients)
    assert tally.bill().calls == {"GetMetricData": 1}
    assert tally.bill().estimated_usd == pytest.approx(0.005)
    assert clients.bill() == tally.bill()
