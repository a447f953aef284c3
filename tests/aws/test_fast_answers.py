"""The fast reader of log pages gives what botocore gives."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from monitor.aws import answers
from monitor.aws.clients import Clients
from monitor.errors import NoData
from tests.aws.fake import REGION, answer_with, refusal, reply

pytestmark = pytest.mark.usefixtures("offline")

EVENTS = [
    {"timestamp": 1_700_000_000_000, "message": "step=1 zwölf \U0001f600 \t#015", "ingestionTime": 1_700_000_000_900},
    {"timestamp": 1_700_000_000_001, "message": "", "ingestionTime": 1_700_000_001_000},
]
PAGE = {"events": EVENTS, "nextForwardToken": "f/1", "nextBackwardToken": "b/1"}
FILTERED = {
    "events": [{**event, "logStreamName": "a/algo-1-1", "eventId": str(n)} for n, event in enumerate(EVENTS)],
    "searchedLogStreams": [],
    "nextToken": "t",
}
POINTS = {
    "MetricDataResults": [
        {"Id": "a", "Label": "x", "Timestamps": [1.7e9, 1700000060], "Values": [1.25, 2], "StatusCode": "PartialData"},
        {"Id": "b", "Label": "y", "Timestamps": [], "Values": [], "StatusCode": "Complete"},
    ],
    "Messages": [{"Code": "c", "Value": "v"}],
    "NextToken": "t",
}
FOUND = {
    "Results": [
        {
            "TrainingJob": {
                "TrainingJobName": "a",
                "TrainingJobArn": "arn:aws:sagemaker:us-east-1:123456789012:training-job/a",
                "TrainingJobStatus": "Completed",
                "CreationTime": 1.7e9,
                "TrainingStartTime": 1700000060.5,
                "LastModifiedTime": 1700000060,
                "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2, "VolumeSizeInGB": 5},
                "HyperParameters": {"lr": "0.1"},
                "SecondaryStatusTransitions": [{"Status": "Starting", "StartTime": 1.7e9, "EndTime": 1700000001.25}],
                "FinalMetricDataList": [{"MetricName": "loss", "Value": 1.5, "Timestamp": 1.7e9}],
                "DebugRuleEvaluationStatuses": [{"RuleConfigurationName": "r", "LastModifiedTime": 1.7e9}],
                "Tags": [{"Key": "team", "Value": "x"}],
            }
        }
    ],
    "NextToken": "t",
}
LONE_SURROGATE = json.dumps({**PAGE, "events": [{"timestamp": 1, "message": "half \ud800 a pair"}]}).encode()


def _ask(clients: Clients, operation: str) -> dict[str, Any]:
    if operation == "GetLogEvents":
        answer = clients.call("logs", "get_log_events", logGroupName="g", logStreamName="s")
    elif operation == "GetMetricData":
        now = datetime.now(UTC)
        answer = clients.call("cloudwatch", "get_metric_data", MetricDataQueries=[], StartTime=now, EndTime=now)
    elif operation == "Search":
        answer = clients.call("sagemaker", "search", Resource="TrainingJob")
    else:
        answer = clients.call("logs", "filter_log_events", logGroupName="g")
    if operation == "GetLogEvents":
        answer["events"] = msgspec.convert(answer["events"], list[answers.LogEvent])
    return {name: value for name, value in answer.items() if name != "ResponseMetadata"}


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("GetLogEvents", json.dumps(PAGE).encode()),
        ("GetLogEvents", json.dumps({**PAGE, "events": []}).encode()),
        ("GetLogEvents", LONE_SURROGATE),
        ("FilterLogEvents", json.dumps(FILTERED).encode()),
        ("GetMetricData", json.dumps(POINTS).encode()),
        (
            "GetMetricData",
            json.dumps({"MetricDataResults": [{"Id": "a", "Timestamps": ["2026-03-04T08:00:00Z"]}]}).encode(),
        ),
        ("GetMetricData", json.dumps({"MetricDataResults": []}).encode()),
        ("Search", json.dumps(FOUND).encode()),
        ("Search", json.dumps({"Results": []}).encode()),
        ("Search", json.dumps({"Results": [{"Trial": {"TrialName": "t", "CreationTime": 1.7e9}}]}).encode()),
    ],
)
def test_the_same_values_as_botocore(operation: str, body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = Clients(REGION)
    service = {"GetMetricData": "cloudwatch", "Search": "sagemaker"}.get(operation, "logs")
    answer_with(fast, service, [reply(body)])
    monkeypatch.setattr(answers, "OPERATIONS", {})
    stock = Clients(REGION)
    answer_with(stock, service, [reply(body)])
    assert _ask(fast, operation) == _ask(stock, operation)


def test_a_refusal_is_still_botocores_to_read() -> None:
    clients = Clients(REGION)
    answer_with(clients, "logs", [refusal("ResourceNotFoundException", "The specified log stream does not exist.")])
    with pytest.raises(NoData):
        _ask(clients, "GetLogEvents")


def test_events_come_as_records_that_are_looked_at_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "flaw", lambda *_: pytest.fail("looked at again"))
    clients = Clients(REGION)
    answer_with(clients, "logs", [reply(json.dumps(PAGE).encode())])
    answer = clients.call("logs", "get_log_events", logGroupName="g", logStreamName="s")
    assert answer["events"] == [answers.LogEvent(event["timestamp"], event["message"]) for event in EVENTS]
    assert {type(event) for event in answer["events"]} == {answers.LogEvent}


def test_the_times_of_jobs_are_those_of_the_service_s_model() -> None:
    shape = Clients(REGION).client("sagemaker").meta.service_model.shape_for("TrainingJob")
    times, within = [], {}
    for name, member in shape.members.items():
        if member.type_name == "timestamp":
            times.append(name)
        if member.type_name == "list" and member.member.type_name == "structure":
            found = [each for each, part in member.member.members.items() if part.type_name == "timestamp"]
            if found:
                within[name] = tuple(found)
    assert sorted(times) == sorted(answers.TIMES_OF_JOBS)
    assert within == answers.TIMES_WITHIN_JOBS
