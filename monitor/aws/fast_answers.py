"""Reads the answers that hold thousands of events, points or jobs many times as fast as botocore's parser, to its values.

botocore walks every event and every point by its model; only times are converted. Its hook
``before-parse`` takes over the answer; whatever is not plain JSON is left to botocore.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson

#: By botocore's name of the service.
OPERATIONS = {
    "cloudwatch-logs.GetLogEvents": lambda answer: answer,
    "cloudwatch-logs.FilterLogEvents": lambda answer: answer,
    "cloudwatch.GetMetricData": lambda answer: _with_times(answer),
    "sagemaker.Search": lambda answer: _with_times_of_jobs(answer),
}
_OK = 200
#: Where a training job has times, by the model of the service (a test compares them).
TIMES_OF_JOBS = ("CreationTime", "TrainingStartTime", "TrainingEndTime", "LastModifiedTime")
TIMES_WITHIN_JOBS = {
    "SecondaryStatusTransitions": ("StartTime", "EndTime"),
    "FinalMetricDataList": ("Timestamp",),
    "DebugRuleEvaluationStatuses": ("LastModifiedTime",),
}


def listen(events: Any) -> None:
    """Registers with a client's event system."""
    for operation, converted in OPERATIONS.items():
        events.register(f"before-parse.{operation}", lambda converted=converted, **told: _read(converted, **told))


def _read(converted: Any, response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any) -> None:
    if response_dict.get("status_code") != _OK:
        return
    try:
        answer = orjson.loads(response_dict["body"])
        if isinstance(answer, dict):
            customized_response_dict.update(converted(answer))
            response_dict["body"] = b"{}"
    except (orjson.JSONDecodeError, TypeError, KeyError, AttributeError, OverflowError, OSError, ValueError):
        # Not the answer that is known here: botocore's parser may know better.
        return


def _with_times(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer of GetMetricData with aware times in UTC in place of epoch seconds. TypeError for other times."""
    for result in answer["MetricDataResults"]:
        if "Timestamps" in result:
            result["Timestamps"] = [datetime.fromtimestamp(seconds, UTC) for seconds in result["Timestamps"]]
    return answer


def _with_times_of_jobs(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer of Search with aware times in UTC. KeyError for other resources than training jobs, TypeError for other times."""
    for result in answer["Results"]:
        job = result["TrainingJob"]
        _make_times(job, TIMES_OF_JOBS)
        for name, times in TIMES_WITHIN_JOBS.items():
            for entry in job.get(name) or ():
                _make_times(entry, times)
    return answer


def _make_times(entry: dict[str, Any], names: tuple[str, ...]) -> None:
    for name in names:
        if (seconds := entry.get(name)) is not None:
            entry[name] = datetime.fromtimestamp(seconds, UTC)
