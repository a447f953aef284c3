"""A damaged answer is no answer: it is asked for again, and then refused by what is wrong with it."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse

from monitor.aws.answers import MAX_ATTEMPTS
from monitor.aws.clients import Clients
from monitor.errors import NotAllowed, TrainwatchError, Unreachable
from tests.aws.damaged import ANSWERS, DAMAGES, MAIN
from tests.aws.fake import REGION, answer_with, refusal, reply
from tests.drawn import drawn

pytestmark = pytest.mark.usefixtures("offline")


def changed(operation: str, path: str, value: Any) -> bytes:
    """The answer with another value at "events.0.timestamp"; without the member where it is ``None``."""
    body = copy.deepcopy(ANSWERS[operation][3])
    *way, last = [int(part) if part.isdecimal() else part for part in path.split(".")]
    place: Any = body
    for part in way:
        place = place[part]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return json.dumps(body).encode()


INNER = [
    ("DescribeTrainingJob", "TrainingJobName", None),
    ("DescribeTrainingJob", "TrainingJobStatus", 5),
    ("DescribeTrainingJob", "CreationTime", "soon"),
    ("DescribeTrainingJob", "CreationTime", 253_402_214_400),
    ("DescribeTrainingJob", "CreationTime", 1e300),
    ("DescribeTrainingJob", "CreationTime", -1e9),
    ("DescribeTrainingJob", "TrainingEndTime", {}),
    ("DescribeTrainingJob", "ResourceConfig", "ml.p4d.24xlarge"),
    ("DescribeTrainingJob", "ResourceConfig.InstanceCount", "two"),
    ("DescribeTrainingJob", "ResourceConfig.InstanceCount", 2.5),
    ("DescribeTrainingJob", "ResourceConfig.InstanceCount", True),
    ("DescribeTrainingJob", "ResourceConfig.InstanceCount", 10**30),
    ("DescribeTrainingJob", "ResourceConfig.InstanceType", ["ml.p4d.24xlarge"]),
    ("DescribeTrainingJob", "HyperParameters", "none"),
    ("DescribeTrainingJob", "HyperParameters.epochs", 3),
    ("DescribeTrainingJob", "SecondaryStatusTransitions.0.StartTime", [1]),
    ("ListTrainingJobs", "TrainingJobSummaries.0.TrainingJobName", None),
    ("ListTrainingJobs", "TrainingJobSummaries.0.CreationTime", "9999-99-99"),
    ("Search", "Results.0.TrainingJob", "a"),
    ("Search", "Results.0.TrainingJob.TrainingJobName", None),
    ("DescribeLogStreams", "logStreams.0.logStreamName", None),
    ("DescribeLogStreams", "logStreams.0.logStreamName", 7),
    ("GetLogEvents", "events.0.timestamp", None),
    ("GetLogEvents", "events.0.timestamp", "now"),
    ("GetLogEvents", "events.0.timestamp", 1.5),
    ("GetLogEvents", "events.0.timestamp", -1),
    ("GetLogEvents", "events.0.timestamp", 253_402_214_400_000),
    ("GetLogEvents", "events.0.message", None),
    ("GetLogEvents", "events.0.message", {"text": "x"}),
    ("GetLogEvents", "nextForwardToken", None),
    ("GetLogEvents", "nextBackwardToken", 5),
    ("FilterLogEvents", "events.0.logStreamName", None),
    ("FilterLogEvents", "events.0.message", 5),
    ("GetQueryResults", "status", None),
    ("GetQueryResults", "results.0.0.value", 5),
    ("GetQueryResults", "statistics", []),
    ("GetMetricData", "MetricDataResults.0.Id", None),
    ("GetMetricData", "MetricDataResults.0.Values", ["high"]),
    ("GetMetricData", "MetricDataResults.0.Values", 5),
    ("GetMetricData", "MetricDataResults.0.Timestamps", ["never"]),
    ("GetMetricData", "MetricDataResults.0.Timestamps", [253_402_214_400]),
    ("GetMetricData", "Messages", "none"),
    ("GetProducts", "PriceList", [{"product": {}}]),
]
_FITTING = {
    # Rows of results are lists of cells.
    ("GetQueryResults", "lists in the list"),
    # botocore makes a list of texts of either; reading prices finds that none of them is one.
    ("GetProducts", "text in place of the list"),
    ("GetProducts", "an object in place of the list"),
}
TABLE = [
    *(
        pytest.param(operation, damage(ANSWERS[operation][3], MAIN[operation]), id=f"{operation} {name}")
        for operation in ANSWERS
        for name, damage in DAMAGES.items()
        if (operation, name) not in _FITTING
    ),
    *(
        pytest.param(operation, changed(operation, path, value), id=f"{operation} {path} {str(value)[:20]}")
        for operation, path, value in INNER
    ),
]


def ask(clients: Clients, operation: str, answers: list[AWSResponse]) -> dict[str, Any]:
    service, method, parameters, _ = ANSWERS[operation]
    answer_with(clients, service, iter(answers), operation)
    return clients.call(service, method, **parameters)


def test_there_are_enough_of_them() -> None:
    assert len(TABLE) >= 150


@pytest.mark.parametrize(("operation", "body"), drawn(TABLE, 48))
def test_a_damaged_answer_is_asked_for_again(operation: str, body: bytes) -> None:
    hurried = ANSWERS[operation][0] == "pricing"
    good = reply(ANSWERS[operation][3])
    clients = Clients(REGION)
    if hurried:
        with pytest.raises(Unreachable, match="does not answer like AWS"):
            ask(clients, operation, [reply(body)])
        return
    answer = ask(clients, operation, [reply(body), reply(body), good])
    assert MAIN[operation] in answer
    assert clients.bill().calls == {operation: 3}
    with pytest.raises(Unreachable, match=rf"does not answer like AWS \({operation}: .+\)") as told:
        ask(Clients(REGION), operation, [reply(body)] * MAX_ATTEMPTS)
    assert len(str(told.value)) < 300


@pytest.mark.parametrize("operation", ANSWERS)
def test_a_whole_answer_passes(operation: str) -> None:
    clients = Clients(REGION)
    body = {**ANSWERS[operation][3], "SomethingNew": {"a": [1, "b", None]}}
    assert MAIN[operation] in ask(clients, operation, [reply(body)])
    assert clients.bill().calls == {operation: 1}


@pytest.mark.parametrize("body", [b"", b"[]", b'{"__type": 5, "message": []}', b"\xff"])
def test_a_refusal_that_cannot_be_read_is_no_crash(body: bytes) -> None:
    clients = Clients(REGION)
    with pytest.raises(TrainwatchError):
        ask(clients, "GetLogEvents", [reply(body, 400)] * MAX_ATTEMPTS)


LISTED = b"<ListBucketResult><IsTruncated>false</IsTruncated>%b</ListBucketResult>"


@pytest.mark.parametrize(
    ("service", "method", "parameters", "body"),
    [
        ("sts", "get_caller_identity", {}, b""),
        ("sts", "get_caller_identity", {}, b"<GetCallerIdentityResponse/>"),
        ("sts", "get_caller_identity", {}, b"<GetCallerIdentityResponse>"),
        ("s3", "list_objects_v2", {"Bucket": "b"}, b""),
        ("s3", "list_objects_v2", {"Bucket": "b"}, b"<ListBucketResult/>"),
        ("s3", "list_objects_v2", {"Bucket": "b"}, LISTED % b"<Contents/>"),
        ("s3", "list_objects_v2", {"Bucket": "b"}, LISTED % b"<KeyCount>x</KeyCount>"),
        ("sns", "publish", {"TopicArn": "arn", "Message": "m"}, b""),
        ("ec2", "describe_instance_types", {}, b""),
        ("ec2", "describe_instance_types", {}, b"nothing of XML"),
    ],
)
def test_other_protocols(service: str, method: str, parameters: dict[str, Any], body: bytes) -> None:
    clients = Clients(REGION)
    answer_with(clients, service, iter([reply(body) for _ in range(MAX_ATTEMPTS)]))
    with pytest.raises(Unreachable, match="does not answer like AWS"):
        clients.call(service, method, **parameters)


def test_a_refusal_stays_one() -> None:
    clients = Clients(REGION)
    with pytest.raises(NotAllowed, match="does not allow logs:GetLogEvents"):
        ask(clients, "GetLogEvents", [refusal("AccessDeniedException", "no")])
