from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from monitor.aws.answers import MAX_ATTEMPTS
from monitor.aws.clients import Clients
from monitor.errors import NotAllowed
from monitor.fetch.account import AwsSource
from monitor.fetch.files.source import FilesSource
from monitor.fetch.logs.events import GROUP
from monitor.fetch.source import JobQuery
from monitor.review.archived import Source
from tests.aws.fake import REGION, Scripted, answer_with, offline, refusal, reply
from tests.fetch.sample import create_job

__all__ = ["offline"]

REFUSED = b"<Response><Errors><Error><Code>UnauthorizedOperation</Code></Error></Errors></Response>"
OPERATIONS = {
    "DescribeTrainingJob": "sagemaker",
    "DescribeLogStreams": "logs",
    "GetLogEvents": "logs",
    "GetMetricData": "cloudwatch",
}


@pytest.fixture
def source(account: Clients) -> AwsSource:
    """An account with one job, one line and one point."""
    create_job(account, "vit")
    logs = account.client("logs")
    logs.create_log_group(logGroupName=GROUP)
    logs.create_log_stream(logGroupName=GROUP, logStreamName="vit/algo-1-1700000000")
    now_ms = int(datetime.now(UTC).timestamp() * 1000)
    event = {"timestamp": now_ms, "message": "hello"}
    logs.put_log_events(logGroupName=GROUP, logStreamName="vit/algo-1-1700000000", logEvents=[event])
    point = {"MetricName": "CPUUtilization", "Dimensions": [{"Name": "Host", "Value": "vit/algo-1"}], "Value": 1.0}
    account.client("cloudwatch").put_metric_data(Namespace="/aws/sagemaker/TrainingJobs", MetricData=[point])
    return AwsSource(account)


def everything(source: Source) -> tuple[int, int, list[str]]:
    """Lines, points and gaps of the job."""
    job = source.job("vit")
    reader = source.logs(job)
    lines = sum(len(page.lines) for page in reader.read())
    raw = source.metrics(job, datetime.now(UTC))
    return lines, len(raw.frame), [f"{gap.what}: {gap.why}" for gap in (*reader.gaps, *raw.gaps)]


def test_all_of_a_job(source: AwsSource) -> None:
    lines, points, _ = everything(source)
    assert (lines, points) == (1, 1)
    assert source.bill().calls["DescribeTrainingJob"] == 1
    assert source.bill().estimated_usd == pytest.approx(10 * 0.01 / 1000)
    (summary,) = source.with_instances(source.jobs(JobQuery()))
    assert (summary.instance_type, summary.instance_count) == ("ml.g5.12xlarge", 2)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_one_missing_right_hides_nothing_else(source: AwsSource, operation: str) -> None:
    service = OPERATIONS[operation]
    answer_with(source.clients, service, (refusal("AccessDeniedException") for _ in range(99)), operation)
    if operation == "DescribeTrainingJob":
        with pytest.raises(NotAllowed, match="sagemaker:DescribeTrainingJob"):
            source.job("vit")
        return
    lines, points, gaps = everything(source)
    # Lines that cannot be read stream by stream can be had by filtering.
    assert (lines, points) == ((1, 0) if service == "cloudwatch" else (1, 1))
    assert [gap for gap in gaps if f"{service}:{operation}" in gap]


def test_only_reading_calls_are_made(source: AwsSource) -> None:
    before = set(source.bill().calls)
    everything(source)
    source.with_instances(source.jobs(JobQuery()))
    assert set(source.bill().calls) - before == {*OPERATIONS, "ListTrainingJobs"}


def test_ec2_is_asked_once_and_only_for_unknown_types() -> None:
    clients = Scripted(describe_instance_types=lambda **_: {"InstanceTypes": [{"VCpuInfo": {"DefaultVCpus": 2}}]})
    source = AwsSource(clients)  # type: ignore[arg-type]
    assert source.instance_type("ml.p4d.24xlarge").gpus == 8
    assert source.instance_type("") is None
    assert clients.asked == []
    assert [source.instance_type("ml.z9.large").vcpus for _ in range(3)] == [2, 2, 2]
    assert len(clients.asked) == 1


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize(("status", "body", "calls"), [(403, REFUSED, 1), (500, b"", 3 * MAX_ATTEMPTS)])
def test_trouble_with_ec2_is_asked_again_and_a_refusal_is_not(status: int, body: bytes, calls: int) -> None:
    clients = Clients(REGION)
    answer_with(clients, "ec2", (reply(body, status) for _ in range(99)))
    source = AwsSource(clients)
    assert [source.instance_type("ml.z9.large") for _ in range(3)] == [None] * 3
    assert source.bill().calls == {"DescribeInstanceTypes": calls}


def test_both_are_sources() -> None:
    sources: tuple[Any, ...] = (AwsSource(Scripted()), FilesSource(["a.log"]))  # type: ignore[arg-type]
    for name in ("jobs", "job", "logs", "metrics", "instance_type", "bill"):
        assert all(callable(getattr(source, name)) for source in sources)
