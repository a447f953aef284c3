"""GetMetricData, the training jobs, and the small services of the stub against what AWS documents of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from http.client import HTTPConnection
from typing import Any

import botocore.model
import pytest
from botocore.exceptions import ClientError

from benchmarks.account import Running
from benchmarks.account.metric_points import METRICS
from tests.benchmarks.sample import BEGAN_MS, JOBS, MINUTE_MS
from tests.benchmarks.stub import clients, code

DAY_MS = 24 * 60 * MINUTE_MS
START, END = (datetime.fromtimestamp(ms / 1000, UTC) for ms in (BEGAN_MS, BEGAN_MS + 60 * MINUTE_MS))


def query(name: str, host: str, metric: str = "GPUUtilization", period: int = 60, stat: str = "Average") -> Any:
    which = {
        "Namespace": "/aws/sagemaker/TrainingJobs",
        "MetricName": metric,
        "Dimensions": [{"Name": "Host", "Value": host}],
    }
    return {"Id": name, "MetricStat": {"Metric": which, "Period": period, "Stat": stat}}


def asked(queries: list[Any], **more: Any) -> dict[str, Any]:
    return {"MetricDataQueries": queries, "StartTime": START, "EndTime": END} | more


def by_hand(aws: Running, body: dict[str, Any]) -> Any:
    """GetMetricData without boto3, which takes a second for a hundred thousand times."""
    connection = HTTPConnection(aws.url.removeprefix("http://"))
    headers = {"X-Amz-Target": "GraniteServiceVersion20100801.GetMetricData"}
    connection.request("POST", "/", json.dumps(body), headers)
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return answer


@pytest.mark.parametrize("protocol", ["json", "smithy-rpc-v2-cbor", "query"])
def test_points_are_the_same_in_every_protocol(aws: Running, monkeypatch: pytest.MonkeyPatch, protocol: str) -> None:
    monkeypatch.setattr(botocore.model.ServiceModel, "resolved_protocol", protocol)
    client = clients(aws)("cloudwatch")
    told = client.get_metric_data(**asked([query("a", "big/algo-1"), query("none", "big/algo-3")]))
    first, none = told["MetricDataResults"]
    times = [moment.timestamp() for moment in first["Timestamps"]]
    assert times == [BEGAN_MS / 1000 + 60 * minute for minute in reversed(range(30))]
    assert all(300 < value < 900 for value in first["Values"])
    assert (first["StatusCode"], none["StatusCode"], none["Values"]) == ("Complete", "Complete", [])
    ascending = client.get_metric_data(**asked([query("a", "big/algo-1")], ScanBy="TimestampAscending"))
    assert ascending["MetricDataResults"][0]["Values"] == first["Values"][::-1]
    with pytest.raises(ClientError) as caught:
        client.get_metric_data(**asked([query("a", "big/algo-1", period=61)]))
    assert code(caught.value) == ("ValidationError", 400)


def test_pages_hold_at_most_the_asked_points_and_together_all(cloudwatch: Any) -> None:
    queries = [
        query(f"m{node}", f"big/algo-{node}", metric)
        for node, metric in ((1, "CPUUtilization"), (2, "DiskUtilization"))
    ]
    whole = cloudwatch.get_metric_data(**asked(queries))["MetricDataResults"]
    pages = list(cloudwatch.get_paginator("get_metric_data").paginate(**asked(queries, MaxDatapoints=25)))
    sizes = [sum(len(result["Values"]) for result in page["MetricDataResults"]) for page in pages]
    assert sizes == [25, 25, 10]
    for result in whole:
        parts = [part for page in pages for part in page["MetricDataResults"] if part["Id"] == result["Id"]]
        assert [value for part in parts for value in part["Values"]] == result["Values"]
        assert [part["StatusCode"] for part in parts][-1] == "Complete"
        assert {part["StatusCode"] for part in parts[:-1]} == {"PartialData"}


def test_a_page_of_five_hundred_queries_ends_at_the_limit_of_points(aws: Running) -> None:
    queries = [
        query(f"m{node}_{metric}", f"hundred/algo-{node}", metric) for node in range(1, 101) for metric in METRICS
    ]
    body = {"MetricDataQueries": queries, "StartTime": BEGAN_MS / 1000, "EndTime": BEGAN_MS / 1000 + 202 * 60}
    pages = [by_hand(aws, body)]
    pages.append(by_hand(aws, body | {"NextToken": pages[0]["NextToken"]}))
    assert "NextToken" not in pages[1]
    sizes = [sum(len(result["Values"]) for result in page["MetricDataResults"]) for page in pages]
    assert sizes == [100_800, 200]
    assert [page["MetricDataResults"][-1]["Id"] for page in pages] == ["m100_DiskUtilization"] * 2
    assert all(len(result["Timestamps"]) == len(result["Values"]) for result in pages[0]["MetricDataResults"])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"MetricDataQueries": [query(f"m{n}", "big/algo-1") for n in range(501)]}, "ValidationError"),
        ({"MetricDataQueries": [query("a", "x"), query("a", "x")]}, "ValidationError"),
        ({"MaxDatapoints": 100_801}, "ValidationError"),
        ({"EndTime": START}, "ValidationError"),
        ({"NextToken": "bad"}, "InvalidNextToken"),
    ],
)
def test_what_cloudwatch_refuses(cloudwatch: Any, change: dict[str, Any], expected: str) -> None:
    with pytest.raises(ClientError) as caught:
        cloudwatch.get_metric_data(**asked([query("a", "big/algo-1")]) | change)
    assert code(caught.value) == (expected, 400)


@pytest.mark.parametrize(
    ("age_days", "period", "points"),
    [(14, 60, 30), (16, 60, 0), (16, 300, 6), (64, 300, 0), (64, 3600, 1), (456, 3600, 0)],
)
def test_old_points_remain_at_a_coarser_grain(
    aws: Running, cloudwatch: Any, age_days: int, period: int, points: int
) -> None:
    aws.set_clock(BEGAN_MS + age_days * DAY_MS)
    told = cloudwatch.get_metric_data(**asked([query("a", "big/algo-1", period=period)]))
    assert len(told["MetricDataResults"][0]["Values"]) == points


def test_coarser_points_are_made_of_the_minutes(cloudwatch: Any) -> None:
    stats = ("Average", "Sum", "Minimum", "Maximum", "SampleCount")
    queries = [query(stat.lower(), "big/algo-1", period=600, stat=stat) for stat in stats]
    told = cloudwatch.get_metric_data(**asked([query("raw", "big/algo-1"), *queries]))
    values = {result["Id"]: result["Values"] for result in told["MetricDataResults"]}
    minutes = values["raw"][-10:]
    assert values["average"][-1] == pytest.approx(sum(minutes) / 10, abs=1e-3)
    assert values["sum"][-1] == pytest.approx(sum(minutes), abs=1e-3)
    assert (values["minimum"][-1], values["maximum"][-1]) == (min(minutes), max(minutes))
    assert values["samplecount"] == [10.0, 10.0, 10.0]


def test_points_appear_minute_by_minute(aws: Running, cloudwatch: Any) -> None:
    counts = []
    for minute in (1, 5, 29, 60):
        aws.set_clock(BEGAN_MS + minute * MINUTE_MS)
        told = cloudwatch.get_metric_data(**asked([query("a", "big/algo-1")]))
        counts.append(len(told["MetricDataResults"][0]["Values"]))
    assert counts == [0, 4, 28, 30]


def test_a_job_is_described_as_the_clock_goes(aws: Running, sagemaker: Any) -> None:
    told = sagemaker.describe_training_job(TrainingJobName="failed")
    assert (told["TrainingJobStatus"], told["FailureReason"]) == ("Failed", "AlgorithmError: exit code 1")
    assert told["HyperParameters"] == {"lr": "0.1"}
    assert told["BillableTimeInSeconds"] == 600
    aws.set_clock(BEGAN_MS + MINUTE_MS)
    told = sagemaker.describe_training_job(TrainingJobName="failed")
    assert (told["TrainingJobStatus"], told["SecondaryStatus"]) == ("InProgress", "Training")
    assert "TrainingEndTime" not in told
    assert [row["Status"] for row in told["SecondaryStatusTransitions"]] == ["Starting", "Downloading", "Training"]
    assert "EndTime" not in told["SecondaryStatusTransitions"][-1]
    assert told["ResourceConfig"]["InstanceCount"] == 1
    with pytest.raises(ClientError) as caught:
        sagemaker.describe_training_job(TrainingJobName="none")
    assert code(caught.value) == ("ValidationException", 400)


def test_jobs_are_listed_page_by_page_and_filtered_after_the_cut(sagemaker: Any) -> None:
    names = [row["TrainingJobName"] for row in sagemaker.list_training_jobs(SortBy="Name")["TrainingJobSummaries"]]
    assert names == sorted((job.name for job in JOBS), reverse=True)
    paginator = sagemaker.get_paginator("list_training_jobs")
    pages = list(paginator.paginate(SortBy="Name", SortOrder="Ascending", MaxResults=2, StatusEquals="Failed"))
    assert [len(page["TrainingJobSummaries"]) for page in pages] == [1, 0, 0, 0, 0]
    rows = sagemaker.list_training_jobs(NameContains="job-a")["TrainingJobSummaries"]
    assert {row["TrainingJobName"] for row in rows} == {"job-a", "job-a-2"}
    assert not sagemaker.list_training_jobs(CreationTimeAfter=END)["TrainingJobSummaries"]


def test_who_calls_and_what_a_type_has(others: dict[str, Any]) -> None:
    assert others["sts"].get_caller_identity()["Account"] == "123456789012"
    (row,) = others["ec2"].describe_instance_types(InstanceTypes=["p4d.24xlarge"])["InstanceTypes"]
    assert row["VCpuInfo"]["DefaultVCpus"] == 96
    assert row["GpuInfo"]["Gpus"][0]["Count"] == 8
    with pytest.raises(ClientError) as caught:
        others["ec2"].describe_instance_types(InstanceTypes=["none.large"])
    assert code(caught.value) == ("InvalidInstanceType", 400)
