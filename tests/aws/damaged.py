"""Answers as AWS gives them, and what can become of them on their way: each kind of damage as a function of a body."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

STARTED = 1_772_611_200
ARN = "arn:aws:sagemaker:us-east-1:123456789012:training-job/a"

#: One recorded answer by service, method and parameters.
ANSWERS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "DescribeTrainingJob": (
        "sagemaker",
        "describe_training_job",
        {"TrainingJobName": "a"},
        {
            "TrainingJobName": "a",
            "TrainingJobArn": ARN,
            "TrainingJobStatus": "Completed",
            "SecondaryStatus": "Completed",
            "CreationTime": STARTED,
            "TrainingStartTime": STARTED + 60,
            "TrainingEndTime": STARTED + 3600,
            "SecondaryStatusTransitions": [
                {
                    "Status": "Training",
                    "StartTime": STARTED + 60,
                    "EndTime": STARTED + 3600,
                    "StatusMessage": "in progress",
                }
            ],
            "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2, "VolumeSizeInGB": 100},
            "HyperParameters": {"epochs": "3"},
            "BillableTimeInSeconds": 3540,
        },
    ),
    "ListTrainingJobs": (
        "sagemaker",
        "list_training_jobs",
        {},
        {
            "TrainingJobSummaries": [
                {
                    "TrainingJobName": "a",
                    "TrainingJobArn": ARN,
                    "CreationTime": STARTED,
                    "LastModifiedTime": STARTED,
                    "TrainingJobStatus": "Completed",
                }
            ]
        },
    ),
    "Search": (
        "sagemaker",
        "search",
        {"Resource": "TrainingJob"},
        {
            "Results": [
                {"TrainingJob": {"TrainingJobName": "a", "TrainingJobStatus": "Completed", "CreationTime": STARTED}}
            ]
        },
    ),
    "DescribeLogStreams": (
        "logs",
        "describe_log_streams",
        {"logGroupName": "g"},
        {"logStreams": [{"logStreamName": "a/algo-1-1772611200", "creationTime": STARTED * 1000, "storedBytes": 0}]},
    ),
    "GetLogEvents": (
        "logs",
        "get_log_events",
        {"logGroupName": "g", "logStreamName": "s"},
        {
            "events": [{"timestamp": STARTED * 1000, "message": "step 1", "ingestionTime": STARTED * 1000}],
            "nextForwardToken": "f/1",
            "nextBackwardToken": "b/1",
        },
    ),
    "FilterLogEvents": (
        "logs",
        "filter_log_events",
        {"logGroupName": "g"},
        {
            "events": [
                {"logStreamName": "a/algo-1-1", "timestamp": STARTED * 1000, "message": "step 1", "eventId": "1"}
            ],
            "searchedLogStreams": [],
        },
    ),
    "GetQueryResults": (
        "logs",
        "get_query_results",
        {"queryId": "q"},
        {
            "status": "Complete",
            "results": [[{"field": "n", "value": "1"}]],
            "statistics": {"bytesScanned": 5.0, "recordsMatched": 1.0, "recordsScanned": 1.0},
        },
    ),
    "GetMetricData": (
        "cloudwatch",
        "get_metric_data",
        {"MetricDataQueries": [], "StartTime": STARTED, "EndTime": STARTED + 60},
        {
            "MetricDataResults": [
                {"Id": "a", "Label": "x", "Timestamps": [STARTED], "Values": [1.5], "StatusCode": "Complete"}
            ],
            "Messages": [],
        },
    ),
    "GetProducts": (
        "pricing",
        "get_products",
        {"ServiceCode": "AmazonSageMaker"},
        {"FormatVersion": "aws_v1", "PriceList": ['{"product": {}}']},
    ),
}

#: The name of the list or member that the answer is asked for.
MAIN = {
    "DescribeTrainingJob": "SecondaryStatusTransitions",
    "ListTrainingJobs": "TrainingJobSummaries",
    "Search": "Results",
    "DescribeLogStreams": "logStreams",
    "GetLogEvents": "events",
    "FilterLogEvents": "events",
    "GetQueryResults": "results",
    "GetMetricData": "MetricDataResults",
    "GetProducts": "PriceList",
}

Damage = Callable[[dict[str, Any], str], bytes]


def _with(main: Any) -> Damage:
    return lambda body, name: json.dumps({**body, name: main}).encode()


def _at_half(body: dict[str, Any], name: str) -> bytes:
    raw = json.dumps(body).encode()
    return raw[: len(raw) // 2]


#: Damage that leaves nothing to be taken for an answer.
DAMAGES: dict[str, Damage] = {
    "nothing": lambda body, name: b"",
    "white space": lambda body, name: b" \n ",
    "null": lambda body, name: b"null",
    "a list": lambda body, name: b"[]",
    "a number": lambda body, name: b"7",
    "text": lambda body, name: b'"AWS"',
    "no JSON": lambda body, name: b"\x00\xff\xfe garbage",
    "plain text": lambda body, name: b"Service temporarily unavailable",
    "half of it, its length told as such": _at_half,
    "nested without end": lambda body, name: b'{"a":' * 5000 + b"1" + b"}" * 5000,
    "an empty object": lambda body, name: b"{}",
    "another operation's answer": lambda body, name: b'{"Unknown": [1, 2]}',
    "text in place of the list": _with("text"),
    "a number in place of the list": _with(5),
    "an object in place of the list": _with({"a": 1}),
    "numbers in the list": _with([1, 2]),
    "lists in the list": _with([[["x"]]]),
}
