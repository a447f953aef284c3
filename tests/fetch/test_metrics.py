from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import pytest

from monitor.aws.clients import Clients
from monitor.errors import NoCredentials, Throttled
from monitor.fetch.account import AwsSource
from monitor.fetch.metrics.hosts import NAMESPACE, period_s, raw_frame, read_metrics
from monitor.model import METRICS, Job, RawMetrics
from tests.aws.fake import Scripted, answer_with, not_allowed, refusal
from tests.fetch.sample import START, cluster, job

BEGAN = START + timedelta(minutes=3)
ENDED = START + timedelta(minutes=63)
LATER = START + timedelta(hours=3)


class CloudWatch:
    """GetMetricData as AWS has it: one point a period, pages, and nothing finer than the age of the start allows."""

    def __init__(
        self, points_per_page: int = 100_800, silent: Sequence[str] = (), until: datetime | None = None
    ) -> None:
        self.points_per_page = points_per_page
        self.silent = silent
        self.until = until
        self.clients = Scripted(get_metric_data=self.answer)
        self.metrics_billed = 0

    def answer(self, **asked: Any) -> dict[str, Any]:
        queries = asked["MetricDataQueries"]
        assert 0 < len(queries) <= 500
        assert asked["ScanBy"] == "TimestampAscending"
        self.metrics_billed += len(queries)
        start, period = asked["StartTime"], queries[0]["MetricStat"]["Period"]
        assert start.timestamp() % period == 0
        end = min(asked["EndTime"], self.until or asked["EndTime"])
        count = max(0, int((end - start).total_seconds() / period))
        share = max(1, self.points_per_page // len(queries))
        first = int(asked.get("NextToken", 0))
        numbers = range(first, min(count, first + share))
        more = first + share < count
        results = [
            self.result(query, [start + n * timedelta(seconds=period) for n in numbers], more) for query in queries
        ]
        return {"MetricDataResults": results, **({"NextToken": str(first + share)} if more else {})}

    def result(self, query: dict[str, Any], times: list[datetime], more: bool) -> dict[str, Any]:
        (dimension,) = query["MetricStat"]["Metric"]["Dimensions"]
        assert dimension["Name"] == "Host"
        if any(word in f"{dimension['Value']} {query['MetricStat']['Metric']['MetricName']}" for word in self.silent):
            times = []
        values = [float(time.minute) for time in times]
        return {
            "Id": query["Id"],
            "Timestamps": times,
            "Values": values,
            "StatusCode": "PartialData" if more else "Complete",
        }


@pytest.mark.parametrize(
    ("age", "period"),
    [
        (timedelta(0), 60),
        (timedelta(hours=3), 60),
        (timedelta(days=14, hours=23), 60),
        (timedelta(days=15), 300),
        (timedelta(days=62, hours=23), 300),
        (timedelta(days=63), 3600),
        (timedelta(days=454), 3600),
        (timedelta(days=455), None),
        (timedelta(days=2000), None),
        (timedelta(seconds=-30), 60),
    ],
)
def test_period_by_age(age: timedelta, period: int | None) -> None:
    assert period_s(START, START + age) == period


def test_series_of_every_node() -> None:
    service = CloudWatch()
    raw = read_metrics(service.clients, job(), LATER)
    assert (raw.period_s, raw.gaps) == (60, ())
    assert list(raw.frame.columns) == ["timestamp", "node", "metric", "value"]
    assert str(raw.frame["timestamp"].dtype) == "datetime64[ms, UTC]"
    assert raw.frame["timestamp"].is_monotonic_increasing
    sizes = raw.frame.groupby(["node", "metric"]).size()
    assert set(sizes.index) == {(node, metric) for node in ("algo-1", "algo-2") for metric in METRICS}
    # From the start to five minutes after the end, no longer: 08:08 to 09:13.
    assert set(sizes) == {65}
    assert raw.frame["timestamp"].iloc[0] == pd.Timestamp(BEGAN)
    assert (raw.frame["value"] == raw.frame["timestamp"].dt.minute).all()


def test_hosts_and_names_asked_for() -> None:
    service = CloudWatch()
    read_metrics(service.clients, job(), LATER)
    ((_, asked),) = service.clients.asked
    metrics = [query["MetricStat"]["Metric"] for query in asked["MetricDataQueries"]]
    assert {metric["Namespace"] for metric in metrics} == {NAMESPACE}
    assert {metric["Dimensions"][0]["Value"] for metric in metrics} == {"vit/algo-1", "vit/algo-2"}
    assert {metric["MetricName"] for metric in metrics} == {
        "GPUUtilization",
        "GPUMemoryUtilization",
        "CPUUtilization",
        "MemoryUtilization",
        "DiskUtilization",
    }


def test_hosts_without_gpus_are_not_asked_for_them() -> None:
    service = CloudWatch()
    raw = read_metrics(service.clients, job(ResourceConfig=cluster(1, "ml.m5.4xlarge")), LATER)
    assert set(raw.frame["metric"]) == {"cpu_utilization", "memory_utilization", "disk_utilization"}
    assert raw.gaps == ()
    unknown = read_metrics(CloudWatch().clients, job(ResourceConfig=cluster(1, "ml.z9.large")), LATER)
    assert set(unknown.frame["metric"]) == set(METRICS)


def test_many_nodes_take_several_calls_and_each_metric_is_billed_once() -> None:
    service = CloudWatch()
    raw = read_metrics(service.clients, job(ResourceConfig=cluster(300)), LATER)
    assert service.metrics_billed == 1500
    assert len(service.clients.asked) == 3
    assert raw.frame.groupby(["node", "metric"]).size().tolist() == [65] * 1500
    assert raw.gaps == ()


def test_long_jobs_ask_for_no_more_than_a_page() -> None:
    service = CloudWatch()
    raw = read_metrics(service.clients, job(TrainingEndTime=BEGAN + timedelta(days=7)), BEGAN + timedelta(days=8))
    assert service.metrics_billed == 10
    assert len(raw.frame) == 10 * (7 * 1440 + 5)


def test_pages_are_merged_by_series() -> None:
    service = CloudWatch(points_per_page=50)
    raw = read_metrics(service.clients, job(), LATER)
    assert len(service.clients.asked) == 13
    assert raw.gaps == ()
    assert set(raw.frame.groupby(["node", "metric"])["timestamp"].nunique()) == {65}


@pytest.mark.parametrize(("days", "period", "points"), [(0, 60, 65), (20, 300, 14), (100, 3600, 2)])
def test_coarser_points_of_older_jobs(days: int, period: int, points: int) -> None:
    service = CloudWatch()
    raw = read_metrics(service.clients, job(), LATER + timedelta(days=days))
    assert raw.period_s == period
    assert set(raw.frame.groupby(["node", "metric"]).size()) == {points}


def running() -> Job:
    return job(TrainingJobStatus="InProgress", SecondaryStatus="Training", TrainingEndTime=None)


def test_running_job_is_read_up_to_now() -> None:
    raw = read_metrics(CloudWatch().clients, running(), BEGAN + timedelta(minutes=30))
    assert raw.frame["timestamp"].iloc[-1] == pd.Timestamp(BEGAN + timedelta(minutes=29))


def test_a_watched_job_is_asked_only_for_what_is_new() -> None:
    service = CloudWatch()
    source = AwsSource(service.clients)  # type: ignore[arg-type]
    now = BEGAN + timedelta(hours=8)
    source.metrics(running(), now)
    again = source.metrics(running(), now + timedelta(minutes=1))
    first, second = (asked for _, asked in service.clients.asked)
    assert first["StartTime"] == BEGAN
    assert second["StartTime"] == now - timedelta(minutes=16)
    pd.testing.assert_frame_equal(
        again.frame, read_metrics(CloudWatch().clients, running(), now + timedelta(minutes=1)).frame
    )


def test_a_watched_job_grows_too_old_for_its_period() -> None:
    service = CloudWatch()
    known = read_metrics(service.clients, running(), BEGAN + timedelta(days=14))
    raw = read_metrics(service.clients, running(), BEGAN + timedelta(days=16), known)
    assert raw.period_s == 300
    assert set(raw.frame["timestamp"].diff().dt.total_seconds().dropna()) == {0, 300}


# --- what is missing ---------------------------------------------------------------------------------------------


def only_gap(raw: RawMetrics) -> str:
    assert raw.frame.empty
    assert str(raw.frame["timestamp"].dtype) == "datetime64[ms, UTC]"
    (gap,) = raw.gaps
    assert gap.what == "metrics"
    return f"{gap.why} {gap.remedy}"


def test_no_call_for_a_job_that_has_no_metrics() -> None:
    service = CloudWatch()
    starting = job(
        TrainingJobStatus="InProgress", SecondaryStatus="Starting", TrainingStartTime=None, TrainingEndTime=None
    )
    assert "started" in only_gap(read_metrics(service.clients, starting, LATER))
    assert "instances" in only_gap(read_metrics(service.clients, job(ResourceConfig={}), LATER))
    assert "455 days" in only_gap(read_metrics(service.clients, job(), LATER + timedelta(days=500)))
    assert service.clients.asked == []


@pytest.mark.parametrize(
    ("given", "now", "words"),
    [
        ({"TrainingJobStatus": "InProgress", "TrainingEndTime": None}, BEGAN + timedelta(minutes=2), "a few minutes"),
        ({"TrainingTimeInSeconds": 40}, LATER, "40 s"),
        ({}, LATER, "account and region"),
    ],
)
def test_cloudwatch_has_nothing(given: dict[str, Any], now: datetime, words: str) -> None:
    text = only_gap(read_metrics(CloudWatch(silent=["vit"]).clients, job(**given), now))
    assert "no metrics for this job" in text
    assert words in text


def test_nodes_and_gpus_without_metrics_are_named() -> None:
    five = job(ResourceConfig=cluster(5))
    (gap,) = read_metrics(CloudWatch(silent=["algo-2", "algo-4"]).clients, five, LATER).gaps
    assert gap.why == "CloudWatch has no metrics for algo-2, algo-4."
    (gap,) = read_metrics(CloudWatch(silent=["GPU"]).clients, five, LATER).gaps
    assert gap.why.startswith("CloudWatch has no GPU metrics for algo-1, algo-2, algo-3 and 2 more")


def test_missing_right_is_a_gap(account: Clients) -> None:
    answer_with(account, "cloudwatch", (refusal("AccessDenied") for _ in range(9)))
    assert "cloudwatch:GetMetricData" in only_gap(read_metrics(account, job(ResourceConfig=cluster(300)), LATER))


@pytest.mark.parametrize(
    ("status", "words"),
    [("Forbidden", "cloudwatch:GetMetricData"), ("InternalError", "only in part"), ("PartialData", "only in part")],
)
def test_series_that_fail(status: str, words: str) -> None:
    service = CloudWatch()

    def failing(**asked: Any) -> dict[str, Any]:
        answer = service.answer(**asked)
        answer["MetricDataResults"][0] |= {"StatusCode": status, "Timestamps": [], "Values": []}
        return {**answer, "Messages": [{"Code": "Odd", "Value": "something"}]}

    raw = read_metrics(Scripted(get_metric_data=failing), job(), LATER)
    assert len(raw.frame) == 9 * 65
    assert words in raw.gaps[0].why
    assert "Odd: something" in raw.gaps[1].why


def test_trouble_with_one_call_leaves_the_others() -> None:
    service = CloudWatch()

    def throttled_once(**asked: Any) -> dict[str, Any]:
        if asked["MetricDataQueries"][0]["Id"] == "gpu_utilization_algo_101":
            raise Throttled("AWS kept throttling requests.", "Wait.")
        return service.answer(**asked)

    raw = read_metrics(Scripted(get_metric_data=throttled_once), job(ResourceConfig=cluster(300)), LATER)
    assert raw.frame["node"].nunique() == 200
    assert [gap.why for gap in raw.gaps] == ["AWS kept throttling requests."]


def test_trouble_in_the_middle_keeps_the_pages_before() -> None:
    service = CloudWatch(points_per_page=50)

    def breaking(**asked: Any) -> dict[str, Any]:
        if "NextToken" in asked:
            raise Throttled("AWS kept throttling requests.", "Wait.")
        return service.answer(**asked)

    raw = read_metrics(Scripted(get_metric_data=breaking), job(), LATER)
    assert len(raw.frame) == 50
    assert len(raw.gaps) >= 1


def test_expired_credentials_are_raised() -> None:
    def expired(**_: Any) -> dict[str, Any]:
        raise NoCredentials("The AWS credentials have expired.")

    with pytest.raises(NoCredentials):
        read_metrics(Scripted(get_metric_data=expired), job(), LATER)


def test_after_trouble_everything_is_asked_again() -> None:
    denied = read_metrics(Scripted(get_metric_data=not_allowed("x")), running(), LATER)
    service = CloudWatch()
    read_metrics(service.clients, running(), LATER, denied)
    assert service.clients.asked[0][1]["StartTime"] == BEGAN


def test_on_an_account(account: Clients) -> None:
    began = datetime.now(UTC).replace(second=37, microsecond=0) - timedelta(minutes=20)
    data = [
        {
            "MetricName": "GPUUtilization",
            "Dimensions": [{"Name": "Host", "Value": f"vit/algo-{node}"}],
            "Timestamp": began + timedelta(minutes=minute),
            "Value": 100.0 * node + minute,
        }
        for node in (1, 2)
        for minute in range(10)
    ]
    account.client("cloudwatch").put_metric_data(Namespace=NAMESPACE, MetricData=data)
    short = job(TrainingStartTime=began, TrainingEndTime=began + timedelta(minutes=10))
    raw = read_metrics(account, short, datetime.now(UTC))
    assert raw.gaps == ()
    assert raw.frame.loc[raw.frame["node"] == "algo-2", "value"].tolist() == [200.0 + minute for minute in range(10)]
    assert set(raw.frame["timestamp"].dt.second) == {0}
    assert raw_frame().columns.tolist() == raw.frame.columns.tolist()
