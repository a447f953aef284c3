"""Half an answer is none, and only tries that nobody answers count as such."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ConnectionClosedError, EndpointConnectionError

from monitor.aws.answers import MAX_ATTEMPTS, missing_bytes
from monitor.aws.clients import Clients
from monitor.errors import Unreachable
from tests.aws.fake import REGION, answer_with, refusal, reply

pytestmark = pytest.mark.usefixtures("offline")

URL = "https://api.sagemaker.us-east-1.amazonaws.com/"
LOST = EndpointConnectionError(endpoint_url=URL)
CLOSED = ConnectionClosedError(endpoint_url=URL)
GOOD = {"TrainingJobSummaries": [{"TrainingJobName": "a"}]}


def cut(body: dict[str, Any] = GOOD) -> AWSResponse:
    raw = json.dumps(body).encode()
    answer = reply(raw[: len(raw) // 2])
    answer.headers["content-length"] = str(len(raw))
    return answer


def failed() -> AWSResponse:
    return refusal("InternalFailure", status=500)


@pytest.mark.parametrize(
    "trouble",
    [
        lambda: [failed(), LOST, LOST],
        lambda: [failed(), CLOSED, CLOSED],
        lambda: [CLOSED, CLOSED, CLOSED, CLOSED],
        lambda: [LOST, failed(), LOST, failed()],
        lambda: [cut()],
        lambda: [cut(), failed(), cut(), CLOSED],
    ],
)
@pytest.mark.parametrize("service", ["sagemaker"])
def test_trouble_that_passes(trouble: Any, service: str) -> None:
    clients = Clients(REGION)
    answer_with(clients, service, [*trouble(), reply(GOOD)])
    assert [row["TrainingJobName"] for row in clients.call(service, "list_training_jobs")["TrainingJobSummaries"]] == [
        "a"
    ]


@pytest.mark.parametrize(
    ("trouble", "calls", "words"), [(lambda: LOST, 3, "Nothing answers"), (cut, MAX_ATTEMPTS, "cuts its answers short")]
)
def test_trouble_that_stays(trouble: Any, calls: int, words: str) -> None:
    clients = Clients(REGION)
    left = iter(range(99))
    answer_with(clients, "sagemaker", (trouble() for _ in left))
    with pytest.raises(Unreachable, match=words):
        clients.call("sagemaker", "list_training_jobs")
    assert next(left) == calls


def test_half_an_answer_in_xml_is_tried_again() -> None:
    clients = Clients(REGION)
    body = b"<DescribeInstanceTypesResponse><instanceTypeSet/></DescribeInstanceTypesResponse>"
    half = reply(body[:40])
    half.headers["content-length"] = str(len(body))
    answer_with(clients, "ec2", [half, reply(body)])
    assert clients.call("ec2", "describe_instance_types")["InstanceTypes"] == []


@pytest.mark.parametrize(
    ("headers", "body", "missing"),
    [
        ({"content-length": "5"}, b"12345", 0),
        ({"content-length": "5"}, b"12", 3),
        ({}, b"12", 0),
        ({"content-length": "nonsense"}, b"12", 0),
        ({"content-length": "5", "content-encoding": "gzip"}, b"1", 0),
    ],
)
def test_missing_bytes(headers: dict[str, str], body: bytes, missing: int) -> None:
    assert missing_bytes(headers, body) == missing
