"""Quotas, latency, faults and counts of the stub."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError, ConnectionClosedError

from benchmarks.account import Account, Faults, Running, running
from benchmarks.account.quotas import Bucket, per_second
from tests.benchmarks.sample import BEGAN_MS, GROUP, NOW_MS, job
from tests.benchmarks.stub import clients, code

STREAM = f"job-a/algo-1-{BEGAN_MS // 1000}"
SHORT = f"short/algo-1-{BEGAN_MS // 1000}"


def events(logs: Any, stream: str = STREAM) -> Any:
    return logs.get_log_events(logGroupName=GROUP, logStreamName=stream, startFromHead=True)


def refusal(made: Callable[[], Any]) -> str:
    """The code of the error, or "" for an answer."""
    try:
        made()
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    except BotoCoreError as error:
        return type(error).__name__
    return ""


def test_calls_above_the_quota_of_a_region_are_throttled_for_all_clients_together() -> None:
    account = Account(jobs=(job("job-a"),), region="eu-central-1", now_ms=NOW_MS, latency_ms=30.0)
    with running(account, prepared=False) as aws:
        logs = [clients(aws)("logs") for _ in range(2)]
        start = time.monotonic()
        with ThreadPoolExecutor(8) as pool:
            told = list(pool.map(lambda n: refusal(lambda: events(logs[n % 2])), range(40)))
        seconds = time.monotonic() - start
        counts = aws.counts()
    allowed = told.count("")
    assert 10 <= allowed <= 10 + 10 * seconds
    assert told.count("ThrottlingException") == 40 - allowed
    assert seconds > 40 / 8 * 0.03
    assert counts.calls == {"GetLogEvents": 40}
    assert counts.throttled.get("GetLogEvents", 0) == 40 - allowed


def test_a_quota_fills_evenly_and_holds_one_second() -> None:
    bucket = Bucket(10.0)
    assert [bucket.take(0.0) for _ in range(12)] == [True] * 10 + [False] * 2
    assert [bucket.take(0.35) for _ in range(4)] == [True] * 3 + [False]
    assert sum(bucket.take(100.0) for _ in range(20)) == 10


@pytest.mark.parametrize(
    ("region", "get", "filtering"),
    [
        ("us-east-1", 25, 25),
        ("us-west-2", 10, 10),
        ("eu-central-1", 10, 5),
        ("eu-west-3", 30, 10),
        ("sa-east-1", 25, 10),
    ],
)
def test_quotas_of_regions(region: str, get: float, filtering: float) -> None:
    found = per_second(Account(region=region))
    assert (found["GetLogEvents"], found["FilterLogEvents"], found["DescribeLogStreams"]) == (get, filtering, 25)


def test_the_throttling_answer_is_the_one_of_the_service(aws: Running, others: dict[str, Any]) -> None:
    aws.set_faults(Faults(throttled=1.0))
    with pytest.raises(ClientError) as caught:
        events(others["logs"])
    assert code(caught.value) == ("ThrottlingException", 400)
    assert caught.value.response["Error"]["Message"] == "Rate exceeded"
    assert refusal(others["cloudwatch"].describe_alarms) == "Throttling"
    assert refusal(others["sts"].get_caller_identity) == "Throttling"
    assert refusal(lambda: others["ec2"].describe_instance_types(InstanceTypes=["p4d.24xlarge"])) == (
        "RequestLimitExceeded"
    )


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        (Faults(error_500=1.0), "InternalFailure"),
        (Faults(error_503=1.0), "ServiceUnavailableException"),
        (Faults(expired_after=0), "ExpiredTokenException"),
        (Faults(denied=("GetLogEvents",)), "AccessDeniedException"),
        (Faults(no_group=True), "ResourceNotFoundException"),
        (Faults(throttled=1.0, operations=("FilterLogEvents",)), ""),
    ],
)
def test_faults_are_refusals_under_their_own_name(aws: Running, logs: Any, faults: Faults, expected: str) -> None:
    aws.set_faults(faults)
    assert refusal(lambda: events(logs)) == expected
    aws.set_faults(Faults())
    assert refusal(lambda: events(logs)) == ""


def test_a_connection_is_reset(aws: Running, logs: Any) -> None:
    aws.set_faults(Faults(reset=1.0))
    with pytest.raises(ConnectionClosedError):
        events(logs, SHORT)
    aws.set_faults(Faults())
    assert len(events(logs, SHORT)["events"]) == 10_000


def test_a_body_ends_before_its_length(aws: Running, logs: Any) -> None:
    aws.set_faults(Faults(truncated=1.0))
    # botocore takes the half of a body for an answer that says nothing.
    told = events(logs, SHORT)
    assert "events" not in told
    assert int(told["ResponseMetadata"]["HTTPHeaders"]["content-length"]) > 500_000
    aws.set_faults(Faults())
    assert len(events(logs, SHORT)["events"]) == 10_000


def test_a_share_of_calls_fails_and_a_client_that_tries_again_gets_all(aws: Running) -> None:
    aws.set_faults(Faults(error_500=0.1, reset=0.1))
    logs = clients(aws, retries=8)("logs")
    logs.meta.events.register("needs-retry", lambda **_: None)
    told = [len(events(logs)["events"]) for _ in range(8)]
    assert told == [60] * 8
    fates = [Faults(error_500=0.2, slow=0.3).fate("GetLogEvents", n, 0).value for n in range(2000)]
    assert 350 < fates.count("error 500") < 450
    assert 520 < fates.count("answered slowly") < 680


def test_credentials_expire_after_some_calls(aws: Running, logs: Any) -> None:
    aws.set_faults(Faults(expired_after=2))
    assert [refusal(lambda: events(logs)) for _ in range(4)] == ["", "", *["ExpiredTokenException"] * 2]


def test_a_stream_is_deleted_while_it_is_read(aws: Running, logs: Any) -> None:
    aws.set_faults(Faults(deleted=((STREAM, 2),)))
    assert [refusal(lambda: events(logs)) for _ in range(3)] == ["", "", "ResourceNotFoundException"]
    assert refusal(lambda: events(logs, SHORT)) == ""
    found = logs.describe_log_streams(logGroupName=GROUP, logStreamNamePrefix="job-a/")
    assert found["logStreams"] == []


def test_slow_answers_come_later(aws: Running, logs: Any) -> None:
    aws.set_faults(Faults(slow=1.0, slow_ms=150.0))
    start = time.monotonic()
    assert events(logs)["events"]
    assert time.monotonic() - start >= 0.15


def test_calls_and_bytes_are_counted_by_operation(aws: Running, logs: Any, sagemaker: Any) -> None:
    told = events(logs, SHORT)
    sagemaker.list_training_jobs()
    assert refusal(lambda: events(logs, "none")) == "ResourceNotFoundException"
    counts = aws.counts()
    assert counts.calls == {"GetLogEvents": 2, "ListTrainingJobs": 1}
    assert counts.refused == {"GetLogEvents ResourceNotFoundException": 1}
    assert counts.bytes["GetLogEvents"] >= int(told["ResponseMetadata"]["HTTPHeaders"]["content-length"])
    assert counts.cpu_s > 0
    aws.reset()
    assert aws.counts().calls == {}


def test_the_clock_stands_runs_and_follows_the_machine(aws: Running, logs: Any) -> None:
    def now_ms() -> float:
        query = logs.get_log_events(logGroupName=GROUP, logStreamName=STREAM, limit=1)
        return int(query["nextForwardToken"][2:-2]) >> 80

    assert now_ms() == now_ms() == NOW_MS
    aws.set_clock(NOW_MS, rate=1000.0)
    first = now_ms()
    time.sleep(0.02)
    assert now_ms() - first >= 20_000
    aws.set_clock(None)
    assert abs(now_ms() - time.time() * 1000) < 30_000
    aws.advance(60)
    assert now_ms() - time.time() * 1000 > 59 * 60_000


def test_what_the_stub_has_not_is_refused_by_name(others: dict[str, Any]) -> None:
    with pytest.raises(ClientError, match=r"no cloudwatch:DescribeAlarms"):
        others["cloudwatch"].describe_alarms()
