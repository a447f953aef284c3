from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from botocore.exceptions import EndpointConnectionError

from monitor.aws.answers import MAX_ATTEMPTS, MAX_CONNECTS
from monitor.aws.clients import Clients
from monitor.errors import BadCall, CannotDo, NoCredentials, Throttled, Unreachable
from tests.aws.fake import ACCOUNT, JOB, REGION, answer_with, refusal, reply

pytestmark = pytest.mark.usefixtures("offline")

ARN = f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:training-job/a"


@pytest.mark.parametrize(
    ("argument", "variables", "region"),
    [
        ("eu-west-1", {"AWS_REGION": "us-west-2"}, "eu-west-1"),
        (None, {"AWS_REGION": "us-west-2"}, "us-west-2"),
        (None, {"AWS_DEFAULT_REGION": "us-west-2"}, "us-west-2"),
        (None, {"AWS_DEFAULT_REGION": "us-west-2", "AWS_REGION": "eu-west-3"}, "us-west-2"),
    ],
)
def test_region(argument: str | None, variables: dict[str, str], region: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert Clients(argument).region == region


def test_region_and_credentials_of_a_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config").write_text("[profile team]\nregion = ap-south-1\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    assert Clients(profile="team").region == "ap-south-1"
    monkeypatch.setenv("AWS_PROFILE", "team")
    assert Clients().region == "ap-south-1"
    assert Clients().profile == "team"
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    assert Clients().region == "eu-west-1"


def test_no_region_anywhere() -> None:
    with pytest.raises(CannotDo, match=r"--region.*AWS_REGION") as caught:
        Clients()
    assert caught.value.exit_code == 3


def test_profile_that_does_not_exist() -> None:
    with pytest.raises(NoCredentials, match="'nope'"):
        Clients(REGION, profile="nope")


def test_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(NoCredentials, match="No AWS credentials"):
        Clients(REGION).call("sagemaker", "list_training_jobs")


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SAGEMAKER"])
def test_endpoint_of_the_environment(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "http://127.0.0.1:9")
    clients = Clients(REGION)
    assert clients.endpoint() == "http://127.0.0.1:9"
    # Port 9 is closed: three tries, and an answer at once.
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:9.*AWS_ENDPOINT_URL"):
        clients.call("sagemaker", "list_training_jobs")
    assert clients.bill().calls == {"ListTrainingJobs": MAX_CONNECTS}


@pytest.mark.parametrize("endpoint", ["foo", "localhost:5000", "http://"])
def test_malformed_endpoint(endpoint: str) -> None:
    with pytest.raises((BadCall, Unreachable)):
        Clients(REGION, endpoint_url=endpoint).call("sagemaker", "list_training_jobs")


def test_one_client_a_service_for_all_threads() -> None:
    clients = Clients(REGION)
    made: list[object] = []
    threads = [threading.Thread(target=lambda: made.append(clients.client("logs"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 8
    assert len({id(client) for client in made}) == 1


def test_every_request_is_counted_and_throttling_is_retried() -> None:
    clients = Clients(REGION)
    slow_down = [refusal("ThrottlingException", "Rate exceeded") for _ in range(2)]
    answer_with(clients, "sagemaker", [*slow_down, reply({"TrainingJobSummaries": []})])
    assert clients.call("sagemaker", "list_training_jobs")["TrainingJobSummaries"] == []
    assert clients.bill().calls == {"ListTrainingJobs": 3}
    assert clients.bill().estimated_usd == 0


@pytest.mark.parametrize("service", ["sagemaker", "cloudwatch"])
def test_throttling_without_end(service: str) -> None:
    clients = Clients(REGION)
    method = {"sagemaker": "list_training_jobs", "cloudwatch": "list_metrics"}[service]
    answer_with(clients, service, (refusal("ThrottlingException") for _ in range(99)))
    with pytest.raises(Throttled, match="throttling"):
        clients.call(service, method)
    assert sum(clients.bill().calls.values()) == MAX_ATTEMPTS


def test_environment_decides_the_number_of_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    clients = Clients(REGION)
    answer_with(clients, "sagemaker", (refusal("ThrottlingException") for _ in range(99)))
    with pytest.raises(Throttled):
        clients.call("sagemaker", "list_training_jobs")
    assert clients.bill().calls == {"ListTrainingJobs": 1}


def test_short_loss_of_the_network_is_bridged() -> None:
    clients = Clients(REGION)
    lost = EndpointConnectionError(endpoint_url="https://api.sagemaker.us-east-1.amazonaws.com/")
    answer_with(clients, "sagemaker", [lost, lost, reply({"TrainingJobSummaries": []})])
    assert clients.call("sagemaker", "list_training_jobs")["TrainingJobSummaries"] == []


@pytest.mark.parametrize("page", [b"<!DOCTYPE html><title>Log in</title>", b"\n<html>Log in</html>"])
def test_a_login_page_is_not_an_empty_answer(page: bytes) -> None:
    clients = Clients(REGION)
    answer_with(clients, "sagemaker", [reply(page)])
    with pytest.raises(Unreachable, match="does not answer like AWS"):
        clients.call("sagemaker", "list_training_jobs")


def test_metrics_requested_are_what_costs() -> None:
    clients = Clients(REGION)
    answer_with(clients, "cloudwatch", (reply({"MetricDataResults": []}) for _ in range(9)))
    stat = {"Metric": {"Namespace": "n", "MetricName": "m"}, "Period": 60, "Stat": "Average"}
    for number in (320, 80):
        queries = [{"Id": f"m{index}", "MetricStat": stat} for index in range(number)]
        now = datetime.now(UTC)
        clients.call("cloudwatch", "get_metric_data", MetricDataQueries=queries, StartTime=now, EndTime=now)
    assert clients.bill().calls == {"GetMetricData": 2}
    assert clients.bill().estimated_usd == pytest.approx(0.004)


@pytest.mark.parametrize(
    ("method", "parameters", "answer"),
    [
        ("describe_training_job", {"TrainingJobName": "a"}, {**JOB, "TrainingJobArn": ARN}),
        ("list_training_jobs", {}, {"TrainingJobSummaries": [{"TrainingJobName": "a", "TrainingJobArn": ARN}]}),
    ],
)
def test_account_is_read_from_an_arn(method: str, parameters: dict[str, str], answer: dict[str, object]) -> None:
    clients = Clients(REGION)
    answer_with(clients, "sagemaker", [reply({"TrainingJobSummaries": []}), reply(answer)])
    clients.call("sagemaker", "list_training_jobs")
    assert clients.account_label() is None
    clients.call("sagemaker", method, **parameters)
    assert clients.account_label() == ACCOUNT


@pytest.mark.parametrize("written", [1700000000.25, "2023-11-14T22:13:20.250000", "2023-11-14T22:13:20.250Z"])
def test_times_are_aware_utc(written: float | str) -> None:
    clients = Clients(REGION)
    answer_with(clients, "sagemaker", [reply({**JOB, "CreationTime": written})])
    created = clients.call("sagemaker", "describe_training_job", TrainingJobName="a")["CreationTime"]
    assert created == datetime(2023, 11, 14, 22, 13, 20, 250_000, UTC)
    assert created.utcoffset().total_seconds() == 0


def test_requests_name_the_program() -> None:
    clients = Clients(REGION)
    seen: list[str] = []
    watch: Callable[..., None] = lambda request, **_: seen.append(str(request.headers["User-Agent"]))  # noqa: E731
    answer_with(clients, "sagemaker", [reply({"TrainingJobSummaries": []})])
    clients.client("sagemaker").meta.events.register("before-send", watch)
    clients.call("sagemaker", "list_training_jobs")
    assert "trainwatch" in seen[0]
